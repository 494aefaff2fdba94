//! The actions of a defective kubelet that acts on probes too early, sends them in the wrong form, or leaves them out
//! in rare situations.

use probity_model::timeline::ProbeKind;

use super::Back;
use super::prober::{KUBELET, Run};
use crate::Defect;
use crate::call::{Call, CallResult};
use crate::world::{Act, At, LifeAt, MS, World};

/// More failures than any threshold.
const MANY: u64 = 1000;

impl World<'_> {
    /// Whether a single failure of a probe has an effect.
    pub(super) fn settles_at_once(&self, at: At, kind: ProbeKind, passed: bool) -> bool {
        if passed || !self.is_by(at, kind, "exec") {
            return false;
        }
        let workers = &self.pods[at.pod].containers[at.container].workers;
        let never_passed = workers.iter().any(|worker| worker.kind == kind && worker.results.0 == 0);
        match kind {
            ProbeKind::Readiness => self.has(Defect::ReadinessCommandFailsAtOnce),
            _ => never_passed && self.has(Defect::CommandFailsAtOnceAtStart),
        }
    }

    /// Whether the results of a probe are counted in total and not in a row.
    pub(super) fn counts_in_all(&self, at: At, passed: bool) -> bool {
        let defect =
            if passed { Defect::SidecarSuccessesCountedInAll } else { Defect::SidecarFailuresCountedInAll };
        self.is_sidecar(at) && self.has(defect)
    }

    /// Handles the response to a probe before it is evaluated: a refusal may count as all the failures that the
    /// threshold requires.
    pub(super) fn heed_refusal(&mut self, run: &Run, back: &Back) {
        let refused = matches!(back, Back::Answer(CallResult::Refused));
        if refused
            && (self.has(Defect::RefusedConnectionSettles)
                || (run.kind == ProbeKind::Readiness && self.has(Defect::RefusalMakesUnready)))
            && let Some(worker) = self.worker(run.at, run.kind)
        {
            (worker.last, worker.streak) = (Some(false), MANY);
        }
    }

    /// Connects without sending anything: in place of an HTTP probe, which then ends, or before it.
    pub(super) fn connect_only(&mut self, run: &Run, host: &str, port: u16) -> Option<(i64, Back)> {
        let only = run.kind == ProbeKind::Liveness && self.has(Defect::HttpLivenessOnlyConnects);
        if !only && !self.has(Defect::HttpConnectsBesides) {
            return None;
        }
        let (when, answer) = self.call(&Call::new(KUBELET.to_owned(), host.to_owned(), port, run.deadline));
        only.then_some((when, Back::Answer(answer)))
    }

    /// Whether a probe is left out because of a defect.
    pub(super) fn is_forgotten(&mut self, at: At, kind: ProbeKind) -> bool {
        let container = &self.pods[at.pod].containers[at.container];
        let killing = container.killing;
        let command = killing == Some(ProbeKind::Liveness)
            && self.is_by(at, kind, "exec")
            && self.has(Defect::ReadinessCommandStopsInProbeKill);
        let frozen = kind == ProbeKind::Readiness
            && (command || (killing.is_some() && self.has(Defect::ReadinessStopsInProbeKill)));
        let half = self.period(at, kind) / 2;
        let heeds = kind == ProbeKind::Liveness && self.has(Defect::SlowLivenessLosesTurn);
        let Some(worker) = self.worker(at, kind) else { return true };
        let slow = heeds && std::mem::take(&mut worker.took) >= half;
        frozen || slow
    }

    /// Whether a defective kubelet ends the probes of a container that it restarts.
    pub(super) fn ends_probes(&self, at: At) -> bool {
        let of = &self.pods[at.pod];
        let own = of.containers[at.container].spec["restartPolicy"].is_string();
        (self.policy_of(at) == "OnFailure" && self.has(Defect::OnFailureEndsProbes))
            || (own
                && of.restart_policy() == "Never"
                && self.is_second(at)
                && self.has(Defect::OwnPolicyEndsProbes))
    }

    /// The other containers of a pod are killed with one of them.
    pub(super) fn kill_neighbors(&mut self, at: At) {
        if !self.has(Defect::NeighborsKilledHard) {
            return;
        }
        for container in (0..self.pods[at.pod].containers.len()).filter(|other| *other != at.container) {
            let other = At { pod: at.pod, container };
            let life = LifeAt { at: other, attempt: self.pods[at.pod].containers[container].attempt() };
            self.later(MS, Act::Force(life));
        }
    }
}
