//! What a defective kubelet shows about a pod and its containers: wrong phases, states, times and statuses.

use serde_json::{Value, json};

use crate::Defect;
use crate::pod::{Container, Kind, State};
use crate::world::{Act, MS, SECOND, World};

/// The delay with which a defective kubelet shows something late.
const LATE: i64 = 10 * SECOND;
/// How much later a container seems to have started.
const STARTED_LATE: i64 = 5 * SECOND;
/// For how much longer a pod is shown as Pending.
const PENDING_LATE: i64 = 6 * SECOND;
/// The time after which a pod that has ended is shown as Running again.
const AGAIN: i64 = 2 * SECOND;

impl World<'_> {
    /// The phase that is shown.
    pub(crate) fn shown_phase(&self, pod: usize) -> &'static str {
        let (of, phase) = (&self.pods[pod], self.phase_by_helpers(pod, self.phase(pod)));
        let mains = || of.containers.iter().filter(|container| container.kind == Kind::Main);
        let looping =
            mains().any(|container| matches!(container.view.state, State::Waiting("CrashLoopBackOff")));
        let well =
            |container: &Container| matches!(&container.view.state, State::Ended(ended) if ended.code == 0);
        let over = matches!(phase, "Succeeded" | "Failed");
        let was_over = matches!(of.object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        let young = mains().any(
            |container| matches!(container.state, State::Running(since) if self.now - since < PENDING_LATE),
        );
        let has_rules = |container: &Container| container.spec["restartPolicyRules"].is_array();
        let fresh = mains().all(|container| container.starts <= 1);
        match () {
            () if self.has(Defect::PhaseIsKubectlStatus) && looping => "CrashLoopBackOff",
            () if self.has(Defect::PhaseIsKubectlStatus) && of.deleted.is_some() && !over => "Terminating",
            () if self.has(Defect::UnknownInBackOff) && looping && phase == "Running" => "Unknown",
            () if self.has(Defect::RunningWhenBound) && phase == "Pending" => "Running",
            () if self.has(Defect::PendingForLong) && phase == "Running" && young && fresh => "Pending",
            () if self.has(Defect::PendingBetweenRestarts) && looping => "Pending",
            () if self.has(Defect::OverAtFirstEnd) && phase == "Running" && mains().any(well) => "Succeeded",
            () if self.has(Defect::LeavesTerminalPhase) && over && was_over => "Running",
            () if self.has(Defect::RemovedWhileRunning) && over && of.deleted.is_some() => "Running",
            () if over && self.is_kept(pod) && self.has(Defect::HeldPodsStayRunning) => "Running",
            () if over && self.is_kept(pod) && self.has(Defect::HeldPodsFail) => "Failed",
            () if over && self.has(Defect::RulesKeepRunning) && mains().any(has_rules) => "Running",
            () if self.has(Defect::FailuresSucceed) && over => "Succeeded",
            () if self.has(Defect::SuccessesFail) && over => "Failed",
            // A pod ends only when none of its containers runs.
            () if over && !was_over && of.containers.iter().any(Container::is_running) => {
                if of.object["status"]["phase"] == "Pending" { "Pending" } else { "Running" }
            }
            () => phase,
        }
    }

    /// Whether a finalizer keeps a pod that was deleted.
    fn is_kept(&self, pod: usize) -> bool {
        self.pods[pod].deleted.is_some() && self.has_finalizers(pod)
    }

    /// Publishes the status again later, for values that are wrong only for some time, or only after some time.
    pub(crate) fn show_once_more(&mut self, pod: usize) {
        let over = matches!(self.phase(pod), "Succeeded" | "Failed");
        if over && self.has(Defect::LeavesTerminalPhase) {
            self.later(AGAIN, Act::Publish(pod));
        }
        if self.has(Defect::PendingForLong) {
            self.later(PENDING_LATE + MS, Act::Publish(pod));
        }
        if self.has(Defect::EndShownLate) {
            self.later(LATE - SECOND, Act::Publish(pod));
            self.later(LATE + MS, Act::Publish(pod));
        }
    }

    /// Applies defects to the status of a container.
    pub(crate) fn misshow(&self, container: &Container, status: &mut Value) {
        let view = &container.view;
        if let State::Running(since) = view.state {
            if self.has(Defect::ShownInTwoStates) {
                status["state"]["waiting"] = json!({ "reason": "ContainerCreating" });
            }
            if self.has(Defect::StartedAtLate) {
                status["state"]["running"]["startedAt"] = json!(self.timestamp(since + STARTED_LATE));
            }
        }
        if self.has(Defect::WaitsWithoutReason) && matches!(view.state, State::Waiting(_)) {
            status["state"]["waiting"] = json!({});
        }
        if let State::Ended(ended) = &view.state
            && self.has(Defect::EndShownLate)
            && self.now - ended.finished < LATE
        {
            status["state"] = json!({ "running": { "startedAt": self.timestamp(ended.started) } });
            // This note changes the status, so that it is written again.
            status["note"] = json!(self.now);
        }
        self.misdate_start(container, status);
        self.misshow_running(container, status);
        for place in ["state", "lastState"] {
            if let Some(ended) = status[place].get_mut("terminated") {
                self.misshow_end(container, ended);
            }
        }
    }

    fn misshow_end(&self, container: &Container, ended: &mut Value) {
        let finished = match (&container.view.state, &container.view.last) {
            (State::Ended(ended), _) | (_, Some(ended)) => ended.finished,
            _ => return,
        };
        let code = ended["exitCode"].as_i64().unwrap_or(0);
        if self.has(Defect::FinishedAtLate) {
            ended["finishedAt"] = json!(self.timestamp(finished + LATE));
        }
        if self.has(Defect::ExitStatusFlattened) && code != 0 {
            ended["exitCode"] = json!(1);
        }
        if self.has(Defect::KillShownAsCompletion) && code == 137 {
            ended["exitCode"] = json!(0);
            ended["reason"] = json!("Completed");
        }
        if self.has(Defect::EndWithoutReason)
            && let Some(ended) = ended.as_object_mut()
        {
            ended.remove("reason");
        }
    }
}
