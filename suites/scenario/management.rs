//! A health endpoint on a separate port says nothing about the main port.
//!
//! The kubelet only uses the port in the probe. So a pod can be ready while its main port is closed, or so busy that
//! requests get no answer.

use probity_model::measure::seconds;
use probity_model::timeline::{ContainerSeen, Line, ProbeKind, ProbeOutcome, ProbedLife, Revision};
use probity_model::{Clause, Judge, Seen, Timeline};

use super::course::{ClientRequest, falls_by_lateness, listener, opened, requests_to, stays_ready};
use crate::reading::readiness::{Turn, readiness_lives, turns};
use crate::reading::services::services;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "scenario.readiness.mgmt-port-decoupled", judge: decoupled },
    Judge { clause: "scenario.readiness.mgmt-port-hides-saturation", judge: hides_saturation },
];

/// The ports in a container's plan that its readiness probe does not use.
fn other_ports(life: &ProbedLife<'_, '_>) -> Vec<u16> {
    let Some(plan) = life.container.plan() else { return Vec::new() };
    let asked = life.spec.handler.port();
    plan.listeners.values().map(|listener| listener.port).filter(|port| Some(*port) != asked).collect()
}

/// A pod whose readiness probe uses another port is ready while the main port is closed, and requests fail.
fn decoupled(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let services = services(run);
    let alone = |life: &ProbedLife<'_, '_>| {
        life.number == 0 && life.pod.containers.len() == 1 && !run.pod_was_touched(life.pod)
    };
    for life in readiness_lives(run).only(alone) {
        let turns = turns(&life, ProbeOutcome::Success);
        let Some(turn) = turns.first() else { continue };
        for port in other_ports(&life) {
            let main = opened(life.attempt, port).filter(|main| main.at.at.lo > turn.due.at.hi);
            let requests = requests_to(run, life.pod, port, &services);
            if let Some(main) = main.filter(|_| !requests.is_empty()) {
                judge_decoupled(clause, seen, (&life, turn, main), &requests);
            }
        }
    }
}

fn judge_decoupled(
    clause: &Clause,
    seen: &mut Seen,
    (life, turn, main): (&ProbedLife<'_, '_>, &Turn<'_, '_>, &Line<'_>),
    requests: &[ClientRequest<'_, '_>],
) {
    let run = life.run;
    let up = |revision: &Revision<'_>, _: &ContainerSeen<'_>| revision.is("Ready") == Some(true);
    let shown = life.first_shown(&turn.first.at, up);
    if let Some(shown) = shown.filter(|shown| run.before(&shown.at, &main.at)) {
        let mut requests = requests.iter();
        let failed = requests.find(|one| !one.good() && one.began_between(run, &shown.at, &main.at));
        if let Some(failed) = failed {
            seen.fine([turn.due.id, shown.id, failed.line.id, main.id]);
        }
        return;
    }
    let closed = main.at.at.lo - turn.due.at.hi;
    let noise = life.noise(&turn.due, &main.at);
    if closed - noise > clause.slack_us() && turn.last.at.at.lo > main.at.at.lo {
        let closed = seconds(closed);
        let finding = format!(
            "the readiness probe passed {closed} before the main port was open, but the pod was not ready"
        );
        seen.violated(finding, [turn.due.id, main.id]);
    }
}

/// A saturated port affects the readiness of a pod only if the probe uses that port.
fn hides_saturation(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let services = services(run);
    for life in readiness_lives(run) {
        let Some(plan) = life.container.plan() else { continue };
        let bounded = |port: u16| listener(&plan, port).is_some_and(|listener| listener.workers.is_some());
        if life.spec.handler.port().is_some_and(bounded) {
            falls_by_lateness(clause, seen, &life);
            continue;
        }
        for port in other_ports(&life).into_iter().filter(|port| bounded(*port)) {
            stays_ready_while(clause, seen, &life, &requests_to(run, life.pod, port, &services));
        }
    }
}

/// While requests waited for a long time, the probes of another port passed: the container stays ready.
fn stays_ready_while(
    clause: &Clause,
    seen: &mut Seen,
    life: &ProbedLife<'_, '_>,
    requests: &[ClientRequest<'_, '_>],
) {
    let (run, long) = (life.run, clause.tolerance_us("long-wait"));
    let waited: Vec<_> =
        requests.iter().filter(|request| request.took() >= long || !request.good()).collect();
    let [first, .., last] = waited.as_slice() else { return };
    let during = life.probes.iter().filter(|probe| {
        run.at_least(&first.line.at, &probe.at) >= 0 && run.at_least(&probe.at, &last.line.at) >= 0
    });
    let during: Vec<_> = during.copied().collect();
    let [begin, .., end] = during.as_slice() else { return };
    let enough = waited.len() >= clause.tolerance_times("requests")
        && during.len() >= clause.tolerance_times("probes");
    let passed = during.iter().all(|probe| life.surely(probe) == ProbeOutcome::Success);
    let alone = life.container.probe(ProbeKind::Liveness).is_none();
    if !(enough && passed && alone && life.showed_ready(&begin.at, true)) {
        return;
    }
    let finding = "the container was shown as not ready while its readiness probe passed";
    if stays_ready(life, (begin, end), finding, seen) {
        seen.fine([first.line.id, begin.id, end.id, last.line.id]);
    }
}
