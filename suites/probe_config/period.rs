//! How probes of one kind follow each other: once per period, never later while a container is not ready, and never two
//! at the same time.

use std::collections::BTreeMap;

use probity_model::clocks::{Clock, Stamp};
use probity_model::measure::{Bound, Fit, Measurement, seconds};
use probity_model::mechanisms::{
    NEAR, OFF_BEAT, ONE_MISSED, QUICK, START_OF_A_COMMAND, TO_END_A_COMMAND, UNDER_WAY,
};
use probity_model::timeline::{At, Probe, ProbeKind, ProbeOutcome, ProbedLife};
use probity_model::{Clause, EventId, Seen, Timeline};

use super::pace::wrong_pace;
use super::schedule::{
    countable, countable_of_all, distribution, is_command, is_followed, judge_each, neighbors, watched,
};
use crate::reading::absence::{judge_absence, judge_end};
use crate::reading::heard::is_stalled_on_its_way;

type Pair<'t, 'h> = (&'t Probe<'h>, &'t Probe<'h>);

/// Probes arrive every period, neither earlier nor later, and the schedule does not drift. It is also a violation if
/// probes of any kind were due but never arrived.
pub(super) fn is_kept(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let lives = run.lives().of_each(&ProbeKind::ALL).countable();
    let mut all = Vec::new();
    for life in lives {
        let (pairs, late) = (regular(&life, neighbors(&life)), Lateness::of(&life));
        all.extend(pairs.iter().filter_map(|pair| distance(clause, &life, &late, pair)));
        all.extend(drifts(clause, &life, &late, &pairs));
        all.extend(wrong_pace(clause, &life));
        all.extend(after_slow(&life).iter().filter_map(|pair| at_most_a_period(clause, &life, pair)));
        all.extend(after_timeout(&life).iter().filter_map(|pair| not_repeated(&life, &late, pair)));
        let spans = pairs.iter().map(|(a, b)| b.at.at.lo - a.at.at.hi).collect();
        let events = pairs.iter().map(|(a, _)| a.id).collect();
        let what = format!("between two consecutive probes: {}", life.words());
        if let Some(measured) = distribution(&what, spans, events) {
            seen.note(measured);
        }
    }
    judge_each(seen, all);
    judge_metronome(run, clause, seen);
    super::shared::each_asks(run, clause, seen);
    for life in run.lives().of_each(&ProbeKind::ALL) {
        judge_absence(clause, &life, seen);
        judge_end(clause, &life, seen);
    }
}

/// The pairs whose first probe was slow, but took less than a period: such a probe delays nothing, but the next probe
/// may come early. Readiness probes are left out because other clauses judge them, and commands because the time that
/// they take to start is not known.
fn after_slow<'t, 'h>(life: &ProbedLife<'t, 'h>) -> Vec<Pair<'t, 'h>> {
    if life.spec.kind == ProbeKind::Readiness || is_command(life) {
        return Vec::new();
    }
    let room = QUICK.of(life.spec.period)..life.spec.period - NEAR;
    let slow = |probe: &'t Probe<'h>| {
        let took = life.result(probe).took();
        life.outcome(probe) == ProbeOutcome::Success && took.is_some_and(|took| room.contains(&took.hi))
    };
    let pairs = life.probes.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)));
    pairs.filter(|pair| slow(pair.0) && is_followed(life, *pair)).collect()
}

/// The time from a slow probe to the next probe: at most a period and the slack.
fn at_most_a_period(
    clause: &Clause,
    life: &ProbedLife<'_, '_>,
    (a, b): &Pair<'_, '_>,
) -> Option<Measurement> {
    let quantity = format!("the time from a slow probe to the next: {}", life.words());
    let bound = Bound::at_most(life.spec.period + clause.slack_us(), "periodSeconds + slack");
    life.run.measure(quantity, &life.node, *a, *b, bound)
}

/// The pairs whose first probe failed, perhaps only at its timeout, and ended long before the next probe was due. Readiness
/// probes are left out because they may come early while the container is not ready. So are responses that broke off, because
/// the kubelet may try again after an error while it reads a body, and probes that may be such another attempt themselves:
/// the next one is due a period after the first attempt.
fn after_timeout<'t, 'h>(life: &ProbedLife<'t, 'h>) -> Vec<Pair<'t, 'h>> {
    let (start, end) = if is_command(life) { (START_OF_A_COMMAND, TO_END_A_COMMAND) } else { (0, 0) };
    let period = life.spec.period;
    let ends_early = life.spec.timeout + end < period && start <= OFF_BEAT.of(period);
    if life.spec.kind == ProbeKind::Readiness || !ends_early {
        return Vec::new();
    }
    let pairs = life.probes.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)));
    let failed =
        |probe: &'t Probe<'h>| [life.outcome(probe), life.surely(probe)].contains(&ProbeOutcome::Failure);
    let broke_off = |probe: &Probe<'_>| {
        let answer = life.request(probe).and_then(|asked| asked.answer.as_ref());
        answer.is_some_and(|answer| {
            let late = answer.at.at.hi - probe.at.at.lo >= life.spec.timeout - NEAR;
            answer.written > 0 && (late || answer.error.is_some())
        })
    };
    let again = |probe: &Probe<'_>| {
        let before = life.probes.iter().rev().find(|before| before.at.at.hi < probe.at.at.lo);
        before.is_some_and(|before| probe.at.at.lo - before.at.at.hi < period - NEAR)
    };
    pairs.filter(|(a, b)| failed(a) && !broke_off(a) && !again(a) && is_followed(life, (a, b))).collect()
}

/// The time from a failed probe to the next: so long that the next probe cannot be another attempt.
fn not_repeated(life: &ProbedLife<'_, '_>, late: &Lateness, (a, b): &Pair<'_, '_>) -> Option<Measurement> {
    let quantity = format!("the time from a failed probe to the next: {}", life.words());
    let bound =
        Bound::at_least(OFF_BEAT.of(life.spec.period), "periodSeconds / 2, because a failure is not retried");
    let bound = late.catching_up(0, a, bound);
    bound.lower.as_ref()?;
    life.run.measure(quantity, &life.node, *a, *b, bound)
}

/// The pairs whose second probe follows its schedule. Readiness probes may come at other times until the container is
/// ready, and an extra probe that was triggered before may still come afterwards. After a pause, there may have been
/// failures that left no record.
fn regular<'t, 'h>(life: &ProbedLife<'t, 'h>, pairs: Vec<Pair<'t, 'h>>) -> Vec<Pair<'t, 'h>> {
    if life.spec.kind != ProbeKind::Readiness {
        return pairs;
    }
    let passed = |probe: &Probe<'_>| {
        let counts = !life.is_straggler(probe) && !is_stalled_on_its_way(life, probe);
        life.surely(probe) == ProbeOutcome::Success && counts
    };
    let goes_on = |pair: &Pair<'_, '_>, (next, _): &Pair<'_, '_>| {
        pair.1.id == next.id && !misses_one(life, pair) && passed(pair.0) && passed(next)
    };
    let until_ready = usize::try_from(life.spec.successes).unwrap_or(usize::MAX).saturating_add(1);
    pairs.chunk_by(goes_on).flat_map(|chain| chain.iter().skip(until_ready).copied()).collect()
}

/// Whether a probe that left no record may have come between these two. If that probe failed, other probes may have
/// followed it at any time.
fn misses_one(life: &ProbedLife<'_, '_>, (a, b): &Pair<'_, '_>) -> bool {
    b.at.at.hi - a.at.at.lo >= ONE_MISSED.of(life.spec.period)
}

/// The plain probes of an idle pod also arrive every period. If they are late and the node does not explain this, the
/// kubelet is late. If the node was also late, nothing is concluded. The record of a late node may not have arrived
/// when a case ends.
fn judge_metronome(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    // A kubelet that the case restarts sends nothing during the restart.
    let late = run.late_kubelet.iter().filter(|_| !run.node_was_touched());
    // Lateness that began before this case may come from the previous case, which may have restarted the kubelet.
    let began = run.deeds.first().map(|(_, deed)| Stamp::harness(deed.began_us));
    for (id, late) in late {
        let Clock::Node(node) = &late.clock else { continue };
        let at = |us| At::new(*id, Stamp::node(node, us));
        if began.as_ref().is_none_or(|began| !run.before(began, &at(late.from_us))) {
            continue;
        }
        if run.at_least(&Stamp::node(node, late.to_us), &run.end()) <= UNDER_WAY {
            continue;
        }
        let quantity = format!("lateness of a probe of the idle pod on {node}");
        let measured = run.measure(quantity, node, at(late.from_us), at(late.to_us), clause.in_time());
        if let Some(late) = measured.filter(|late| late.fit() == Fit::Missed) {
            seen.measure(late);
        }
    }
}

/// The time between two consecutive probes: one period, plus or minus the slack.
fn distance(
    clause: &Clause,
    life: &ProbedLife<'_, '_>,
    late: &Lateness,
    pair: &Pair<'_, '_>,
) -> Option<Measurement> {
    let quantity = format!("the time between two consecutive probes: {}", life.words());
    let bound = around(life.spec.period, "periodSeconds", slack(clause, life));
    measure(life, quantity, *pair, late.catching_up(slack(clause, life), pair.0, bound))
}

/// How late each probe of an instance was, at least, according to the earlier probes: to the previous one or, on an
/// overloaded node, to those before it, because there several probes in a row are late. The first probe is missing.
struct Lateness(BTreeMap<EventId, i64>);

impl Lateness {
    fn of(life: &ProbedLife<'_, '_>) -> Self {
        let mut late = 0_i64;
        let pairs = life.probes.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)));
        let each = pairs.map(|(a, b)| {
            let overloaded = life.run.overloaded_between(&life.node, &a.at, &b.at) > 0;
            let before = if overloaded { late.max(0) } else { 0 };
            // Any probe without a record between the two was also on schedule.
            let more = b.at.at.hi - a.at.at.lo - life.spec.period;
            late = if is_followed(life, (a, b)) { before.saturating_add(more) } else { 0 };
            (b.id, late)
        });
        Self(each.collect())
    }

    /// A late probe does not move the schedule, so the next one comes sooner. The lateness of the first probe of an
    /// instance is not known: before that probe, the kubelet must notify its own prober of the new container, and this
    /// may be delayed.
    fn catching_up(&self, slack: i64, from: &Probe<'_>, bound: Bound) -> Bound {
        let (Some(late), Some(lower)) = (self.0.get(&from.id).copied(), &bound.lower) else {
            return Bound { lower: None, ..bound };
        };
        if late <= slack {
            return bound;
        }
        let formula = format!("{} - {} by which the first probe came late", lower.formula, seconds(late));
        let value = lower.value - late;
        bound.and_at_least(value, formula)
    }
}

/// The slack of the clause, or a larger one for commands: a command is recorded only when the runtime has started it,
/// which takes time.
fn slack(clause: &Clause, life: &ProbedLife<'_, '_>) -> i64 {
    if is_command(life) { clause.tolerance_us("command") } else { clause.slack_us() }
}

/// The time over several consecutive probes is as many periods. Each probe has its own scheduled time, so only a delay
/// of the last probe can excuse a longer time, and earlier delays cannot. On an overloaded node probes are skipped
/// entirely.
fn drifts(
    clause: &Clause,
    life: &ProbedLife<'_, '_>,
    late: &Lateness,
    pairs: &[Pair<'_, '_>],
) -> Vec<Measurement> {
    let is_steady = |pair: &&Pair<'_, '_>| life.spec.kind != ProbeKind::Readiness || !misses_one(life, pair);
    let steady: Vec<Pair<'_, '_>> = pairs.iter().filter(is_steady).copied().collect();
    let chains = steady.chunk_by(|(_, b), (next, _)| b.id == next.id);
    // A total that starts with the first probe of an instance has no lower bound, so another total starts with the
    // second probe.
    let chains = chains.flat_map(|chain| {
        let from_second = chain.first().is_some_and(|pair| !late.0.contains_key(&pair.0.id));
        [Some(chain), chain.get(1..).filter(|_| from_second)].into_iter().flatten()
    });
    let chains = chains.filter(|chain| chain.len() > 1);
    let drift = |chain: &[Pair<'_, '_>]| {
        let (first, last, count) = (chain.first()?, chain.last()?, i64::try_from(chain.len()).ok()?);
        let bound =
            around(count * life.spec.period, &format!("{count} × periodSeconds"), slack(clause, life));
        let quantity = format!("the total time between {count} consecutive probes: {}", life.words());
        let bound = late.catching_up(slack(clause, life), first.0, bound);
        let mut measured = measure(life, quantity, (first.0, last.1), bound)?;
        let late = life.run.stalled_at(&last.1.at).max(life.run.saturated_before(&life.node, &last.1.at));
        let left_out = life.run.overloaded_between(&life.node, &first.0.at, &last.1.at);
        measured.noise = measured.noise.min(late).max(left_out);
        Some(measured)
    };
    chains.filter_map(drift).collect()
}

/// A bound on both sides of a time, at the same distance.
pub(super) fn around(time: i64, formula: &str, slack: i64) -> Bound {
    let words = seconds(slack);
    Bound::at_most(time + slack, format!("{formula} + {words}"))
        .and_at_least(time - slack, format!("{formula} - {words}"))
}

fn measure(
    life: &ProbedLife<'_, '_>,
    quantity: String,
    (a, b): Pair<'_, '_>,
    bound: Bound,
) -> Option<Measurement> {
    let mut measured = life.run.measure(quantity, &life.node, a, b, bound)?;
    measured.events = a.events().into_iter().chain(b.events()).collect();
    Some(measured)
}

/// While a container is not ready its readiness probe may arrive early, but never later than after one period.
pub(super) fn readiness_is_not_forgotten(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let slack = clause.slack_us();
    for life in &countable(run, ProbeKind::Readiness) {
        // After a probe of the previous instance, no other probe comes until the new instance's first probe is due.
        let failed: Vec<Pair<'_, '_>> = neighbors(life)
            .into_iter()
            .filter(|(a, _)| life.outcome(a) == ProbeOutcome::Failure && !life.is_straggler(a))
            .collect();
        let early =
            failed.iter().filter(|(a, b)| b.at.at.hi - a.at.at.lo < OFF_BEAT.of(life.spec.period)).count();
        let formula = format!("periodSeconds + {}; {early} came early", seconds(slack));
        let bound = Bound::at_most(life.spec.period + slack, formula);
        let quantity = || format!("the time between two consecutive probes: {}", life.words());
        let distances = failed.iter().filter_map(|pair| measure(life, quantity(), *pair, bound.clone()));
        judge_each(seen, distances.collect());
    }
}

/// If a probe takes longer than its period, the next probe waits for its end, and then runs immediately.
pub(super) fn one_at_a_time(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let mut all = Vec::new();
    for life in countable_of_all(run).iter().filter(|life| life.spec.timeout > life.spec.period) {
        let pairs = life.probes.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)));
        for (a, b) in pairs.filter(|(a, b)| watched(life, &a.at, &b.at)) {
            let id = a.settled.as_ref().map_or(a.id, |settled| settled.id);
            let ended = At::new(id, life.result(a).at());
            if ended.at.lo - a.at.at.hi < life.spec.period + NEAR {
                continue;
            }
            let bound = clause.in_time().and_at_least(
                -NEAR,
                "not before the end of the previous probe, within the accuracy of the clocks",
            );
            let quantity = format!("from the end of a slow probe to the next of {}", life.words());
            all.extend(run.measure(quantity, &life.node, &ended, b, bound));
        }
    }
    judge_each(seen, all);
}
