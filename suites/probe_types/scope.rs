//! The effects of one probe on the pod as a whole, and on the other probes of its container.

use probity_model::clocks::{Order, Stamp};
use probity_model::history::Did;
use probity_model::measure::{Bound, Fit, seconds, whole_seconds};
use probity_model::mechanisms::WHOLE_SECOND;
use probity_model::timeline::{
    ContainerKind, Line, PodLife, Probe, ProbeKind, ProbeOutcome, ProbeSpec, ProbedLife, Revision,
};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Judge, Seen, Timeline};
use serde_json::Value;

use crate::reading::readiness::readiness_lives;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "probe.pair.same-endpoint-higher-threshold", judge: unready_before_killed },
    Judge { clause: "probe.scope.pod-ready-iff-all-containers", judge: ready_iff_all_containers },
];

/// A pod is ready only when all of its main containers, and all of its sidecars with a readiness probe, are ready.
fn ready_iff_all_containers(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let patched = |pod: &PodLife<'_>| {
        run.deeds.iter().any(|(_, deed)| {
            matches!(&deed.did, Did::Patched { name, subresource, .. } if *name == pod.name && subresource == "status")
        })
    };
    for pod in run.pods.iter().filter(|pod| !patched(pod)) {
        let counted: Vec<&str> = counted(pod).collect();
        let mut together = Vec::new();
        let mut mixed = false;
        for revision in pod.revisions.iter().filter(|revision| !revision.gone) {
            let unready: Vec<&str> = counted.iter().copied().filter(|name| !ready(revision, name)).collect();
            let says = (revision.is("ContainersReady"), revision.is("Ready"));
            if !unready.is_empty() && (says.0 == Some(true) || says.1 == Some(true)) {
                let finding = format!("the pod is ready although `{}` is not", unready.join("`, `"));
                seen.violated(finding, [revision.id]);
            } else if counted.len() > 1 && unready.len() < counted.len() && says == (Some(false), Some(false))
            {
                mixed |= !unready.is_empty();
                together.extend((!unready.is_empty()).then_some(revision.id));
            } else if counted.len() > 1 && unready.is_empty() && says == (Some(true), Some(true)) {
                together.push(revision.id);
            }
        }
        if mixed {
            seen.fine(together);
        }
        // If the cluster has lost a node, it shows the pods of the node as not ready, even if their containers are
        // ready.
        if !run.lost_a_node() {
            all_ready_is_shown(run, clause, seen, pod);
        }
    }
}

/// The containers whose readiness counts towards the readiness of their pod.
fn counted<'p>(pod: &'p PodLife<'_>) -> impl Iterator<Item = &'p str> {
    let counts = |kind, probed| match kind {
        ContainerKind::Main => true,
        ContainerKind::Sidecar => probed,
        ContainerKind::Init | ContainerKind::Ephemeral => false,
    };
    let probed = pod
        .containers
        .iter()
        .filter(move |container| counts(container.kind, container.probe(ProbeKind::Readiness).is_some()));
    probed.map(|container| container.name.as_str())
}

fn ready(revision: &Revision<'_>, name: &str) -> bool {
    revision.container(name).is_some_and(|seen| seen.ready)
}

/// Once all containers of a running pod are ready, `ContainersReady` follows within the slack, and so does `Ready` if
/// the pod has no readiness gates.
fn all_ready_is_shown(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen, pod: &PodLife<'_>) {
    let every = |revision: &Revision<'_>| {
        pod.containers.iter().all(|container| match container.kind {
            ContainerKind::Init | ContainerKind::Ephemeral => true,
            ContainerKind::Main | ContainerKind::Sidecar => ready(revision, &container.name),
        })
    };
    let gated = pod.spec.get("readinessGates").is_some();
    let behind = |revision: &Revision<'_>| {
        let stays = revision.phase() == "Running" && !revision.terminating() && !revision.gone;
        let stays = stays && !past_deadline(run, pod, revision);
        let unready = |condition| revision.is(condition) == Some(false);
        stays && (unready("ContainersReady") || (!gated && unready("Ready"))) && every(revision)
    };
    let mut rest = pod.revisions.iter().peekable();
    while let Some(first) = rest.next() {
        if !behind(first) {
            continue;
        }
        while rest.peek().is_some_and(|next| behind(next)) {
            rest.next();
        }
        let until = rest.peek().map_or(run.ended_us, |next| next.at.at.lo);
        let noise = run.noise_between(&pod.node, &first.at, &Stamp::harness(until));
        if until - first.at.at.hi - noise > clause.slack_us() {
            let late = seconds(until - first.at.at.hi);
            let finding = format!("all containers were ready, but the pod was not ready for another {late}");
            let next = rest.peek().map(|next| next.id).or_else(|| run.last_event());
            seen.violated(finding, [Some(first.id), next].into_iter().flatten());
        }
    }
}

/// Whether the pod may have exceeded its `activeDeadlineSeconds`, possibly set by a patch, at a revision. Such a pod fails, and is shown as not
/// ready while its containers terminate, which the clause does not cover. The kubelet counts from `startTime`, which is
/// rounded down to the second and so can be earlier than the creation.
fn past_deadline(run: &Timeline<'_>, pod: &PodLife<'_>, revision: &Revision<'_>) -> bool {
    let now = revision.object["spec"]["activeDeadlineSeconds"].as_i64();
    let first = || pod.spec.get("activeDeadlineSeconds").and_then(Value::as_i64);
    let Some(deadline) = now.or_else(first) else { return false };
    let first = pod.created.map(|(id, _)| id).or_else(|| pod.revisions.first().map(|first| first.id));
    let over = first.map(|id| run.heard(id).later(whole_seconds(deadline) - WHOLE_SECOND));
    over.is_none_or(|over| run.clocks.order(&revision.at, &over) != Order::Before)
}

/// If the liveness and the readiness probe use one endpoint and liveness has the larger threshold, a container is shown
/// as not ready before it is killed.
fn unready_before_killed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in readiness_lives(run) {
        let Some(live) = life.container.probe(ProbeKind::Liveness) else { continue };
        if live.handler != life.spec.handler || live.failures <= life.spec.failures {
            continue;
        }
        let leaves = live.period * (live.failures - 1) > unready_after(life.spec) + clause.slack_us();
        if !leaves || run.pod_was_touched(life.pod) {
            continue;
        }
        if let Some(stop) = life.stop()
            && let Some(first) = first_of_the_last_failures(&life, stop)
            && life.showed_ready(&first.at, true)
        {
            seen_before(clause, seen, &life, first, stop);
        }
    }
}

/// The latest time at which a container becomes not ready, counted from the first failure of either probe.
fn unready_after(spec: &ProbeSpec) -> i64 {
    spec.failures * spec.period + spec.timeout
}

/// The first of the failures that lasted until the stop signal, if the container had passed a probe before.
fn first_of_the_last_failures<'t, 'h>(life: &ProbedLife<'t, 'h>, stop: &Line<'_>) -> Option<&'t Probe<'h>> {
    let probes: Vec<_> = life.probes.iter().filter(|probe| probe.at.at.lo <= stop.at.at.lo).collect();
    let outcome = |probe: &Probe<'h>| life.attempt.result(probe, life.spec).surely();
    let passed = probes.iter().rposition(|probe| outcome(probe) != ProbeOutcome::Failure)?;
    let all_known = probes.get(passed).is_some_and(|probe| outcome(probe) == ProbeOutcome::Success);
    probes.get(passed + 1).filter(|_| all_known).map(|first| **first)
}

fn seen_before(
    clause: &Clause,
    seen: &mut Seen,
    life: &ProbedLife<'_, '_>,
    first: &Probe<'_>,
    stop: &Line<'_>,
) {
    let clocks = &life.run.clocks;
    let most = unready_after(life.spec) + clause.slack_us();
    let down =
        life.first_shown(&first.at, |revision, seen| !seen.ready && revision.is("Ready") == Some(false));
    let Some(down) = down.filter(|down| clocks.order(&down.at, &stop.at) != Order::After) else {
        return never_shown(seen, life, first, stop, most);
    };
    if clocks.order(&down.at, &stop.at) == Order::TooClose {
        let why = "Ready=False and the stop signal are too close to call";
        return seen.doubt(Doubt::TooClose, why, [down.id, stop.id]);
    }
    let formula = "readiness failureThreshold × periodSeconds + timeoutSeconds + slack";
    let quantity = "from the first failure to Ready=False";
    let Some(fit) = life.within(seen, quantity, (first, down), Bound::at_most(most, formula)) else { return };
    let (quantity, bound) = ("from Ready=False to the stop signal", Bound::default());
    if let Some(ahead) = life.run.measure(quantity, &life.node, down, stop, bound) {
        seen.note(ahead);
    }
    if fit == Fit::Met {
        seen.fine([down.id, stop.id]);
    }
}

/// Judges a container that was stopped before it was shown as not ready. It is a violation if Ready=False was already
/// due, or if the stop came too early. A busy node may excuse the former, but not the latter.
fn never_shown(seen: &mut Seen, life: &ProbedLife<'_, '_>, first: &Probe<'_>, stop: &Line<'_>, most: i64) {
    let lived = stop.at.at.lo - first.at.at.hi;
    let noise = life.noise(&first.at, &stop.at);
    let tolerance =
        life.container.probe(ProbeKind::Liveness).map_or(0, |live| live.period * (live.failures - 1));
    let lasted = seconds(lived);
    let finding =
        format!("the container was stopped {lasted} after the first failure, and never shown as not ready");
    if lived - noise > most || lived + noise < tolerance {
        seen.violated(finding, [first.id, stop.id]);
    } else {
        seen.doubt(Doubt::Straddles, format!("{finding}, but the node was busy"), [first.id, stop.id]);
    }
}

#[cfg(test)]
mod tests;
