//! How a defective kubelet terminates pods: it stops containers too late, too early or never, or starts them although their pod
//! terminates.

use serde_json::Value;

use super::wrong::SOON;
use crate::Defect;
use crate::pod::{Container, Kind, State, Turn};
use crate::world::{Act, At, LifeAt, MS, SECOND, World};

/// How much later an init container gets its stop signal.
const LATE: i64 = 4 * SECOND;
/// How soon after its stop signal a defective kubelet kills a sidecar, which is too early.
const CUT_SHORT: i64 = 500 * MS;
/// A delay that is longer than any case.
const NEVER: i64 = 600 * SECOND;

impl World<'_> {
    /// How much later than others a container gets its stop signal.
    pub(super) fn told_later(&self, at: At) -> i64 {
        let init = self.pods[at.pod].containers[at.container].kind == Kind::Init;
        let late = init && self.pods[at.pod].deleted.is_some() && self.has(Defect::DeletedInitsToldLate);
        if late { LATE } else { 0 }
    }

    /// Whether no main container ran when a pod was deleted.
    pub(super) fn goes_without_mains(&self, pod: usize) -> bool {
        let Some((since, _)) = self.pods[pod].deleted else { return false };
        let ran = |of: &Container| match &of.state {
            State::Running(_) => true,
            State::Ended(ended) => ended.finished > since,
            State::Waiting(_) => false,
        };
        let mut mains = self.pods[pod].containers.iter().filter(|of| of.kind == Kind::Main);
        !mains.any(ran)
    }

    /// Whether a sidecar waits although no main container ran when its pod was deleted.
    pub(super) fn waits_for_no_main(&self, pod: usize) -> bool {
        self.goes_without_mains(pod) && self.has(Defect::SidecarsWaitForNoMain)
    }

    /// The time that a sidecar whose turn has come has until it is killed, if it differs from the rest of the grace
    /// period.
    pub(super) fn wrong_rest(&self, pod: usize) -> Option<i64> {
        let (deleted, expired) = (self.pods[pod].deleted.is_some(), self.pods[pod].expired);
        match () {
            () if deleted && self.has(Defect::DeletedSidecarsHaveTwoSeconds) => Some(self.least_grace()),
            () if deleted && self.has(Defect::DeletedSidecarsNeverKilled) => Some(NEVER),
            () if expired && self.has(Defect::ExpiredSidecarsHaveTwoSeconds) => Some(self.least_grace()),
            () if expired && self.has(Defect::ExpiredSidecarsCutShort) => Some(CUT_SHORT),
            () => None,
        }
    }

    /// Whether a sidecar with a hook is forgotten once the hook is done.
    pub(super) fn forgets_after_hook(&self, at: At, turn: Turn) -> bool {
        let hook = &self.pods[at.pod].containers[at.container].spec["lifecycle"]["preStop"];
        turn.hooked
            && !hook.is_null()
            && self.pods[at.pod].deleted.is_some()
            && self.has(Defect::HookedSidecarNotTold)
    }

    /// Whether a container starts although its pod terminates.
    pub(super) fn starts_while_leaving(&self, at: At) -> bool {
        let of = &self.pods[at.pod];
        let container = &of.containers[at.container];
        let waits = matches!(container.state, State::Waiting("CrashLoopBackOff"));
        let behind =
            of.containers[..at.container].iter().any(|of| of.kind == Kind::Init && of.life.is_none());
        let passes = container.starts == 0 && behind;
        match of.deleted {
            Some(_) => {
                (waits && self.has(Defect::BackOffOutlivesDeletion))
                    || (passes && self.has(Defect::StoppedInitPasses))
            }
            None => of.expired && passes && self.has(Defect::ExpiredInitPasses),
        }
    }

    /// An init container ended in a terminating pod: the next container may start nevertheless.
    pub(super) fn passes_on(&mut self, at: At, code: i64) {
        let of = &self.pods[at.pod];
        let container = at.container + 1;
        let passes = match of.deleted {
            Some(_) => self.has(Defect::StoppedInitPasses),
            None => of.expired && self.has(Defect::ExpiredInitPasses),
        };
        let init = of.containers[at.container].kind == Kind::Init;
        if passes && init && code == 0 && container < of.containers.len() {
            self.later(SOON, Act::Start(At { pod: at.pod, container }));
        }
    }

    /// Whether a preStop hook does not run because nobody deleted the pod: it is a request and no probe failed, or the pod is
    /// a static pod whose manifest was removed.
    pub(super) fn skips_hook_of_other_stops(&self, at: At) -> bool {
        let of = &self.pods[at.pod];
        let unprobed = of.containers[at.container].killing.is_none();
        let request = unprobed && of.deleted.is_none() && self.asks_before_stop(at);
        (request && self.has(Defect::RequestHookOnlyOnDeletion))
            || (of.is_static && of.deleted.is_some() && self.has(Defect::StaticPodsRemovedWithoutHooks))
    }

    /// Whether a container's preStop hook is a request.
    pub(super) fn asks_before_stop(&self, at: At) -> bool {
        self.pods[at.pod].containers[at.container].spec["lifecycle"]["preStop"].get("httpGet").is_some()
    }

    /// Whether a container gets no stop signal because its preStop hook was refused.
    pub(super) fn forgets_signal(&self, hook: &Value, (ended, failed): (i64, bool)) -> bool {
        let refused = failed && ended <= self.now && hook.get("httpGet").is_some();
        refused && self.has(Defect::RefusedHookForgetsSignal)
    }

    /// Kills the sidecars of a pod whose init container failed, if a defect requires this; returns whether it did.
    pub(super) fn kills_helpers(&mut self, pod: usize) -> bool {
        let of = &self.pods[pod];
        let begun = of.containers.iter().any(|of| of.kind == Kind::Main && of.starts > 0);
        let leaves = of.deleted.is_some() || of.expired || begun;
        if leaves || !self.has(Defect::FailedInitKillsSidecars) {
            return false;
        }
        for container in 0..self.pods[pod].containers.len() {
            let (at, of) = (At { pod, container }, &self.pods[pod].containers[container]);
            if of.kind == Kind::Sidecar && of.is_running() {
                let attempt = of.attempt();
                self.later(20 * MS, Act::Force(LifeAt { at, attempt }));
            }
        }
        true
    }
}
