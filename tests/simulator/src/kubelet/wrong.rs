//! Defects of a kubelet that need more than a single condition: workers that wait for each other, readiness that
//! depends on all ports, kills of the wrong container, and sidecars that restart in a terminating pod.

use probity_model::timeline::ProbeKind;
use probity_script::answer::ListenState;

use crate::Defect;
use crate::pod::Kind;
use crate::world::{At, LifeAt, MS, World};

impl World<'_> {
    /// Whether a probe waits because another one is running.
    pub(super) fn waits_for_another(&self, at: At, kind: ProbeKind) -> bool {
        let (pod, container) = (self.has(Defect::OneWorkerPerPod), self.has(Defect::OneWorkerPerContainer));
        let mut others = self.pods[at.pod].containers.iter().enumerate();
        let waits = others.any(|(place, other)| {
            (pod || (container && place == at.container)) && other.workers.iter().any(|worker| worker.busy)
        });
        waits || self.waits_for_command(at, kind)
    }

    /// Whether a readiness command waits for the readiness command of another container.
    fn waits_for_command(&self, at: At, kind: ProbeKind) -> bool {
        let readiness = ProbeKind::Readiness;
        let runs = |container: usize| {
            let mut workers = self.pods[at.pod].containers[container].workers.iter();
            self.is_by(At { container, ..at }, readiness, "exec")
                && workers.any(|worker| worker.kind == readiness && worker.busy)
        };
        kind == readiness
            && self.is_by(at, kind, "exec")
            && (0..self.pods[at.pod].containers.len()).any(|other| other != at.container && runs(other))
            && self.has(Defect::ReadinessCommandsTakeTurns)
    }

    /// How a result counts.
    pub(super) fn taken_for(&self, at: At, kind: ProbeKind, passed: bool) -> bool {
        let of = &self.pods[at.pod].containers[at.container];
        if kind == ProbeKind::Readiness
            && of.view.ready
            && of.kind == Kind::Sidecar
            && self.has(Defect::SidecarStaysReady)
        {
            return true;
        }
        passed
            && !(kind == ProbeKind::Readiness
                && self.has(Defect::ReadinessNeedsAllPorts)
                && self.has_shut(at))
    }

    /// Whether a port of the container's process is closed.
    fn has_shut(&self, at: At) -> bool {
        let life = LifeAt { at, attempt: self.pods[at.pod].containers[at.container].attempt() };
        let names = self.life(life).map(|life| life.plan.listeners.keys().cloned().collect::<Vec<_>>());
        names.into_iter().flatten().any(|name| self.door(life, &name) != ListenState::Open)
    }

    /// The container that is killed when a probe of this container reaches its threshold.
    pub(super) fn victim(&self, at: At) -> At {
        if !self.has(Defect::KillsByNameOnly) {
            return at;
        }
        let name = &self.pods[at.pod].containers[at.container].name;
        let others = (at.pod + 1..self.pods.len()).chain(0..at.pod);
        let mut places = others.filter_map(|pod| {
            let mut containers = self.pods[pod].containers.iter();
            let container = containers.position(|other| other.name == *name && other.is_running())?;
            self.pods[pod].deleted.is_none().then_some(At { pod, container })
        });
        places.nth(1).unwrap_or(at)
    }

    /// A liveness probe reached its threshold in a terminating pod.
    pub(super) fn failed_in_termination(&mut self, at: At, kind: ProbeKind) {
        if self.comes_back_in_termination(at) && kind == ProbeKind::Liveness {
            self.kill_by_probe(at, kind);
        }
    }

    /// Whether a container restarts although its pod terminates.
    pub(super) fn comes_back_in_termination(&self, at: At) -> bool {
        let of = &self.pods[at.pod];
        self.has(Defect::SidecarRestartsInTermination)
            && of.deleted.is_some()
            && !of.gone
            && of.containers[at.container].kind == Kind::Sidecar
    }
}

/// How soon a container restarts although its pod terminates.
pub(super) const SOON: i64 = 200 * MS;
