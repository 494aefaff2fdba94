//! `failureThreshold`: how many failures in a row it takes until something happens, when that is, and that less does
//! nothing.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, Fit, Measurement, seconds};
use probity_model::timeline::{Probe, ProbeKind};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::Fact;

use super::course::{Course, SECOND, courses, distribution};
use super::grace::only_its_probe;
use crate::reading::evidence::{last_event, lives};
use crate::reading::kill::{all_spent, judge_stop, next_life, watched_for};
use crate::reading::tolerance::{Outcome, exhausted};

/// A run of failures too short to count, between two successes.
struct Short<'t, 'h> {
    failures: Vec<&'t Probe<'h>>,
    next: &'t Probe<'h>,
    /// Nothing was held up meanwhile. In noise a kubelet may miss what the target takes for a good answer.
    quiet: bool,
}

impl Short<'_, '_> {
    fn events(&self) -> Vec<EventId> {
        self.failures.iter().flat_map(|probe| probe.events()).chain([self.next.id]).collect()
    }
}

/// The runs of failures of a course that are shorter than the threshold and end by a success. Commands are left out: they
/// may fail before the target sees them.
fn short_runs<'t, 'h>(run: &Timeline<'_>, course: &Course<'t, 'h>) -> Vec<Short<'t, 'h>> {
    if course.is_command() {
        return Vec::new();
    }
    let threshold = usize::try_from(course.spec.failures).unwrap_or(usize::MAX);
    let stretches = course.stretches();
    let triples = stretches.windows(3).filter_map(|three| {
        let [(Outcome::Passed, well), (Outcome::Failed, failures), (Outcome::Passed, next)] = three else {
            return None;
        };
        let (last, next) = (*well.last()?, *next.first()?);
        let quiet = run.noise_between(&course.attempt.node, &last.at, &next.at) == 0;
        let known = course.watched(run, &last.at, &next.at);
        (known && failures.len() < threshold).then(|| Short { failures: failures.clone(), next, quiet })
    });
    triples.collect()
}

/// What a run of failures that is too short must not bring about: the stop signal, or a revision that is not ready.
fn consequence(run: &Timeline<'_>, course: &Course<'_, '_>, short: &Short<'_, '_>) -> Option<EventId> {
    let first = short.failures.first()?;
    if course.spec.kind == ProbeKind::Readiness {
        let turns = course.shown_ready();
        let down = turns.windows(2).find_map(|pair| {
            let [(_, true), (down, false)] = pair else { return None };
            let order = |stamp: &Stamp| run.clocks.order(&down.at, stamp);
            (order(&first.at) == Order::After && order(&short.next.at) == Order::Before).then_some(down.id)
        });
        return down;
    }
    let (id, stop) = course.attempt.stop_signal()?;
    let between = stop.at.lo > first.at.at.hi && stop.at.lo < short.next.at.at.lo;
    (between && only_its_probe(run, course)).then_some(id)
}

/// One success makes the count begin anew: failures that are enough in all, but never in a row, do nothing.
pub(super) fn one_success_resets(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for course in ProbeKind::ALL.into_iter().flat_map(|kind| courses(run, kind)) {
        let runs = short_runs(run, &course);
        let failures: usize = runs.iter().map(|short| short.failures.len()).sum();
        if i64::try_from(failures).is_ok_and(|failures| failures >= course.spec.failures) {
            judge_short(run, &course, &runs, seen);
        }
    }
}

/// A fault that is over before it was seen `failureThreshold` times has no effect.
pub(super) fn short_faults_pass(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for course in ProbeKind::ALL.into_iter().flat_map(|kind| courses(run, kind)) {
        judge_short(run, &course, &short_runs(run, &course), seen);
    }
}

fn judge_short(run: &Timeline<'_>, course: &Course<'_, '_>, runs: &[Short<'_, '_>], seen: &mut Seen) {
    for short in runs {
        let Some(id) = consequence(run, course, short) else {
            seen.fine(short.events());
            continue;
        };
        let (count, wanted) = (short.failures.len(), course.spec.failures);
        let finding = format!("{} failed {count} times of {wanted}, and that counted", course.words());
        let events = short.events().into_iter().chain([id]);
        match short.quiet {
            true => seen.violated(finding, events),
            false => seen.doubt(Doubt::Ambiguous, finding, events),
        }
    }
}

/// What failures bring about comes with the last one of so many in a row: not before, and with no other probe between.
pub(super) fn exact_count(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for kind in [ProbeKind::Liveness, ProbeKind::Startup] {
        for (life, _, spent) in all_spent(run, kind) {
            seen.applies();
            judge_stop(run, clause, life, &spent, seen);
        }
    }
    for course in courses(run, ProbeKind::Liveness) {
        not_before(run, &course, seen);
    }
    unready_in_time(run, clause, seen);
}

/// After a success, a stop signal takes as many periods as it takes failures.
fn not_before(run: &Timeline<'_>, course: &Course<'_, '_>, seen: &mut Seen) {
    let Some((id, stop)) = course.attempt.stop_signal() else { return };
    let passed =
        |probe: &&&Probe<'_>| course.outcome(probe) == Outcome::Passed && probe.at.at.hi < stop.at.lo;
    let Some(last) = course.probes.iter().rfind(passed) else { return };
    if course.is_command() || !only_its_probe(run, course) {
        return;
    }
    // Only a success that was held up on its way makes the time after it seem short. By up to a second that happens
    // unnoticed; but that a failure is missing too, as it left no trace, is one chance too many.
    let since =
        course.probes.iter().filter(|probe| probe.at.at.lo > last.at.at.hi && probe.at.at.hi < stop.at.lo);
    let enough = i64::try_from(since.count()).is_ok_and(|count| count >= course.spec.failures);
    let spare = if enough { SECOND } else { SECOND.min(course.spec.period / 2) };
    let least = course.spec.failures * course.spec.period - spare;
    let bound = Bound::at_least(least, format!("failureThreshold × periodSeconds - {}", seconds(spare)));
    let quantity = format!("from the last success of {} to the stop signal", course.words());
    let ends = ((last.id, &last.at), (id, stop));
    if let Some(measured) = run.measure(quantity, &course.attempt.node, ends.0, ends.1, bound) {
        seen.measure(measured);
    }
}

/// A container that was ready is shown as not ready after the last of so many failures, within the slack.
fn unready_in_time(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    use crate::reading::evidence::Outcome;
    let slack = clause.slack_us();
    for life in &lives(run) {
        for turn in life.turns(Outcome::Fail) {
            if !life.showed(run, &turn.first.at, true) {
                continue;
            }
            seen.applies();
            let Some(down) = life.first_shown(run, &turn.first.at, |_, status| !status.ready) else {
                continue;
            };
            let quantity = "from the last of so many failures to ready=false";
            let bound = Bound::at_most(slack, "the clause's slack");
            let ends = ((turn.due.0, &turn.due.1), (down.id, &down.at));
            let Some(measured) = run.measure(quantity, &life.attempt.node, ends.0, ends.1, bound) else {
                continue;
            };
            if measured.fit() == Fit::Met || life.lasted(run, &turn) > slack {
                seen.measure(measured);
            }
        }
    }
}

/// A container whose readiness probe fails goes on running, and goes on being probed.
pub(super) fn readiness_goes_on(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for course in courses(run, ProbeKind::Readiness) {
        let Some(spent) = exhausted(course.attempt, course.spec) else { continue };
        let Some(last) = spent.failures.last() else { continue };
        seen.applies();
        let allowed = course.spec.period.max(course.spec.timeout) + clause.slack_us();
        let more: Vec<_> = course.probes.iter().filter(|probe| probe.at.at.lo > last.at.at.lo).collect();
        if let [one, two, ..] = more.as_slice() {
            seen.fine(spent.events().into_iter().chain([one.id, two.id]));
        }
        let ended = course.attempt.ended.is_some() || course.attempt.stop_signal().is_some();
        let again = next_life(course.pod, course.container, course.attempt.number).is_some();
        let known = course.attempt.last_line().is_some_and(|line| course.watched(run, &last.at, &line.at));
        let silent = more.is_empty() && !ended && !again && known;
        if silent && watched_for(run, course.pod, &spent.at, allowed) {
            let finding =
                format!("{} failed, and was not sent again for {}", course.words(), seconds(allowed));
            seen.violated(finding, spent.events().into_iter().chain(last_event(run)));
        }
    }
}

/// From the moment at which an endpoint goes bad, it takes so many periods less one to so many until the last failure.
pub(super) fn detected_in_time(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for course in ProbeKind::ALL.into_iter().flat_map(|kind| courses(run, kind)) {
        if course.is_command() || course.spec.kind == ProbeKind::Startup {
            continue;
        }
        let changes = course.attempt.lines.iter().filter(|line| matches!(&line.line.fact, Fact::Change(_)));
        let windows: Vec<Measurement> = changes
            .filter_map(|line| judge_window(run, clause, &course, (line.id, &line.at), seen))
            .collect();
        let spans = windows.iter().map(|window| window.observed.hi).collect();
        let events = windows.iter().flat_map(|window| window.events.first().copied()).collect();
        let what = format!("from the fault to the last failure of {}", course.words());
        if let Some(measured) = distribution(&what, spans, events).filter(|_| windows.len() > 1) {
            seen.note(measured);
        }
    }
}

/// A change after which all probes fail, and before which they did not: how long it took until the last that it takes.
fn judge_window(
    run: &Timeline<'_>,
    clause: &Clause,
    course: &Course<'_, '_>,
    (id, at): (EventId, &Stamp),
    seen: &mut Seen,
) -> Option<Measurement> {
    let wanted = usize::try_from(course.spec.failures).ok()?;
    let (before, after): (Vec<_>, Vec<_>) =
        course.probes.iter().copied().partition(|probe| probe.at.at.lo < at.at.lo);
    let was_well = before.last().is_some_and(|probe| course.outcome(probe) == Outcome::Passed);
    let failures: Vec<_> =
        after.iter().take_while(|probe| course.outcome(probe) == Outcome::Failed).take(wanted).collect();
    let last = failures.last().filter(|_| was_well && failures.len() == wanted)?;
    if !course.watched(run, at, &last.at) {
        return None;
    }
    let (spec, slack) = (course.spec, clause.slack_us());
    let pace = spec.period.max(spec.timeout);
    let words = seconds(slack);
    let bound =
        Bound::at_most(spec.failures * pace + slack, format!("failureThreshold × periodSeconds + {words}"));
    // A container that has just become ready may be asked once more at once, for that was under way.
    let early = i64::from(spec.kind == ProbeKind::Readiness);
    let least = (spec.failures - 1 - early).max(0) * spec.period - slack;
    let bound = bound.and_at_least(least, format!("(failureThreshold - 1) × periodSeconds - {words}"));
    let quantity = format!("from the fault to the last failure of {} that it takes", course.words());
    let ends = ((id, at), (last.id, &last.at));
    let measured = run.measure(quantity, &course.attempt.node, ends.0, ends.1, bound)?;
    seen.measure(measured.clone());
    Some(measured)
}
