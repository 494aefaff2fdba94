//! The reports of the kubelet: the events about containers. This module also applies the defects in events, and in the
//! fields of a status that distinguish pods, containers and instances.

use probity_composer::NODE;
use probity_model::history::Change;
use probity_model::timeline::ProbeKind;
use serde_json::{Value, json};

use super::prober::Run;
use crate::Defect;
use crate::pod::{Container, Kind};
use crate::world::{Act, At, MS, SECOND, World};

/// How many events of one type about one pod are recorded in a burst before the recorder's spam filter closes.
const EVENT_BURST: u32 = 25;
/// How much later the start time of a pod is shown.
const LATE: i64 = 10 * SECOND;
/// How long after its start a container is reported as created.
const LAGS: i64 = 300 * MS;

impl World<'_> {
    /// Records an event for a container of a pod.
    pub(crate) fn record(&mut self, pod: usize, container: usize, kind: &str, reason: &str, message: &str) {
        self.record_about((pod, Some(container)), kind, reason, message);
    }

    /// Records an event for a pod, or for a container of the pod.
    pub(crate) fn record_about(
        &mut self,
        (pod, container): (usize, Option<usize>),
        kind: &str,
        reason: &str,
        message: &str,
    ) {
        let recorded = self.pods[pod].recorded.entry(kind.to_owned()).or_default();
        if *recorded == EVENT_BURST {
            return;
        }
        *recorded += 1;
        let of = container.map(|container| &self.pods[pod].containers[container]);
        let main = of.is_some_and(|of| of.kind == Kind::Main);
        let name = of.map(|of| of.name.clone()).unwrap_or_default();
        let (next, twice) = (self.events.len() as u64, self.has(Defect::EventCountsTwo));
        let (number, count, first) = {
            let key = (pod, format!("{name}/{reason}/{message}"));
            let entry = self.events.entry(key).or_insert((next, 0, self.now));
            entry.1 += if entry.1 > 0 && twice { 2 } else { 1 };
            *entry
        };
        let of = &self.pods[pod];
        let list = match () {
            () if of.within.is_some() && !self.has(Defect::EphemeralPathOfMains) => "ephemeralContainers",
            () if main || self.has(Defect::EventPathOfMains) => "containers",
            () => "initContainers",
        };
        let (event, namespace) = (format!("{}.{number:016x}", of.shown_name()), &self.setting.namespace);
        let mut object = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": { "name": event, "namespace": namespace },
            "involvedObject": {
                "apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": of.shown_name(), "uid": of.uid,
                "fieldPath": format!("spec.{list}{{{name}}}"),
            },
            "reason": reason, "message": message, "type": kind, "count": count,
            "source": { "component": "kubelet", "host": NODE },
            "reportingComponent": "kubelet", "reportingInstance": NODE,
            "firstTimestamp": self.timestamp(first), "lastTimestamp": self.timestamp(self.now),
        });
        if container.is_none()
            && let Some(about) = object["involvedObject"].as_object_mut()
        {
            about.remove("fieldPath");
        }
        self.spoil_event(&mut object);
        let change = if count == 1 { Change::Added } else { Change::Modified };
        self.show("Event", &event, change, &object);
    }

    fn spoil_event(&self, object: &mut Value) {
        let about = &mut object["involvedObject"];
        if self.has(Defect::EventOfAnotherPod) {
            about["uid"] = json!("00000000-0000-4000-8000-999999999999");
        }
        if self.has(Defect::EventWithoutApiVersion) {
            about["apiVersion"] = Value::Null;
        }
        if self.has(Defect::EventWithoutPath) {
            about["fieldPath"] = Value::Null;
        }
        if self.has(Defect::EventWithoutSource) {
            object["source"] = json!({});
        }
        if self.has(Defect::EventOfAnotherNode) {
            object["source"]["host"] = json!("node2");
        }
        if self.has(Defect::WarningsAreNormal) {
            object["type"] = json!("Normal");
        }
        if self.has(Defect::EverythingIsWarning) {
            object["type"] = json!("Warning");
        }
        self.spoil_pull(object);
        if self.has(Defect::EventCountStays) {
            object["count"] = json!(1);
        }
        if self.has(Defect::EventLastTimeStays) {
            object["lastTimestamp"] = object["firstTimestamp"].clone();
        }
        if self.has(Defect::EventLastTimeOfAnotherZone) {
            object["lastTimestamp"] = json!(self.timestamp(self.now + 3600 * SECOND));
        }
        if self.has(Defect::EventFirstTimeMoves) {
            object["firstTimestamp"] = object["lastTimestamp"].clone();
        }
    }

    /// Applies defects to an event about the image of a container.
    fn spoil_pull(&self, object: &mut Value) {
        match object["reason"].as_str().unwrap_or_default() {
            "Failed" | "InspectFailed" | "ErrImageNeverPull" => {
                if self.has(Defect::PullFailuresAreNormal) {
                    object["type"] = json!("Normal");
                }
                if self.has(Defect::PullFailuresOfAnotherNode) {
                    object["source"]["host"] = json!("node2");
                }
            }
            "BackOff" if object["type"] == "Normal" && self.has(Defect::PullBackOffIsWarning) => {
                object["type"] = json!("Warning");
            }
            _ => {}
        }
    }

    /// A container was created and started.
    pub(super) fn report_start(&mut self, at: At) {
        let first = self.pods[at.pod].containers[at.container].starts == 1;
        let sidecar = self.is_sidecar(at) && self.has(Defect::SidecarRestartUnreported);
        let added = self.pods[at.pod].within.is_some();
        if added && self.has(Defect::EphemeralStartsUnreported) {
            return;
        }
        if !first && (sidecar || self.has(Defect::StartReportedOnce)) {
            return;
        }
        let hasty = match self.pods[at.pod].containers[at.container].starts {
            1 => self.has(Defect::BackOffReportedAtStart),
            2 => self.has(Defect::BackOffReportedAtRestart),
            _ => false,
        };
        if hasty {
            let message = "Back-off restarting failed container";
            self.record(at.pod, at.container, "Warning", "BackOff", message);
        }
        let pulled = "Container image already present on machine";
        let late = self.has(Defect::StartedBeforeCreated);
        for (reason, message) in
            [("Pulled", pulled), ("Created", "Container created"), ("Started", "Container started")]
        {
            match reason {
                "Pulled" if self.has(Defect::PullUnreported) => {}
                "Pulled" if !first && self.has(Defect::PullReportedOnce) => {}
                "Created" if self.has(Defect::CreationUnreported) => {}
                "Started" if !first && self.is_sidecar(at) && self.has(Defect::SidecarStartUnsaidLater) => {}
                "Created" if late => self.later(LAGS, Act::Report(at, "Normal", reason, message)),
                _ => self.record(at.pod, at.container, "Normal", reason, message),
            }
            if reason != "Started" && self.has(Defect::StartReportedTwice) {
                self.record(at.pod, at.container, "Normal", reason, message);
            }
        }
    }

    /// A probe has failed.
    pub(super) fn report_failure(&mut self, run: &Run, message: &str) {
        let (pod, container) = (run.at.pod, run.at.container);
        let name = &self.pods[pod].containers[container].name;
        let known = self.events.contains_key(&(pod, format!("{name}/Unhealthy/{message}")));
        let other = run.kind == ProbeKind::Readiness && self.has(Defect::FailureOfAnotherKind);
        let message = if other { message.replacen("Readiness", "Liveness", 1) } else { message.to_owned() };
        let message = self.retold(run, message);
        let message = self.retold_output(run, message);
        let silent = self.is_silent_about(run.at, run.kind)
            || self.hides_failure(run)
            || self.is_silent_at_the_end(run.at)
            || self.has(Defect::FailuresUnreported)
            || (known && self.has(Defect::FirstFailureReportedOnly));
        let container = if self.has(Defect::FailureOfFirstContainer) { 0 } else { container };
        let late = self.has(Defect::FailuresReportedLate);
        let times = if self.has(Defect::FailureReportedTwice) { 2 } else { 1 };
        for _ in 0..times {
            match silent {
                true => {}
                false if late => {
                    self.later(8 * SECOND, Act::Unhealthy(At { pod, container }, message.clone()))
                }
                false => self.record(pod, container, "Warning", "Unhealthy", &message),
            }
        }
    }

    /// Reports that a probe caused the kill of a container.
    pub(super) fn report_kill(&mut self, at: At, message: &str) {
        let name = self.pods[at.pod].containers[at.container].name.clone();
        let plain = format!("Stopping container {name}");
        let blamed = message.replace("startup", "liveness");
        let message = if self.has(Defect::StartupKillBlamesLiveness) { blamed.as_str() } else { message };
        let message = if self.has(Defect::KillUnexplained) { plain.as_str() } else { message };
        let times = if self.has(Defect::KillReportedTwice) { 2 } else { 1 };
        for _ in 0..times {
            if !self.has(Defect::KillUnreported) {
                self.record(at.pod, at.container, "Normal", "Killing", message);
            }
        }
    }

    /// A container is stopped because its pod terminates.
    pub(super) fn report_stop(&mut self, at: At, message: &str) {
        let name = self.pods[at.pod].containers[at.container].name.clone();
        let blaming = format!("Container {name} failed liveness probe");
        let message = if self.has(Defect::DeletionBlamesProbe) { blaming.as_str() } else { message };
        if !self.has(Defect::DeletionUnreported) {
            self.record(at.pod, at.container, "Normal", "Killing", message);
        }
    }

    /// A container has ended by itself.
    pub(super) fn report_exit(&mut self, at: At) {
        if self.has(Defect::ExitReportedAsKill) {
            let message = format!("Stopping container {}", self.pods[at.pod].containers[at.container].name);
            self.record(at.pod, at.container, "Normal", "Killing", &message);
        }
    }

    /// A container's preStop hook ends.
    pub(super) fn report_stop_hook(&mut self, at: At, ended: i64, failed: bool) {
        let spoken =
            if failed { !self.has(Defect::FailedHookUnreported) } else { self.has(Defect::GoodHookReported) };
        if spoken {
            self.at(ended, Act::Report(at, "Warning", "FailedPreStopHook", "PreStopHook failed"));
        }
    }

    /// Applies defects to how a container's status identifies its instance.
    pub(crate) fn misidentify(&self, container: &Container, status: &mut Value) {
        if self.has(Defect::LastStateHasCurrentId) && status["lastState"]["terminated"].is_object() {
            status["lastState"]["terminated"]["containerID"] = status["containerID"].clone();
        }
        for path in ["/containerID", "/state/terminated/containerID", "/lastState/terminated/containerID"] {
            let Some(id) = status.pointer_mut(path) else { continue };
            let text = id.as_str().unwrap_or_default().to_owned();
            if self.has(Defect::ContainerIdStays) {
                *id = json!(text.rsplit_once('-').map_or(text.clone(), |(all, _)| format!("{all}-0")));
            }
            if self.has(Defect::ContainerIdBare) {
                *id = json!(text.trim_start_matches("containerd://"));
            }
        }
        if self.has(Defect::ImageIdMissing) {
            status["imageID"] = json!("");
        }
        if self.has(Defect::RestartsCountedTwice) {
            status["restartCount"] = json!(container.view.restarts * 2);
        }
        if self.has(Defect::RestartsUncounted) {
            status["restartCount"] = json!(0);
        }
    }

    /// Applies defects to the host addresses in a status.
    fn misplace(&self, pod: usize, status: &mut Value) {
        let of = &self.pods[pod];
        let nobody = format!("10.90.0.{pod}");
        let wrong = match () {
            () if self.has(Defect::HostAddressIsPods) => of.ip.as_str(),
            () if self.has(Defect::HostAddressOfNobody) => nobody.as_str(),
            () if self.has(Defect::HostAddressOfAnother) => "10.90.0.1",
            () => "",
        };
        if !wrong.is_empty() {
            status["hostIP"] = json!(wrong);
            status["hostIPs"] = json!([{ "ip": wrong }]);
        }
        if of.on_host && self.has(Defect::HostNetworkUnshown) {
            status["podIP"] = json!("10.244.7.7");
            status["podIPs"] = json!([{ "ip": "10.244.7.7" }]);
        }
    }

    /// Applies defects to the pod's fields in a status.
    pub(crate) fn misreport(&self, pod: usize, status: &mut Value) {
        let of = &self.pods[pod];
        if self.has(Defect::AddressesDisagree) && status["podIPs"].is_array() {
            status["podIPs"] = status["hostIPs"].clone();
        }
        if self.has(Defect::AddressOfAnotherPod) && status["podIP"].is_string() {
            status["podIP"] = json!("10.244.7.7");
            status["podIPs"] = json!([{ "ip": "10.244.7.7" }]);
        }
        self.misplace(pod, status);
        if self.has(Defect::StartTimeMoves) {
            status["startTime"] = json!(self.timestamp(self.now));
        }
        if self.has(Defect::StartTimeUnsaid) {
            status["startTime"] = Value::Null;
        }
        if self.has(Defect::StartTimeOfRequest) {
            status["startTime"] = of.object["metadata"]["creationTimestamp"].clone();
        }
        if status["phase"] == "Pending" && self.has(Defect::MainsUnshownAtFirst) && !self.is_initialized(pod)
        {
            status["containerStatuses"] = Value::Null;
        }
        let over = matches!(status["phase"].as_str(), Some("Succeeded" | "Failed"));
        if over && status["reason"].is_null() && self.has(Defect::ReasonLeftOver) {
            status["reason"] = json!("Evicted");
        }
        if self.has(Defect::StartTimeLate) {
            status["startTime"] = json!(self.timestamp(of.started + LATE));
        }
        if self.has(Defect::ClassForgotten) {
            status["qosClass"] = json!("BestEffort");
        }
        let generation = of.object["metadata"]["generation"].as_i64().unwrap_or_default();
        if self.has(Defect::GenerationAhead) {
            status["observedGeneration"] = json!(generation + 1);
        }
        let same = of.object["status"]["containerStatuses"] == status["containerStatuses"];
        if same && self.has(Defect::GenerationFollowsContainers) {
            status["observedGeneration"] = of.object["status"]["observedGeneration"].clone();
        }
        let goes = of.deleted.is_some() && of.containers.iter().any(Container::is_running);
        if goes && self.has(Defect::DeletionObservedAtEnd) {
            status["observedGeneration"] = of.object["status"]["observedGeneration"].clone();
        }
        if self.has(Defect::GenerationUnsaid) {
            status["observedGeneration"] = Value::Null;
        }
    }
}
