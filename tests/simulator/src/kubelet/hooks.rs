//! The hook after a container's start: the kubelet does nothing else for the pod until it is done, and stops the container if it
//! fails.

use crate::Defect;
use crate::pod::Kind;
use crate::world::{Act, At, LifeAt, MS, World};

/// How long after its start a container's hook comes.
const COMES: i64 = 30 * MS;

impl World<'_> {
    /// A container with a hook has started. Until the hook is done the kubelet does not look at the pod again.
    pub(super) fn hook_after_start(&mut self, at: At) {
        let hook = &self.pods[at.pod].containers[at.container].spec["lifecycle"]["postStart"];
        let once = self.is_again(at) && self.has(Defect::StartHookOnce);
        let of_sidecar = self.pods[at.pod].containers[at.container].kind == Kind::Sidecar;
        let once = once || (of_sidecar && self.has(Defect::PostStartOfSidecarsForgotten));
        if hook.is_null() || once || self.has(Defect::ProbesDuringPostStart) {
            return;
        }
        let life = LifeAt { at, attempt: self.pods[at.pod].containers[at.container].attempt() };
        if !self.has(Defect::StartHookUnawaited) {
            self.hold_up(at.pod, self.now + COMES + MS);
        }
        self.later(COMES, Act::Hook(life));
    }

    fn hold_up(&mut self, pod: usize, until: i64) {
        let of = &mut self.pods[pod];
        of.hooked_until = of.hooked_until.max(until);
        of.next_sync = of.next_sync.max(until);
    }

    /// The hook runs.
    pub(crate) fn run_start_hook(&mut self, life: LifeAt) {
        if self.life(life).is_none() {
            return;
        }
        let hook =
            self.pods[life.at.pod].containers[life.at.container].spec["lifecycle"]["postStart"].clone();
        let (ended, failed) = self.run_hook(life.at, &hook, i64::MAX);
        if !self.has(Defect::StartHookUnawaited) {
            self.hold_up(life.at.pod, ended);
        }
        if !failed && self.has(Defect::GoodHookReported) {
            self.at(ended, Act::Report(life.at, "Warning", "FailedPostStartHook", "PostStartHook failed"));
        }
        if failed && !self.has(Defect::FailedHookIgnored) {
            self.pods[life.at.pod].containers[life.at.container].failing = true;
            self.at(ended, Act::HookFailed(life));
        }
    }

    /// The hook has failed: the container is stopped.
    pub(crate) fn hook_failed(&mut self, life: LifeAt) {
        if self.life(life).is_some() {
            let LifeAt { at, .. } = life;
            if !self.has(Defect::FailedHookUnreported) {
                self.record(at.pod, at.container, "Warning", "FailedPostStartHook", "PostStartHook failed");
            }
            self.record(at.pod, at.container, "Normal", "Killing", "FailedPostStartHook");
            let short = self.has(Defect::FailedHookHasTwoSeconds);
            self.stop_container(at, if short { self.least_grace() } else { self.pods[at.pod].grace() });
        }
    }
}
