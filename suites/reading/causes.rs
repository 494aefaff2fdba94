//! Why a container was stopped: the possible reasons in a case.

use probity_model::Seen;
use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, Fit, seconds};
use probity_model::mechanisms::{OFF_BEAT, TO_BEGIN};
use probity_model::timeline::{Handler, Life, Probe, ProbeKind, ProbeOutcome, ProbedLife};

use super::termination::Exhausted;
use super::unvisited::{opened, was_open_in_time};

/// Whether only this probe can have stopped this instance: the case has no other cause.
pub(crate) fn only_its_probe(life: &ProbedLife<'_, '_>) -> bool {
    let (pod, container) = (life.pod, life.container);
    let other = ProbeKind::STOPPING
        .into_iter()
        .filter(|kind| *kind != life.spec.kind)
        .filter_map(|kind| life.probed(kind))
        .any(|other| most_failures(&other).is_none_or(|most| most >= other.spec.failures));
    let hooked = container.spec.get("lifecycle").is_some();
    let lawful = life.stop().is_none_or(|stop| life.before_deletion(&stop.at));
    let stays = container.stays() && !pod.work_is_done(container) && life.policy() != "Never";
    stays && lawful && !other && !hooked && life.only_probes_stop_it()
}

/// Reports a kubelet that stopped an instance before the probe could have reached its failure threshold, and returns whether
/// the kubelet did so. The probes need not have left records, because that number of failures takes a minimum time.
pub(crate) fn stopped_too_early(life: &ProbedLife<'_, '_>, seen: &mut Seen) -> bool {
    let spec = life.spec;
    // Failures of an earlier instance may also count, unless this probe ended it.
    let before = life.before().and_then(|before| before.probed(spec.kind));
    let first = life.number == 0 && !life.pod.restarts_as_one();
    let anew = life.is_numbered() && (first || before.is_some_and(|before| was_ended_by(&before)));
    let Some(stop) = life.stop().filter(|_| anew && only_its_probe(life)) else { return false };
    let least = spec.initial_delay + (spec.failures - 1) * spec.period - TO_BEGIN;
    let formula =
        format!("initialDelaySeconds + (failureThreshold - 1) × periodSeconds - {}", seconds(TO_BEGIN));
    let quantity =
        format!("from the start of {} to the stop signal for its {} probe", life.name(), spec.kind.word());
    let bound = Bound::at_least(least, formula);
    let measured = life.run.measure(quantity, &life.node, &life.began, stop, bound);
    let Some(early) = measured.filter(|measured| measured.fit() == Fit::Missed) else { return false };
    seen.measure(early);
    true
}

/// The most failures in a row that the kubelet can have counted for a probe when the instance got its stop signal.
/// These are the failures that the process recorded, those before the port opened, and those of the previous instance.
/// None if other probes may have failed without a record, or if the answers are not certain.
pub(crate) fn most_failures(life: &ProbedLife<'_, '_>) -> Option<i64> {
    if matches!(life.spec.handler, Handler::Exec { .. }) {
        return most_runs(life);
    }
    let port = life.spec.handler.port().filter(|_| life.spec.handler.host().is_none())?;
    let opened = opened(life.attempt, port)?;
    let speaks = matches!(life.spec.handler, Handler::Http { .. } | Handler::Grpc { .. });
    let bare = speaks && life.connections.iter().any(|of| of.port() == Some(port) && of.requests == 0);
    if bare || !life.holes.is_empty() || !life.is_seen() || !life.is_asked_alone() || is_stalled(life) {
        return None;
    }
    let in_time = |at| life.stop().is_none_or(|stop| life.run.clocks.order(at, &stop.at) != Order::After);
    let probes: Vec<_> = life.probes.iter().filter(|probe| in_time(&probe.at)).collect();
    let row = probes.iter().rev().take_while(|probe| life.surely(probe) != ProbeOutcome::Success).count();
    let recorded = i64::try_from(row).ok()?;
    if row < probes.len() {
        return Some(if has_started(life) { 0 } else { recorded });
    }
    let refused = match was_open_in_time(life, &opened.at) {
        true => 0,
        // On a busy node, the process may begin long after the kubelet has begun to count.
        false => {
            let late = life.noise(&life.began.earlier(TO_BEGIN), &life.began);
            1 + (opened.at.at.hi - life.began.at.lo + late) / life.spec.period.max(1)
        }
    };
    Some(recorded + refused + inherited(life)?)
}

/// The most runs of a probe's command that fit between the start of the instance and its stop signal, according to the
/// period of the probe. A command may fail before the process knows of it.
fn most_runs(life: &ProbedLife<'_, '_>) -> Option<i64> {
    let started = life.probes.iter().any(|probe| life.surely(probe) == ProbeOutcome::Success);
    if started && has_started(life) {
        return Some(0);
    }
    let lasted = life.run.clocks.between(&life.began, &life.stop()?.at)?;
    let runs = 1 + (lasted.hi + TO_BEGIN) / life.spec.period.max(1);
    Some(runs + inherited(life)?)
}

/// Whether the node or the process was stalled for so long that a probe may have timed out although the process
/// answered.
fn is_stalled(life: &ProbedLife<'_, '_>) -> bool {
    let ended = life.ended.as_ref().map(|ended| &ended.stamp);
    let until = life.stop().map(|stop| &stop.at).or(ended);
    let end = life.run.end();
    life.noise(&life.began.stamp, until.unwrap_or(&end)) >= life.spec.timeout
}

/// Whether the startup probe of this instance has succeeded: after that, it is not sent again.
fn has_started(life: &ProbedLife<'_, '_>) -> bool {
    let own = |success: &Probe<'_>| success.at.at.lo >= life.known_from();
    life.spec.kind == ProbeKind::Startup && life.first_success().is_some_and(own)
}

/// The failures of the previous instance that may count in this one: none if that instance had started, or if this
/// probe ended it.
fn inherited(life: &ProbedLife<'_, '_>) -> Option<i64> {
    if life.number == 0 {
        return Some(0);
    }
    let before = life.before()?.probed(life.spec.kind)?;
    if has_started(&before) {
        return Some(0);
    }
    if before.stop().is_some() {
        // If something else stopped it, the probe may have failed until its end.
        return (was_ended_by(&before) || Exhausted::of(before).is_some()).then_some(0);
    }
    // After a process has ended, probes are refused until the kubelet notices the end.
    most_failures(&before).map(|most| most + 2)
}

/// Whether this probe is certainly the reason why the instance was stopped, even if it had not failed often enough. If the
/// instance took long to end, a kubelet that restarted in the meantime may have counted further failures.
fn was_ended_by(life: &ProbedLife<'_, '_>) -> bool {
    let Some((stop, ended)) = life.stop().zip(life.ended.as_ref()) else { return false };
    let soon = life.run.clocks.between(&stop.at, ended).is_some_and(|span| span.lo <= life.spec.period);
    soon && !life.pod.restarts_as_one() && only_its_probe(life)
}

/// Whether this container's own probes can explain a stop signal: enough failures fit between the last success, or the
/// start if there was no success, and the signal.
pub(crate) fn may_have_earned(life: &Life<'_, '_>, stop: &Stamp) -> bool {
    let lethal = ProbeKind::STOPPING;
    lethal.iter().filter_map(|kind| life.probed(*kind)).any(|life| {
        let passed = life.probes.iter().filter(|probe| life.outcome(probe) == ProbeOutcome::Success);
        let last = passed.map(|probe| probe.at.at.lo).max();
        let over = life.spec.kind == ProbeKind::Startup && last.is_some();
        // After a success, the first failure comes a period later; after the start, the first failure may come at once.
        let (from, periods) = match last {
            Some(last) => (last, life.spec.failures),
            None => (life.began.at.lo, life.spec.failures - 1),
        };
        !over && stop.at.hi - from > (periods * life.spec.period - OFF_BEAT.of(life.spec.period)).max(0)
    })
}
