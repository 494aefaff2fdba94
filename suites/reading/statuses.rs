//! The statuses of containers in a revision of their pod, field by field.

use probity_model::timeline::{PodLife, Revision, State};
use probity_model::verdict::Doubt;
use probity_model::{EventId, Seen};
use serde_json::Value;

/// The reason of a container that waits for its back-off, according to the Kubernetes documentation.
pub(crate) const CRASH_LOOP: &str = "CrashLoopBackOff";

/// The reasons of a container whose image could not be pulled: Kubernetes' `pkg/kubelet/images`.
pub(crate) const NO_IMAGE: [&str; 2] = ["ErrImagePull", "ImagePullBackOff"];

/// The reason of a container whose image is not on its node and must not be pulled: Kubernetes' `pkg/kubelet/images`.
pub(crate) const NEVER_PULLED: &str = "ErrImageNeverPull";

/// The reason of a pod that its kubelet evicted: Kubernetes documentation, Node-pressure Eviction.
pub(crate) const EVICTED: &str = "Evicted";

/// The reason of a pod that exceeded its deadline, according to the Kubernetes API reference.
pub(crate) const EXCEEDED: &str = "DeadlineExceeded";

/// Whether the status of a pod has a message, which gives the details of its reason.
pub(crate) fn is_explained(shown: &Revision<'_>) -> bool {
    shown.object["status"]["message"].as_str().is_some_and(|message| !message.is_empty())
}

/// Whether a container waits for its back-off.
pub(crate) fn is_crash_loop(state: &State<'_>) -> bool {
    matches!(state, State::Waiting { reason } if *reason == CRASH_LOOP)
}

/// The lists of container statuses in a pod's status.
const LISTS: [&str; 3] = ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"];

/// Whether a revision shows that a container of its pod runs.
pub(crate) fn runs_something(pod: &PodLife<'_>, shown: &Revision<'_>) -> bool {
    let mut all = pod.containers.iter().filter_map(|of| shown.container(&of.name));
    all.any(|status| status.is_running())
}

/// Each container's name and status.
pub(crate) fn statuses<'h>(revision: &Revision<'h>) -> impl Iterator<Item = (&'h str, &'h Value)> + use<'h> {
    let status = revision.object.get("status");
    let lists = LISTS.into_iter().filter_map(move |list| status?.get(list)?.as_array());
    lists.flatten().filter_map(|of| Some((of.get("name")?.as_str()?, of)))
}

/// The status of one container.
pub(crate) fn status_of<'h>(revision: &Revision<'h>, container: &str) -> Option<&'h Value> {
    statuses(revision).find(|(name, _)| *name == container).map(|(_, status)| status)
}

/// The container ID in a state of a status, if this state is that of an instance that has terminated.
pub(crate) fn ended_id<'h>(shown: &Revision<'h>, container: &str, place: &str) -> Option<&'h str> {
    let status = status_of(shown, container)?;
    status.get(place)?.get("terminated")?.get("containerID")?.as_str().filter(|id| !id.is_empty())
}

/// The conditions that only a kubelet adds to a status. The scheduler adds `PodScheduled`.
pub(crate) const ADDED: [&str; 4] = ["PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"];
/// The fields that only a kubelet fills.
const FILLED: [&str; 4] = ["startTime", "podIP", "initContainerStatuses", "containerStatuses"];

/// Whether a container of a pod ran, according to its own record or to a status. In a pod that its kubelet rejected, no
/// container ran.
pub(crate) fn has_run(pod: &PodLife<'_>) -> bool {
    let made = |shown: &Revision<'_>, name: &str| {
        shown.container(name).is_some_and(|status| !status.id.is_empty() || status.restarts > 0)
    };
    pod.containers.iter().any(|container| {
        !container.attempts.is_empty() || pod.revisions.iter().any(|shown| made(shown, &container.name))
    })
}

/// The revisions of a pod whose status its kubelet wrote: such a status has a field that only a kubelet writes. A pod
/// that was ended from outside before any of its containers ran is left out, because its kubelet may have rejected it.
pub(crate) fn of_kubelet<'p, 'h>(pod: &'p PodLife<'h>) -> impl Iterator<Item = &'p Revision<'h>> {
    let refused = pod.was_ended_from_outside() && !has_run(pod);
    pod.revisions.iter().filter(move |shown| !refused && !shown.gone && is_of_kubelet(shown))
}

fn is_of_kubelet(shown: &Revision<'_>) -> bool {
    let Some(status) = shown.object.get("status") else { return false };
    FILLED.iter().any(|field| status.get(field).is_some_and(|of| !of.is_null()))
        || ADDED.iter().any(|kind| shown.condition(kind).is_some())
}

/// Judges statuses that a race can explain, in which an older status is written after a newer one. A race is rare, so at
/// most one instance of a history may be affected.
pub(crate) fn judge_races(finding: &str, races: &[[EventId; 2]], seen: &mut Seen) {
    let events = races.iter().copied().flatten();
    match races {
        [] => {}
        [_] => {
            let why = format!(
                "{finding}, but so briefly that two status updates may have arrived in the wrong order"
            );
            seen.doubt(Doubt::Ambiguous, why, events);
        }
        [..] => seen.violated(format!("{finding}, {} times", races.len()), events),
    }
}
