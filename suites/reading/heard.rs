//! Whether an answer to a probe reached the kubelet in time: a stall of the machine or an overloaded node can
//! make a probe time out although its target answered.

use probity_model::clocks::Stamp;
use probity_model::mechanisms::{DOUBTFUL, NEAR, SATURATION_DELAYS};
use probity_model::timeline::{Probe, ProbeOutcome, ProbedLife};

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
pub(crate) fn was_heard(life: &ProbedLife<'_, '_>, probe: &Probe<'_>) -> bool {
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
