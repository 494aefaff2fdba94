//! A kubelet that is wrong only if two things come together, such as a policy and a wait.

use serde_json::json;

use super::init::cannot_start;
use crate::Defect;
use crate::pod::{Container, Kind, State};
use crate::world::{Act, At, SECOND, World};

/// When the ephemeral containers of a pod run again after the loss of its sandbox.
const ANEW: i64 = 4 * SECOND;

fn is_in_back_off(of: &Container) -> bool {
    matches!(of.state, State::Waiting("CrashLoopBackOff"))
}

impl World<'_> {
    /// Whether a container that cannot be started is tried again at once.
    pub(super) fn is_tried_at_once(&self, at: At) -> bool {
        self.has(Defect::StartErrorNeverWaits) && cannot_start(&self.pods[at.pod].containers[at.container])
    }

    /// Whether a pod fails because its main containers wait for a restart that only their own policies allow.
    pub(super) fn loses_own_policies(&self, pod: usize) -> bool {
        let of = &self.pods[pod];
        let own = |of: &Container| {
            of.spec["restartPolicy"].is_string() && of.spec.get("restartPolicyRules").is_none()
        };
        let mut mains = of.containers.iter().filter(|of| of.kind == Kind::Main);
        self.has(Defect::OwnPolicyLostInBackOff)
            && of.deleted.is_none()
            && of.restart_policy() == "Never"
            && mains.all(|of| own(of) && is_in_back_off(of))
    }

    /// The ephemeral containers of a pod that lost its sandbox run again.
    pub(super) fn run_ephemeral_again(&mut self, pod: usize) {
        if self.has(Defect::EphemeralAgainInNewSandbox) {
            self.start_ephemeral_anew(pod);
        }
    }

    /// The ephemeral containers of a pod run a second time.
    pub(super) fn start_ephemeral_anew(&mut self, pod: usize) {
        for number in 0..self.pods.len() {
            if self.pods[number].within == Some(pod) {
                self.pods[number].object["spec"]["restartPolicy"] = json!("Always");
                self.pods[number].terminal = false;
                self.later(ANEW, Act::Sync(number));
            }
        }
    }

    /// Whether the ephemeral containers of a deleted pod wait for its main containers.
    pub(crate) fn keeps_ephemeral(&self, pod: usize) -> bool {
        let of = &self.pods[pod].containers;
        let helped = of.iter().any(|of| of.kind == Kind::Sidecar);
        let runs = of.iter().any(|of| of.kind == Kind::Main && of.is_running());
        self.has(Defect::EphemeralStopsAfterMains) && helped && runs
    }

    /// Stops the ephemeral containers of a deleted pod, now that its main containers have ended.
    pub(super) fn stop_kept_ephemeral(&mut self, pod: usize) {
        if self.has(Defect::EphemeralStopsAfterMains) && self.pods[pod].deleted.is_some() {
            self.stop_ephemeral(pod);
        }
    }

    /// Whether a sidecar waits for a later one that waits for its restart.
    pub(super) fn waits_for_crashed(&self, at: At) -> bool {
        let of = &self.pods[at.pod].containers;
        let crashed = |of: &Container| of.kind == Kind::Sidecar && is_in_back_off(of);
        self.has(Defect::CrashedSidecarBlocksEarlier) && of[at.container + 1..].iter().any(crashed)
    }

    /// Whether a container is not pulled because another image of its pod could not be pulled.
    pub(super) fn waits_for_other_pull(&self, at: At) -> bool {
        let mut earlier = self.pods[at.pod].containers[..at.container].iter();
        self.has(Defect::PullBackOffOfPod) && earlier.any(|of| of.pulled.is_some())
    }
}
