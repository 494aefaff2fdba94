//! The last state of a container whose last instance has ended for good.

use probity_model::timeline::{ContainerSeen, Life, State};
use probity_model::version::minor;
use probity_model::{Seen, Timeline};

/// The first version whose kubelet remembers the last state that it has shown (Kubernetes 1.36,
/// pkg/kubelet/kubelet_pods.go, convertToAPIContainerStatuses). An earlier kubelet reads it from the previous instance
/// each time, and the runtime may no longer have that instance.
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

/// Whether the kubelet of a node is known to remember last states.
fn is_remembered(run: &Timeline<'_>, node: &str) -> bool {
    let kubelet = run.history.header.nodes.get(node);
    let version = kubelet.and_then(|facts| minor(facts.kubelet.trim_start_matches('v')));
    version.is_some_and(|version| version >= REMEMBERED_SINCE)
}
