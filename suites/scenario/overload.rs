//! Overload: a liveness probe that waits in the same queue as the requests removes capacity when it is scarce.
//!
//! Two services get the same load; the containers of one have a liveness probe, those of the other have none. The effect
//! is counted, not promised: a cluster is accused only if it stopped a container without a probe.

use probity_model::timeline::{ContainerLife, PodLife, ProbeKind, ProbedLife};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};

use super::course::{ClientRequest, count, listener, requests};
use crate::reading::readiness::Outcome;
use crate::reading::services::{Service, services};

pub(super) const JUDGES: &[Judge] =
    &[Judge { clause: "scenario.liveness.overload-cascade", judge: overload_cascade }];

/// The least number of requests that a rate is computed from.
const ENOUGH: usize = 20;

/// A service under load.
struct LoadedService<'t, 'h> {
    pods: Vec<(&'t PodLife<'h>, &'t ContainerLife<'h>)>,
    requests: Vec<ClientRequest<'t, 'h>>,
}

impl LoadedService<'_, '_> {
    /// How many of a thousand requests were answered well.
    fn rate(&self) -> i64 {
        let good = self.requests.iter().filter(|request| request.good()).count();
        i64::try_from(good * 1000 / self.requests.len().max(1)).unwrap_or(0)
    }

    /// The events of its first and last request.
    fn ends(&self) -> Vec<EventId> {
        let ends = [self.requests.first(), self.requests.last()].into_iter().flatten();
        ends.map(|request| request.line.id).collect()
    }
}

fn overload_cascade(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let loaded: Vec<_> = services(run).iter().filter_map(|service| loaded(run, service)).collect();
    let all = |service: &LoadedService<'_, '_>, probed: fn(&ContainerLife<'_>) -> bool| {
        service.pods.iter().all(|(_, container)| probed(container))
    };
    let none = |container: &ContainerLife<'_>| {
        [ProbeKind::Liveness, ProbeKind::Startup].iter().all(|kind| container.probe(*kind).is_none())
    };
    let with = loaded.iter().find(|one| all(one, |container| container.probe(ProbeKind::Liveness).is_some()));
    let without = loaded.iter().find(|one| all(one, none));
    let (Some(with), Some(without)) = (with, without) else { return };
    seen.applies();
    if let Some(stopped) = stopped_for_nothing(without) {
        seen.violated("a container without a probe was stopped under load", [stopped]);
        return;
    }
    let restarted = restarts(run, with);
    seen.note(count("answered well, of a thousand, with liveness", with.rate(), with.ends()));
    seen.note(count("answered well, of a thousand, without", without.rate(), without.ends()));
    if !restarted.is_empty() && with.rate() <= without.rate() {
        seen.fine(restarted.into_iter().chain(without.ends()));
    }
}

/// A service whose pods answer from a limited pool of workers, with enough requests.
fn loaded<'t, 'h>(run: &'t Timeline<'h>, service: &Service<'_, '_>) -> Option<LoadedService<'t, 'h>> {
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
    let requests: Vec<_> = requests(run).filter(|one| service.was_called(first, one.call)).collect();
    (pods.len() > 1 && requests.len() >= ENOUGH).then_some(LoadedService { pods, requests })
}

/// The stop signals after as many liveness probes as `failureThreshold` says without an answer that was surely in time. The
/// stop itself usually cuts off the answer to the last of them.
fn restarts(run: &Timeline<'_>, service: &LoadedService<'_, '_>) -> Vec<EventId> {
    let ours = |life: &ProbedLife<'_, '_>| {
        let same = |(pod, container): &(&PodLife<'_>, &ContainerLife<'_>)| {
            pod.uid == life.pod.uid && container.name == life.container.name
        };
        service.pods.iter().any(same) && life.exited_by_itself().is_none()
    };
    let stop = |life: &ProbedLife<'_, '_>| {
        let stop = life.stopped_undeleted()?;
        let tolerated = usize::try_from(life.spec.failures).ok()?;
        let probes: Vec<_> = life.attempt.probes_of(ProbeKind::Liveness).collect();
        let before = probes.iter().filter(|probe| probe.at.at.lo < stop.at.at.lo);
        let last: Vec<_> = before.rev().take(tolerated).collect();
        let failed = last.iter().all(|probe| life.outcome(probe) != Outcome::Success);
        (last.len() == tolerated && failed).then_some(stop.id)
    };
    run.lives().of(ProbeKind::Liveness).only(ours).iter().filter_map(stop).collect()
}

/// A stop signal to a container without a probe.
fn stopped_for_nothing(service: &LoadedService<'_, '_>) -> Option<EventId> {
    let alone = service.pods.iter().filter(|(pod, _)| pod.containers.len() == 1);
    let mut attempts = alone.flat_map(|(_, container)| &container.attempts);
    let stopped = attempts.find(|attempt| attempt.exited_by_itself().is_none() && attempt.stop().is_some());
    stopped.and_then(|attempt| attempt.stop()).map(|stop| stop.id)
}
