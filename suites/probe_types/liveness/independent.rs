//! Liveness probes do not wait for readiness.

use probity_model::clocks::Stamp;
use probity_model::measure::seconds;
use probity_model::timeline::{Handler, Life, Probe, ProbeKind, ProbeOutcome, ProbedLife};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::lost_signals::may_have_been_stopping;

/// Liveness probes arrive as early as they would without a readiness probe, even while readiness has not succeeded.
pub(super) fn does_not_wait_for_readiness(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for liveness in run.lives().of(ProbeKind::Liveness) {
        let Some(readiness) = liveness.probed(ProbeKind::Readiness) else { continue };
        let may_pass = |probe: &&Probe<'_>| readiness.outcome(probe) != ProbeOutcome::Failure;
        let ready = readiness.probes.iter().copied().find(may_pass);
        let unready = liveness.probes_of(ProbeKind::Readiness).next();
        let live = liveness.probes_of(ProbeKind::Liveness).next();
        match (live, unready) {
            (Some(live), Some(unready)) if ready.is_none_or(|ready| live.at.at.hi < ready.at.at.lo) => {
                seen.fine([unready.id, live.id]);
            }
            (_, Some(unready)) if port_is_open(&liveness, &readiness) => {
                judge_wait(clause, &liveness, (unready, ready, live), seen);
            }
            _ => {}
        }
    }
}

/// Whether a liveness probe would have been recorded: it goes to the port at which the readiness probes arrive, or runs
/// a command.
fn port_is_open(liveness: &ProbedLife<'_, '_>, readiness: &ProbedLife<'_, '_>) -> bool {
    let port = liveness.spec.handler.port();
    let same = port.is_some() && port == readiness.spec.handler.port();
    let command = matches!(liveness.spec.handler, Handler::Exec { .. });
    let known = liveness.holes.is_empty() && !liveness.has_strangers(port);
    (same || command) && known && liveness.pod.sees(&liveness.container.name, liveness.spec)
}

/// Judges a container that got no liveness probe before readiness succeeded. This is a violation only if there was time
/// for such a probe.
fn judge_wait(
    clause: &Clause,
    life: &ProbedLife<'_, '_>,
    (unready, ready, live): (&Probe<'_>, Option<&Probe<'_>>, Option<&Probe<'_>>),
    seen: &mut Seen,
) {
    // The first readiness probe shows that the kubelet knows of the container.
    let Some(base) = may_begin(life) else { return };
    let base = if base.at.lo < unready.at.at.lo { unready.at.clone() } else { base };
    let allowed = life.spec.initial_delay + life.spec.period + clause.slack_us();
    let end = [ready, live].into_iter().flatten().map(|probe| &probe.at).min_by_key(|at| at.at.lo);
    let long_enough = match end.or(life.stop().map(|stop| &stop.at)) {
        Some(end) => life.before_deletion(end) && end.at.lo - base.at.hi > allowed + life.noise(&base, end),
        None => life.ended.is_none() && life.watched_for(&base, allowed),
    };
    // If another probe shares the endpoint, the liveness probes cannot be told from others.
    if long_enough && life.is_unmistaken() && !may_have_been_stopping(life) {
        let finding = format!(
            "no liveness probe within {} of the start while readiness had not succeeded",
            seconds(allowed)
        );
        let later = [ready, live].into_iter().flatten().map(|probe| probe.id);
        seen.violated(finding, [life.began.id, unready.id].into_iter().chain(later));
    }
}

/// When liveness probes may start: at the start of the container, or when its startup probe has succeeded.
fn may_begin(life: &Life<'_, '_>) -> Option<Stamp> {
    match life.container.probe(ProbeKind::Startup) {
        None => Some(life.began.stamp.clone()),
        Some(_) => {
            life.first_success(ProbeKind::Startup)?.settled.as_ref().map(|settled| settled.stamp.clone())
        }
    }
}
