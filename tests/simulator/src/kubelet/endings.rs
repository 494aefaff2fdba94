//! How a defective kubelet stops containers in rare situations, and how long it waits for hooks.

use crate::Defect;
use crate::pod::Kind;
use crate::world::{Act, At, LifeAt, MS, SECOND, World};

/// When a defective kubelet cuts off a hook that is a request.
const REQUEST_CUT: i64 = 10 * SECOND;
/// When the sandbox of a pod is stopped that was deleted without a grace period.
const SANDBOX_STOPS: i64 = 3 * SECOND;

impl World<'_> {
    /// Whether the kubelet does not wait for the postStart hook of a sidecar.
    pub(super) fn forgets_request_hook(&self, at: At) -> bool {
        let of = &self.pods[at.pod].containers[at.container];
        let asks = of.spec["lifecycle"]["postStart"].get("httpGet").is_some();
        asks && of.kind == Kind::Sidecar && self.has(Defect::SidecarRequestHookUnawaited)
    }

    /// The time after which a defective kubelet cuts off a preStop hook, even if the grace period lasts longer.
    pub(super) fn cut_of_hook(&self, at: At) -> i64 {
        let of = &self.pods[at.pod];
        match () {
            () if of.deleted.is_some() && self.has(Defect::HookCutAtOwnGrace) => of.grace(),
            () if self.asks_before_stop(at) && self.has(Defect::RequestHookCutOff) => REQUEST_CUT,
            () => i64::MAX,
        }
    }

    /// Whether the preStop hook of a sidecar does not run, because its pod exceeded its deadline.
    pub(super) fn skips_hook_of_expired_sidecar(&self, at: At) -> bool {
        let of = &self.pods[at.pod];
        let sidecar = of.containers[at.container].kind == Kind::Sidecar;
        sidecar && of.expired && self.has(Defect::DeadlineSkipsSidecarHook)
    }

    /// Stops a container to give it new resources.
    pub(crate) fn stop_for_resize(&mut self, at: At, grace: i64) {
        if !self.has(Defect::ResizeRestartSkipsHook) {
            return self.stop_container(at, grace);
        }
        let life = LifeAt { at, attempt: self.pods[at.pod].containers[at.container].attempt() };
        let begins = self.now + 20 * MS;
        self.at(begins, Act::Terminate(life, begins + grace.max(self.least_grace())));
    }

    /// A container has ended. A defective kubelet forgets its back-off if its hook had failed.
    pub(super) fn forget_back_off(&mut self, at: At, hook_failed: bool) {
        if hook_failed && self.has(Defect::FailedHookNeverBacksOff) {
            self.pods[at.pod].containers[at.container].back_off.wait = 0;
        }
    }

    /// For how long the sidecars of a pod wait for their turn at most.
    pub(super) fn longest_wait_for_turn(&self, pod: usize, grace: i64) -> i64 {
        let of = &self.pods[pod];
        let own = of.deleted.is_some() && self.has(Defect::SidecarsWaitOwnGrace);
        if own { grace.min(of.grace()) } else { grace }
    }

    /// Whether the sidecars of a pod wait for no other container.
    pub(super) fn stops_out_of_order(&self, pod: usize) -> bool {
        let of = &self.pods[pod];
        let begun = of.containers.iter().any(|of| of.kind == Kind::Main && of.starts > 0);
        let failed = of.deleted.is_none() && !of.expired && !begun;
        (of.is_static && self.has(Defect::StaticSidecarsUnordered))
            || (failed && self.has(Defect::FailedInitStopsSidecarsTogether))
            || (self.goes_without_mains(pod) && self.has(Defect::SidecarsUnorderedWithoutMains))
    }

    /// Leaves the sidecars of a pod that is deleted without a grace period to the end of its sandbox, if a defect requires this;
    /// returns whether it did.
    pub(super) fn leaves_helpers_to_sandbox(&mut self, pod: usize) -> bool {
        let forced = self.pods[pod].deleted.is_some_and(|(_, asked)| asked == 0);
        if !forced || !self.has(Defect::ForcedSidecarWithoutSignal) {
            return false;
        }
        for container in 0..self.pods[pod].containers.len() {
            let of = &self.pods[pod].containers[container];
            if of.kind == Kind::Sidecar && of.is_running() {
                let life = LifeAt { at: At { pod, container }, attempt: of.attempt() };
                self.later(SANDBOX_STOPS, Act::Force(life));
            }
        }
        true
    }

    /// A pod has completed: its ephemeral containers are stopped.
    pub(super) fn stop_ephemeral_of_completed(&mut self, pod: usize) {
        if !self.has(Defect::EphemeralKilledAtCompletion) {
            return self.stop_ephemeral(pod);
        }
        for number in 0..self.pods.len() {
            let of = &self.pods[number];
            if of.within == Some(pod) && of.containers[0].is_running() {
                let life =
                    LifeAt { at: At { pod: number, container: 0 }, attempt: of.containers[0].attempt() };
                self.later(20 * MS, Act::Force(life));
            }
        }
    }
}
