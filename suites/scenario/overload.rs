//! Overload: a liveness probe that waits in the same queue as the requests removes capacity when it is scarce.
//!
//! Two services get the same load; the containers of one service have a liveness probe, those of the other service have
//! none. The effect is measured, not promised: it is a violation if the cluster stopped a container without a probe or
//! with a passing probe, or kept a container running whose probe failed.

use probity_model::measure::{Bound, Measurement};
use probity_model::mechanisms::OFF_BEAT;
use probity_model::timeline::{
    ContainerLife, Life, Line, PodLife, Probe, ProbeKind, ProbeOutcome, ProbedLife,
};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};

use super::course::{ClientRequest, listener, requests};
use crate::reading::mains::lives_of;
use crate::reading::services::{Service, services};
use crate::reading::termination::Exhausted;

pub(super) const JUDGES: &[Judge] =
    &[Judge { clause: "scenario.liveness.overload-cascade", judge: overload_cascade }];

/// A service under load.
struct LoadedService<'t, 'h> {
    pods: Vec<(&'t PodLife<'h>, &'t ContainerLife<'h>)>,
    requests: Vec<ClientRequest<'t, 'h>>,
}

impl<'t, 'h> LoadedService<'t, 'h> {
    /// How many of a thousand requests were answered successfully.
    fn rate(&self) -> usize {
        let good = self.requests.iter().filter(|request| request.good()).count();
        good * 1000 / self.requests.len().max(1)
    }

    /// The events of its first and last request.
    fn ends(&self) -> Vec<EventId> {
        let ends = [self.requests.first(), self.requests.last()].into_iter().flatten();
        ends.map(|request| request.line.id).collect()
    }

    fn note_rate(&self, seen: &mut Seen, quantity: &str) {
        seen.note(Measurement::count(quantity, self.rate(), Bound::default(), self.ends()));
    }

    /// The instances of its containers that did not exit by themselves.
    fn lives(&self, run: &'t Timeline<'h>) -> impl Iterator<Item = Life<'t, 'h>> {
        let lives = self.pods.iter().flat_map(move |(pod, container)| lives_of(run, pod, container));
        lives.filter(|life| life.exited_by_itself().is_none())
    }
}

fn overload_cascade(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let loaded: Vec<_> = services(run).iter().filter_map(|service| loaded(run, clause, service)).collect();
    let has = |container: &ContainerLife<'_>, kind| container.probe(kind).is_some();
    let all = |service: &LoadedService<'_, '_>, is: &dyn Fn(&ContainerLife<'_>) -> bool| {
        service.pods.iter().all(|(_, container)| is(container))
    };
    let probed = |container: &ContainerLife<'_>| has(container, ProbeKind::Liveness);
    let unprobed = |container: &ContainerLife<'_>| !probed(container) && !has(container, ProbeKind::Startup);
    let with = loaded.iter().find(|service| all(service, &probed));
    let without = loaded.iter().find(|service| all(service, &unprobed));
    let Some((with, without)) = with.zip(without) else { return };
    if let Some(stopped) = stopped_for_nothing(run, without) {
        seen.violated("a container without a probe was stopped under load", [stopped]);
        return;
    }
    for life in with.lives(run).filter_map(|life| life.probed(ProbeKind::Liveness)) {
        judge_life(clause, &life, seen);
    }
    with.note_rate(seen, "answered successfully, per thousand, with a liveness probe");
    without.note_rate(seen, "answered successfully, per thousand, without a liveness probe");
    let restarted = restarts(run, with);
    if !restarted.is_empty() && with.rate() <= without.rate() {
        seen.fine(restarted.into_iter().chain(without.ends()));
    }
}

/// A service whose pods answer from a limited pool of workers, with enough requests.
fn loaded<'t, 'h>(
    run: &'t Timeline<'h>,
    clause: &Clause,
    service: &Service<'_, '_>,
) -> Option<LoadedService<'t, 'h>> {
    let bounded = |container: &ContainerLife<'_>| {
        let Some(plan) = container.plan() else { return false };
        let asked = container.probes.iter().filter_map(|probe| probe.handler.port());
        let all = plan.listeners.values().map(|listener| listener.port);
        let ports: Vec<u16> = if container.probes.is_empty() { all.collect() } else { asked.collect() };
        ports.iter().any(|port| listener(&plan, *port).is_some_and(|listener| listener.workers.is_some()))
    };
    let pods = run
        .containers()
        .filter(|(pod, container)| service.selects(pod) && bounded(container) && !run.pod_was_touched(pod));
    let pods: Vec<_> = pods.collect();
    let first = pods.first()?.0;
    let requests: Vec<_> = requests(run).filter(|one| service.was_called(first, one.call)).collect();
    let enough = requests.len() >= clause.tolerance_times("requests");
    (pods.len() > 1 && enough).then_some(LoadedService { pods, requests })
}

/// A container whose probe reached its failure threshold is stopped, and a container whose probe passed is not.
fn judge_life<'t, 'h>(clause: &Clause, life: &ProbedLife<'t, 'h>, seen: &mut Seen) {
    if let Some(spent) = Exhausted::of(life.clone()) {
        spent.judge_stop(clause, seen);
    }
    let Some(stop) = life.stopped_undeleted() else { return };
    let before = |probe: &&Probe<'_>| probe.at.at.lo < stop.at.at.lo;
    let good = |probe: &&'t Probe<'h>| life.surely(probe) == ProbeOutcome::Success;
    let passed = life.probes.iter().copied().filter(before).rfind(good);
    // A probe that found no room in the queue may have left no record. But no probe comes before it is due, so enough
    // time must have passed since the last success.
    let Some(passed) = passed else { return };
    let least = life.spec.failures * life.spec.period - OFF_BEAT.of(life.spec.period);
    let after = life.run.clocks.between(&passed.at, &stop.at);
    let held_up = life.noise(&passed.at, &stop.at) + life.run.stalled_at(&passed.at);
    if after.is_some_and(|after| after.hi + held_up < least) {
        let finding =
            "a container was stopped under load although its liveness probe had passed shortly before";
        seen.violated(finding, passed.events().into_iter().chain([stop.id]));
    }
}

/// The stop signals after `failureThreshold` late answers.
fn restarts(run: &Timeline<'_>, loaded: &LoadedService<'_, '_>) -> Vec<EventId> {
    let stops = loaded.lives(run).filter_map(|life| {
        let stop = life.stopped_undeleted()?;
        is_earned(&life.probed(ProbeKind::Liveness)?, stop).then_some(stop.id)
    });
    stops.collect()
}

/// Whether none of the last `failureThreshold` probes before a stop certainly had an answer in time. The stop itself
/// usually cuts off the answer to the last of these probes.
fn is_earned(life: &ProbedLife<'_, '_>, stop: &Line<'_>) -> bool {
    let tolerated = usize::try_from(life.spec.failures).unwrap_or(usize::MAX);
    let probes = life.attempt.probes_of(ProbeKind::Liveness).filter(|probe| probe.at.at.lo < stop.at.at.lo);
    let outcomes: Vec<ProbeOutcome> = probes.map(|probe| life.outcome(probe)).collect();
    let mut last = outcomes.iter().rev().take(tolerated);
    outcomes.len() >= tolerated && last.all(|outcome| *outcome != ProbeOutcome::Success)
}

fn stopped_for_nothing(run: &Timeline<'_>, loaded: &LoadedService<'_, '_>) -> Option<EventId> {
    let mut alone = loaded.lives(run).filter(|life| life.pod.containers.len() == 1);
    alone.find_map(|life| life.stop().map(|stop| stop.id))
}
