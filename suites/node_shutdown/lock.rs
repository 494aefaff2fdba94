//! The lock with which a kubelet delays the shutdown of its node.

use probity_model::measure::{Bound, seconds};
use probity_model::mechanisms::NEAR;
use probity_model::{Clause, Seen, Timeline};

use crate::reading::node_shutdowns::{Cancelled, NodeShutdown, node_shutdowns, outlives};

/// The kubelet delays the shutdown until its pods have ended, or their time is over, and no longer.
pub(super) fn is_held_as_long_as_needed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let all = node_shutdowns(run, seen);
    for (place, shutdown) in all.iter().enumerate() {
        if !shutdown.delayed {
            let earlier =
                all.iter().take(place).find(|earlier| was_delayed_and_cancelled(earlier, shutdown.node));
            let Some(earlier) = earlier else {
                let finding =
                    format!("the kubelet of {} does not delay the shutdown of its node", shutdown.node);
                seen.violated(finding, [shutdown.at.id]);
                continue;
            };
            let finding = format!(
                "the kubelet of {} delayed the first shutdown of its node, which was canceled, but not the next one",
                shutdown.node
            );
            seen.diverges(finding, [earlier.at.id, shutdown.at.id]);
            continue;
        }
        let Some(cancelled) = &shutdown.cancelled else { continue };
        match cancelled.released_after {
            Some(after) => judge_release(run, clause, (shutdown, cancelled, after), seen),
            None => judge_no_release(run, clause, (shutdown, cancelled), seen),
        }
    }
}

/// Whether a kubelet delayed a shutdown of a node and released its lock, and the shutdown was then canceled.
fn was_delayed_and_cancelled(shutdown: &NodeShutdown<'_, '_>, node: &str) -> bool {
    let released = shutdown.cancelled.as_ref().is_some_and(|cancelled| cancelled.released_after.is_some());
    shutdown.node == node && shutdown.delayed && released
}

fn judge_release(
    run: &Timeline<'_>,
    clause: &Clause,
    (shutdown, cancelled, after): (&NodeShutdown<'_, '_>, &Cancelled, i64),
    seen: &mut Seen,
) {
    let (node, events) = (shutdown.node, [shutdown.at.id, cancelled.at.id]);
    let all = shutdown.for_regular + shutdown.for_critical;
    let by = shutdown.at.later(after);
    let noise = run.noise_between(node, &shutdown.at, &by);
    if after > all + clause.slack_us() + noise {
        let finding = format!(
            "the kubelet of {node} delayed the shutdown for {}, but may delay it for {}",
            seconds(after),
            seconds(all)
        );
        return seen.violated(finding, events);
    }
    let lives = shutdown.pods.iter().flat_map(|pod| shutdown.lives(run, pod));
    match outlives(run, lives, &by) {
        Some((name, last)) if after < all - NEAR => {
            let finding = format!(
                "the kubelet of {node} delayed the shutdown only for {}, while {name} was still running",
                seconds(after)
            );
            seen.violated(finding, [shutdown.at.id, last.id, cancelled.at.id]);
        }
        _ => {
            seen.fine(events);
            seen.facet("lock", "released");
        }
    }
}

/// Judges a shutdown that was delayed until it was cancelled.
fn judge_no_release(
    run: &Timeline<'_>,
    clause: &Clause,
    (shutdown, cancelled): (&NodeShutdown<'_, '_>, &Cancelled),
    seen: &mut Seen,
) {
    let all = shutdown.for_regular + shutdown.for_critical;
    let bound = Bound::at_most(all + clause.slack_us(), format!("{} + the clause's slack", seconds(all)));
    if run.misses(shutdown.node, (&shutdown.at, &cancelled.at), bound) {
        let finding = format!(
            "the kubelet of {} may delay the shutdown for {}, but delayed it until it was cancelled",
            shutdown.node,
            seconds(all)
        );
        seen.violated(finding, [shutdown.at.id, cancelled.at.id]);
    }
}
