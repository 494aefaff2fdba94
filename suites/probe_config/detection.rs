//! The time until a fault is noticed, which is `failureThreshold` periods. The effect follows at once.

use probity_model::clocks::Order;
use probity_model::measure::{Bound, Fit, Measurement, seconds};
use probity_model::timeline::{Line, Probe, ProbeKind, ProbeOutcome, ProbedLife, Revision};
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::Fact;

use super::schedule::{countable_of_all, distribution, is_command, shown_ready, watched};
use crate::reading::heard::was_heard;
use crate::reading::readiness::{falls, goes_down};
use crate::reading::termination::Exhausted;

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

/// Judges the time from a change, after which all probes fail, to the decisive failure. Before the change, the probes
/// succeeded.
fn judge_window(
    clause: &Clause,
    life: &ProbedLife<'_, '_>,
    change: &Line<'_>,
    seen: &mut Seen,
) -> Option<Measurement> {
    let wanted = usize::try_from(life.spec.failures).ok()?;
    let (before, after): (Vec<_>, Vec<_>) =
        life.probes.iter().copied().partition(|probe| probe.at.at.lo < change.at.at.lo);
    // A probe whose answer came too late for a busy kubelet is the first failure.
    let was_well = before.last().is_some_and(|probe| was_heard(life, probe));
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
/// the kubelet sends extra probes while a container is not ready.
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
