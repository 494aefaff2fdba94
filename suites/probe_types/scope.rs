//! What one probe means for the pod as a whole, and for the other probes of its container.

use probity_model::clocks::{Order, Stamp};
use probity_model::history::Did;
use probity_model::measure::{Bound, Fit, seconds};
use probity_model::timeline::{ContainerKind, PodLife, ProbeKind, ProbeSpec, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Judge, Seen, Timeline};

use super::readiness::follows::interfered;
use crate::reading::evidence::{Life, Outcome, last_event, lives};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "probe.pair.same-endpoint-higher-threshold", judge: unready_before_killed },
    Judge { clause: "probe.scope.pod-ready-iff-all-containers", judge: ready_iff_all_containers },
];

/// A pod is ready only when all its containers, and its sidecars with a readiness probe, are.
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
                let finding = format!("the pod is ready though `{}` is not", unready.join("`, `"));
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
        } else if counted.len() > 1 {
            seen.applies();
        }
        all_ready_is_shown(run, clause, seen, pod);
    }
}

/// The containers whose readiness counts.
fn counted<'p>(pod: &'p PodLife<'_>) -> impl Iterator<Item = &'p str> {
    let counts = |kind, probed| match kind {
        ContainerKind::Main => true,
        ContainerKind::Sidecar => probed,
        ContainerKind::Init => false,
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

/// Once all containers of a running pod are ready, `ContainersReady` does not stay behind for longer than the slack.
fn all_ready_is_shown(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen, pod: &PodLife<'_>) {
    let every = |revision: &Revision<'_>| {
        pod.containers.iter().all(|container| match container.kind {
            ContainerKind::Init => true,
            ContainerKind::Main | ContainerKind::Sidecar => ready(revision, &container.name),
        })
    };
    let behind = |revision: &Revision<'_>| {
        let stays = revision.phase() == "Running" && !revision.terminating() && !revision.gone;
        stays && revision.is("ContainersReady") == Some(false) && every(revision)
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
            let finding = format!("all containers were ready, and ContainersReady was False for {late} more");
            let next = rest.peek().map(|next| next.id).or_else(|| last_event(run));
            seen.violated(finding, [Some(first.id), next].into_iter().flatten());
        }
    }
}

/// With one endpoint and a larger liveness threshold, a container is shown as not ready before it is killed.
fn unready_before_killed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in &lives(run) {
        let Some(live) = life.container.probe(ProbeKind::Liveness) else { continue };
        if live.handler != life.spec.handler || live.failures <= life.spec.failures {
            continue;
        }
        let leaves = live.period * (live.failures - 1) > unready_after(life.spec) + clause.slack_us();
        if !leaves || interfered(run, life.pod) {
            continue;
        }
        seen.applies();
        if let (Some(kill), Some(first)) = (life.attempt.stop_signal(), first_of_the_last_failures(life)) {
            seen_before(run, clause, seen, life, first, kill);
        }
    }
}

/// When a container is not ready at the latest, counted from the first failure of either probe.
fn unready_after(spec: &ProbeSpec) -> i64 {
    spec.failures * spec.period + spec.timeout
}

/// The first of the failures that lasted until the stop signal, if the container had passed before.
fn first_of_the_last_failures<'t>(life: &Life<'t, '_>) -> Option<(EventId, &'t Stamp)> {
    let (_, killed) = life.attempt.stop_signal()?;
    let said: Vec<_> = life.said.iter().filter(|said| said.probe.at.at.lo <= killed.at.lo).collect();
    let passed = said.iter().rposition(|said| said.outcome != Outcome::Fail)?;
    let all_known = said.get(passed).is_some_and(|said| said.outcome == Outcome::Pass);
    let first = said.get(passed + 1).filter(|_| all_known)?;
    Some((first.probe.id, &first.probe.at))
}

fn seen_before(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    life: &Life<'_, '_>,
    (first, failed): (EventId, &Stamp),
    (signal, killed): (EventId, &Stamp),
) {
    if !life.showed(run, failed, true) {
        return;
    }
    let most = unready_after(life.spec) + clause.slack_us();
    let formula = "readiness failureThreshold × periodSeconds + timeoutSeconds + slack";
    let bound = || Bound::at_most(most, formula);
    let node = &life.attempt.node;
    let down =
        life.first_shown(run, failed, |revision, seen| !seen.ready && revision.is("Ready") == Some(false));
    let Some(down) = down.filter(|down| run.clocks.order(&down.at, killed) != Order::After) else {
        return never_shown(run, seen, life, (first, failed), (signal, killed), most);
    };
    if run.clocks.order(&down.at, killed) == Order::TooClose {
        seen.doubt(
            Doubt::TooClose,
            "Ready=False and the stop signal are too close to call",
            [down.id, signal],
        );
        return;
    }
    let shown = (down.id, &down.at);
    let Some(measured) =
        run.measure("from the first failure to Ready=False", node, (first, failed), shown, bound())
    else {
        return;
    };
    let met = measured.fit() == Fit::Met;
    seen.measure(measured);
    let bound = Bound::default();
    if let Some(ahead) =
        run.measure("from Ready=False to the stop signal", node, shown, (signal, killed), bound)
    {
        seen.note(ahead);
    }
    if met {
        seen.fine([shown.0, signal]);
    }
}

/// The container was stopped before anyone saw it unready. Ready=False was due, or the stop came too early: a busy node
/// can excuse the one by its delays, and not the other.
fn never_shown(
    run: &Timeline<'_>,
    seen: &mut Seen,
    life: &Life<'_, '_>,
    (first, failed): (EventId, &Stamp),
    (signal, killed): (EventId, &Stamp),
    most: i64,
) {
    let lived = killed.at.lo - failed.at.hi;
    let noise = run.noise_between(&life.attempt.node, failed, killed);
    let tolerance =
        life.container.probe(ProbeKind::Liveness).map_or(0, |live| live.period * (live.failures - 1));
    let finding = format!(
        "the container was stopped {} after the first failure, and never shown as not ready",
        seconds(lived)
    );
    if lived - noise > most || lived + noise < tolerance {
        seen.violated(finding, [first, signal]);
    } else {
        seen.doubt(Doubt::Straddles, format!("{finding}, on a busy node"), [first, signal]);
    }
}

#[cfg(test)]
mod tests {
    use probity_composer::{Composer, running_status};
    use serde_json::{Value, json};

    use crate::tests::verdict;

    fn probe(path: &str, failures: u16) -> Value {
        json!({ "httpGet": { "path": path, "port": 8080 }, "periodSeconds": 1, "failureThreshold": failures })
    }

    mod all_containers {
        use super::*;

        const CLAUSE: &str = "probe.scope.pod-ready-iff-all-containers";

        /// A status of two containers and what the pod says of itself.
        fn status(a: bool, b: bool, pod: bool) -> Value {
            let mut status = running_status("a", 1.0, pod, true, 0);
            let mut other = status["containerStatuses"][0].clone();
            status["containerStatuses"][0]["ready"] = json!(a);
            other["name"] = json!("b");
            other["ready"] = json!(b);
            status["containerStatuses"] = json!([status["containerStatuses"][0], other]);
            status
        }

        fn judged(statuses: &[Value]) -> &'static str {
            let mut run = Composer::new(&[CLAUSE]);
            run.of("pod", "a").create(0.0, &json!({ "containers": [{ "name": "a" }, { "name": "b" }] }));
            for (at, status) in statuses.iter().enumerate() {
                run.status(f64::from(u16::try_from(at).unwrap_or_default()) + 1.0, status);
            }
            run.reading(20.0);
            verdict(&run.done(), CLAUSE)
        }

        #[test]
        fn ready_with_the_last_of_them_holds() {
            assert_eq!(judged(&[status(true, false, false), status(true, true, true)]), "holds");
        }

        #[test]
        fn ready_before_the_last_of_them_is_a_violation() {
            assert_eq!(judged(&[status(true, false, true), status(true, true, true)]), "violated");
        }

        #[test]
        fn not_ready_though_all_are_is_a_violation() {
            assert_eq!(judged(&[status(true, false, false), status(true, true, false)]), "violated");
        }

        #[test]
        fn containers_that_were_never_apart_are_doubt() {
            assert_eq!(judged(&[status(false, false, false), status(true, true, true)]), "inconclusive");
        }
    }

    mod same_endpoint {
        use super::*;

        const CLAUSE: &str = "probe.pair.same-endpoint-higher-threshold";

        /// One endpoint that fails from 5 s on, shown as not ready at `shown`, and killed at `killed`.
        fn judged(shown: Option<u16>, killed: Option<u16>, failures: u16) -> &'static str {
            let mut run = Composer::new(&[CLAUSE]);
            let (ready, live) = (probe("/health", 2), probe("/health", failures));
            let container = json!({ "name": "target", "readinessProbe": ready, "livenessProbe": live });
            run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0);
            for second in 2..16 {
                if killed == Some(second) {
                    run.signal(f64::from(second), "SIGTERM");
                    break;
                }
                for at in [0.0, 0.5] {
                    run.probe(f64::from(second) + at, "/health", if second < 5 { 200 } else { 503 });
                }
                if second == 2 {
                    run.running(2.8, true, true, 0);
                }
                if shown == Some(second) {
                    run.running(f64::from(second) + 0.8, false, true, 0);
                }
            }
            run.reading(20.0);
            verdict(&run.done(), CLAUSE)
        }

        #[test]
        fn not_ready_and_killed_later_holds() {
            assert_eq!(judged(Some(7), Some(14), 10), "holds");
        }

        #[test]
        fn killed_without_having_been_unready_is_a_violation() {
            assert_eq!(judged(None, Some(14), 10), "violated");
            assert_eq!(judged(None, Some(7), 10), "violated");
        }

        #[test]
        fn not_ready_late_is_a_violation() {
            assert_eq!(judged(Some(12), Some(14), 10), "violated");
        }

        #[test]
        fn nobody_killed_is_doubt_and_equal_thresholds_are_not_meant() {
            assert_eq!(judged(Some(7), None, 10), "inconclusive");
            assert_eq!(judged(None, Some(8), 2), "inconclusive");
        }
    }
}
