//! A probe that asks somebody else: what befalls the one befalls all who ask it.
//!
//! Who depends on whom is read from the plans in the pods' own specs. That a dependency was lost is taken from the
//! target's calls and from answers that never came; what the cluster made of it is judged probe by probe, for each of
//! the containers, and the effect is complete only if it reached all of them.

use std::collections::BTreeMap;

use probity_model::clocks::Order;
use probity_model::measure::{Bound, Interval, Measurement, Unit};
use probity_model::timeline::{ContainerKind, Line, Probe, ProbeKind, ProbedLife, Revision};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};

use super::course::{dependency, depends_on, falls_by_lateness, place, refused_by_dependency};
use crate::reading::endpoints::{Fall, no_longer_ready};
use crate::reading::readiness::{Outcome, Turn, readiness_lives};
use crate::reading::readiness::{comes_up, falls, goes_down, rises, stays_alive};
use crate::reading::services::services;
use crate::reading::termination::{Exhausted, Stop, exhausted, judge_restart};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "scenario.dependency.readiness-all-drop", judge: readiness_all_drop },
    Judge { clause: "scenario.dependency.liveness-all-restart", judge: liveness_all_restart },
    Judge { clause: "scenario.dependency.latency-spike", judge: latency_spike },
    Judge { clause: "scenario.dependency.peer-pods", judge: peer_pods },
];

/// An answer that takes so long is what a probe with the default timeout does not wait for.
const DEFAULT_TIMEOUT: i64 = 1_000_000;
/// So many slow answers in a row are a spike.
const SPIKE: usize = 3;

/// First lives of containers whose readiness endpoint asks a URL, by that URL, where at least two pods share it.
fn sharing<'a, 't, 'h>(lives: &'a [ProbedLife<'t, 'h>]) -> Vec<Vec<&'a ProbedLife<'t, 'h>>> {
    let mut groups: BTreeMap<String, Vec<&ProbedLife<'_, '_>>> = BTreeMap::new();
    for life in lives.iter().filter(|life| life.attempt.number == 0) {
        if let Some(url) = depends_on(life.container, life.spec) {
            groups.entry(url).or_default().push(life);
        }
    }
    let several = |group: &Vec<&ProbedLife<'_, '_>>| {
        group.first().is_some_and(|first| group.iter().any(|life| life.pod.name != first.pod.name))
    };
    groups.into_values().filter(several).collect()
}

/// The first turn to not ready that the dependency is to blame for.
fn blamed<'t, 'h>(life: &ProbedLife<'t, 'h>) -> Option<Turn<'t, 'h>> {
    falls(life).into_iter().find(|turn| {
        let (Some(endpoint), Some(settled)) = (turn.first.endpoint, &turn.first.settled) else {
            return false;
        };
        refused_by_dependency(life.attempt, &endpoint.to_string(), (turn.first.at.at.lo, settled.at.hi))
    })
}

/// One lost store makes every replica that asks it not ready, and leaves the service without endpoints.
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
            seen.applies();
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

/// One lost store restarts every container whose liveness asks it.
fn liveness_all_restart(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let mut groups: BTreeMap<String, Vec<Exhausted<'_, '_>>> = BTreeMap::new();
    for spent in exhausted(run, ProbeKind::Liveness) {
        let (life, spec) = (&spent.life, spent.life.spec);
        let endpoint = spent.failures.first().and_then(|probe| probe.endpoint).map(ToString::to_string);
        let span = spent.failures.first().map_or(0, |probe| probe.at.at.lo)..spent.at.at.hi;
        let blamed = endpoint.is_some_and(|endpoint| {
            refused_by_dependency(life.attempt, &endpoint, (span.start, span.end)) || spent.by_timeouts()
        });
        let first = life.number == 0 && life.policy() != "Never";
        if let Some(url) = depends_on(life.container, spec).filter(|_| blamed && first) {
            groups.entry(url).or_default().push(spent);
        }
    }
    for (url, group) in groups {
        let asks = run.probed(ProbeKind::Liveness).filter(|(_, container, spec)| {
            container.kind != ContainerKind::Init && depends_on(container, spec).as_ref() == Some(&url)
        });
        let asking = asks.count();
        if asking < 2 {
            continue;
        }
        let mut stops = Vec::new();
        for spent in &group {
            seen.applies();
            let Some(stop) = spent.judge_stop(clause, seen) else { continue };
            judge_restart(&spent.life, stop, seen);
            stops.push(stop);
        }
        let (first, last) =
            (stops.iter().min_by_key(|stop| stop.at.at.lo), stops.iter().max_by_key(|stop| stop.at.at.lo));
        if let (Some(first), Some(last), true) = (first, last, stops.len() == asking) {
            let node = &group[0].life.node;
            let spread =
                run.measure("from the first restart to the last", node, *first, *last, Bound::default());
            if let Some(spread) = spread {
                seen.note(spread);
            }
            seen.note(count("containers that were restarted at once", stops.len(), &stops));
        }
    }
}

fn count(quantity: &str, number: usize, stops: &[&Line<'_>]) -> Measurement {
    Measurement {
        quantity: quantity.to_owned(),
        unit: Unit::Count,
        observed: Interval::point(i64::try_from(number).unwrap_or(i64::MAX)),
        bound: Bound::default(),
        noise: 0,
        events: stops.iter().map(|stop| stop.id).collect(),
    }
}

/// A delay of the store above the timeout is enough; a probe with more patience does not mind it.
fn latency_spike(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in readiness_lives(run).iter().filter(|life| depends_on(life.container, life.spec).is_some()) {
        falls_by_lateness(run, clause, seen, life);
        patient(run, seen, life);
    }
    for spent in exhausted(run, ProbeKind::Liveness) {
        if !spent.by_timeouts() || dependency(spent.life.container, ProbeKind::Liveness).is_none() {
            continue;
        }
        seen.applies();
        match spent.stop(clause) {
            Stop::Came(stop) => seen.fine(spent.events().into_iter().chain([stop.id])),
            Stop::Missing(line) => {
                let finding =
                    "the tolerance was used up by answers that came too late, and no stop signal came";
                seen.violated(finding, spent.events().into_iter().chain([line.id]));
            }
            Stop::Abrupt(_) | Stop::Unheard | Stop::Moot => {}
        }
    }
}

/// Slow answers in a row that all passed: the container stayed ready, and nobody stopped it.
fn patient<'t, 'h>(run: &Timeline<'_>, seen: &mut Seen, life: &ProbedLife<'t, 'h>) {
    let slow = |said: &&'t Probe<'h>| {
        let settled = said.settled.as_ref();
        let took = settled.map_or(0, |settled| settled.at.lo - said.at.at.lo);
        life.surely(said) == Outcome::Success && took >= DEFAULT_TIMEOUT
    };
    let stretches = life.probes.chunk_by(|a, b| slow(a) == slow(b));
    let mut spikes = stretches.filter(|stretch| stretch.len() >= SPIKE && stretch.iter().all(slow));
    let Some((first, last)) = spikes.find_map(|spike| Some((*spike.first()?, *spike.last()?))) else {
        return;
    };
    if life.spec.timeout <= DEFAULT_TIMEOUT
        || !life.showed_ready(&first.at, true)
        || run.pod_was_touched(life.pod)
    {
        return;
    }
    seen.applies();
    let within = |revision: &Revision<'_>| {
        run.clocks.order(&first.at, &revision.at) == Order::Before
            && run.clocks.order(&revision.at, &last.at) == Order::Before
    };
    let fell = life
        .revisions()
        .find(|(revision, container)| within(revision) && container.is_running() && !container.ready);
    match fell {
        Some((revision, _)) => {
            let finding = "the container became not ready though its slow answers came within the timeout";
            seen.violated(finding, [first.id, revision.id, last.id]);
        }
        None => seen.fine([first.id, last.id]),
    }
}

/// Pods whose readiness asks the next one: the end of one reaches them all.
fn peer_pods(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let lives = readiness_lives(run);
    for life in lives.iter().filter(|life| run.before_deletion(life.pod, &life.attempt.began)) {
        let Some(url) = depends_on(life.container, life.spec) else { continue };
        let Some((host, port)) = place(&url) else { continue };
        let asks_in_turn = lives.iter().any(|next| {
            next.pod.name != life.pod.name
                && next.pod.ip() == Some(host)
                && next.spec.handler.port() == Some(port)
                && depends_on(next.container, next.spec).is_some()
        });
        if let Some(turn) = blamed(life).filter(|_| asks_in_turn) {
            seen.applies();
            if goes_down(clause, seen, life, &turn).is_some() {
                stays_alive(seen, life, &turn);
            }
        }
    }
}
