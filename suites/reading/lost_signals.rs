//! Stop signals that no process could record.
//!
//! The kernel discards a signal that the first process of a container does not handle yet. So if a container starts slowly, a
//! probe may be refused before the port is open, and the stop signal that follows may come before the process runs. Neither
//! leaves a record. The instance gets no further probes, and it is killed at the end of its grace period. What the kubelet
//! reports is no evidence here: the plan, the records of the target and the noise decide.

use probity_model::measure::{Bound, Fit};
use probity_model::mechanisms::{LEAST_GRACE, START_OF_A_COMMAND, TO_BEGIN, TO_FAIL_UNSEEN, TO_STOP, YOUNG};
use probity_model::timeline::{At, Life, ProbeKind, ProbedLife};

use super::ends::killed_at;
use super::unvisited::opened;

/// From when an instance was being stopped: from its stop signal, or from its start if the signal may have been lost.
pub(crate) fn stopped_from(life: &Life<'_, '_>) -> Option<At> {
    life.stop().map(At::of).or_else(|| may_have_been_stopping(life).then(|| life.began.clone()))
}

/// Whether the kubelet may have been stopping an instance since its start, without any record of this: a probe may have failed
/// too many times before the port was open, and the instance was killed when a grace period had passed since its start. If the
/// instance was not killed before the end of the case, the grace period must still run, and the start must have been slow.
pub(crate) fn may_have_been_stopping(life: &Life<'_, '_>) -> bool {
    if life.stop().is_some() || life.exiting().is_some() || !life.holes.is_empty() {
        return false;
    }
    let late = life.noise(&life.began.earlier(YOUNG), &life.began);
    let of_kind = |kind: &ProbeKind| life.probed(*kind);
    let refused =
        ProbeKind::STOPPING.iter().filter_map(of_kind).filter(|probed| may_be_refused(probed, late));
    let mut graces = refused.map(|probed| probed.grace().max(LEAST_GRACE));
    match killed_at(life).filter(|killed| life.before_deletion(killed)) {
        Some(killed) => graces.any(|grace| is_killed_after(life, killed, grace, late)),
        None => {
            let end = life.run.watched_until(life.pod, &life.began);
            let lived = life.run.at_least(&life.began, &end);
            late >= TO_FAIL_UNSEEN && graces.any(|grace| lived < grace + TO_STOP)
        }
    }
}

/// Whether a probe may have failed too many times before the port was open. A probe that waits for a startup probe can do so only
/// in a later instance, which may inherit `started`.
fn may_be_refused(life: &ProbedLife<'_, '_>, late: i64) -> bool {
    let spec = life.spec;
    let waits = spec.kind != ProbeKind::Startup && life.container.probe(ProbeKind::Startup).is_some();
    if !life.probes.is_empty() || (waits && life.number == 0) {
        return false;
    }
    let open = match spec.handler.port() {
        Some(port) => opened(life.attempt, port).map(|line| line.at.at.hi - life.began.at.lo),
        None => Some(START_OF_A_COMMAND),
    };
    let most = spec.initial_delay.saturating_add((spec.failures - 1).saturating_mul(spec.period));
    open.is_none_or(|open| most <= open + TO_BEGIN + late)
}

/// Whether an instance was killed when a grace period had passed since a signal that came before its process ran.
fn is_killed_after(life: &Life<'_, '_>, killed: &At, grace: i64, late: i64) -> bool {
    let bound = Bound::at_most(grace + TO_STOP, "").and_at_least(grace - TO_BEGIN - late, "");
    let measured = life.run.measure(String::new(), &life.node, &life.began, killed, bound);
    measured.is_none_or(|measured| measured.fit() != Fit::Missed)
}
