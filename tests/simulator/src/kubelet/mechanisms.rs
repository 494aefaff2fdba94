//! A kubelet that is wrong only for probes that are not HTTP requests, or only in a later instance of a container.

use probity_model::timeline::ProbeKind;
use serde_json::{Value, json};

use super::prober::Run;
use crate::Defect;
use crate::pod::{Container, State};
use crate::world::{At, World};

/// One in this many TCP probes goes astray.
const SOMETIMES: u64 = 3;

impl World<'_> {
    /// Whether a container has a probe of this kind that is not an HTTP request.
    fn is_by_other(&self, at: At, kind: ProbeKind) -> bool {
        let probe = self.pods[at.pod].containers[at.container].probe(kind);
        probe.is_some_and(|probe| probe.get("httpGet").is_none())
    }

    /// Whether a readiness probe stops when its pod is deleted.
    pub(super) fn stops_readiness(&self, at: At) -> bool {
        self.is_by_other(at, ProbeKind::Readiness) && self.has(Defect::OtherReadinessStopsOnDelete)
    }

    /// Whether a liveness probe goes on although its container is being stopped because of it.
    pub(super) fn goes_on_after_failure(&self, at: At, kind: ProbeKind) -> bool {
        let other = self.is_by_other(at, kind) && self.has(Defect::OtherLivenessGoesOnAfterFailure);
        kind == ProbeKind::Liveness && (other || self.has(Defect::LivenessGoesOnAfterFailure))
    }

    /// Whether a liveness probe over TCP continues in a deleted pod.
    pub(super) fn connecting_goes_on(&self, at: At) -> bool {
        self.is_by(at, ProbeKind::Liveness, "tcpSocket") && self.has(Defect::TcpLivenessGoesOnInTermination)
    }

    /// Whether the delay of a probe is forgotten because its container was restarted.
    pub(super) fn forgets_delay(&self, at: At, kind: ProbeKind) -> bool {
        let other = kind != ProbeKind::Liveness && self.is_by_other(at, kind);
        other && self.is_again(at) && self.has(Defect::OtherDelaysInFirstLifeOnly)
    }

    /// Whether a restarted container counts as started at once because its startup probe is not an HTTP request.
    pub(super) fn starts_without_probe(&self, at: At) -> bool {
        self.is_by_other(at, ProbeKind::Startup) && self.has(Defect::OtherStartupRunsOnce)
    }

    /// The number of failures that a probe needs in a restarted container, if it differs from the spec.
    pub(super) fn threshold_after_restart(&self, at: At, kind: ProbeKind) -> Option<u64> {
        let command = kind == ProbeKind::Liveness && self.is_by(at, kind, "exec");
        (command && self.is_again(at) && self.has(Defect::LivenessCommandKillsOnce)).then_some(u64::MAX)
    }

    /// Whether a TCP probe goes to the loopback address of its pod.
    pub(super) fn goes_astray(&self, run: &Run) -> bool {
        let workers = &self.pods[run.at.pod].containers[run.at.container].workers;
        let mut workers = workers.iter().filter(|worker| worker.kind == run.kind);
        self.has(Defect::TcpSometimesThroughLoopback)
            && workers.any(|worker| worker.turns.is_multiple_of(SOMETIMES))
    }

    /// The kind of probe under which a result is counted.
    pub(super) fn counted_as(&self, kind: ProbeKind, passed: bool) -> ProbeKind {
        let other = !passed && self.has(Defect::ReadinessFailuresCountedAsLiveness);
        if other && kind == ProbeKind::Readiness { ProbeKind::Liveness } else { kind }
    }

    /// Shows the restart of the kubelet as the start of a container that was running then.
    pub(super) fn misdate_start(&self, container: &Container, status: &mut Value) {
        let State::Running(since) = container.view.state else { return };
        let restarted = self.node.restarted.filter(|restarted| since < *restarted);
        if let Some(restarted) = restarted.filter(|_| self.has(Defect::RestartMovesStart)) {
            status["state"]["running"]["startedAt"] = json!(self.timestamp(restarted));
        }
    }

    /// The name of a container in the message about its kill.
    pub(super) fn name_in_kill(&self, at: At) -> String {
        let all = &self.pods[at.pod].containers;
        let named = if self.has(Defect::KillNamesFirstContainer) { 0 } else { at.container };
        all[named].name.clone()
    }
}
