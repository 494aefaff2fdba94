//! Pods that are being deleted and were never scheduled: the collector marks them as Failed.

use probity_model::timeline::{At, PodLife, Revision};
use probity_model::{Clause, Seen, Timeline};

/// The first revision in which a pod without a node is being deleted and a finalizer prevents its removal.
fn held<'t, 'h>(pod: &'t PodLife<'h>) -> Option<&'t Revision<'h>> {
    let holds = |shown: &Revision<'_>| {
        let finalizers = shown.object["metadata"].get("finalizers").and_then(|list| list.as_array());
        finalizers.is_some_and(|list| !list.is_empty())
    };
    let has_node = |shown: &Revision<'_>| shown.object["spec"]["nodeName"].is_string();
    if pod.revisions.iter().any(has_node) {
        return None;
    }
    let first = pod.revisions.iter().find(|shown| shown.terminating() && !shown.gone)?;
    (holds(first) && first.phase() != "Failed").then_some(first)
}

/// A pod that is being deleted and has no node becomes Failed.
pub(super) fn marked_as_failed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let Some(going) = held(pod) else { continue };
        if let Some(failed) = pod.revisions.iter().find(|shown| shown.phase() == "Failed") {
            let quantity =
                format!("from the deletion of {}, which was never scheduled, to the phase Failed", pod.key);
            seen.within(run, &pod.node, quantity, (going, failed), clause.in_time());
            continue;
        }
        let last = pod.last().filter(|last| last.gone).map(At::of);
        let Some(until) = last.or_else(|| run.end_event()) else { continue };
        if run.misses(&pod.node, (going, &until), clause.in_time()) {
            let phase = pod.last().map_or("", Revision::phase);
            let finding =
                format!("{} is being deleted and was never scheduled, but is still {phase}", pod.key);
            seen.violated(finding, [going.id, until.id]);
        }
    }
}
