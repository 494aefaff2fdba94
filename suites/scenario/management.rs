//! A health endpoint on a port of its own: what it says of the port that does the work is nothing.
//!
//! The kubelet asks the port that the probe names and no other. So a pod can be ready while its main port is closed, or
//! so busy that nobody gets an answer.

use probity_model::clocks::Order;
use probity_model::measure::seconds;
use probity_model::timeline::{ContainerSeen, ProbeKind, ProbedLife, Revision};
use probity_model::{Clause, Judge, Seen, Timeline};

use super::course::{Asked, asked_of, falls_by_lateness, listener, opened};
use crate::reading::readiness::{Outcome, readiness_lives, turns};
use crate::reading::services::services;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "scenario.readiness.mgmt-port-decoupled", judge: decoupled },
    Judge { clause: "scenario.readiness.mgmt-port-hides-saturation", judge: hides_saturation },
];

/// So many requests in a row that waited long, or in vain, make a saturated port.
const WAITED: usize = 3;
/// Who waits longer than this for an answer waits long.
const LONG: i64 = 1_000_000;

/// The ports of a container's plan that its readiness probe does not ask.
fn other_ports(life: &ProbedLife<'_, '_>) -> Vec<u16> {
    let Some(plan) = life.container.plan() else { return Vec::new() };
    let asked = life.spec.handler.port();
    plan.listeners.values().map(|listener| listener.port).filter(|port| Some(*port) != asked).collect()
}

/// A pod whose readiness probe asks another port is ready while the main port is closed, and requests fail.
fn decoupled(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let services = services(run);
    let lives = readiness_lives(run);
    let alone = |life: &&ProbedLife<'_, '_>| {
        life.attempt.number == 0 && life.pod.containers.len() == 1 && !run.pod_was_touched(life.pod)
    };
    for life in lives.iter().filter(alone) {
        let turns = turns(life, Outcome::Success);
        let Some(turn) = turns.first() else { continue };
        for port in other_ports(life) {
            let Some(main) = opened(life.attempt, port).filter(|main| main.at.at.lo > turn.due.at.hi) else {
                continue;
            };
            let asked = asked_of(run, life.pod, port, &services);
            if asked.is_empty() {
                continue;
            }
            seen.applies();
            let up = |revision: &Revision<'_>, _: &ContainerSeen<'_>| revision.is("Ready") == Some(true);
            let shown = life.first_shown(&turn.first.at, up);
            let shown = shown.filter(|shown| run.clocks.order(&shown.at, &main.at) == Order::Before);
            let Some(shown) = shown else {
                let closed = main.at.at.lo - turn.due.at.hi;
                let noise = run.noise_between(&life.attempt.node, &turn.due, &main.at);
                if closed - noise > clause.slack_us() && turn.last.at.at.lo > main.at.at.lo {
                    let finding = format!(
                        "the readiness probe passed {} before the main port was open, and the pod was not ready",
                        seconds(closed)
                    );
                    seen.violated(finding, [turn.due.id, main.id]);
                }
                continue;
            };
            let failed =
                asked.iter().find(|asked| !asked.good() && asked.began_between(run, &shown.at, &main.at));
            if let Some(failed) = failed {
                seen.fine([turn.due.id, shown.id, failed.line.id, main.id]);
            }
        }
    }
}

/// A saturated port shows in the readiness of a pod only if the probe asks that very port.
fn hides_saturation(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let services = services(run);
    for life in readiness_lives(run).iter() {
        let Some(plan) = life.container.plan() else { continue };
        let bounded = |port: u16| listener(&plan, port).is_some_and(|listener| listener.workers.is_some());
        if life.spec.handler.port().is_some_and(bounded) {
            falls_by_lateness(run, clause, seen, life);
            continue;
        }
        for port in other_ports(life).into_iter().filter(|port| bounded(*port)) {
            let asked = asked_of(run, life.pod, port, &services);
            stays_ready_while(run, seen, life, &asked);
        }
    }
}

/// While requests waited long, the probes of another port passed: the container was ready all the time.
fn stays_ready_while(
    run: &Timeline<'_>,
    seen: &mut Seen,
    life: &ProbedLife<'_, '_>,
    asked: &[Asked<'_, '_>],
) {
    let waited = |asked: &&Asked<'_, '_>| asked.took() >= LONG || !asked.good();
    let waited: Vec<_> = asked.iter().filter(waited).collect();
    let (Some(first), Some(last), true) = (waited.first(), waited.last(), waited.len() >= WAITED) else {
        return;
    };
    let during: Vec<_> = life
        .probes
        .iter()
        .filter(|said| run.at_least(&first.line.at, &said.at) >= 0)
        .filter(|said| run.at_least(&said.at, &last.line.at) >= 0)
        .collect();
    let passed = during.iter().all(|said| life.surely(said) == Outcome::Success);
    let (Some(begin), Some(end), true) = (during.first(), during.last(), passed && during.len() >= WAITED)
    else {
        return;
    };
    if !life.showed_ready(&begin.at, true) || life.container.probe(ProbeKind::Liveness).is_some() {
        return;
    }
    seen.applies();
    let within = |revision: &Revision<'_>| {
        run.clocks.order(&begin.at, &revision.at) == Order::Before
            && run.clocks.order(&revision.at, &end.at) == Order::Before
    };
    let fell = life.revisions().find(|(revision, container)| {
        within(revision) && container.is_running() && !container.ready && !revision.terminating()
    });
    match fell {
        Some((revision, _)) => {
            let finding = "the container was shown as not ready while its readiness probe passed";
            seen.violated(finding, [begin.id, revision.id, end.id]);
        }
        None => seen.fine([first.line.id, begin.id, end.id, last.line.id]),
    }
}
