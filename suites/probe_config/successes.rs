//! `successThreshold`: how many successes in a row it takes until a container is shown as ready.
//!
//! A revision is heard later than the kubelet decided, so probes that came meanwhile are counted in: they can only let a
//! container seem to have had more successes than it needed, and never accuse anyone.

use probity_model::clocks::Order;
use probity_model::timeline::{Probe, ProbeKind, Revision};
use probity_model::{Clause, EventId, Seen, Timeline};

use super::course::{Course, courses};
use crate::reading::tolerance::Outcome;

/// A turn to ready, and the probes that can have brought it about.
struct Turn<'t, 'h> {
    revision: &'t Revision<'h>,
    /// The probes since the last failure that was known when the container was last shown as not ready.
    probes: Vec<&'t Probe<'h>>,
    /// Whether that failure was in the same life.
    after_failure: bool,
}

/// After a failure it takes `successThreshold` successes in a row.
pub(super) fn after_failure(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for course in several(run) {
        for turn in turns(run, &course).iter().filter(|turn| turn.after_failure) {
            judge_turn(&course, turn, seen);
        }
    }
}

/// At the first start of a container, too.
pub(super) fn at_first_start(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for course in several(run).iter().filter(|course| course.attempt.number == 0) {
        seen.applies();
        if let Some(turn) = turns(run, course).first() {
            judge_turn(course, turn, seen);
        }
    }
}

/// After a restart, too; kubelets go on counting from the life before.
pub(super) fn after_restart(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let all = several(run);
    for course in all.iter().filter(|course| course.attempt.number > 0) {
        seen.applies();
        let all_turns = turns(run, course);
        let Some(turn) = all_turns.first().filter(|turn| !turn.after_failure) else { continue };
        let before = all.iter().find(|before| {
            before.pod.name == course.pod.name
                && before.pod.uid == course.pod.uid
                && before.container.name == course.container.name
                && before.attempt.number + 1 == course.attempt.number
        });
        let here = longest(course, &turn.probes);
        if here.len() >= wanted(course) {
            judge_turn(course, turn, seen);
            continue;
        }
        let Some(before) = before else { continue };
        let last = before.stretches().pop();
        let carried = last.filter(|(outcome, _)| *outcome != Outcome::Failed).map_or(0, |(_, run)| run.len());
        let (count, wanted) = (here.len(), wanted(course));
        let finding = format!("ready after {count} of {wanted} successes of its life after a restart");
        let events = cited(turn);
        if count > 0 && carried + count >= wanted {
            seen.diverges(finding, events);
        } else {
            seen.violated(finding, events);
        }
    }
}

fn several<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Course<'t, 'h>> {
    let all = courses(run, ProbeKind::Readiness).into_iter();
    all.filter(|course| course.spec.successes > 1 && course.open().is_some()).collect()
}

fn wanted(course: &Course<'_, '_>) -> usize {
    usize::try_from(course.spec.successes).unwrap_or(usize::MAX)
}

/// The turns to ready of a life.
fn turns<'t, 'h>(run: &Timeline<'_>, course: &Course<'t, 'h>) -> Vec<Turn<'t, 'h>> {
    let mut turns = Vec::new();
    let mut unready: Option<&Revision<'_>> = None;
    for (revision, ready) in course.shown_ready() {
        if !ready {
            unready = Some(revision);
            continue;
        }
        let failed = |probe: &&&Probe<'_>| {
            course.outcome(probe) == Outcome::Failed
                && unready.is_some_and(|unready| run.clocks.order(&probe.at, &unready.at) == Order::Before)
        };
        let failure = course.probes.iter().rfind(failed).copied();
        let since = failure.map_or(i64::MIN, |probe| probe.at.at.lo);
        let can_count = |probe: &&&Probe<'_>| {
            probe.at.at.lo > since && run.clocks.order(&probe.at, &revision.at) != Order::After
        };
        let probes: Vec<_> = course.probes.iter().filter(can_count).copied().collect();
        let after_failure = probes.iter().any(|probe| course.outcome(probe) == Outcome::Failed);
        turns.push(Turn { revision, probes, after_failure: failure.is_some() || after_failure });
    }
    turns
}

/// The longest stretch of probes that were no failures for sure.
fn longest<'t, 'h>(course: &Course<'t, 'h>, probes: &[&'t Probe<'h>]) -> Vec<&'t Probe<'h>> {
    let stretches = probes.split(|probe| course.outcome(probe) == Outcome::Failed);
    stretches.max_by_key(|stretch| stretch.len()).map(<[_]>::to_vec).unwrap_or_default()
}

fn cited(turn: &Turn<'_, '_>) -> Vec<EventId> {
    turn.probes.iter().map(|probe| probe.id).chain([turn.revision.id]).collect()
}

fn judge_turn(course: &Course<'_, '_>, turn: &Turn<'_, '_>, seen: &mut Seen) {
    // What a later life owes is another clause's, as long as no failure in it made the count begin anew.
    let carried = course.attempt.number > 0 && !turn.after_failure;
    let (longest, wanted) = (longest(course, &turn.probes), wanted(course));
    if longest.len() >= wanted {
        if longest.iter().all(|probe| course.outcome(probe) == Outcome::Passed) {
            seen.fine(cited(turn));
        }
    } else if !carried {
        let finding = format!("shown as ready after {} of {wanted} successes in a row", longest.len());
        seen.violated(finding, cited(turn));
    }
}
