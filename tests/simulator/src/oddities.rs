//! Unusual things that a faithful cluster may do. No judge may call them a violation.

use crate::kubelet::cannot_start;
use crate::pod::Container;
use crate::world::{At, LifeAt, World};

/// Something unusual that a faithful cluster may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// In the runtime, the first start of the only container of a pod fails, if its policy restarts it.
    FailedFirstStart,
    /// Pods with their own user namespace do not start, although the runtime of their node supports them.
    NoUserNamespaces,
}

impl World<'_> {
    /// Whether the cluster does something unusual.
    pub(crate) fn is_odd(&self, oddity: Oddity) -> bool {
        self.oddity == Some(oddity)
    }

    /// Counts a failed start of a container, if this start fails in the runtime. Containers with restart rules are left
    /// out, because a rule may apply to the exit status of a failed start.
    pub(crate) fn fails_start(&mut self, at: At) -> bool {
        let is_first = |of: &Container| {
            of.starts == 1 && !cannot_start(of) && of.spec.get("restartPolicyRules").is_none()
        };
        let fails = self.is_odd(Oddity::FailedFirstStart)
            && self.policy_of(at) != "Never"
            && self.pods[at.pod].containers.len() == 1
            && is_first(&self.pods[at.pod].containers[at.container]);
        self.pods[at.pod].containers[at.container].failed_starts += u64::from(fails);
        fails
    }

    /// How many processes of a container ran before this one.
    pub(crate) fn earlier_processes(&self, life: LifeAt) -> u64 {
        life.attempt.saturating_sub(self.pods[life.at.pod].containers[life.at.container].failed_starts)
    }
}
