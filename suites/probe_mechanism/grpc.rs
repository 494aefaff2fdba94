//! Health checks as a mechanism: SERVING is a success, and nothing else is.

use probity_model::{Clause, Seen, Timeline};

use crate::reading::health::{by_serving, judge_checks};

/// SERVING is a success, and every other answer is a failure.
pub(super) fn serving_alone_succeeds(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_checks(run, clause, seen, |_, _, serving| Some(by_serving(serving)));
}
