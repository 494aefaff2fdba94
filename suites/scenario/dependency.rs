//! Probes whose endpoint calls a dependency: an outage of the dependency affects every container that calls it.
//!
//! The plans in the pods' specs show the dependencies. The loss of a dependency follows from the target's calls and
//! from answers that never came. The reaction of the cluster is judged for each container by its own probes, and the
//! effect is complete only if it reached all of them.

use std::collections::BTreeMap;

use probity_model::measure::{Bound, Measurement, SECOND};
use probity_model::timeline::{Line, Probe, ProbeKind, ProbeOutcome, ProbedLife};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};

use super::course::{
    depends_on, falls_by_lateness, host_and_port, note_spread, refused_by_dependency, stays_ready,
};
use crate::reading::endpoints::{Fall, no_longer_ready};
use crate::reading::readiness::{Turn, comes_up, falls, goes_down, readiness_lives, rises, stays_alive};
use crate::reading::services::services;
use crate::reading::termination::{Exhausted, Stop, exhausted, judge_restart};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "scenario.dependency.readiness-all-drop", judge: readiness_all_drop },
    Judge { clause: "scenario.dependency.liveness-all-restart", judge: liveness_all_restart },
    Judge { clause: "scenario.dependency.latency-spike", judge: latency_spike },
    Judge { clause: "scenario.dependency.peer-pods", judge: peer_pods },
];

/// The default of `timeoutSeconds`: Kubernetes API reference, Probe.
const DEFAULT_TIMEOUT: i64 = SECOND;

/// The first instances of containers, grouped by the URL that their readiness endpoint requests; at least two pods
/// share each URL.
fn sharing<'a, 't, 'h>(lives: &'a [ProbedLife<'t, 'h>]) -> Vec<Vec<&'a ProbedLife<'t, 'h>>> {
    let mut groups: BTreeMap<String, Vec<&ProbedLife<'_, '_>>> = BTreeMap::new();
    for life in lives.iter().filter(|life| life.number == 0) {
        if let Some(url) = depends_on(life.container, life.spec) {
            groups.entry(url).or_default().push(life);
        }
    }
    let several = |group: &Vec<&ProbedLife<'_, '_>>| {
        group.first().is_some_and(|first| group.iter().any(|life| life.pod.name != first.pod.name))
    };
    groups.into_values().filter(several).collect()
}

/// The first change to not ready that the dependency caused.
fn blamed<'t, 'h>(life: &ProbedLife<'t, 'h>) -> Option<Turn<'t, 'h>> {
    falls(life).into_iter().find(|turn| {
        let (Some(endpoint), Some(settled)) = (turn.first.endpoint, &turn.first.settled) else {
            return false;
        };
        refused_by_dependency(life.attempt, &endpoint.to_string(), (turn.first.at.at.lo, settled.at.hi))
    })
}

/// The loss of one store makes every replica that calls it not ready and leaves the Service without endpoints.
fn readiness_all_drop(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let services = services(run);
    let lives = readiness_lives(run);
    for group in sharing(&lives) {
        let turns: Vec<_> = group.iter().filter_map(|life| Some((*life, blamed(life)?))).collect();
        if turns.len() < group.len() || group.iter().any(|life| run.pod_was_touched(life.pod)) {
            continue;
        }
        let before = seen.count_fine();
        let mut gone: Vec<EventId> = Vec::new();
        for (life, turn) in &turns {
            let Some(shown) = goes_down(clause, seen, life, turn) else { continue };
            stays_alive(seen, life, turn);
            let fall = Fall { pod: life.pod, shown, lasted: run.at_least(&shown.at, &turn.last.at) };
            for service in services.iter().filter(|service| service.selects(life.pod) && !service.publishes) {
                if let Some(entry) = no_longer_ready(run, clause, seen, &fall, service) {
                    gone.extend([shown.id, entry.id]);
                }
            }
            let back = rises(life).into_iter().find(|back| back.first.at.at.lo > turn.last.at.at.lo);
            back.map(|back| comes_up(clause, seen, life, &back));
        }
        if seen.count_fine() > before {
            seen.fine(gone);
        }
    }
}

/// The loss of one store restarts every container whose liveness endpoint calls it.
fn liveness_all_restart(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let mut groups: BTreeMap<String, Vec<Exhausted<'_, '_>>> = BTreeMap::new();
    for spent in exhausted(run, ProbeKind::Liveness) {
        let life = &spent.life;
        let Some(url) = depends_on(life.container, life.spec) else { continue };
        if life.number == 0 && life.policy() != "Never" && is_blamed(&spent) {
            groups.entry(url).or_default().push(spent);
        }
    }
    for (url, group) in groups {
        let asks = run.probed(ProbeKind::Liveness).filter(|(_, container, spec)| {
            container.stays() && depends_on(container, spec).as_ref() == Some(&url)
        });
        let asking = asks.count();
        if asking < 2 {
            continue;
        }
        let mut stops: Vec<&Line<'_>> = Vec::new();
        for spent in &group {
            let Some(stop) = spent.judge_stop(clause, seen) else { continue };
            judge_restart(&spent.life, stop, seen);
            stops.push(stop);
        }
        if let (Some(first), true) = (group.first(), stops.len() == asking) {
            note_spread(run, seen, "from the first restart to the last", (&first.life.node, &stops));
            let events = stops.iter().map(|stop| stop.id).collect();
            let quantity = "containers that restarted at the same time";
            seen.note(Measurement::count(quantity, asking, Bound::default(), events));
        }
    }
}

/// Whether the failures of a probe came from the dependency: it refused, or gave no answer in time.
fn is_blamed(spent: &Exhausted<'_, '_>) -> bool {
    let [first, ..] = spent.failures.as_slice() else { return false };
    let span = (first.at.at.lo, spent.at.at.hi);
    first.endpoint.is_some_and(|endpoint| {
        refused_by_dependency(spent.life.attempt, &endpoint.to_string(), span) || spent.by_timeouts()
    })
}

/// A store that is slower than the timeout is enough to make a probe fail; a probe with a longer timeout is not
/// affected.
fn latency_spike(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in readiness_lives(run).only(|life| depends_on(life.container, life.spec).is_some()) {
        falls_by_lateness(clause, seen, &life);
        patient(clause, seen, &life);
    }
    for spent in exhausted(run, ProbeKind::Liveness) {
        if !spent.by_timeouts() || depends_on(spent.life.container, spent.life.spec).is_none() {
            continue;
        }
        match spent.stop(clause) {
            Stop::Came(stop) => seen.fine(spent.events().into_iter().chain([stop.id])),
            Stop::Missing(line) => {
                let finding = "late answers reached the failure threshold, but no stop signal followed";
                seen.violated(finding, spent.events().into_iter().chain([line.id]));
            }
            Stop::Abrupt(_) | Stop::Unheard | Stop::Moot => {}
        }
    }
}

/// A series of slow answers that all passed: the container stays ready.
fn patient<'t, 'h>(clause: &Clause, seen: &mut Seen, life: &ProbedLife<'t, 'h>) {
    let slow = |probe: &&'t Probe<'h>| {
        let took = life.result(probe).took().map_or(0, |took| took.lo);
        life.surely(probe) == ProbeOutcome::Success && took >= DEFAULT_TIMEOUT
    };
    let many = clause.tolerance_times("slow-answers");
    let stretches = life.probes.chunk_by(|a, b| slow(a) == slow(b));
    let mut spikes = stretches.filter(|stretch| stretch.len() >= many && stretch.iter().all(slow));
    let Some([first, .., last]) = spikes.next() else { return };
    let touched = life.run.pod_was_touched(life.pod);
    if life.spec.timeout <= DEFAULT_TIMEOUT || !life.showed_ready(&first.at, true) || touched {
        return;
    }
    let finding = "the container became not ready although its slow answers came within the timeout";
    if stays_ready(life, (first, last), finding, seen) {
        seen.fine([first.id, last.id]);
    }
}

/// Pods whose readiness endpoint calls the next pod: the failure of one affects all.
fn peer_pods(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let lives = readiness_lives(run);
    for life in lives.iter().filter(|life| life.before_deletion(&life.began)) {
        let Some(url) = depends_on(life.container, life.spec) else { continue };
        let Some((host, port)) = host_and_port(&url) else { continue };
        let asks_in_turn = lives.iter().any(|next| {
            next.pod.name != life.pod.name
                && next.pod.ip() == Some(host)
                && next.spec.handler.port() == Some(port)
                && depends_on(next.container, next.spec).is_some()
        });
        if let Some(turn) = blamed(life).filter(|_| asks_in_turn)
            && goes_down(clause, seen, life, &turn).is_some()
        {
            stays_alive(seen, life, &turn);
        }
    }
}
