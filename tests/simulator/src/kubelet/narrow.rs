//! A kubelet that is wrong only for one kind of probe or container.

use probity_model::timeline::ProbeKind;

use super::http::Leg;
use super::prober::Run;
use crate::Defect;
use crate::pod::{Container, Kind};
use crate::world::{At, SECOND, World};

impl World<'_> {
    /// Whether an exit status with which a shell fails has no result.
    pub(super) fn discards_shell_error(&self, kind: ProbeKind) -> bool {
        kind == ProbeKind::Liveness && self.has(Defect::LivenessShellErrorsDiscarded)
    }

    /// Whether a failed TLS handshake has no result.
    pub(super) fn discards_handshake(&self, run: &Run, why: &str) -> bool {
        let of_handshake = why.contains("tls: ") || why.ends_with("to HTTPS client");
        run.kind != ProbeKind::Readiness
            && run.leg.is_secure()
            && of_handshake
            && self.has(Defect::HandshakeFailureDiscarded)
    }

    /// The timeout of a command among those of the other commands with which its container is probed.
    pub(super) fn timeout_among_commands(&self, at: At, kind: ProbeKind, timeout: i64) -> i64 {
        let of = |kind: ProbeKind| self.setting_of(at, kind, "timeoutSeconds") * SECOND;
        let commands = ProbeKind::ALL.into_iter().filter(|kind| self.is_by(at, *kind, "exec"));
        match commands.map(of).max() {
            Some(longest)
                if longest > timeout
                    && self.is_by(at, kind, "exec")
                    && self.has(Defect::ExecTimeoutIsLongest) =>
            {
                longest
            }
            _ => timeout,
        }
    }

    /// Whether a liveness probe does not wait for the start of its container.
    pub(super) fn liveness_ignores_startup(&self, at: At) -> bool {
        let command = self.is_by(at, ProbeKind::Liveness, "exec");
        self.has(Defect::LivenessIgnoresStartup)
            || (command && self.has(Defect::LivenessCommandIgnoresStartup))
    }

    /// Whether the liveness probe of a sidecar waits for the init containers.
    pub(super) fn waits_for_inits(&self, at: At) -> bool {
        let kind = self.pods[at.pod].containers[at.container].kind;
        kind == Kind::Sidecar && !self.is_initialized(at.pod) && self.has(Defect::SidecarLivenessAfterInits)
    }

    /// Whether a liveness command continues in a deleted pod.
    pub(super) fn command_goes_on(&self, at: At) -> bool {
        self.is_by(at, ProbeKind::Liveness, "exec") && self.has(Defect::LivenessCommandGoesOnInTermination)
    }

    /// Whether a custom Host header is lost on a redirect of this request.
    pub(super) fn loses_host(&self, leg: &Leg) -> bool {
        self.has(Defect::DropsHostOnRedirect)
            || (!leg.is_first() && self.has(Defect::HostLostOnSecondRedirect))
    }

    /// Whether a success of a probe leaves its failures as they are.
    pub(super) fn adds_failures(&self, at: At, kind: ProbeKind, passed: bool) -> bool {
        !passed && self.is_by(at, kind, "tcpSocket") && self.has(Defect::TcpFailuresCountedInAll)
    }

    /// Whether the liveness probe of a container sends no call because the readiness probe sends the same one.
    pub(super) fn shares_call(&self, at: At) -> bool {
        let spec = &self.pods[at.pod].containers[at.container].spec;
        let (live, ready) = (&spec["livenessProbe"], &spec["readinessProbe"]);
        let same = |field: &str| !live[field].is_null() && live[field] == ready[field];
        same("grpc") && same("periodSeconds") && self.has(Defect::SharedGrpcServiceAskedOnce)
    }

    /// Whether a result of the readiness probe is also a result of the liveness probe.
    pub(super) fn counts_for_liveness(&self, at: At, kind: ProbeKind, id: &str) -> bool {
        let workers = &self.pods[at.pod].containers[at.container].workers;
        let mut others = workers.iter().filter(|worker| worker.kind == ProbeKind::Liveness && !worker.hold);
        kind == ProbeKind::Readiness && others.any(|worker| worker.id == id) && self.shares_call(at)
    }

    /// Whether the grace period of a probe has no effect.
    pub(super) fn ignores_grace(&self, at: At, kind: ProbeKind) -> bool {
        !self.is_by(at, kind, "httpGet") && self.has(Defect::ProbeGraceForHttpOnly)
    }

    /// The liveness probes of a new pod continue the runs of failures of an earlier pod with the same name.
    pub(super) fn continue_failures(&mut self, pod: usize) {
        let name = &self.pods[pod].name;
        let Some(before) = self.pods[..pod].iter().rfind(|of| of.name == *name) else { return };
        let failures = |container: &Container| {
            let mut workers = container.workers.iter();
            let worker = workers.find(|worker| worker.kind == ProbeKind::Liveness)?;
            (worker.last == Some(false)).then_some(worker.streak)
        };
        let runs: Vec<Option<u64>> = before.containers.iter().map(failures).collect();
        if runs.iter().all(Option::is_none) || !self.has(Defect::FailuresOfNamesake) {
            return;
        }
        for (container, run) in self.pods[pod].containers.iter_mut().zip(runs) {
            if let (Some(worker), Some(run)) = (container.worker(ProbeKind::Liveness), run) {
                (worker.last, worker.streak) = (Some(false), run);
            }
        }
    }

    /// Whether a sidecar that ended with this status is no longer probed.
    pub(super) fn leaves_unprobed(&self, at: At, code: i64) -> bool {
        code == 0
            && self.is_sidecar(at)
            && self.pods[at.pod].restart_policy() == "Never"
            && self.has(Defect::SucceededSidecarUnprobed)
    }

    /// How long a container waits after its end: its own delay, or that of another sidecar.
    pub(super) fn wait_among_sidecars(&self, at: At, wait: i64) -> i64 {
        let sidecars = self.pods[at.pod].containers.iter().filter(|of| of.kind == Kind::Sidecar);
        let shared = sidecars.map(|of| of.back_off.wait).max().unwrap_or(0);
        let shares = self.is_sidecar(at) && shared > wait && self.has(Defect::SidecarsShareBackOff);
        if shares { shared } else { wait }
    }

    /// Whether the preStop hook of a sidecar runs only when the sidecar may stop.
    pub(super) fn runs_hook_in_turn(&self, at: At) -> bool {
        self.has(Defect::SidecarHooksInTurn)
            || (self.asks_before_stop(at) && self.has(Defect::RequestHookOfSidecarWaits))
    }
}
