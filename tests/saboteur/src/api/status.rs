//! Decides which defects affect a status that a kubelet writes, what is written instead, and when. The writer then
//! acts.

use std::time::Duration;

use probity_script::Span;
use serde_json::Value;

use super::alter::CONTAINER_LISTS;
use super::fault::{ApiFault, StatusDoes, StatusFault};
use super::writer::Timing;
use crate::board::{Active, Board};
use crate::defect::{Fault, Scope, Target};

/// The faults of statuses that may strike this pod.
#[must_use]
pub(super) fn faults(board: &Board, namespace: &str, pod: &str) -> Vec<(Active, StatusFault)> {
    let pick = |fault: &Fault| match fault {
        Fault::Api(ApiFault::Status(fault)) => Some(fault.clone()),
        _ => None,
    };
    let mut found = board.all(pick);
    found.retain(|(active, _)| concerns(&active.defect().on, namespace, pod));
    found
}

/// Whether a scope covers this pod, or one of its containers.
#[must_use]
pub(super) fn concerns(scope: &Scope, namespace: &str, pod: &str) -> bool {
    Scope { container: None, kind: None, restarted: false, ..scope.clone() }
        .covers(&Target::pod(namespace, pod))
}

/// Whether a scope is about containers and not about the pod as a whole.
fn is_of_containers(scope: &Scope) -> bool {
    scope.container.is_some() || scope.kind.is_some() || scope.restarted
}

/// The result for a status.
#[derive(Debug, PartialEq)]
pub(super) struct Decision {
    /// What is written.
    pub(super) status: Value,
    /// When and how many times the status is written.
    pub(super) timing: Timing,
}

/// One pod's status before the defects.
pub(super) struct Case<'a> {
    /// The board that counts the defects that strike, and knows the kinds of containers.
    pub(super) board: &'a Board,
    /// The pod's namespace.
    pub(super) namespace: &'a str,
    /// The pod's name.
    pub(super) pod: &'a str,
    /// The status as the kubelet wrote it.
    pub(super) status: &'a Value,
    /// Whether an earlier status was written since the first defect.
    pub(super) is_written: bool,
}

impl Case<'_> {
    /// A container's status as a target.
    fn target(&self, container: &Value) -> Target {
        let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
        let restarts = container.get("restartCount").and_then(Value::as_u64);
        Target {
            attempt: restarts.and_then(|restarts| u32::try_from(restarts).ok()),
            ..self.board.target_of_name(self.namespace, self.pod, name)
        }
    }

    /// The target for which an occasion is counted: the pod, or the first of its containers that the scope covers.
    fn counted(&self, scope: &Scope) -> Option<Target> {
        if !is_of_containers(scope) {
            return Some(Target::pod(self.namespace, self.pod));
        }
        let lists = CONTAINER_LISTS.iter().filter_map(|list| self.status.get(*list)?.as_array());
        let mut targets = lists.flatten().map(|container| self.target(container));
        targets.find(|target| scope.covers(target)).map(|target| Target { attempt: None, ..target })
    }

    /// The effect of these faults on the status.
    #[must_use]
    pub(super) fn decide(&self, faults: Vec<(Active, StatusFault)>) -> Decision {
        let mut decision = Decision { status: self.status.clone(), timing: Timing::Now };
        for (active, fault) in faults {
            let scope = &active.defect().on;
            let is_struck = |container: &Value| scope.covers(&self.target(container));
            let is_time = |target: Target| active.strikes(&target);
            if fault.only_if.holds(self.status, is_struck) && self.counted(scope).is_some_and(is_time) {
                self.obey(fault.does, &mut decision, is_struck);
            }
        }
        decision
    }

    fn obey(&self, does: StatusDoes, decision: &mut Decision, is_struck: impl Fn(&Value) -> bool) {
        decision.timing = match does {
            StatusDoes::Alter(alter) => {
                alter.apply(&mut decision.status, is_struck);
                return;
            }
            StatusDoes::Late { by, spread } => Timing::Late(by.0 + share_of(spread)),
            StatusDoes::Lost => Timing::Lost,
            StatusDoes::Merged { within } => Timing::Merged(within.0),
            StatusDoes::Reordered { within } => Timing::Reordered(within.0),
            StatusDoes::Doubled { after } => Timing::Doubled(after.0),
            StatusDoes::Glitch { alter, r#for } => {
                let mut wrong = decision.status.clone();
                if !alter.apply(&mut wrong, is_struck) {
                    return;
                }
                Timing::Glitch(wrong, r#for.0)
            }
            StatusDoes::Frozen if self.is_written => Timing::Lost,
            StatusDoes::Frozen => Timing::Now,
        };
    }
}

/// A random share of a span.
fn share_of(spread: Span) -> Duration {
    spread.0.mul_f64(fastrand::f64())
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
