//! The last state of a container whose last instance has ended for good, and last states that are not shown.

use probity_model::history::RESTART_ALL_GATE;
use probity_model::timeline::{ContainerSeen, Life, State};
use probity_model::verdict::Doubt;
use probity_model::{EventId, Seen, Timeline};

/// The first version whose kubelet remembers the last state that it has shown, unless [`RESTART_ALL_GATE`] is off
/// (Kubernetes 1.36, pkg/kubelet/kubelet_pods.go, convertToAPIContainerStatuses). An earlier kubelet reads it from the
/// previous instance each time, and the runtime may no longer have that instance.
const REMEMBERED_SINCE: (u32, u32) = (1, 36);

/// A status that shows how an instance ended still shows how the previous instance ended, if this was shown while the
/// instance ran. Pods that were deleted or ended from outside are left out, because their containers are removed.
pub(super) fn judge_gone(run: &Timeline<'_>, seen: &mut Seen) {
    if run.lost_a_sandbox() {
        return;
    }
    let again = |life: &Life<'_, '_>| {
        life.number > 0 && !life.pod.was_ended_from_outside() && is_remembered(run, &life.node)
    };
    for life in run.lives().undisturbed().only(again) {
        let shown = life.revisions().find(|(_, status)| status.is_running() && has_last(status));
        let Some((shown, _)) = shown else { continue };
        let gone = life.revisions().find(|(later, status)| {
            let over = matches!(status.state, State::Terminated { .. }) && !later.terminating();
            over && later.id > shown.id && !has_last(status)
        });
        if let Some((later, _)) = gone {
            let finding =
                format!("{} terminated, and its status no longer shows its last state", life.name());
            seen.violated(finding, [shown.id, later.id]);
        }
    }
}

fn has_last(status: &ContainerSeen<'_>) -> bool {
    matches!(status.last, State::Terminated { .. })
}

/// Ends that the statuses of the next instances do not show, each with its events. Their kubelets are not known to
/// remember last states.
#[derive(Default)]
pub(super) struct LostEnds(Vec<(String, [EventId; 2])>);

impl LostEnds {
    /// Adds an end that the last state of a container does not show. For a kubelet that remembers last states, this is
    /// a violation at once.
    pub(super) fn add(
        &mut self,
        life: &Life<'_, '_>,
        finding: String,
        events: [EventId; 2],
        seen: &mut Seen,
    ) {
        if is_remembered(life.run, &life.node) {
            seen.violated(finding, events);
        } else {
            self.0.push((finding, events));
        }
    }

    /// Judges all of them together. Once a minute, the kubelet removes the records of all but the last instance of a
    /// container. If the next instance has just been created, this is the record of the instance that ended last. This
    /// rarely happens, so the judge excuses it only once.
    pub(super) fn judge(self, seen: &mut Seen) {
        let is_only_one = self.0.len() == 1;
        for (finding, events) in self.0 {
            if is_only_one {
                let why = format!("{finding}; the kubelet's cleanup may have removed the record of this end");
                seen.doubt(Doubt::Ambiguous, why, events);
            } else {
                seen.violated(finding, events);
            }
        }
    }
}

/// Whether the kubelet of a node is known to remember last states.
fn is_remembered(run: &Timeline<'_>, node: &str) -> bool {
    let Some(facts) = run.history.header.nodes.get(node) else { return false };
    let is_off = facts.features.get(RESTART_ALL_GATE) == Some(&false);
    facts.kubelet_minor().is_some_and(|version| version >= REMEMBERED_SINCE) && !is_off
}
