//! The API follows the probes when readiness changes, down and up, and nothing else changes meanwhile.

use probity_model::clocks::Order;
use probity_model::measure::seconds;
use probity_model::timeline::{ProbeOutcome, ProbedLife};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::readiness::{
    Turn, comes_up, falls, goes_down, readiness_lives, rises, stays_alive, turns,
};

/// A failed readiness probe makes the container and the pod not ready, and no container is killed.
pub(super) fn failure_marks_unready(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in readiness_lives(run) {
        for turn in falls(&life) {
            if goes_down(clause, seen, &life, &turn).is_some() {
                stays_alive(seen, &life, &turn);
            }
        }
        for turn in turns(&life, ProbeOutcome::Failure) {
            stays_down(clause, seen, &life, &turn);
        }
    }
}

/// While the probes keep failing, nothing makes the container ready. It is a violation if a revision shows the
/// container as ready again, unless an earlier success can have caused this.
fn stays_down(clause: &Clause, seen: &mut Seen, life: &ProbedLife<'_, '_>, turn: &Turn<'_, '_>) {
    let run = life.run;
    let revisions: Vec<_> = life.revisions().filter(|(_, status)| status.is_running()).collect();
    let rises = revisions.windows(2).filter_map(|pair| match pair {
        [(_, before), (up, after)] if !before.ready && after.ready => Some(*up),
        _ => None,
    });
    for up in rises.filter(|up| run.clocks.order(&up.at, &turn.last.at) == Order::Before) {
        let after = run.at_least(&turn.due, &up.at);
        if after > clause.slack_us() + life.noise(&turn.first.at, &up.at) {
            let finding = format!(
                "{} had reached its failure threshold {} earlier, but the container became ready",
                life.words(),
                seconds(after)
            );
            seen.violated(finding, [turn.first.id, turn.due.id, up.id, turn.last.id]);
        }
    }
}

/// A container that is not ready becomes ready again as soon as its probe reaches the success threshold, without a
/// restart.
pub(super) fn recovers(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in readiness_lives(run) {
        let Some(fall) = falls(&life).into_iter().next() else { continue };
        for turn in rises(&life).iter().filter(|turn| turn.first.at.at.lo > fall.first.at.at.lo) {
            comes_up(clause, seen, &life, turn);
        }
    }
}
