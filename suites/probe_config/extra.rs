//! Extra readiness probes, which a kubelet sends at once because it considers the container not ready.

use probity_model::mechanisms::{OFF_BEAT, ON_TIME};
use probity_model::timeline::{Probe, ProbeKind, ProbeOutcome, ProbedLife};

/// Whether a readiness probe came only because the kubelet already considered the container not ready. A ready container gets
/// one probe in each period. So a probe that follows a failure much sooner cannot be one of the failures that made the
/// container not ready.
///
/// A late probe also makes the next interval short, because it does not move the schedule. So the failure and the two probes
/// before it must have come on time, and the node must not have been stalled or overloaded for long just before. A failure
/// that may have been tried again, or that took long, is not considered.
pub(super) fn is_extra(life: &ProbedLife<'_, '_>, probe: &Probe<'_>) -> bool {
    let (run, period) = (life.run, life.spec.period);
    let mut earlier = life.probes.iter().copied().rev().skip_while(|other| other.id != probe.id).skip(1);
    let (Some(failed), Some(second), Some(first)) = (earlier.next(), earlier.next(), earlier.next()) else {
        return false;
    };
    let gap = |from: &Probe<'_>, to: &Probe<'_>| to.at.at.minus(from.at.at);
    let is_soon = gap(failed, probe).hi + run.stalled_at(&failed.at) < OFF_BEAT.of(period);
    let spare = ON_TIME.of(period);
    let on_time = |from: &Probe<'_>, to: &Probe<'_>| {
        let gap = gap(from, to);
        gap.lo > period - spare && gap.hi < period + spare
    };
    let is_regular = on_time(first, second)
        && on_time(second, failed)
        && gap(first, failed).hi < period.saturating_add(period).saturating_add(spare);
    let noise = run.late_between(&life.node, (&failed.at.earlier(period), &failed.at), 0);
    let is_calm = noise < OFF_BEAT.of(period);
    life.spec.kind == ProbeKind::Readiness && is_soon && is_regular && is_calm && fails_at_once(life, failed)
}

/// Whether a probe certainly failed, soon after it had come, and was not tried again: a kubelet tries a probe again after an
/// error, such as a response that breaks off.
fn fails_at_once(life: &ProbedLife<'_, '_>, probe: &Probe<'_>) -> bool {
    let failed = life.attempt.result(probe, life.spec);
    let answer = life.request(probe).and_then(|asked| asked.answer.as_ref());
    let is_whole = answer.is_none_or(|answer| answer.error.is_none());
    let is_quick = failed.took().is_some_and(|took| took.hi < OFF_BEAT.of(life.spec.period));
    failed.surely() == ProbeOutcome::Failure && is_quick && is_whole
}
