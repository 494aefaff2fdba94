//! The pace of a schedule, which a busy node does not change.
//!
//! On a busy node, individual probes are late, and the kubelet may skip a probe. But the schedule itself keeps its pace,
//! because each probe has its own scheduled time. So the usual interval between probes shows a drift without any allowance
//! for noise.

use probity_model::Clause;
use probity_model::clocks::Clock;
use probity_model::measure::{Blur, Fit, Interval, Measurement, Unit};
use probity_model::mechanisms::{LATE_BEAT, MOSTLY, OFF_BEAT, ON_TIME, QUICK};
use probity_model::timeline::{Probe, ProbeKind, ProbeOutcome, ProbedLife};

use super::period::around;
use super::schedule::{is_command, is_followed, median};

/// The usual interval between the liveness or startup probes of an instance, if it certainly differs too much from the
/// period. It is measured in two ways: between neighbors, and over long stretches. Irregular delays affect only one of them,
/// so the one that is nearer to the period counts. The first probe is left out, because it may be late.
pub(super) fn wrong_pace(clause: &Clause, life: &ProbedLife<'_, '_>) -> Option<Measurement> {
    let period = life.spec.period.max(1);
    let probes = life.probes.get(1..)?;
    let (first, last) = (probes.first()?, probes.last()?);
    let by_schedule = life.spec.kind != ProbeKind::Readiness && probes.iter().all(|of| is_quick(life, of));
    let orderly = probes.windows(2).all(|pair| follows(life, pair) && is_on_beat(period, pair));
    if !by_schedule || !orderly || was_starved(life, first, last) {
        return None;
    }
    let intervals: Vec<i64> = probes.windows(2).filter_map(|pair| calm_interval(life, pair)).collect();
    if intervals.len() < clause.tolerance_times("paced") {
        return None;
    }
    let between = median(intervals)? - period;
    let over = median(long_intervals(clause, period, probes))? - period;
    if between.signum() != over.signum() {
        return None;
    }
    let nearer = if between.abs() < over.abs() { between } else { over };
    let part = match is_command(life) {
        true => clause.tolerance_part(period, "pace-of-commands"),
        false => clause.tolerance_part(period, "pace"),
    };
    let measured = Measurement {
        quantity: format!("the usual time between two of {} probes: {}", probes.len(), life.words()),
        unit: Unit::Us,
        observed: Interval::point(period + nearer),
        bound: around(period, "periodSeconds", part),
        noise: 0,
        blur: Blur::default(),
        events: vec![first.id, last.id],
    };
    Some(measured).filter(|measured| measured.fit() == Fit::Missed)
}

/// Whether a probe had a clear result so soon that it cannot have delayed the next one.
fn is_quick(life: &ProbedLife<'_, '_>, probe: &Probe<'_>) -> bool {
    let result = life.attempt.result(probe, life.spec);
    let is_soon = result.took().is_some_and(|took| took.hi < QUICK.of(life.spec.period));
    is_soon && result.outcome() != ProbeOutcome::Unclear
}

fn follows(life: &ProbedLife<'_, '_>, pair: &[&Probe<'_>]) -> bool {
    matches!(pair, [one, next] if is_followed(life, (one, next)))
}

/// Whether it is clear how many periods passed between two probes.
fn is_on_beat(period: i64, pair: &[&Probe<'_>]) -> bool {
    let [one, next] = pair else { return false };
    let off = (next.at.at.lo - one.at.at.lo).rem_euclid(period);
    off.min(period - off) <= ON_TIME.of(period)
}

/// Whether the node was overloaded for most of this time, or even an idle pod did not get its probes on time: then the
/// kubelet may have sent probes more slowly than scheduled.
fn was_starved(life: &ProbedLife<'_, '_>, first: &Probe<'_>, last: &Probe<'_>) -> bool {
    let (from, to) = (first.at.at.lo, last.at.at.hi);
    let of_node = |clock: &Clock| matches!(clock, Clock::Node(of) if *of == life.node);
    let late = life.run.late_kubelet.iter().any(|(_, late)| {
        let is_long = late.to_us.saturating_sub(late.from_us) > LATE_BEAT;
        is_long && of_node(&late.clock) && late.from_us < to && late.to_us > from
    });
    let overloaded = life.run.overloaded_between(&life.node, &first.at, &last.at);
    late || overloaded > MOSTLY.of(to - from)
}

/// The time between two probes. `None` for commands on an overloaded node: there, the start of a command may take longer than
/// the period, and then the next one waits for it.
fn calm_interval(life: &ProbedLife<'_, '_>, pair: &[&Probe<'_>]) -> Option<i64> {
    let [one, next] = pair else { return None };
    let is_slow = is_command(life) && life.run.overloaded_between(&life.node, &one.at, &next.at) > 0;
    (!is_slow).then_some(next.at.at.lo - one.at.at.lo)
}

/// The time for one period according to all pairs of probes that are far apart. Skipped probes count as periods.
fn long_intervals(clause: &Clause, period: i64, probes: &[&Probe<'_>]) -> Vec<i64> {
    let at: Vec<i64> = probes.iter().map(|probe| probe.at.at.lo).collect();
    let (mut before, mut turn) = (at.first().copied().unwrap_or_default(), 0);
    let turns = at.iter().map(|at| {
        turn += (at - before + OFF_BEAT.of(period)) / period;
        before = *at;
        (*at, turn)
    });
    let turns: Vec<(i64, i64)> = turns.collect();
    let far = turns.len().div_ceil(clause.tolerance_times("far-apart").max(1));
    let pairs = turns.iter().enumerate().flat_map(|(place, from)| {
        turns.iter().skip(place + far).map(move |to| (to.0 - from.0, to.1 - from.1))
    });
    pairs.filter(|(_, periods)| *periods > 0).map(|(time, periods)| time / periods).collect()
}
