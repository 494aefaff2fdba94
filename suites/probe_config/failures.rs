//! `failureThreshold`: how many failures in a row it takes until something happens, when that is, and that less does
//! nothing.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, Fit, Measurement, seconds};
use probity_model::mechanisms::{OFF_BEAT, UNNOTICED};
use probity_model::timeline::{Line, Probe, ProbeKind, ProbeOutcome, ProbedLife};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::Fact;

use super::schedule::{
    countable, countable_of_all, distribution, is_command, only_its_probe, shown_ready, watched,
};
use crate::reading::readiness::{readiness_lives, turns};
use crate::reading::termination::{Exhausted, exhausted};

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

/// The runs of failures of a life that are shorter than the threshold and end by a success. Commands are left out: they
/// may fail before the target sees them.
fn short_runs<'t, 'h>(life: &ProbedLife<'t, 'h>) -> Vec<Short<'t, 'h>> {
    if is_command(life) {
        return Vec::new();
    }
    let threshold = usize::try_from(life.spec.failures).unwrap_or(usize::MAX);
    let triples = life.stretches();
    let triples = triples.windows(3).filter_map(|three| {
        use ProbeOutcome::{Failure, Success};
        let [(Success, well), (Failure, failures), (Success, next)] = three else { return None };
        let (last, next) = (*well.last()?, *next.first()?);
        let quiet = life.noise(&last.at, &next.at) == 0;
        let known = watched(life, &last.at, &next.at);
        (known && failures.len() < threshold).then(|| Short { failures: failures.to_vec(), next, quiet })
    });
    triples.collect()
}

/// What a run of failures that is too short must not bring about: the stop signal, or a revision that is not ready.
fn consequence(life: &ProbedLife<'_, '_>, short: &Short<'_, '_>) -> Option<EventId> {
    let first = short.failures.first()?;
    if life.spec.kind == ProbeKind::Readiness {
        return shown_ready(life).windows(2).find_map(|pair| {
            let [(_, true), (down, false)] = pair else { return None };
            let order = |stamp: &Stamp| life.run.clocks.order(&down.at, stamp);
            (order(&first.at) == Order::After && order(&short.next.at) == Order::Before).then_some(down.id)
        });
    }
    let stop = life.stop()?;
    let between = stop.at.at.lo > first.at.at.hi && stop.at.at.lo < short.next.at.at.lo;
    (between && only_its_probe(life)).then_some(stop.id)
}

/// One success makes the count begin anew: failures that are enough in all, but never in a row, do nothing.
pub(super) fn one_success_resets(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for life in countable_of_all(run) {
        let runs = short_runs(&life);
        let failures: usize = runs.iter().map(|short| short.failures.len()).sum();
        if i64::try_from(failures).is_ok_and(|failures| failures >= life.spec.failures) {
            judge_short(&life, &runs, seen);
        }
    }
}

/// A fault that is over before it was seen `failureThreshold` times has no effect.
pub(super) fn short_faults_pass(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for life in countable_of_all(run) {
        judge_short(&life, &short_runs(&life), seen);
    }
}

fn judge_short(life: &ProbedLife<'_, '_>, runs: &[Short<'_, '_>], seen: &mut Seen) {
    for short in runs {
        let Some(id) = consequence(life, short) else {
            seen.fine(short.events());
            continue;
        };
        let (count, wanted) = (short.failures.len(), life.spec.failures);
        let finding = format!("{} failed {count} times of {wanted}, and that counted", life.words());
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
        for spent in exhausted(run, kind) {
            spent.judge_stop(clause, seen);
        }
    }
    for life in countable(run, ProbeKind::Liveness) {
        not_before(&life, seen);
    }
    unready_in_time(run, clause, seen);
}

/// After a success, a stop signal takes as many periods as it takes failures.
fn not_before(life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let Some(stop) = life.stop() else { return };
    let passed = |probe: &&&Probe<'_>| {
        life.attempt.result(probe, life.spec).outcome() == ProbeOutcome::Success
            && probe.at.at.hi < stop.at.at.lo
    };
    let Some(last) = life.probes.iter().rfind(passed) else { return };
    if is_command(life) || !only_its_probe(life) {
        return;
    }
    // Only a success that was held up on its way makes the time after it seem short. That a failure is missing too, as it
    // left no trace, is one chance too many.
    let between = |probe: &&&Probe<'_>| probe.at.at.lo > last.at.at.hi && probe.at.at.hi < stop.at.at.lo;
    let since = life.probes.iter().filter(between).count();
    let enough = i64::try_from(since).is_ok_and(|count| count >= life.spec.failures);
    let spare = if enough { UNNOTICED } else { UNNOTICED.min(OFF_BEAT.of(life.spec.period)) };
    let least = life.spec.failures * life.spec.period - spare;
    let bound = Bound::at_least(least, format!("failureThreshold × periodSeconds - {}", seconds(spare)));
    let quantity = format!("from the last success of {} to the stop signal", life.words());
    life.within(seen, quantity, (*last, stop), bound);
}

/// A container that was ready is shown as not ready after the last of so many failures, within the slack.
fn unready_in_time(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in readiness_lives(run) {
        for turn in turns(&life, ProbeOutcome::Failure) {
            if !life.showed_ready(&turn.first.at, true) {
                continue;
            }
            let Some(down) = life.first_shown(&turn.first.at, |_, status| !status.ready) else { continue };
            let quantity = "from the last of so many failures to ready=false";
            let measured = run.measure(quantity, &life.node, &turn.due, down, clause.in_time());
            let long = turn.lasted(&life) > clause.slack_us();
            if let Some(measured) = measured.filter(|measured| long || measured.fit() == Fit::Met) {
                seen.measure(measured);
            }
        }
    }
}

/// A container whose readiness probe fails goes on running, and goes on being probed.
pub(super) fn readiness_goes_on(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for spent in countable(run, ProbeKind::Readiness).into_iter().filter_map(Exhausted::of) {
        let (life, Some(last)) = (&spent.life, spent.failures.last()) else { continue };
        let allowed = life.pace() + clause.slack_us();
        let more: Vec<_> = life.probes.iter().filter(|probe| probe.at.at.lo > last.at.at.lo).collect();
        if let [one, two, ..] = more.as_slice() {
            seen.fine(spent.events().into_iter().chain([one.id, two.id]));
        }
        let known = life.last_line().is_some_and(|line| watched(life, &last.at, &line.at));
        let silent = more.is_empty() && life.lives_on() && life.lives_again().is_none() && known;
        if silent && life.watched_for(&spent.at, allowed) {
            let finding = format!("{} failed, and was not sent again for {}", life.words(), seconds(allowed));
            seen.violated(finding, spent.events().into_iter().chain(run.last_event()));
        }
    }
}

/// From the moment at which an endpoint goes bad, it takes so many periods less one to so many until the last failure.
pub(super) fn detected_in_time(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in countable_of_all(run) {
        if is_command(&life) || life.spec.kind == ProbeKind::Startup {
            continue;
        }
        let changes = life.lines.iter().filter(|line| matches!(&line.line.fact, Fact::Change(_)));
        let windows: Vec<Measurement> =
            changes.filter_map(|change| judge_window(clause, &life, change, seen)).collect();
        let spans = windows.iter().map(|window| window.observed.hi).collect();
        let events = windows.iter().flat_map(|window| window.events.first().copied()).collect();
        let what = format!("from the fault to the last failure of {}", life.words());
        if let Some(measured) = distribution(&what, spans, events).filter(|_| windows.len() > 1) {
            seen.note(measured);
        }
    }
}

/// A change after which all probes fail, and before which they did not: how long it took until the last that it takes.
fn judge_window(
    clause: &Clause,
    life: &ProbedLife<'_, '_>,
    change: &Line<'_>,
    seen: &mut Seen,
) -> Option<Measurement> {
    let wanted = usize::try_from(life.spec.failures).ok()?;
    let (before, after): (Vec<_>, Vec<_>) =
        life.probes.iter().copied().partition(|probe| probe.at.at.lo < change.at.at.lo);
    let was_well = before.last().is_some_and(|probe| life.outcome(probe) == ProbeOutcome::Success);
    let failed = after.iter().take_while(|probe| life.outcome(probe) == ProbeOutcome::Failure);
    let failures: Vec<_> = failed.take(wanted).collect();
    let last = failures.last().filter(|_| was_well && failures.len() == wanted)?;
    if !watched(life, &change.at, &last.at) {
        return None;
    }
    let (spec, slack) = (life.spec, clause.slack_us());
    let words = seconds(slack);
    let most = spec.failures * life.pace() + slack;
    // A container that has just become ready may be asked once more at once, for that was under way.
    let early = i64::from(spec.kind == ProbeKind::Readiness);
    let least = (spec.failures - 1 - early).max(0) * spec.period - slack;
    let bound = Bound::at_most(most, format!("failureThreshold × periodSeconds + {words}"))
        .and_at_least(least, format!("(failureThreshold - 1) × periodSeconds - {words}"));
    let quantity = format!("from the fault to the last failure of {} that it takes", life.words());
    let measured = life.run.measure(quantity, &life.node, change, **last, bound)?;
    seen.measure(measured.clone());
    Some(measured)
}
