//! A probe that asks somebody else: what befalls the one befalls all who ask it.
//!
//! Who depends on whom is read from the plans in the pods' own specs. That a dependency was lost is taken from the
//! target's calls and from answers that never came; what the cluster made of it is judged probe by probe, for each of
//! the containers, and the effect is complete only if it reached all of them.

use std::collections::BTreeMap;

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, Interval, Measurement, Unit};
use probity_model::timeline::{ContainerKind, ProbeKind, Revision};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};

use super::course::{dependency, depends_on, falls_by_lateness, place, refused_by_dependency};
use crate::probe_types::endpoints::leaving::{Fall, no_longer_ready};
use crate::probe_types::readiness::follows::{comes_up, falls, goes_down, interfered, rises, stays_alive};
use crate::reading::evidence::{Life, Outcome, Said, Turn, at_least, lives, running};
use crate::reading::kill::{
    Life as Killed, Stop, all_spent, allowance, before_deletion, judge_restart, judge_stop, policy,
    stop_after,
};
use crate::reading::services::services;
use crate::reading::tolerance::{Exhausted, timed_out};

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
fn sharing<'a, 't, 'h>(lives: &'a [Life<'t, 'h>]) -> Vec<Vec<&'a Life<'t, 'h>>> {
    let mut groups: BTreeMap<String, Vec<&Life<'_, '_>>> = BTreeMap::new();
    for life in lives.iter().filter(|life| life.attempt.number == 0) {
        if let Some(url) = depends_on(life.container, life.spec) {
            groups.entry(url).or_default().push(life);
        }
    }
    let several = |group: &Vec<&Life<'_, '_>>| {
        group.first().is_some_and(|first| group.iter().any(|life| life.pod.name != first.pod.name))
    };
    groups.into_values().filter(several).collect()
}

/// The first turn to not ready that the dependency is to blame for.
fn blamed<'t, 'h>(run: &Timeline<'_>, life: &Life<'t, 'h>) -> Option<Turn<'t, 'h>> {
    falls(run, life).into_iter().find(|turn| {
        let (Some(endpoint), Some((_, settled))) = (turn.first.endpoint, &turn.first.settled) else {
            return false;
        };
        refused_by_dependency(life.attempt, &endpoint.to_string(), (turn.first.at.at.lo, settled.at.hi))
    })
}

/// One lost store makes every replica that asks it not ready, and leaves the service without endpoints.
fn readiness_all_drop(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let services = services(run);
    let lives = lives(run);
    for group in sharing(&lives) {
        let turns: Vec<_> = group.iter().filter_map(|life| Some((*life, blamed(run, life)?))).collect();
        if turns.len() < group.len() || group.iter().any(|life| interfered(run, life.pod)) {
            continue;
        }
        let before = seen.count_fine();
        let mut gone: Vec<EventId> = Vec::new();
        for (life, turn) in &turns {
            seen.applies();
            let Some(shown) = goes_down(run, clause, seen, life, turn) else { continue };
            stays_alive(run, seen, life, turn);
            let fall = Fall { pod: life.pod, shown, lasted: at_least(run, &shown.at, &turn.last.at) };
            for service in services.iter().filter(|service| service.selects(life.pod) && !service.publishes) {
                if let Some(entry) = no_longer_ready(run, clause, seen, &fall, service) {
                    gone.extend([shown.id, entry.id]);
                }
            }
            let back = rises(run, life).into_iter().find(|back| back.first.at.at.lo > turn.last.at.at.lo);
            back.map(|back| comes_up(run, clause, seen, life, &back));
        }
        if seen.count_fine() > before {
            seen.fine(gone);
        }
    }
}

/// One lost store restarts every container whose liveness asks it.
fn liveness_all_restart(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let mut groups: BTreeMap<String, Vec<(Killed<'_, '_>, Exhausted<'_, '_>)>> = BTreeMap::new();
    for (life, spec, spent) in all_spent(run, ProbeKind::Liveness) {
        let endpoint = spent.failures.first().and_then(|probe| probe.endpoint).map(ToString::to_string);
        let span = spent.failures.first().map_or(0, |probe| probe.at.at.lo)..spent.at.at.hi;
        let blamed = endpoint.is_some_and(|endpoint| {
            refused_by_dependency(life.2, &endpoint, (span.start, span.end))
                || spent.failures.iter().all(|probe| timed_out(life.2, spec, probe))
        });
        let first = life.2.number == 0 && policy(life.0, life.1) != "Never";
        if let Some(url) = depends_on(life.1, spec).filter(|_| blamed && first) {
            groups.entry(url).or_default().push((life, spent));
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
        for (life, spent) in &group {
            seen.applies();
            let Some(stop) = judge_stop(run, clause, *life, spent, seen) else { continue };
            judge_restart(run, *life, stop, seen);
            stops.push(stop);
        }
        let (first, last) =
            (stops.iter().min_by_key(|(_, at)| at.at.lo), stops.iter().max_by_key(|(_, at)| at.at.lo));
        if let (Some(first), Some(last), true) = (first, last, stops.len() == asking) {
            let node = &group[0].0.2.node;
            let spread =
                run.measure("from the first restart to the last", node, *first, *last, Bound::default());
            if let Some(spread) = spread {
                seen.note(spread);
            }
            seen.note(count("containers that were restarted at once", stops.len(), &stops));
        }
    }
}

fn count(quantity: &str, number: usize, stops: &[(EventId, &Stamp)]) -> Measurement {
    Measurement {
        quantity: quantity.to_owned(),
        unit: Unit::Count,
        observed: Interval::point(i64::try_from(number).unwrap_or(i64::MAX)),
        bound: Bound::default(),
        noise: 0,
        events: stops.iter().map(|(id, _)| *id).collect(),
    }
}

/// A delay of the store above the timeout is enough; a probe with more patience does not mind it.
fn latency_spike(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in lives(run).iter().filter(|life| depends_on(life.container, life.spec).is_some()) {
        falls_by_lateness(run, clause, seen, life);
        patient(run, seen, life);
    }
    for (life, spec, spent) in all_spent(run, ProbeKind::Liveness) {
        let late = spent.failures.iter().all(|probe| timed_out(life.2, spec, probe));
        if !late || dependency(life.1, ProbeKind::Liveness).is_none() {
            continue;
        }
        seen.applies();
        let (allowed, _) = allowance(life.0, life.1, clause);
        match stop_after(run, life.0, life.2, &spent.at, allowed) {
            Stop::Came(id, _) => seen.fine(spent.events().into_iter().chain([id])),
            Stop::Missing(id) => {
                let finding =
                    "the tolerance was used up by answers that came too late, and no stop signal came";
                seen.violated(finding, spent.events().into_iter().chain([id]));
            }
            Stop::Abrupt(_) | Stop::Unheard | Stop::Moot => {}
        }
    }
}

/// Slow answers in a row that all passed: the container stayed ready, and nobody stopped it.
fn patient(run: &Timeline<'_>, seen: &mut Seen, life: &Life<'_, '_>) {
    let slow = |said: &Said<'_, '_>| {
        let settled = said.probe.settled.as_ref();
        let took = settled.map_or(0, |(_, settled)| settled.at.lo - said.probe.at.at.lo);
        said.outcome == Outcome::Pass && took >= DEFAULT_TIMEOUT
    };
    let stretches = life.said.chunk_by(|a, b| slow(a) == slow(b));
    let mut spikes = stretches.filter(|stretch| stretch.len() >= SPIKE && stretch.iter().all(slow));
    let Some((first, last)) = spikes.find_map(|spike| Some((spike.first()?.probe, spike.last()?.probe)))
    else {
        return;
    };
    if life.spec.timeout <= DEFAULT_TIMEOUT || !life.showed(run, &first.at, true) || interfered(run, life.pod)
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
        .find(|(revision, container)| within(revision) && running(container) && !container.ready);
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
    let lives = lives(run);
    for life in lives.iter().filter(|life| before_deletion(run, life.pod, &life.attempt.began.1)) {
        let Some(url) = depends_on(life.container, life.spec) else { continue };
        let Some((host, port)) = place(&url) else { continue };
        let asks_in_turn = lives.iter().any(|next| {
            next.pod.name != life.pod.name
                && next.pod.ip() == Some(host)
                && next.spec.handler.port() == Some(port)
                && depends_on(next.container, next.spec).is_some()
        });
        if let Some(turn) = blamed(run, life).filter(|_| asks_in_turn) {
            seen.applies();
            if goes_down(run, clause, seen, life, &turn).is_some() {
                stays_alive(run, seen, life, &turn);
            }
        }
    }
}
