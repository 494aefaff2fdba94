//! The pods that a budget covers: those that its selector selects. A pod that several budgets select cannot be evicted.

use probity_model::{Clause, Seen, Timeline};

use super::account::{Answer, FORBIDDEN, Health, SEVERAL, budgets, budgets_of, evictions};

/// A budget covers only the pods that it selects, and no pod may be covered by several budgets.
pub(super) fn by_labels(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let budgets = budgets(run);
    if budgets.is_empty() || !budgets.iter().all(super::account::Budget::is_plain) {
        return;
    }
    for eviction in evictions(run) {
        let of = &eviction.pod.key;
        if eviction.health(clause, eviction.pod) != Health::Healthy {
            continue;
        }
        match budgets_of(&budgets, eviction.pod)[..] {
            [] => {
                let outside = eviction.is_granted();
                if outside || eviction.is_forbidden() {
                    let finding = || {
                        let why = eviction.refusal();
                        format!("no budget selects {of}, but its eviction was refused: {why}")
                    };
                    seen.check(outside, finding, [budgets[0].id(), eviction.at.id]);
                }
                if outside {
                    seen.facet("pod", "outside");
                }
            }
            [budget] => {
                let full = budget.room(clause, &eviction).is_some_and(|room| room.is_full());
                if full && eviction.is_forbidden() {
                    seen.fine([budget.id(), eviction.at.id]);
                    seen.facet("pod", "inside");
                }
            }
            [first, second, ..] => {
                let finding = match eviction.answer {
                    Answer::Granted => format!("{of} was evicted although two budgets select it"),
                    Answer::Refused { code: Some(SEVERAL), .. } => {
                        seen.fine([first.id(), second.id(), eviction.at.id]);
                        seen.facet("pod", "twice");
                        continue;
                    }
                    Answer::Refused { code: None, .. } => continue,
                    Answer::Refused { why, code: Some(FORBIDDEN), .. } => {
                        format!("two budgets select {of}, but its eviction can be retried: {why}")
                    }
                    Answer::Refused { why, .. } => {
                        format!(
                            "two budgets select {of}, but its eviction was not refused with {SEVERAL}: {why}"
                        )
                    }
                };
                seen.violated(finding, [first.id(), second.id(), eviction.at.id]);
            }
        }
    }
}
