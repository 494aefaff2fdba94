//! `failureThreshold`: how many failures in a row have an effect, and when the effect comes.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, Fit, seconds};
use probity_model::mechanisms::{NEAR, OFF_BEAT, ONE_MISSED, START_OF_A_COMMAND, UNNOTICED};
use probity_model::timeline::{At, Handler, Probe, ProbeKind, ProbeOutcome, ProbedLife, Revision};
use probity_model::{Clause, Seen, Timeline};

use super::beyond::none_beyond;
use super::extra::is_extra;
use super::schedule::{countable, is_command, shown_ready, watched};
use super::unasked::enough_from_the_start;
use crate::reading::causes::{only_its_probe, stopped_too_early};
use crate::reading::ends::keeps_serving;
use crate::reading::heard::{may_be_missed, was_heard};
use crate::reading::ports::was_always_open;
use crate::reading::readiness::{readiness_lives, turns};
use crate::reading::statuses::judge_races;
use crate::reading::termination::exhausted;

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
    judge_races("shown as not ready after no failure at all", &races, seen);
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
    let failed = |end: usize| {
        let row = before[..end].iter().rev().take_while(|probe| may_be_missed(life, probe));
        row.filter(|probe| !is_extra(life, probe)).count()
    };
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

/// Fewer failures than the threshold, counted from the last success, have no effect. Extra probes do not count, because they
/// follow the effect. A status update may have been on its way for the time `under_way` while another probe succeeded.
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
    let count = since.iter().filter(|probe| !is_extra(life, probe)).count();
    if !watched(life, &well.at, next) || i64::try_from(count).is_ok_and(|of| of >= wanted) {
        return;
    }
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
            let quantity = "from the last consecutive failure to ready=false";
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
