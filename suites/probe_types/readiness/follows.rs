//! Whether the API follows the probes: the two turns of readiness, down and up, and what must not happen with them.

use probity_model::{Clause, Seen, Timeline};

use crate::reading::readiness::{comes_up, falls, goes_down, readiness_lives, rises, stays_alive};

/// A failed readiness check makes container and pod not ready, and kills nothing.
pub(super) fn failure_marks_unready(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in readiness_lives(run) {
        for turn in falls(&life) {
            if goes_down(clause, seen, &life, &turn).is_some() {
                stays_alive(seen, &life, &turn);
            }
        }
    }
}

/// A container that is not ready is ready again as soon as its probe succeeds often enough, without a restart.
pub(super) fn recovers(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in readiness_lives(run) {
        let Some(fall) = falls(&life).into_iter().next() else { continue };
        for turn in rises(&life).iter().filter(|turn| turn.first.at.at.lo > fall.first.at.at.lo) {
            comes_up(clause, seen, &life, turn);
        }
    }
}
