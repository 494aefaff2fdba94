//! Pods whose eviction disrupts nothing: those that are pending, finished, or already terminating.

use probity_model::timeline::Revision;
use probity_model::{Clause, Seen, Timeline};

use super::account::{budgets, budgets_of, evictions};

/// The state in which a pod can be evicted without its budget.
fn idle(shown: &Revision<'_>) -> Option<&'static str> {
    match shown.phase() {
        _ if shown.gone => None,
        _ if shown.terminating() => Some("terminating"),
        "Pending" => Some("pending"),
        "Succeeded" | "Failed" => Some("finished"),
        _ => None,
    }
}

/// The eviction of such a pod is granted although its budget allows no disruption.
pub(super) fn without_the_budget(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let budgets = budgets(run);
    for eviction in evictions(run) {
        let [budget] = budgets_of(&budgets, eviction.pod)[..] else { continue };
        let full = budget.room(clause, &eviction).is_some_and(|room| room.at_most() <= room.desired);
        let Some((shown, what)) = eviction.shown().and_then(|shown| Some((shown, idle(shown)?))) else {
            continue;
        };
        // A pending pod may have begun to run before the request came.
        let ran =
            eviction.pod.revisions.iter().find(|other| other.id > shown.id && other.phase() != shown.phase());
        let changed = what == "pending" && ran.is_some_and(|ran| !ran.terminating() && !ran.gone);
        if !full || changed || !(eviction.is_granted() || eviction.is_forbidden()) {
            continue;
        }
        let granted = eviction.is_granted();
        let finding = || {
            format!("{} was {what}, but its eviction was refused: {}", eviction.pod.key, eviction.refusal())
        };
        seen.check(granted, finding, [shown.id, eviction.at.id]);
        if granted {
            seen.facet("pod", what);
        }
    }
}
