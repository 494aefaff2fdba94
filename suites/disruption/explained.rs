//! The condition which shows that a pod terminates because it was evicted.

use probity_model::history::Did;
use probity_model::timeline::{PodLife, Revision};
use probity_model::{Clause, EventId, Seen, Timeline};

use super::account::evictions;
use crate::reading::targets::{TARGET, going, in_words, reason, says};

/// The reason of the condition: Kubernetes documentation, Disruptions.
const REASON: &str = "EvictionByEvictionAPI";
/// The status code of the response to an eviction that a budget does not allow: Kubernetes documentation, API-initiated Eviction.
const REFUSED: u16 = 429;

/// An evicted pod has the condition from the start of its termination until it is removed, and a deleted pod does not
/// have it.
pub(super) fn by_the_condition(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for eviction in evictions(run).iter().filter(|eviction| eviction.is_granted()) {
        let Some(going) = going(eviction.pod) else { continue };
        // A pod that was already terminating has another cause.
        if eviction.pod.deleted != Some(eviction.at.id) || going.at.at.lo < eviction.began {
            continue;
        }
        // Another component may change the reason later, but nothing clears the condition of a terminating pod.
        let wrong = |shown: &&Revision<'_>| match shown.id == going.id {
            true => !says(shown, REASON),
            false => shown.id > going.id && shown.is(TARGET) != Some(true),
        };
        let lacks = eviction.pod.revisions.iter().find(wrong);
        let shown = lacks.unwrap_or(going);
        let finding =
            || format!("{} was evicted and is terminating, but {}", eviction.pod.key, in_words(shown));
        seen.check(lacks.is_none(), finding, [eviction.at.id, shown.id]);
        if lacks.is_none() {
            seen.facet("pod", "evicted");
        }
    }
    // The eviction of a pod that is not ready may get this answer after the condition was written, because the pod changed
    // in the meantime.
    let was_ready = |pod: &PodLife<'_>, id: EventId| {
        let before = pod.revisions.iter().rfind(|shown| shown.id < id);
        before.is_some_and(|shown| shown.is("Ready") == Some(true))
    };
    let evicted = |pod: &PodLife<'_>| {
        run.deeds.iter().any(|(id, deed)| match &deed.did {
            Did::Evicted { pod: of, code, .. } if *of == pod.name => {
                *code != Some(REFUSED) || !was_ready(pod, *id)
            }
            _ => false,
        })
    };
    for pod in run.pods.iter().filter(|pod| pod.deleted.is_some() && !evicted(pod)) {
        let Some(last) = pod.last().filter(|last| last.terminating() || last.gone) else { continue };
        let finding = || format!("{} was deleted, but its condition says that it was evicted", pod.key);
        let kept = reason(last) != Some(REASON);
        if kept {
            seen.facet("pod", "deleted");
        }
        let events = [pod.deleted, Some(last.id)].into_iter().flatten();
        if !kept {
            seen.violated(finding(), events);
        } else if seen.count_fine() > 0 {
            seen.fine(events);
        }
    }
}
