//! Bodies, and what an answer means: how much of it is read, what counts as a failure, and what events report of it.

mod failure_event;
mod limit;
mod short;
#[cfg(test)]
mod tests;

use probity_model::{Clause, Judge, Seen, Timeline};

use crate::reading::http::closed_port::refusals_fail;
use crate::reading::http::exchange::{HttpOutcome, exchanges};
use crate::reading::http::reaction::{CountsAs, Reaction};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "probe.http.event-omits-body", judge: failure_event::omits_the_body },
    Judge { clause: "probe.http.body.limit-10kib", judge: limit::no_more_is_read },
    Judge { clause: "probe.http.body.abrupt-close", judge: limit::closes_at_the_limit },
    Judge { clause: "probe.http.body.short-body-error", judge: short::the_status_decides },
    Judge { clause: "probe.http.refused-fails", judge: no_answer_is_a_failure },
];

/// Connection refused, reset before headers or malformed answers are probe failures.
fn no_answer_is_a_failure(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for course in exchanges(run) {
        let reaction = Reaction::new(run, clause, &course);
        let unanswered = course.runs(|exchange| (exchange.outcome() == HttpOutcome::Nothing).then_some(()));
        for (_, range) in unanswered {
            reaction.decide(&range, CountsAs::Failure, "got no answer that is HTTP", seen);
        }
        refusals_fail(clause, &course, seen);
    }
}
