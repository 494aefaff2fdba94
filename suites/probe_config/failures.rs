//! `failureThreshold`: how many failures in a row have an effect, and when the effect comes.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, Fit, seconds};
use probity_model::mechanisms::{
    DOUBTFUL, NEAR, OFF_BEAT, ONE_MISSED, SATURATION_DELAYS, START_OF_A_COMMAND, UNNOTICED,
};
use probity_model::timeline::{At, Handler, Probe, ProbeKind, ProbeOutcome, ProbedLife, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};

use super::beyond::none_beyond;
use super::schedule::{countable, is_command, shown_ready, watched};
use super::unasked::enough_from_the_start;
use crate::probe_types::readiness::keeps_serving;
use crate::reading::causes::{only_its_probe, stopped_too_early};
use crate::reading::ports::was_always_open;
use crate::reading::readiness::{readiness_lives, turns};
use crate::reading::termination::exhausted;

/// Whether the kubelet may have missed an answer that the target considers a success: the result of the probe is not
/// known, or the answer came so close to the timeout that a stall before the record can explain the rest.
pub(crate) fn may_be_missed(life: &ProbedLife<'_, '_>, probe: &Probe<'_>) -> bool {
    let result = life.attempt.result(probe, life.spec);
    // The kernel made the connection while the target was stalled, and the kubelet's timeout was already running.
    let connected = life
        .attempt
        .connection_of(probe)
        .map(|connection| probe.at.at.hi - connection.at.at.lo + life.run.stalled_at(&connection.at));
    let stalled = life.run.stalled_at(&probe.at).max(connected.unwrap_or(0));
    let near = result.took().is_none_or(|took| took.hi + stalled >= life.spec.timeout - NEAR);
    near || !was_heard(life, probe)
}

/// Whether an answer was a success, and not too late for an overloaded kubelet or because of a stall of the machine.
pub(super) fn was_heard(life: &ProbedLife<'_, '_>, probe: &Probe<'_>) -> bool {
    let succeeded = life.attempt.result(probe, life.spec).outcome() == ProbeOutcome::Success;
    succeeded && !is_unheard(life, probe) && !is_stalled_on_its_way(life, probe)
}

/// Whether the machine stalled so long just before a probe arrived that the probe may have timed out: the kubelet's
/// timeout begins when it sends the probe.
pub(crate) fn is_stalled_on_its_way(life: &ProbedLife<'_, '_>, probe: &Probe<'_>) -> bool {
    life.run.stalled_at(&probe.at) > DOUBTFUL.of(life.spec.timeout)
}

/// Whether an answer may have come too late for a kubelet on an overloaded node, which waits for a CPU before it sends
/// a probe and before it reads the answer, while the probe's timeout is running.
fn is_unheard(life: &ProbedLife<'_, '_>, probe: &Probe<'_>) -> bool {
    let result = life.attempt.result(probe, life.spec);
    let answered = result.at();
    let crowded = |from: &Stamp, to: &Stamp| life.run.crowded_between(&life.node, from, to);
    // A wait for a CPU ends as soon as a CPU is free.
    let before = |by: i64| crowded(&probe.at.earlier(by), &probe.at);
    let after = |by: i64| crowded(&answered, &answered.later(by));
    let unsent = if before(NEAR) > 0 { before(SATURATION_DELAYS) } else { 0 };
    let unread = if after(NEAR) > 0 { after(SATURATION_DELAYS) } else { 0 };
    let waited = unsent + unread;
    waited > 0 && result.took().is_some_and(|took| took.hi + waited >= life.spec.timeout - NEAR)
}

/// The effect of failures follows the failure that reaches the threshold. It does not come earlier, and no other probe
/// comes in between.
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
    for life in run.lives().of_each(&ProbeKind::STOPPING).undisturbed().whole() {
        stopped_too_early(&life, seen);
    }
    super::shared::not_before(run, seen);
    super::shared::not_after(run, clause, seen);
    let mut races = Vec::new();
    for life in countable(run, ProbeKind::Readiness) {
        let turns = shown_ready(&life);
        for (at, pair) in turns.windows(2).enumerate() {
            let [(up, true), (down, false)] = pair else { continue };
            if !is_earned(&life, up)
                || down.container(&life.container.name).is_none_or(|of| of.started == Some(false))
                || !serves_until(&life, down, run.before_deletion(life.pod, &down.at))
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

/// Whether a race can explain why a container that had passed every probe was shown as not ready. In such a race, an
/// older status is written after the ready status, which soon arrives again.
fn is_race(life: &ProbedLife<'_, '_>, up: &Revision<'_>, again: &Revision<'_>, under_way: i64) -> bool {
    let clocks = &life.run.clocks;
    let mut until = life.probes.iter().filter(|probe| clocks.order(&probe.at, &again.at) != Order::After);
    clocks.between(&up.at, &again.at).is_some_and(|span| span.hi <= under_way)
        && until.all(|probe| !may_be_missed(life, probe))
}

/// A race is rare, so at most one instance of a history may be affected.
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

/// Whether the failures had reached the threshold so recently that the status update may arrive only now.
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

/// Whether the process was running until a revision arrived, without a stop signal or with a stop signal after which it
/// keeps serving because its pod terminates. Probes of a terminated process are refused, and leave no record.
fn serves_until(life: &ProbedLife<'_, '_>, shown: &Revision<'_>, undeleted: bool) -> bool {
    let stop = life.stop().filter(|_| undeleted || !keeps_serving(life.attempt));
    let ends = [stop, life.attempt.exiting()].into_iter().flatten().map(At::of);
    let mut ends = ends.chain(life.ended.clone());
    ends.all(|end| life.run.clocks.order(&shown.at, &end) == Order::Before)
}

/// Fewer failures than the threshold, counted from the last success, have no effect. A status update may have been on
/// its way for the time `under_way` while another probe succeeded.
fn enough_before(life: &ProbedLife<'_, '_>, (what, at, under_way): (&str, &At, i64), seen: &mut Seen) {
    // A port that was not open all the time may have refused probes, which leave no record.
    let open = was_always_open(life);
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
    // The first status of a new instance may still show the readiness of the previous one.
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

/// Whether a command may have failed before the target recorded it, after the first of these probes and before the
/// effect of the last.
fn may_have_failed_unseen(life: &ProbedLife<'_, '_>, probes: &[&Probe<'_>], effect: &At) -> bool {
    let long = |one: &Stamp, next: &Stamp, most: i64| {
        life.run.clocks.between(one, next).is_none_or(|span| span.hi >= most)
    };
    // A readiness probe may also come early, but a probe that failed without a record took its whole timeout.
    let turn = ONE_MISSED.of(life.spec.period);
    let room = if life.spec.kind == ProbeKind::Readiness { turn.min(life.spec.timeout) } else { turn };
    let between = probes.windows(2).any(|pair| {
        let [one, next] = pair else { return true };
        long(&one.at, &next.at, room)
    });
    let last = probes.last().is_none_or(|last| long(&last.at, effect, life.spec.period - NEAR));
    life.spec.timeout < START_OF_A_COMMAND || between || last
}

/// After a success, the stop signal comes no earlier than `failureThreshold` periods later.
fn not_before(life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let Some(stop) = life.stop() else { return };
    let passed = |probe: &&&Probe<'_>| was_heard(life, probe) && probe.at.at.hi < stop.at.at.lo;
    let Some(last) = life.probes.iter().rfind(passed) else { return };
    if is_command(life) || !only_its_probe(life) {
        return;
    }
    // The measured time is too short only if the success was delayed on its way. A failure without a record at the same
    // time would be an unlikely second coincidence, so this bound does not allow for both.
    let between = |probe: &&&Probe<'_>| probe.at.at.lo > last.at.at.hi && probe.at.at.hi < stop.at.at.lo;
    let since = life.probes.iter().filter(between).count();
    let enough = i64::try_from(since).is_ok_and(|count| count >= life.spec.failures);
    let spare = if enough { UNNOTICED } else { UNNOTICED.min(OFF_BEAT.of(life.spec.period)) };
    let least = life.spec.failures * life.spec.period - spare;
    let bound = Bound::at_least(least, format!("failureThreshold × periodSeconds - {}", seconds(spare)));
    let quantity = format!("from the last success of {} to the stop signal", life.words());
    life.within(seen, quantity, (*last, stop), bound);
}

/// A ready container is shown as not ready within the slack after the failure that reaches the threshold.
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
            // Without another failure in between, only the status is late, and nothing shows that the count was wrong.
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
