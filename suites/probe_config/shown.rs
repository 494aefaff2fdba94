//! The first liveness or startup probe after the API has shown a container instance as running.
//!
//! A kubelet decides whether to send a probe based on the same status that it publishes. So once the API shows this status,
//! nothing but the period and the delay can defer the first probe. If the API or the watch is slow, the status is only shown
//! later.

use probity_model::clocks::Order;
use probity_model::measure::{Bound, Fit, Measurement, seconds};
use probity_model::mechanisms::WHOLE_SECOND;
use probity_model::timeline::{At, ContainerSeen, ProbeKind, ProbedLife};
use probity_model::{Clause, Seen};

use super::delay::passed_over;
use super::schedule::{is_command, started_at, watched};
use crate::reading::absence::due;

/// Reports a violation if the first probe came much more than a period after everything that it had to wait for. Readiness
/// probes are left out because they may be triggered, and commands because they may fail before they leave a record. Later
/// instances of containers with a startup probe are left out because a kubelet may still consider them started.
pub(super) fn judge_first(clause: &Clause, life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let gated = life.container.probe(ProbeKind::Startup).is_some();
    if life.spec.kind == ProbeKind::Readiness || is_command(life) || (gated && life.number > 0) {
        return;
    }
    let Some(first) = life.probes.first().filter(|first| !passed_over(life, first)) else { return };
    // An earlier probe may not have reached the container, for example while its network was being set up.
    let mut failures = life.pod.events.iter().filter(|event| event.is_of(&life.container.name, "Unhealthy"));
    if failures.any(|event| life.run.clocks.order(&event.at, &first.at) != Order::After) {
        return;
    }
    let (Some(open), Some(shown)) = (due(life), shown(life, gated)) else { return };
    if !watched(life, &open, &first.at) {
        return;
    }
    let mut origins = vec![open, shown];
    if life.spec.initial_delay > 0 {
        // The kubelet counts from the exact time, which the API rounds down.
        let Some(started) = started_at(life) else { return };
        origins.push(At::new(started.id, started.later(life.spec.initial_delay + WHOLE_SECOND)));
    }
    let more = clause.tolerance_us("shown");
    let bound = Bound::at_most(life.spec.period + more, format!("periodSeconds + {}", seconds(more)));
    let quantity =
        format!("from the time when the API had shown {} as running to {}", life.name(), life.words());
    let measured: Option<Vec<Measurement>> = origins
        .into_iter()
        .map(|from| life.run.measure(quantity.clone(), &life.node, from, *first, bound.clone()))
        .collect();
    let late = measured.filter(|all| all.iter().all(|one| one.fit() == Fit::Missed)).unwrap_or_default();
    if let Some(latest) = late.into_iter().min_by_key(|one| one.observed.hi) {
        seen.measure(latest);
    }
}

/// When the API first showed this instance as running and, if a startup probe holds this probe back, as started.
fn shown(life: &ProbedLife<'_, '_>, gated: bool) -> Option<At> {
    let waits = gated && life.spec.kind != ProbeKind::Startup;
    let shows = |seen: &ContainerSeen<'_>| seen.is_running() && (!waits || seen.started == Some(true));
    life.revisions().find(|(_, seen)| shows(seen)).map(|(revision, _)| At::of(revision))
}
