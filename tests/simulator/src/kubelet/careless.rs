//! A careless kubelet: what it shows about containers, when it shows this, and what it forgets in some situations.

use probity_model::timeline::ProbeKind;
use serde_json::{Value, json};

use crate::Defect;
use crate::pod::{Container, Ended, Kind, State};
use crate::updates::container_in;
use crate::world::{Act, At, LifeAt, MS, SECOND, World};

/// A delay of a status that a person just notices.
const NOTICEABLE: i64 = 2500 * MS;
/// A delay of a status for which a person has to wait.
const LONG: i64 = 4 * SECOND;

impl World<'_> {
    /// Whether the restart of a container waits for another container of its pod.
    pub(super) fn is_held_up(&self, at: At) -> bool {
        let all = &self.pods[at.pod].containers;
        let waits = |of: &Container| {
            of.kind == Kind::Sidecar && matches!(of.state, State::Waiting("CrashLoopBackOff"))
        };
        let initializing = all.iter().any(|of| of.kind == Kind::Main && of.starts == 0);
        match all[at.container].kind {
            Kind::Main => self.has(Defect::CrashWaitsForSidecar) && all.iter().any(waits),
            Kind::Sidecar => self.has(Defect::SidecarRestartsWhenInitialized) && initializing,
            Kind::Init => false,
        }
    }

    /// How much later than usual a pod's status is written.
    pub(crate) fn lateness(&mut self, pod: usize) -> i64 {
        let (all, fifth) = (self.has(Defect::StatusesLate), self.has(Defect::FifthStatusLate));
        let tenth = self.has(Defect::TenthStatusLate);
        let falls = self.has(Defect::UnreadyLate) && self.is_about_to_fall(pod);
        let (again, sidecar) =
            (self.has(Defect::ReadyLateAfterRestart), self.has(Defect::SidecarReadinessLate));
        let sidecar_start = self.has(Defect::SidecarStartedLate);
        let of = &mut self.pods[pod];
        of.written += 1;
        let number = of.written;
        let rises = |wanted: &dyn Fn(&Container) -> bool| {
            of.containers.iter().any(|container| wanted(container) && container.rises(&of.object))
        };
        match () {
            () if all => NOTICEABLE,
            () if fifth && number.is_multiple_of(5) => LONG,
            () if tenth && number.is_multiple_of(10) => LONG,
            () if falls => 3 * SECOND,
            () if again && rises(&|container| container.attempt() > 0) => LONG,
            () if (sidecar || sidecar_start)
                && of.containers.iter().any(|container| {
                    let shown = shown_status(&of.object, &container.name);
                    let news = match sidecar {
                        true => shown["ready"] != container.view.ready,
                        false => shown["started"] != container.view.started,
                    };
                    container.kind == Kind::Sidecar && news
                }) =>
            {
                LONG
            }
            () => 0,
        }
    }

    fn is_about_to_fall(&self, pod: usize) -> bool {
        let of = &self.pods[pod];
        let falls = |container: &Container| {
            let shown = shown_status(&of.object, &container.name);
            shown["ready"] == true && !container.view.ready && container.is_running()
        };
        of.containers.iter().any(falls)
    }

    /// Applies defects to the status of a container.
    pub(crate) fn misstate(&self, pod: usize, container: &Container, status: &mut Value) {
        let (view, old) = (&container.view, shown_status(&self.pods[pod].object, &container.name));
        let again = old["state"]["running"].is_object() && old["restartCount"] == status["restartCount"];
        let over = matches!(view.state, State::Ended(_)) && self.has(Defect::LastStateLostAtEnd);
        let lost = again && self.has(Defect::LastStateLostLater);
        if over || lost || self.has(Defect::LastStateMissing) {
            status["lastState"] = json!({});
        }
        if let Some(reason) = status.pointer_mut("/state/waiting/reason")
            && *reason == "ContainerCreating"
            && self.has(Defect::WaitsForInitsThatAreNone)
        {
            *reason = json!("PodInitializing");
        }
        if self.has(Defect::LastStateLostOnNewImage) && self.has_new_image(pod, &container.name) {
            status["lastState"] = json!({});
        }
        if self.has(Defect::LastStateOfFirstEnd) && old["lastState"]["terminated"].is_object() {
            status["lastState"] = old["lastState"].clone();
        }
        for place in ["state", "lastState"] {
            if let Some(ended) = status[place].get_mut("terminated") {
                self.misstate_end(container, place, ended);
            }
        }
        let first = &old["state"]["running"]["startedAt"];
        if status["state"]["running"].is_object() && first.is_string() && self.has(Defect::StartedAtOfFirst) {
            status["state"]["running"]["startedAt"] = first.clone();
        }
        if let State::Running(since) = view.state
            && self.has(Defect::RunningStartRoundedUp)
        {
            status["state"]["running"]["startedAt"] = json!(self.timestamp(since + SECOND - 1));
        }
        if !view.ready && old["containerID"].is_string() && self.has(Defect::ContainerIdOldUntilReady) {
            status["containerID"] = old["containerID"].clone();
        }
        let sidecar = container.kind == Kind::Sidecar;
        if self.has(Defect::SecondRestartCountsTwice) {
            status["restartCount"] = json!(view.restarts + view.restarts / 2);
        }
        if sidecar && self.has(Defect::SidecarRestartsUncounted) {
            status["restartCount"] = json!(0);
        }
        if container.kind == Kind::Init && self.has(Defect::InitRestartsStopAtOne) {
            status["restartCount"] = json!(view.restarts.min(1));
        }
        if self.has(Defect::RestartForgetsCount) {
            status["restartCount"] = json!(view.restarts.saturating_sub(container.forgotten));
        }
        let waits = !matches!(view.state, State::Running(_)) && view.last.is_some();
        let plain = container.probe(ProbeKind::Readiness).is_none() && container.kind != Kind::Init;
        if waits && plain && self.has(Defect::WaitingStaysReady) {
            status["ready"] = json!(true);
        }
        if waits && container.kind != Kind::Init && self.has(Defect::WaitingStaysStarted) {
            status["started"] = json!(true);
        }
        self.misstate_wait(container, old, status);
    }

    /// Whether a container has received an image other than the image with which it was created.
    fn has_new_image(&self, pod: usize, name: &str) -> bool {
        let image = |of: &Value| container_in(&of["spec"], name).map(|of| of["image"].clone());
        image(&self.pods[pod].object) != image(&self.pods[pod].first)
    }

    fn misstate_end(&self, container: &Container, place: &str, ended: &mut Value) {
        let code = ended["exitCode"].as_i64().unwrap_or(0);
        if self.has(Defect::ReasonAlwaysCompleted) {
            ended["reason"] = json!("Completed");
        }
        if self.has(Defect::ReasonAlwaysError) {
            ended["reason"] = json!("Error");
        }
        let limited = !container.spec["resources"]["limits"]["memory"].is_null();
        let blamed = limited && self.has(Defect::LimitedKillShownAsOutOfMemory);
        if code == 137 && (blamed || self.has(Defect::KillShownAsOutOfMemory)) {
            ended["reason"] = json!("OOMKilled");
        }
        let again = place == "lastState" && ended["reason"] == "OOMKilled";
        if again && self.has(Defect::LackOfMemoryForgotten) {
            ended["reason"] = json!("Error");
        }
        if self.has(Defect::TimesExchanged) {
            let started = ended["startedAt"].clone();
            ended["startedAt"] = std::mem::replace(&mut ended["finishedAt"], started);
        }
        if place == "lastState" && self.has(Defect::LastStateEndsLater) {
            ended["finishedAt"] = json!(self.timestamp(self.now + 60 * SECOND));
        }
    }

    /// Applies defects to the status of a pod.
    pub(crate) fn mistell(&self, pod: usize, status: &mut Value) {
        let of = &self.pods[pod];
        let ready = status["conditions"].as_array().into_iter().flatten();
        let ready = ready.into_iter().any(|of| of["type"] == "Ready" && of["status"] == "True");
        let lost = (of.deleted.is_some() && self.has(Defect::AddressLostInTermination))
            || (!ready && self.has(Defect::AddressLostWhenUnready));
        if let Some(fields) = status.as_object_mut() {
            if lost {
                fields.remove("podIP");
                fields.remove("podIPs");
            }
            if self.has(Defect::HostAddressUnsaid) {
                fields.remove("hostIP");
                fields.remove("hostIPs");
            }
        }
        if self.has(Defect::GenerationOfFirst) {
            status["observedGeneration"] = json!(1);
        }
        let old = &of.object["status"]["conditions"];
        for condition in status["conditions"].as_array_mut().into_iter().flatten() {
            let was = old.as_array().into_iter().flatten().find(|was| was["type"] == condition["type"]);
            let held = was.is_some_and(|was| was["status"] == "True");
            if condition["type"] == "ContainersReady" && held && self.has(Defect::ContainersReadyStays) {
                condition["status"] = json!("True");
            }
            if condition["message"].is_string() && self.has(Defect::ReadyNamedAsUnready) {
                let ready = of.containers.iter().filter(|container| container.view.ready);
                let names: Vec<&str> = ready.map(|container| container.name.as_str()).collect();
                condition["message"] =
                    json!(format!("containers with unready status: [{}]", names.join(" ")));
            }
        }
        self.exchange(status);
        if self.has(Defect::InitStatusForgotten)
            && let Some(all) = status["initContainerStatuses"].as_array_mut()
        {
            all.retain(|of| of["state"].get("terminated").is_none());
        }
        let loops = of.containers.iter().any(|container| container.starts > 2 && !container.is_running());
        if status["phase"] == "Running" && loops && self.has(Defect::PendingAfterSecondRestart) {
            status["phase"] = json!("Pending");
        }
    }

    fn exchange(&self, status: &mut Value) {
        let Some([first, second, ..]) = status["containerStatuses"].as_array_mut().map(Vec::as_mut_slice)
        else {
            return;
        };
        if self.has(Defect::StatusesExchanged) {
            std::mem::swap(first, second);
            let name = first["name"].take();
            first["name"] = std::mem::replace(&mut second["name"], name);
        }
        if self.has(Defect::ReadinessExchanged) {
            let ready = first["ready"].take();
            first["ready"] = std::mem::replace(&mut second["ready"], ready);
        }
    }

    /// The exit status with which the end of a container is shown.
    pub(super) fn code_told(&self, killed: Option<ProbeKind>, code: i64) -> i64 {
        let kind = killed == Some(ProbeKind::Liveness);
        if kind && self.has(Defect::LivenessKillShownAsZero) { 0 } else { code }
    }

    /// How long a container waits after its end, in place of `wait`.
    pub(super) fn wait_of(&self, at: At, ended: &Ended, wait: i64) -> i64 {
        let of = &self.pods[at.pod].containers;
        let shared = of.iter().map(|container| container.back_off.wait).max().unwrap_or(0);
        match () {
            () if self.is_tried_at_once(at) => 0,
            () if wait == 0 && self.has(Defect::FirstRestartWaitsSix) => 6 * SECOND,
            () if self.has(Defect::BackOffOfPod) => wait.max(shared),
            () if ended.code == 0 && self.has(Defect::NoBackOffAfterSuccess) => 0,
            () if self.is_sidecar(at) && self.has(Defect::NoBackOffForSidecars) => 0,
            () => self.wait_among_sidecars(at, wait),
        }
    }

    /// The next delay of a back-off.
    pub(super) fn next_wait(&self, wait: i64, next: i64) -> i64 {
        match wait {
            0 if self.has(Defect::BackOffOfEight) => 8 * SECOND,
            0 if self.has(Defect::BackOffOfSix) => 6 * SECOND,
            // A microsecond distinguishes the first delay from its repetition.
            wait if wait == 10 * SECOND && self.has(Defect::SecondDelayNotDoubled) => wait + 1,
            wait if wait > 0 && self.has(Defect::BackOffGrowsByHalf) => wait * 3 / 2,
            _ => next,
        }
    }

    /// The container that is killed in place of another container of the same pod.
    pub(super) fn killed_for(&self, at: At) -> At {
        let all = &self.pods[at.pod].containers;
        match all.iter().position(|of| of.kind == Kind::Main && of.is_running()) {
            Some(container) if self.is_second(at) && self.has(Defect::FirstContainerKilled) => {
                At { pod: at.pod, container }
            }
            _ => at,
        }
    }

    /// The effects of a sidecar's restart on the main containers.
    pub(super) fn after_start_of_sidecar(&mut self, at: At) {
        let again = self.is_sidecar(at) && self.is_again(at);
        if !again || !self.has(Defect::SidecarRestartRestartsMains) {
            return;
        }
        for container in 0..self.pods[at.pod].containers.len() {
            let of = &self.pods[at.pod].containers[container];
            if of.kind == Kind::Main && of.is_running() {
                let life = LifeAt { at: At { pod: at.pod, container }, attempt: of.attempt() };
                self.later(100 * MS, Act::Force(life));
            }
        }
    }

    /// How much longer than its grace period a container may run.
    pub(super) fn grace_off(&self, by_probe: bool) -> i64 {
        let (less, more) = match by_probe {
            true => (Defect::ProbeGraceSecondLess, Defect::ProbeGraceSecondAndAHalfMore),
            false => (Defect::DeletionGraceSecondLess, Defect::DeletionGraceSecondAndAHalfMore),
        };
        match () {
            () if self.has(less) => -SECOND,
            () if self.has(more) => 1500 * MS,
            () => 0,
        }
    }

    /// Whether a preStop hook is forgotten.
    pub(super) fn forgets_hook(&self, at: At) -> bool {
        let killing = self.pods[at.pod].containers[at.container].killing;
        (killing == Some(ProbeKind::Startup) && self.has(Defect::HookSkippedByStartup))
            || (self.is_sidecar(at) && self.has(Defect::HookOfSidecarsSkipped))
    }

    /// Reports events that must not be reported, or repeats them.
    pub(super) fn report_more(&mut self, at: At, passed: bool, kind: ProbeKind) {
        if passed && self.has(Defect::SuccessReported) {
            let message = format!("{} probe passed", kind.word());
            self.record(at.pod, at.container, "Warning", "Unhealthy", &message);
        }
    }

    /// Whether a failure is not reported.
    pub(super) fn is_silent_about(&self, at: At, kind: ProbeKind) -> bool {
        (self.is_sidecar(at) && self.has(Defect::SidecarFailuresUnreported))
            || (kind == ProbeKind::Startup && self.has(Defect::StartupFailuresUnreported))
    }
}

impl Container {
    /// Whether a container is ready but not shown as ready yet.
    fn rises(&self, object: &Value) -> bool {
        self.view.ready && shown_status(object, &self.name)["ready"] != true
    }
}

/// The status of a container in an object of the API.
pub(super) fn shown_status<'v>(object: &'v Value, name: &str) -> &'v Value {
    let lists = ["containerStatuses", "initContainerStatuses"];
    let mut all = lists.iter().flat_map(|list| object["status"][list].as_array().into_iter().flatten());
    all.find(|status| status["name"] == name).unwrap_or(&Value::Null)
}
