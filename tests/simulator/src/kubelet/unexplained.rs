//! The actions of a defective kubelet that ends pods and containers without a cause, and shows states that no container
//! has.

use probity_model::timeline::ProbeKind;
use serde_json::{Value, json};

use crate::Defect;
use crate::pod::{Container, Kind, Pod, State};
use crate::pressure::Cause;
use crate::world::{Act, At, LifeAt, MS, SECOND, World};

/// How long a pod without a deadline is left alone.
const LEFT_ALONE: i64 = 8 * SECOND;
/// How long a container that is killed without a cause runs before the kill.
const SPARED: i64 = 3 * SECOND;
/// How many instances of such a container are killed.
const KILLED: u64 = 2;
/// The period after its start in which a container that was shown as running is shown as waiting.
const FALLS_BACK: (i64, i64) = (4 * SECOND, 6 * SECOND);
/// For how long after its start a restarted container is shown as waiting.
const SHOWN_LATE: i64 = 8 * SECOND;

fn has_deadline(of: &Pod) -> bool {
    of.object["spec"]["activeDeadlineSeconds"].is_number()
}

impl World<'_> {
    /// Plans the end of a pod that has no deadline.
    pub(super) fn set_no_deadline(&mut self, pod: usize) {
        let ends = [
            Defect::DeadlineInvented,
            Defect::RunningPodRefused,
            Defect::EvictedWithoutCause,
            Defect::FailsWithoutReason,
            Defect::KubeletDeletesPod,
        ];
        if ends.into_iter().any(|defect| self.has(defect)) {
            self.later(LEFT_ALONE, Act::Expire(pod));
        }
    }

    /// Whether a pod without a deadline ends in a different way than a pod with a deadline.
    pub(super) fn goes_otherwise(&mut self, pod: usize) -> bool {
        if has_deadline(&self.pods[pod]) || self.pods[pod].deleted.is_some() {
            return false;
        }
        match () {
            () if self.has(Defect::EvictedWithoutCause) => self.end_by_eviction(pod, Cause::Storage),
            () if self.has(Defect::KubeletDeletesPod) => {
                self.ask_to_go(pod, self.pods[pod].grace() / SECOND);
            }
            () => return false,
        }
        true
    }

    /// The reason and the message of a pod that was ended like a pod with a deadline; `None` if it has no reason.
    pub(super) fn reason_of_end(&self, pod: usize) -> Option<(&'static str, &'static str)> {
        let invented = !has_deadline(&self.pods[pod]);
        match () {
            () if self.has(Defect::DeadlineUnexplained) => None,
            () if invented && self.has(Defect::FailsWithoutReason) => None,
            () if invented && self.has(Defect::RunningPodRefused) => {
                Some(("OutOfcpu", "Pod was rejected: Node didn't have enough resource: cpu"))
            }
            () => Some(("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")),
        }
    }

    /// Whether a deadline is ignored because no main container runs.
    pub(super) fn forgets_deadline(&self, pod: usize) -> bool {
        let mut mains = self.pods[pod].containers.iter().filter(|of| of.kind == Kind::Main);
        self.has(Defect::DeadlineNeedsRunning) && !mains.any(Container::is_running)
    }

    /// At the deadline, the sidecars of a pod are killed.
    pub(super) fn kill_sidecars(&mut self, pod: usize) {
        if !self.has(Defect::DeadlineKillsSidecars) {
            return;
        }
        for container in 0..self.pods[pod].containers.len() {
            let (at, of) = (At { pod, container }, &self.pods[pod].containers[container]);
            if of.kind == Kind::Sidecar && of.is_running() {
                let attempt = of.attempt();
                self.later(20 * MS, Act::Force(LifeAt { at, attempt }));
            }
        }
    }

    /// Whether a sidecar that was stopped after the pod's work restarts.
    pub(super) fn returns_after_stop(&self, at: At) -> bool {
        let of = &self.pods[at.pod];
        let container = &of.containers[at.container];
        let failed = match &container.state {
            State::Ended(ended) => ended.code != 0,
            State::Waiting(_) | State::Running(_) => false,
        };
        self.has(Defect::StoppedSidecarReturns)
            && (container.kind, container.starts) == (Kind::Sidecar, 1)
            && failed
            && of.terminal
            && !of.expired
            && of.deleted.is_none()
    }

    /// Whether the sidecars of a pod wait because there are several.
    pub(super) fn several_wait(&self, pod: usize) -> bool {
        let sidecars = self.pods[pod].containers.iter().filter(|of| of.kind == Kind::Sidecar);
        self.has(Defect::SeveralSidecarsWaitWhenDone) && sidecars.count() > 1
    }

    /// What will happen to a container that has just started.
    pub(super) fn follow_start(&mut self, at: At) {
        let container = &self.pods[at.pod].containers[at.container];
        let probed = ProbeKind::ALL
            .into_iter()
            .any(|kind| kind != ProbeKind::Readiness && container.probe(kind).is_some());
        let killed = match container.kind {
            Kind::Sidecar => self.has(Defect::SidecarsReplacedSilently),
            Kind::Main => self.has(Defect::MainsReplacedSilently),
            Kind::Init => false,
        };
        let attempt = container.attempt();
        if killed && !probed && attempt < KILLED {
            self.later(SPARED, Act::Force(LifeAt { at, attempt }));
        }
        let shown = match () {
            () if self.has(Defect::RunningFallsBackToWaiting) => vec![FALLS_BACK.0, FALLS_BACK.1],
            () if self.has(Defect::WaitingAfterRestart) => vec![SHOWN_LATE],
            () => Vec::new(),
        };
        for after in shown {
            self.later(after + MS, Act::Publish(at.pod));
        }
    }

    /// Shows a running container as waiting.
    pub(super) fn misshow_running(&self, container: &Container, status: &mut Value) {
        let State::Running(since) = container.view.state else { return };
        let age = self.now - since;
        let back = age > FALLS_BACK.0 && age < FALLS_BACK.1 && self.has(Defect::RunningFallsBackToWaiting);
        let late = container.attempt() > 0 && age < SHOWN_LATE && self.has(Defect::WaitingAfterRestart);
        let for_good = container.kind == Kind::Sidecar
            && container.attempt() > 0
            && self.has(Defect::SidecarWaitsAfterRestart);
        if back || late || for_good {
            status["state"] = json!({ "waiting": { "reason": "ContainerCreating" } });
        }
    }
}
