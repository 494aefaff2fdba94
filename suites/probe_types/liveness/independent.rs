//! Liveness does not wait for readiness.

use probity_model::clocks::Stamp;
use probity_model::measure::seconds;
use probity_model::timeline::{Attempt, ContainerLife, Handler, PodLife, Probe, ProbeKind, ProbeSpec};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::kill::{before_deletion, watched_for};
use crate::reading::tolerance::{Outcome, leaves_a_trace, outcome, strangers};

/// Liveness probes arrive while readiness has not succeeded, as early as they would without it.
pub(super) fn does_not_wait_for_readiness(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container, liveness) in run.probed(ProbeKind::Liveness) {
        let Some(readiness) = container.probe(ProbeKind::Readiness) else { continue };
        seen.applies();
        for attempt in &container.attempts {
            let ready = attempt.probes.iter().find(|probe| {
                probe.can_be(ProbeKind::Readiness) && outcome(attempt, readiness, probe) != Outcome::Failed
            });
            let unready = attempt.probes_of(ProbeKind::Readiness).next();
            let live = attempt.probes_of(ProbeKind::Liveness).next();
            match (live, unready) {
                (Some(live), Some(unready)) if ready.is_none_or(|ready| live.at.at.hi < ready.at.at.lo) => {
                    seen.fine([unready.id, live.id]);
                }
                (_, Some(unready)) if port_is_open(pod, container, attempt, liveness, readiness) => {
                    judge_wait(
                        run,
                        clause,
                        (pod, container, attempt),
                        liveness,
                        (unready, ready, live),
                        seen,
                    );
                }
                _ => {}
            }
        }
    }
}

/// Whether a liveness probe would have been seen: it goes where the readiness probes arrive, or runs a command.
fn port_is_open(
    pod: &PodLife<'_>,
    container: &ContainerLife<'_>,
    attempt: &Attempt<'_>,
    liveness: &ProbeSpec,
    readiness: &ProbeSpec,
) -> bool {
    let same = liveness.handler.port().is_some() && liveness.handler.port() == readiness.handler.port();
    let command = matches!(liveness.handler, Handler::Exec { .. });
    let known = attempt.holes.is_empty() && !strangers(attempt, liveness.handler.port());
    (same || command) && known && leaves_a_trace(pod, &container.name, liveness)
}

/// No liveness probe came before readiness succeeded. That accuses only if there was time for one.
fn judge_wait(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container, attempt): (&PodLife<'_>, &ContainerLife<'_>, &Attempt<'_>),
    liveness: &ProbeSpec,
    (unready, ready, live): (&Probe<'_>, Option<&Probe<'_>>, Option<&Probe<'_>>),
    seen: &mut Seen,
) {
    // The first readiness probe shows that the kubelet knows of the container.
    let Some(base) = may_begin(container, attempt) else { return };
    let base = if base.at.lo < unready.at.at.lo { unready.at.clone() } else { base };
    let allowed = liveness.initial_delay + liveness.period + clause.slack_us();
    let end = [ready, live].into_iter().flatten().map(|probe| &probe.at).min_by_key(|at| at.at.lo);
    let stopped = attempt.stop_signal().map(|(_, at)| at);
    let long_enough = match end.or(stopped) {
        Some(end) => {
            let noise = run.noise_between(&attempt.node, &base, end);
            before_deletion(run, pod, end) && end.at.lo - base.at.hi > allowed + noise
        }
        None => attempt.ended.is_none() && watched_for(run, pod, &base, allowed),
    };
    // Where liveness shares its endpoint, its probes cannot be told from others.
    let shared =
        attempt.probes.iter().any(|probe| probe.can_be(ProbeKind::Liveness) && probe.kinds.len() > 1);
    if long_enough && !shared {
        let finding = format!(
            "no liveness probe within {} of the start while readiness had not succeeded",
            seconds(allowed)
        );
        let later = [ready, live].into_iter().flatten().map(|probe| probe.id);
        seen.violated(finding, [attempt.began.0, unready.id].into_iter().chain(later));
    }
}

/// When liveness may begin: at the start, or when startup has succeeded.
fn may_begin(container: &ContainerLife<'_>, attempt: &Attempt<'_>) -> Option<Stamp> {
    match container.probe(ProbeKind::Startup) {
        None => Some(attempt.began.1.clone()),
        Some(_) => attempt.first_success(ProbeKind::Startup)?.settled.as_ref().map(|(_, at)| at.clone()),
    }
}
