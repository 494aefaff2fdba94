//! `failureThreshold`: how many failures in a row have an effect, when they have it, and that fewer have none.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, Fit, Measurement, seconds};
use probity_model::mechanisms::{NEAR, OFF_BEAT, ONE_MISSED, START_OF_A_COMMAND, UNNOTICED};
use probity_model::timeline::{
    At, ContainerSeen, Handler, Line, Probe, ProbeKind, ProbeOutcome, ProbedLife, Revision,
};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::Fact;

use super::beyond::none_beyond;
use super::schedule::{countable, countable_of_all, distribution, is_command, shown_ready, watched};
use super::unasked::enough_from_the_start;
use crate::reading::causes::only_its_probe;
use crate::reading::ports::listening;
use crate::reading::readiness::{falls, goes_down, readiness_lives, stopped_after, turns};
use crate::reading::termination::{Exhausted, exhausted};

/// A sequence of failures below the threshold, between two successes.
struct Short<'t, 'h> {
    failures: Vec<&'t Probe<'h>>,
    next: &'t Probe<'h>,
    /// The maximum number of failures that the kubelet can have counted, including the neighboring successes that it
    /// may have missed.
    most: usize,
}

impl Short<'_, '_> {
    fn events(&self) -> Vec<EventId> {
        self.failures.iter().flat_map(|probe| probe.events()).chain(self.next.events()).collect()
    }
}

/// Whether the kubelet may have missed an answer that the target considers a success: its result is not known, or it
/// came so close to the timeout that a stall before the record explains the rest.
fn may_be_missed(life: &ProbedLife<'_, '_>, probe: &Probe<'_>) -> bool {
    let result = life.attempt.result(probe, life.spec);
    // The kernel made the connection, and the kubelet's clock ran, while the target was not there to accept it.
    let connected = life
        .attempt
        .connection_of(probe)
        .map(|connection| probe.at.at.hi - connection.at.at.lo + life.run.stalled_at(&connection.at));
    let stalled = life.run.stalled_at(&probe.at).max(connected.unwrap_or(0));
    let near = result.took().is_none_or(|took| took.hi + stalled >= life.spec.timeout - NEAR);
    result.outcome() != ProbeOutcome::Success || near
}

/// The sequences of failures in an instance that are below the threshold and end with a success. Commands are left out:
/// they may fail before the target records them.
fn short_runs<'t, 'h>(life: &ProbedLife<'t, 'h>) -> Vec<Short<'t, 'h>> {
    if is_command(life) {
        return Vec::new();
    }
    let threshold = usize::try_from(life.spec.failures).unwrap_or(usize::MAX);
    let triples = life.stretches();
    let triples = triples.windows(3).filter_map(|three| {
        use ProbeOutcome::{Failure, Success};
        let [(Success, well), (Failure, failures), (Success, next)] = three else { return None };
        let missed = |probe: &&&Probe<'h>| may_be_missed(life, probe);
        let around = well.iter().rev().take_while(missed).count() + next.iter().take_while(missed).count();
        let (last, next) = (*well.last()?, *next.first()?);
        let known = watched(life, &last.at, &next.at);
        let most = failures.len() + around;
        (known && failures.len() < threshold).then(|| Short { failures: failures.to_vec(), next, most })
    });
    triples.collect()
}

/// What a sequence of failures below the threshold must not cause: the stop signal, or a revision that is not ready.
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

/// One success resets the count: failures that reach the threshold in total, but never in a row, have no effect.
pub(super) fn one_success_resets(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for life in countable_of_all(run) {
        let runs = short_runs(&life);
        let failures: usize = runs.iter().map(|short| short.failures.len()).sum();
        if i64::try_from(failures).is_ok_and(|failures| failures >= life.spec.failures) {
            judge_short(&life, &runs, seen);
        }
    }
}

/// A fault that ends before `failureThreshold` probes have failed has no effect.
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
        let finding =
            format!("{} failed only {count} of {wanted} times, but the failure counted", life.words());
        let events = short.events().into_iter().chain([id]);
        if i64::try_from(short.most).is_ok_and(|most| most < wanted) {
            seen.violated(finding, events);
        } else {
            seen.doubt(Doubt::Ambiguous, format!("{finding}, but stalls may have hidden an answer"), events);
        }
    }
}

/// The effect of failures follows the last one of the threshold: not before, and with no other probe in between.
pub(super) fn exact_count(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for kind in ProbeKind::STOPPING {
        for spent in exhausted(run, kind) {
            spent.judge_stop(clause, seen);
        }
    }
    for life in countable(run, ProbeKind::Liveness) {
        not_before(&life, seen);
        if let Some(stop) = life.stop().filter(|_| only_its_probe(&life)) {
            enough_before(&life, ("stopped", &At::of(stop), 0), seen);
        }
    }
    for life in ProbeKind::STOPPING.into_iter().flat_map(|kind| countable(run, kind)) {
        enough_from_the_start(&life, seen);
        none_beyond(&life, seen);
    }
    super::shared::not_before(run, seen);
    let mut races = Vec::new();
    for life in countable(run, ProbeKind::Readiness) {
        let turns = shown_ready(&life);
        for (at, pair) in turns.windows(2).enumerate() {
            let [(up, true), (down, false)] = pair else { continue };
            if !is_earned(&life, up)
                || !run.before_deletion(life.pod, &down.at)
                || down.container(&life.container.name).is_none_or(|of| of.started == Some(false))
                || !serves_until(&life, down)
            {
                continue;
            }
            let again = turns.get(at + 2).map(|(again, _)| *again);
            if again.is_some_and(|again| is_race(&life, up, again, clause.slack_us())) {
                races.push([up.id, down.id]);
            } else {
                enough_before(&life, ("shown as not ready", &At::of(*down), clause.slack_us()), seen);
            }
        }
    }
    judge_races(&races, seen);
    unready_in_time(run, clause, seen);
}

/// Whether a container that had passed every probe until then was shown as not ready only until the status that its
/// success had earned could arrive again: an older status was written after it.
fn is_race(life: &ProbedLife<'_, '_>, up: &Revision<'_>, again: &Revision<'_>, under_way: i64) -> bool {
    let clocks = &life.run.clocks;
    let mut until = life.probes.iter().filter(|probe| clocks.order(&probe.at, &again.at) != Order::After);
    clocks.between(&up.at, &again.at).is_some_and(|span| span.hi <= under_way)
        && until.all(|probe| !may_be_missed(life, probe))
}

/// A race is rare: it may affect one instance of a history.
fn judge_races(races: &[[EventId; 2]], seen: &mut Seen) {
    let finding = "shown as not ready after no failure at all";
    let events = races.iter().copied().flatten();
    match races {
        [] => {}
        [_] => {
            let why = format!(
                "{finding}, but so briefly that two status updates may have arrived in the wrong order"
            );
            seen.doubt(Doubt::Ambiguous, why, events);
        }
        [..] => seen.violated(format!("{finding}, {} times", races.len()), events),
    }
}

/// Whether an instance was shown as ready because of its own probes. A new instance is first shown with the state of
/// the previous one, and the clauses of the gate judge what is shown before its startup probe has succeeded.
fn is_earned(life: &ProbedLife<'_, '_>, up: &Revision<'_>) -> bool {
    let before = |at: &Stamp| life.run.before(at, &up.at);
    let first = life.revisions().find(|(_, status)| status.is_running());
    let inherited = life.number > 0 && first.is_some_and(|(first, _)| first.id == up.id);
    let started = life.container.probe(ProbeKind::Startup).is_none()
        || life.attempt.first_success(ProbeKind::Startup).is_some_and(|success| before(&success.at));
    !inherited && started
}

/// Whether the failures had reached the threshold at some time whose status update may arrive only now.
fn were_enough(life: &ProbedLife<'_, '_>, before: &[&Probe<'_>], (now, under_way): (&At, i64)) -> bool {
    let late = |probe: &&&Probe<'_>| {
        let most = under_way + life.noise(&probe.at, now);
        life.run.clocks.between(&probe.at, now).is_some_and(|span| span.lo <= most)
    };
    let recent = before.iter().rev().take_while(late).count();
    let failed =
        |end: usize| before[..end].iter().rev().take_while(|probe| may_be_missed(life, probe)).count();
    let most = (before.len() - recent..=before.len()).map(failed).max().unwrap_or(0);
    i64::try_from(most).is_ok_and(|most| most >= life.spec.failures)
}

/// Whether the process was running, without a stop signal, until a revision arrived: probes of a terminated process are
/// refused, and leave no record.
fn serves_until(life: &ProbedLife<'_, '_>, shown: &Revision<'_>) -> bool {
    let ends = [life.stop(), life.attempt.exiting()].into_iter().flatten().map(At::of);
    let mut ends = ends.chain(life.ended.clone());
    ends.all(|end| life.run.clocks.order(&shown.at, &end) == Order::Before)
}

/// Fewer failures, counted from the last success, have no effect. A status update may have been on its way for this
/// long, while another probe succeeded.
fn enough_before(life: &ProbedLife<'_, '_>, (what, at, under_way): (&str, &At, i64), seen: &mut Seen) {
    // A port that was not open all the time has refused probes that nobody saw.
    let open = listening(life).all(|(state, _)| state == "open");
    if !open || matches!(life.spec.handler, Handler::Tcp { .. }) {
        return;
    }
    let clocks = &life.run.clocks;
    let before: Vec<&Probe<'_>> =
        life.probes.iter().copied().take_while(|probe| clocks.order(&probe.at, at) != Order::After).collect();
    if under_way > 0 && were_enough(life, &before, (at, under_way)) {
        return;
    }
    let Some(from) = before.iter().rposition(|probe| !may_be_missed(life, probe)) else { return };
    let (Some(well), Some(line)) = (before.get(from), life.last_line()) else { return };
    // What a new life is shown as at first may still be what the one before it earned.
    if well.at.at.lo < life.known_from() {
        return;
    }
    if is_command(life) && may_have_failed_unseen(life, &before[from..], at) {
        return;
    }
    let (since, wanted) = (&before[from + 1..], life.spec.failures);
    let next = life.probes.get(before.len()).map_or(&line.at, |next| &next.at);
    if !watched(life, &well.at, next) || i64::try_from(since.len()).is_ok_and(|of| of >= wanted) {
        return;
    }
    let count = since.len();
    let events = since.iter().flat_map(|probe| probe.events()).chain(well.events()).chain([at.id]);
    seen.violated(format!("{}: {what} after {count} of {wanted} failures in a row", life.words()), events);
}

/// Whether a command may have failed before the target recorded it, after the first of these and before this effect of the last.
fn may_have_failed_unseen(life: &ProbedLife<'_, '_>, probes: &[&Probe<'_>], effect: &At) -> bool {
    let long = |one: &Stamp, next: &Stamp, most: i64| {
        life.run.clocks.between(one, next).is_none_or(|span| span.hi >= most)
    };
    let between = probes.windows(2).any(|pair| {
        let [one, next] = pair else { return true };
        long(&one.at, &next.at, ONE_MISSED.of(life.spec.period))
    });
    let last = probes.last().is_none_or(|last| long(&last.at, effect, life.spec.period - NEAR));
    let hasty = life.spec.kind == ProbeKind::Readiness || life.spec.timeout < START_OF_A_COMMAND;
    hasty || between || last
}

/// After a success, a stop signal takes as many periods as the threshold has failures.
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

/// A ready container is shown as not ready after the last failure of the threshold, within the slack.
fn unready_in_time(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in readiness_lives(run) {
        for turn in turns(&life, ProbeOutcome::Failure) {
            if !life.showed_ready(&turn.first.at, true) {
                continue;
            }
            let Some(down) = life.first_shown(&turn.first.at, |_, status| !status.ready) else { continue };
            let quantity = "from the last failure in the row to ready=false";
            let measured = run.measure(quantity, &life.node, &turn.due, down, clause.in_time());
            let long = turn.lasted(&life) > clause.slack_us();
            let Some(measured) = measured.filter(|measured| long || measured.fit() == Fit::Met) else {
                continue;
            };
            // Without another failure in between, the status is late, and nothing says that the count was wrong.
            let more = life
                .probes
                .iter()
                .any(|probe| probe.at.at.lo > turn.due.at.hi && run.before(&probe.at, &down.at));
            if more || measured.fit() != Fit::Missed {
                seen.measure(measured);
            }
        }
    }
}

/// A container whose readiness probe fails keeps running, and is still probed.
pub(super) fn readiness_goes_on(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for spent in countable(run, ProbeKind::Readiness).into_iter().filter_map(Exhausted::of) {
        let (life, Some(last)) = (&spent.life, spent.failures.last()) else { continue };
        let allowed = life.pace() + clause.slack_us();
        let more: Vec<_> = life.probes.iter().filter(|probe| probe.at.at.lo > last.at.at.lo).collect();
        if let [one, two, ..] = more.as_slice()
            && let Some(down) = says_unready(clause, &spent, seen)
        {
            seen.fine(spent.events().into_iter().chain([one.id, two.id, down]));
        }
        if let Some(stop) = stopped_after(life, &spent.at) {
            let finding =
                format!("{}: the container was stopped after failures of this probe alone", life.words());
            seen.violated(finding, spent.events().into_iter().chain([stop]));
        }
        let known = life.last_line().is_some_and(|line| watched(life, &last.at, &line.at));
        let silent = more.is_empty() && life.lives_on() && life.lives_again().is_none() && known;
        if silent && life.watched_for(&spent.at, allowed) {
            let finding = format!("{} failed and was not repeated for {}", life.words(), seconds(allowed));
            seen.violated(finding, spent.events().into_iter().chain(run.last_event()));
        }
    }
}

/// The revision that shows the container running and not ready, and its pod not `Ready`, while its failures last. A
/// violation if none shows it although the failures lasted longer than the slack.
fn says_unready(clause: &Clause, spent: &Exhausted<'_, '_>, seen: &mut Seen) -> Option<EventId> {
    let life = &spent.life;
    let failed = |probe: &&&Probe<'_>| life.outcome(probe) == ProbeOutcome::Failure;
    let after = life.probes.iter().skip_while(|probe| probe.at.at.lo < spent.at.at.lo);
    let last = after.take_while(failed).last()?;
    let down = |of: &Revision<'_>, status: &ContainerSeen<'_>| {
        status.is_running() && !status.ready && of.is("Ready") == Some(false)
    };
    let until = |of: &Revision<'_>| life.run.clocks.order(&of.at, &last.at) != Order::After;
    let shown = life.revisions().filter(|(of, _)| until(of)).last();
    if let Some((of, _)) = shown.clone().filter(|(of, status)| down(of, status)) {
        return Some(of.id);
    }
    let lasted = last.at.at.lo - spent.at.at.hi - life.noise(&spent.at, &last.at);
    if let Some((of, _)) = shown.filter(|_| lasted > clause.slack_us()) {
        let finding =
            format!("{} had been failing for {}, but the pod was still ready", life.words(), seconds(lasted));
        seen.violated(finding, spent.events().into_iter().chain([last.id, of.id]));
    }
    None
}

/// When an endpoint starts to fail, the last failure comes after `failureThreshold` − 1 to `failureThreshold` periods,
/// and its effect follows immediately.
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

/// A change after which all probes fail, and before which they did not: the time until the decisive failure.
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
    let (spec, exact) = (life.spec, clause.tolerance_us("schedule"));
    let words = seconds(exact);
    let most = spec.failures * life.pace() + exact;
    let early = i64::from(just_ready(life, change));
    let least = (spec.failures - 1 - early).max(0) * spec.period - exact;
    let bound = Bound::at_most(most, format!("failureThreshold × periodSeconds + {words}"))
        .and_at_least(least, format!("(failureThreshold - 1) × periodSeconds - {words}"));
    let quantity = format!("from the fault to the decisive failure of {}", life.words());
    let measured = life.run.measure(quantity, &life.node, change, **last, bound)?;
    if measured.fit() == Fit::Met {
        acts(clause, life, failures.first()?, seen);
    }
    seen.measure(measured.clone());
    Some(measured)
}

/// Whether a container had become ready so shortly before a given time that an extra probe may still have been running:
/// the kubelet sends those while it is not ready.
fn just_ready(life: &ProbedLife<'_, '_>, change: &Line<'_>) -> bool {
    let turned = |(revision, ready): &(&Revision<'_>, bool)| {
        *ready && life.run.clocks.order(&revision.at, &change.at) != Order::After
    };
    let last = shown_ready(life).into_iter().rfind(turned);
    let long =
        last.is_some_and(|(revision, _)| life.run.at_least(&revision.at, &change.at) > life.spec.period);
    life.spec.kind == ProbeKind::Readiness && !long
}

/// After the last failure, the stop signal or a not-ready status follows within the slack.
fn acts(clause: &Clause, life: &ProbedLife<'_, '_>, first: &Probe<'_>, seen: &mut Seen) {
    if life.spec.kind == ProbeKind::Readiness {
        let all = falls(life);
        if let Some(turn) = all.iter().find(|turn| turn.first.id == first.id) {
            goes_down(clause, seen, life, turn);
        }
    } else if let Some(spent) = Exhausted::of(life.clone())
        && spent.failures.first().is_some_and(|of| of.id == first.id)
    {
        spent.judge_stop(clause, seen);
    }
}
