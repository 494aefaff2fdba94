//! Errors that have an effect only in one situation, such as a probe that hangs while its pod is deleted, or a kubelet
//! that restarts while an init container is running.

use probity_model::timeline::ProbeKind;

use crate::Defect;
use crate::call::Call;
use crate::pod::{Container, Kind, Pod, State};
use crate::updates::container_in;
use crate::world::{Act, At, LifeAt, SECOND, World};

/// Whether a change of some resource restarts a container.
fn is_restarted_by_resizes(of: &Container) -> bool {
    let policies = of.spec["resizePolicy"].as_array();
    policies.into_iter().flatten().any(|policy| policy["restartPolicy"] == "RestartContainer")
}

impl World<'_> {
    /// How long a defective kubelet waits for the probes in progress before it stops a pod that is being deleted.
    pub(super) fn rest_of_probes(&self, pod: usize) -> i64 {
        let whole = &self.pods[pod];
        let mut until = self.now;
        for (container, of) in whole.containers.iter().enumerate().filter(|_| whole.deleted.is_some()) {
            for worker in of.workers.iter().filter(|of| of.busy && of.kind != ProbeKind::Readiness) {
                until = until.max(worker.sent + self.patience(At { pod, container }, worker.kind));
            }
        }
        let rest = until - self.now;
        if rest > 0 && self.has(Defect::HangingProbeDelaysStop) { rest } else { 0 }
    }

    /// Whether a defective kubelet does not replace the image of a container because it has not started yet.
    pub(super) fn keeps_image_of_starting(&self, of: &Container) -> bool {
        of.is_running() && is_starting(of) && self.has(Defect::NewImageAwaitsStartup)
    }

    /// Whether a defective kubelet does not resize a container because it has not started yet.
    pub(crate) fn resize_awaits_startup(&self, at: At) -> bool {
        let of = &self.pods[at.pod].containers[at.container];
        is_starting(of) && self.has(Defect::ResizeAwaitsStartup)
    }

    /// A process exits. If there was no stop signal, a defective kubelet gives the next instance the original resources of
    /// the container, and not those of its resize.
    pub(super) fn forget_resize(&mut self, at: At, why: &str) {
        let of = &self.pods[at.pod].containers[at.container];
        if why == "stop" || of.enacted.is_none() || !self.has(Defect::CrashUndoesResize) {
            return;
        }
        let first = container_in(&self.pods[at.pod].first["spec"], &of.name);
        let first = first.map(|first| first["resources"].clone());
        self.pods[at.pod].containers[at.container].enacted = first;
    }

    /// Whether a restarted kubelet does not know that the readiness gates of a pod are True.
    pub(super) fn forgets_gates(&self, of: &Pod) -> bool {
        let gated = of.object["spec"]["readinessGates"].is_array();
        gated && self.node.restarted.is_some() && self.has(Defect::RestartForgetsGates)
    }

    /// The shortest time between the stop signal and the kill of a container.
    pub(super) fn least_grace_of(&self, at: At) -> i64 {
        let by_probe = self.pods[at.pod].containers[at.container].killing.is_some();
        if by_probe && self.has(Defect::ProbeKillHasNoLeastGrace) { 0 } else { self.least_grace() }
    }

    /// The grace period of a sidecar when its turn comes. A defective kubelet uses that of its probe if its pod is done.
    pub(super) fn grace_of_sidecar(&self, at: At, grace: i64) -> i64 {
        let of = &self.pods[at.pod];
        let own = of.containers[at.container].spec["livenessProbe"]["terminationGracePeriodSeconds"].as_i64();
        let own = own.filter(|_| of.deleted.is_none() && self.has(Defect::DoneSidecarsHaveProbeGrace));
        own.map_or(grace, |own| own * SECOND)
    }

    /// The call of a gRPC probe, whose connection can be used from this time on. A defective kubelet gives the request a
    /// timeout of its own.
    pub(crate) fn with_timeout_anew(&self, call: &Call, from: i64) -> Call {
        let waited = from - self.now;
        let anew = waited > 0 && self.has(Defect::GrpcTimeoutOfEachPart);
        Call { deadline: call.deadline + if anew { waited } else { 0 }, ..call.clone() }
    }

    /// Whether a defective kubelet takes an init container that was killed for its memory usage for one that has succeeded.
    pub(super) fn takes_lack_of_memory_for_success(&self, of: &Container) -> bool {
        of.out_of_memory && self.has(Defect::StarvedInitSucceeds)
    }

    /// Whether a restarted kubelet does not wait for an init container that is running.
    pub(super) fn skips_running_init(&self, of: &Container) -> bool {
        of.is_running() && self.node.restarted.is_some() && self.has(Defect::RestartSkipsRunningInit)
    }

    /// A defective kubelet has been restarted, and starts running containers of a pod again: init containers, and
    /// containers whose resources it no longer knows.
    pub(super) fn restart_the_running(&mut self, pod: usize, down: i64) {
        let until = self.now + down + self.pods[pod].grace();
        for container in 0..self.pods[pod].containers.len() {
            let of = &self.pods[pod].containers[container];
            let life = LifeAt { at: At { pod, container }, attempt: of.attempt() };
            let init = of.kind == Kind::Init && self.has(Defect::RestartRepeatsRunningInit);
            let resized = is_restarted_by_resizes(of) && self.has(Defect::RestartForgetsResources);
            if of.is_running() && (init || resized) {
                self.later(down, Act::Terminate(life, until));
            }
        }
    }

    /// A defective kubelet has been restarted, and starts again what has finished: ephemeral containers, and the sidecars
    /// of a pod that is over.
    pub(super) fn run_the_finished(&mut self, pod: usize) {
        let ephemeral = self.pods[pod].within.is_some();
        for container in 0..self.pods[pod].containers.len() {
            let of = &self.pods[pod].containers[container];
            let ended = matches!(of.state, State::Ended(_)) && !self.pods[pod].gone;
            let sidecar = of.kind == Kind::Sidecar;
            if (ended && ephemeral && self.has(Defect::RestartRunsEphemeral))
                || (ended && sidecar && self.has(Defect::RestartRevivesSidecars))
            {
                self.pods[pod].terminal &= !ephemeral;
                self.later(SECOND, Act::Start(At { pod, container }));
            }
        }
    }

    /// Whether a container of a pod that is over may start again, because the kubelet is defective and was restarted.
    pub(super) fn returns_with_kubelet(&self, at: At) -> bool {
        let sidecar = self.pods[at.pod].containers[at.container].kind == Kind::Sidecar;
        sidecar && self.node.restarted.is_some() && self.has(Defect::RestartRevivesSidecars)
    }

    /// Whether a restarted kubelet does not act on the first result of a probe of a container.
    pub(super) fn overlooks_first_result(&self, at: At) -> bool {
        let old = self.pods[at.pod].containers[at.container].outlived_kubelet();
        old && self.has(Defect::RestartOverlooksFirstResult)
    }
}

/// Whether the startup probe of a container has not succeeded yet.
fn is_starting(of: &Container) -> bool {
    of.probe(ProbeKind::Startup).is_some() && !of.view.started
}
