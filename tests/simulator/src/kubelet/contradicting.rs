//! Statuses of a defective kubelet that contradict themselves, its own events, or what the containers have.

use serde_json::{Value, json};

use crate::Defect;
use crate::pod::{Container, Ended, Kind, State};
use crate::world::{At, SECOND, World};

/// By how much a timestamp of a defective kubelet is too early.
const EARLY: i64 = 3 * SECOND;
/// How long after it has shown a resize as complete a defective kubelet enacts it.
const ENACTED_LATE: i64 = 6 * SECOND;
/// One in this many status updates is wrong.
const SOMETIMES: u64 = 4;

impl World<'_> {
    /// Whether the next status of a pod shows it as not ready for no reason.
    fn falls_alone(&self, pod: usize) -> bool {
        self.has(Defect::ReadyFallsAlone) && self.pods[pod].written.is_multiple_of(SOMETIMES)
    }

    /// Applies defects to the conditions in a status of a pod.
    pub(crate) fn contradict(&self, pod: usize, status: &mut Value) {
        let gated = self.pods[pod].object["spec"]["readinessGates"].is_array();
        if gated || !self.falls_alone(pod) {
            return;
        }
        for condition in status["conditions"].as_array_mut().into_iter().flatten() {
            if condition["type"] == "Ready" {
                condition["status"] = json!("False");
            }
        }
    }

    /// Writes the right status soon after a wrong one.
    pub(crate) fn correct(&mut self, pod: usize) {
        if self.falls_alone(pod) {
            self.touch(pod);
        }
    }

    /// Applies a defect to the time of a condition that has just become True.
    pub(crate) fn date_too_early(&self, condition: &mut Value) {
        let ready = ["Ready", "ContainersReady"].iter().any(|kind| condition["type"] == *kind);
        if ready && condition["status"] == "True" && self.has(Defect::ReadyTimeThreeSecondsEarly) {
            condition["lastTransitionTime"] = json!(self.timestamp(self.now - EARLY));
        }
    }

    /// The main containers that a defective kubelet names as if its pod waited for them.
    pub(crate) fn named_mains(&self, pod: usize) -> Vec<&str> {
        let named = |of: &&Container| of.kind == Kind::Main && self.has(Defect::UninitializedNamesMains);
        self.pods[pod].containers.iter().filter(named).map(|of| of.name.as_str()).collect()
    }

    /// Applies defects to the status of a container.
    pub(crate) fn contradict_container(&self, container: &Container, status: &mut Value) {
        let view = &container.view;
        let waits = matches!(view.state, State::Waiting("CrashLoopBackOff"));
        let lacked_memory =
            container.out_of_memory && view.last.as_ref().is_some_and(|last| last.code == 137) && !waits;
        if (container.kind == Kind::Init && self.has(Defect::LastStateOfInitsLost))
            || (lacked_memory && self.has(Defect::LastStateLostAfterLackOfMemory))
            || (waits && self.has(Defect::LastStateLostInBackOff))
        {
            status["lastState"] = json!({});
        }
        if self.has(Defect::StartedAtThreeSecondsEarly) {
            self.date_back(container, status);
        }
    }

    fn date_back(&self, container: &Container, status: &mut Value) {
        let view = &container.view;
        let of_end = |ended: &Ended| json!(self.timestamp(ended.started - EARLY));
        match &view.state {
            State::Running(since) => {
                status["state"]["running"]["startedAt"] = json!(self.timestamp(since - EARLY));
            }
            State::Ended(ended) => status["state"]["terminated"]["startedAt"] = of_end(ended),
            State::Waiting(_) => {}
        }
        if let Some(last) = view.last.as_ref().filter(|_| status["lastState"]["terminated"].is_object()) {
            status["lastState"]["terminated"]["startedAt"] = of_end(last);
        }
    }

    /// Leaves the old limits in the cgroup of a container for some time, although its resize is enacted.
    pub(crate) fn enact_late(&mut self, at: At, old: &Value) {
        let until = self.now + ENACTED_LATE;
        if self.has(Defect::ResizeShownBeforeEnacted) {
            self.pods[at.pod].containers[at.container].enacted_late = Some((until, old.clone()));
        }
    }

    /// The limits in the cgroup of a container, given those that it should have.
    pub(crate) fn limits_in_cgroup<'v>(&self, of: &'v Container, limits: &'v Value) -> &'v Value {
        match &of.enacted_late {
            Some((until, old)) if self.now < *until => &old["limits"],
            _ => limits,
        }
    }

    /// By how much the limits in cgroups are larger than they should be.
    pub(crate) fn limits_factor(&self) -> i64 {
        if self.has(Defect::AllLimitsDoubled) { 2 } else { 1 }
    }

    /// The content of the file with the host name, given this name.
    pub(crate) fn hostname_file(&self, host: &str) -> String {
        let host = if self.has(Defect::HostnameFileOfNode) { probity_composer::NODE } else { host };
        format!("{host}\n")
    }
}
