//! Whether a pod was shown in a terminal phase before its containers had ended.

use probity_model::history::Did;
use probity_model::mechanisms::TO_WRITE;
use probity_model::timeline::{ContainerKind, PodLife, Revision};
use probity_model::{EventId, Seen, Timeline};

use super::ends::End;
use super::mains::lives_of;

/// Reports a revision with a terminal phase while a container still ran, according to the container's own record or, for a main
/// container, to the same revision. Returns whether there was such a revision. The control plane may end a pod while
/// its containers run if the node of the pod is away or if the deletion of the pod is forced.
pub(crate) fn accuse_living(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    over: &Revision<'_>,
    seen: &mut Seen,
) -> bool {
    if run.lost_a_node() || is_forced(run, pod) {
        return false;
    }
    let Some((name, shown_by)) = living(run, pod, over) else { return false };
    let finding = format!("{} is {}, but {name} is still running", pod.key, over.phase());
    seen.violated(finding, [Some(over.id), shown_by].into_iter().flatten());
    true
}

/// The first container that ran when its pod was shown in a terminal phase, and the line that proves this, unless the
/// revision itself proves it.
fn living<'p>(
    run: &Timeline<'_>,
    pod: &'p PodLife<'_>,
    over: &Revision<'_>,
) -> Option<(&'p str, Option<EventId>)> {
    pod.containers.iter().find_map(|container| {
        let main = container.kind == ContainerKind::Main;
        let shown = main && over.container(&container.name).is_some_and(|status| status.is_running());
        let last = lives_of(run, pod, container).next_back();
        // The status of a container that has just ended may be slightly older than the phase in the same revision.
        let ended = last.as_ref().and_then(End::of).is_some_and(|end| {
            run.before(end.at(), &over.at) && !run.longer_than(pod, (end.at(), &over.at), TO_WRITE)
        });
        let heard =
            last.and_then(|last| last.attempt.last_line()).filter(|line| run.before(&over.at, &line.at));
        ((shown && !ended) || heard.is_some()).then(|| (container.name.as_str(), heard.map(|line| line.id)))
    })
}

/// Whether any deletion request for a pod had a grace period of zero.
pub(crate) fn is_forced(run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
    let none = |grace: Option<u64>| grace == Some(0) || (grace.is_none() && pod.grace() == 0);
    let asked = run.deeds.iter().any(|(id, deed)| {
        let later = pod.deleted.is_some_and(|first| *id >= first);
        later && matches!(&deed.did, Did::Deleted { name, grace, .. } if *name == pod.name && none(*grace))
    });
    let shown = pod.revisions.iter().any(|revision| {
        revision.object["metadata"]["deletionGracePeriodSeconds"].as_i64() == Some(0) && !revision.gone
    });
    asked || (shown && pod.deleted.is_none())
}
