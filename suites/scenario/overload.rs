//! Overload: a liveness probe that stands in the same queue as the requests takes away what is short already.
//!
//! Two services get the same load; the containers of one have a liveness probe, those of the other none. The effect is
//! shown by counting, not promised: a cluster is accused only if it stopped a container that has no probe to fail.

use probity_model::measure::{Bound, Interval, Measurement, Unit};
use probity_model::timeline::{ContainerLife, PodLife, ProbeKind};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};

use super::course::{Asked, calls, listener};
use crate::reading::services::{Service, services};
use crate::reading::tolerance::{Outcome, outcome};

pub(super) const JUDGES: &[Judge] =
    &[Judge { clause: "scenario.liveness.overload-cascade", judge: overload_cascade }];

/// So few requests say nothing.
const ENOUGH: usize = 20;

/// A service under load and what became of it.
struct Loaded<'t, 'h> {
    pods: Vec<(&'t PodLife<'h>, &'t ContainerLife<'h>)>,
    asked: Vec<Asked<'t, 'h>>,
}

fn overload_cascade(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let loaded: Vec<_> = services(run).iter().filter_map(|service| loaded(run, service)).collect();
    let probed = |loaded: &&Loaded<'_, '_>| {
        loaded.pods.iter().all(|(_, container)| container.probe(ProbeKind::Liveness).is_some())
    };
    let unprobed = |loaded: &&Loaded<'_, '_>| {
        let none = |container: &ContainerLife<'_>| {
            container.probe(ProbeKind::Liveness).is_none() && container.probe(ProbeKind::Startup).is_none()
        };
        loaded.pods.iter().all(|(_, container)| none(container))
    };
    let (Some(with), Some(without)) = (loaded.iter().find(probed), loaded.iter().find(unprobed)) else {
        return;
    };
    seen.applies();
    if let Some(stopped) = stopped_for_nothing(run, without) {
        seen.violated("a container without a probe was stopped under load", [stopped]);
        return;
    }
    let restarted = restarts(run, with);
    let (rate_with, rate_without) = (rate(with), rate(without));
    seen.note(measurement("answered well, of a thousand, with liveness", rate_with, with));
    seen.note(measurement("answered well, of a thousand, without", rate_without, without));
    if !restarted.is_empty() && rate_with <= rate_without {
        let ends =
            [without.asked.first(), without.asked.last()].into_iter().flatten().map(|asked| asked.line.id);
        seen.fine(restarted.into_iter().chain(ends));
    }
}

/// A service whose pods serve it from a bounded pool, and that was asked often enough.
fn loaded<'t, 'h>(run: &'t Timeline<'h>, service: &Service<'_, '_>) -> Option<Loaded<'t, 'h>> {
    let bounded = |container: &ContainerLife<'_>| {
        let Some(plan) = container.plan() else { return false };
        let asked = container.probes.iter().filter_map(|probe| probe.handler.port());
        let all = plan.listeners.values().map(|listener| listener.port);
        let ports: Vec<u16> = if container.probes.is_empty() { all.collect() } else { asked.collect() };
        ports.iter().any(|port| listener(&plan, *port).is_some_and(|listener| listener.workers.is_some()))
    };
    let pods: Vec<_> = run
        .containers()
        .filter(|(pod, container)| service.selects(pod) && bounded(container) && !run.pod_was_touched(pod))
        .collect();
    let first = pods.first()?.0;
    let asked: Vec<_> = calls(run).filter(|asked| service.was_called(first, asked.call)).collect();
    (pods.len() > 1 && asked.len() >= ENOUGH).then_some(Loaded { pods, asked })
}

/// The stop signals of containers whose last liveness probes before it, as many as are tolerated, had no answer that was
/// surely in time. The one that decides is cut off by the stop itself more often than not.
fn restarts(run: &Timeline<'_>, loaded: &Loaded<'_, '_>) -> Vec<EventId> {
    let mut stops = Vec::new();
    for (pod, container) in &loaded.pods {
        let Some(spec) = container.probe(ProbeKind::Liveness) else { continue };
        let tolerated = usize::try_from(spec.failures).unwrap_or(usize::MAX);
        for attempt in container.attempts.iter().filter(|attempt| attempt.exited_by_itself().is_none()) {
            let Some((id, stop)) = attempt.stop_signal().filter(|(_, at)| run.before_deletion(pod, at))
            else {
                continue;
            };
            let probes = attempt.probes_of(ProbeKind::Liveness).filter(|probe| probe.at.at.lo < stop.at.lo);
            let outcomes: Vec<Outcome> = probes.map(|probe| outcome(attempt, spec, probe)).collect();
            let last = outcomes.iter().rev().take(tolerated);
            if outcomes.len() >= tolerated && last.into_iter().all(|one| *one != Outcome::Success) {
                stops.push(id);
            }
        }
    }
    stops
}

fn stopped_for_nothing(run: &Timeline<'_>, loaded: &Loaded<'_, '_>) -> Option<EventId> {
    let attempts =
        loaded.pods.iter().filter(|(pod, _)| pod.containers.len() == 1 && !run.pod_was_touched(pod));
    let mut attempts = attempts.flat_map(|(_, container)| &container.attempts);
    attempts.find_map(|attempt| match attempt.exited_by_itself() {
        Some(_) => None,
        None => attempt.stop_signal().map(|(id, _)| id),
    })
}

/// How many of a thousand requests were answered well.
fn rate(loaded: &Loaded<'_, '_>) -> i64 {
    let good = loaded.asked.iter().filter(|asked| asked.good()).count();
    i64::try_from(good * 1000 / loaded.asked.len().max(1)).unwrap_or(0)
}

fn measurement(quantity: &str, value: i64, loaded: &Loaded<'_, '_>) -> Measurement {
    let ends = [loaded.asked.first(), loaded.asked.last()].into_iter().flatten();
    Measurement {
        quantity: quantity.to_owned(),
        unit: Unit::Count,
        observed: Interval::point(value),
        bound: Bound::default(),
        noise: 0,
        events: ends.map(|asked| asked.line.id).collect(),
    }
}
