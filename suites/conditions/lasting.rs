//! Pod conditions that are wrong for longer than one late status can explain.

use probity_model::timeline::{PodLife, Revision};
use probity_model::{Clause, EventId, Timeline};

use crate::reading::statuses::of_kubelet;

/// The first revision of a period in which something is wrong for longer than the slack, and the events that show how
/// long the period lasted.
pub(super) fn wrong_for_long<'p, 'h>(
    run: &Timeline<'_>,
    clause: &Clause,
    pod: &'p PodLife<'h>,
    wrong: impl Fn(&Revision<'h>) -> bool,
) -> Option<(&'p Revision<'h>, Vec<EventId>)> {
    let shown: Vec<&Revision<'h>> = of_kubelet(pod).collect();
    let mut rest = shown.as_slice();
    while let Some(at) = rest.iter().position(|shown| wrong(shown)) {
        let (first, later) = rest.split_at(at).1.split_first()?;
        let right = later.iter().position(|shown| !wrong(shown));
        let lasted = match right.and_then(|at| later.get(at)) {
            Some(next) => run.longer_than(pod, (&first.at, &next.at), clause.slack_us()).then_some(next.id),
            None if run.watched_for(pod, &first.at, clause.slack_us()) => run.last_event(),
            None => None,
        };
        if let Some(end) = lasted {
            return Some((*first, vec![first.id, end]));
        }
        rest = &later[right?..];
    }
    None
}
