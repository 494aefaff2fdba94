//! The state of a container in the status: it is exactly one, it is correct, and a waiting container has a reason.

use std::collections::BTreeSet;

use probity_model::clocks::Order;
use probity_model::measure::Fit;
use probity_model::timeline::{
    ContainerKind, ContainerLife, ContainerSeen, Life, PodLife, ProbeKind, Revision, State,
};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use crate::reading::ends::{End, alive_until, is_undivided};
use crate::reading::mains::is_recorded;
use crate::reading::statuses::{CRASH_LOOP, of_kubelet, statuses};

/// The fields for the states of a container: Kubernetes API reference.
const STATES: [&str; 3] = ["waiting", "running", "terminated"];
/// The waiting reason of a container that is not created yet, in a pod without init containers: Kubernetes
/// documentation, Debug Pods.
const CREATING: &str = "ContainerCreating";
/// The waiting reason of a container that is not created yet, in a pod with init containers: Kubernetes documentation,
/// Debug Init Containers.
const INITIALIZING: &str = "PodInitializing";

/// Each status of a container has exactly one state, and this is the actual state of the container.
pub(super) fn one_at_a_time(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let mut shown = BTreeSet::new();
        for revision in &pod.revisions {
            for (name, status) in statuses(revision) {
                let there = |state: &&&str| status["state"].get(**state).is_some_and(|of| !of.is_null());
                let states: Vec<&&str> = STATES.iter().filter(there).collect();
                let [one] = states.as_slice() else {
                    let states = if states.is_empty() {
                        "no state".to_owned()
                    } else {
                        format!("{states:?} at the same time")
                    };
                    seen.violated(format!("{}/{name} is shown with {states}", pod.key), [revision.id]);
                    continue;
                };
                if shown.insert((name, **one)) {
                    seen.fine([revision.id]);
                    seen.facet("state", **one);
                    seen.facet("container", pod.container(name).map_or("ephemeral", |of| of.kind.word()));
                }
            }
        }
    }
    for pod in &run.pods {
        judge_missing(pod, seen);
    }
    for pod in run.pods.iter().filter(|_| !run.node_was_touched()) {
        judge_end_of_the_unborn(pod, seen);
    }
    for life in run.lives().whole().undisturbed() {
        judge_end_of_the_living(&life, seen);
        judge_run_of_the_dead(clause, &life, seen);
        judge_wait_of_the_living(clause, &life, seen);
    }
}

/// A status that shows some containers of a pod shows all of its spec, and all that were shown before.
fn judge_missing(pod: &PodLife<'_>, seen: &mut Seen) {
    let mut all: BTreeSet<&str> = pod.containers.iter().map(|container| container.name.as_str()).collect();
    for shown in of_kubelet(pod) {
        let known: BTreeSet<&str> = statuses(shown).map(|(name, _)| name).collect();
        if let Some(name) = all.difference(&known).next().filter(|_| !known.is_empty()) {
            let finding = format!("{}/{name} is missing from a status that shows other containers", pod.key);
            seen.violated(finding, [shown.id]);
            return;
        }
        // Ephemeral containers are added while the pod runs.
        all.extend(known);
    }
}

/// Whether a sidecar never started up: according to its target, each of its startup probes failed.
fn never_started_up(pod: &PodLife<'_>, of: &ContainerLife<'_>) -> bool {
    let mut probes = of.attempts.iter().flat_map(|attempt| attempt.probes_of(ProbeKind::Startup)).peekable();
    let failed = probes.peek().is_some() && probes.all(|probe| probe.passed == Some(false));
    let shown = |shown: &Revision<'_>| shown.container(&of.name).is_some_and(|of| of.started == Some(true));
    of.kind == ContainerKind::Sidecar && failed && is_recorded(of) && !pod.revisions.iter().any(shown)
}

/// A main container that never ran is not shown as terminated before all init containers have succeeded and all sidecars have
/// started.
fn judge_end_of_the_unborn(pod: &PodLife<'_>, seen: &mut Seen) {
    let unborn = |of: &&ContainerLife<'_>| {
        let ran = pod.changes_of(&of.name).any(|(_, status)| status.is_running() || status.restarts > 0);
        of.kind == ContainerKind::Main && of.attempts.is_empty() && !ran
    };
    let unhelped = pod.containers.iter().any(|of| never_started_up(pod, of));
    let initializing = |shown: &Revision<'_>| {
        let mut inits = pod.containers.iter().filter(|of| of.kind == ContainerKind::Init);
        let unprepared = inits.any(|of| {
            let status = shown.container(&of.name);
            status.is_some_and(|status| !matches!(status.state, State::Terminated { code: 0, .. }))
        });
        unhelped || unprepared
    };
    for container in pod.containers.iter().filter(unborn) {
        let ended = of_kubelet(pod).filter(|shown| initializing(shown)).find(|shown| {
            let status = shown.container(&container.name);
            status.is_some_and(|status| matches!(status.state, State::Terminated { .. }))
        });
        if let Some(shown) = ended {
            let finding = format!(
                "{}/{} is shown as terminated, although it never ran: not all init containers had succeeded, or a sidecar had not started",
                pod.key, container.name
            );
            seen.violated(finding, [shown.id]);
        }
    }
}

/// A container is not shown as terminated while its process still leaves records.
fn judge_end_of_the_living(life: &Life<'_, '_>, seen: &mut Seen) {
    let Some(last) = life.last_line().filter(|_| life.is_numbered()) else { return };
    let ended = life.revisions().find(|(revision, status)| {
        matches!(status.state, State::Terminated { .. })
            && life.run.clocks.order(&revision.at, &last.at) == Order::Before
    });
    if let Some((revision, _)) = ended {
        let finding =
            format!("the status shows {} as terminated, but its process is still running", life.name());
        seen.violated(finding, [life.began.id, revision.id, last.id]);
    }
}

/// A container whose process has exited is soon no longer shown as running.
fn judge_run_of_the_dead(clause: &Clause, life: &Life<'_, '_>, seen: &mut Seen) {
    let Some(end) = End::of(life).filter(|_| life.is_numbered() && is_undivided(life)) else { return };
    let Some(gone) = &end.latest else { return };
    let late = life.revisions().filter(|(revision, status)| {
        status.is_running()
            && life.before_deletion(&revision.at)
            && life.run.clocks.order(gone, &revision.at) == Order::Before
    });
    if let Some((revision, _)) = late.last() {
        let quantity =
            format!("from the exit of {} to the last status that shows it as running", life.name());
        life.within(seen, quantity, (gone, revision), clause.in_time());
    }
}

/// A container is not shown as waiting while its process runs: never after the container was shown as running, and not
/// for long after the process began, unless a hook or another container may delay the kubelet. The kubelet may show a
/// first instance only after it has started the whole pod.
fn judge_wait_of_the_living(clause: &Clause, life: &Life<'_, '_>, seen: &mut Seen) {
    let Some(until) = alive_until(life).filter(|_| life.is_numbered()) else { return };
    let waits = |of: &&(&Revision<'_>, ContainerSeen<'_>)| matches!(of.1.state, State::Waiting { .. });
    let shown: Vec<_> =
        life.revisions().filter(|(revision, _)| life.run.before(&revision.at, &until)).collect();
    let ran = shown.iter().skip_while(|(_, status)| !status.is_running());
    if let Some((back, _)) = ran.clone().find(waits) {
        let finding =
            format!("the status shows {} as waiting again, but its process is still running", life.name());
        seen.violated(finding, ran.map(|(first, _)| first.id).take(1).chain([back.id, until.id]));
    }
    let alone = is_undivided(life) && (life.number > 0 || life.pod.containers.len() == 1);
    let late = shown.iter().rfind(waits).filter(|(late, _)| alone && life.run.before(&life.began, &late.at));
    if let Some((late, _)) = late {
        let quantity =
            format!("from the start of {} to the last status that shows it as waiting", life.name());
        life.within(seen, quantity, (&life.began, *late), clause.in_time());
    }
    judge_wait_to_the_end(clause, life, alone, seen);
}

/// A container that runs to the end of the history is not shown as waiting to the end.
fn judge_wait_to_the_end(clause: &Clause, life: &Life<'_, '_>, alone: bool, seen: &mut Seen) {
    let Some(last) = life.pod.last().filter(|_| alone && life.lives_on()) else { return };
    let waits = last.container(&life.container.name).is_some_and(|status| {
        status.restarts == life.number && matches!(status.state, State::Waiting { .. })
    });
    if waits && life.watched_for(&life.began, clause.slack_us()) {
        let finding = format!("{} is running, but is still shown as waiting", life.name());
        seen.violated(finding, [life.began.id, last.id]);
    }
}

/// A waiting container has a reason. Between the creation and the start of the container, a kubelet may show no reason.
pub(super) fn waits_for_a_reason(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container) in run.containers() {
        let mut unsaid: Option<&Revision<'_>> = None;
        let mut said = BTreeSet::new();
        for revision in pod.revisions.iter().filter(|revision| !revision.gone) {
            let status = revision.container(&container.name);
            let reason = match status.as_ref().map(|status| &status.state) {
                Some(State::Waiting { reason }) => *reason,
                _ => {
                    judge_unsaid(run, clause, (pod, container), (unsaid.take(), revision), seen);
                    continue;
                }
            };
            if reason.is_empty() {
                unsaid = unsaid.or(Some(revision));
                continue;
            }
            judge_unsaid(run, clause, (pod, container), (unsaid.take(), revision), seen);
            if reason == CRASH_LOOP && !may_loop(pod, container, revision) {
                let finding = format!(
                    "the status shows {}/{} in back-off, but it never terminated",
                    pod.key, container.name
                );
                seen.violated(finding, [revision.id]);
            } else if is_exchanged(pod, reason) {
                let finding = format!(
                    "the status shows that {}/{} waits for {reason}, which is the reason for {} init containers",
                    pod.key,
                    container.name,
                    if reason == CREATING { "pods without" } else { "pods with" }
                );
                seen.violated(finding, [revision.id]);
            } else if said.insert(reason) {
                seen.fine([revision.id]);
                seen.facet("reason", reason);
            }
        }
        if let (Some(unsaid), Some(last)) = (unsaid, pod.last()) {
            judge_unsaid(run, clause, (pod, container), (Some(unsaid), last), seen);
        }
    }
}

/// Whether a pod with init containers is shown with the reason for a pod without them, or the other way round.
fn is_exchanged(pod: &PodLife<'_>, reason: &str) -> bool {
    let of_spec = pod.spec.get("initContainers").and_then(Value::as_array);
    let initializes = of_spec.is_some_and(|of| !of.is_empty());
    (reason == CREATING && initializes) || (reason == INITIALIZING && !initializes)
}

/// Judges how long a container was shown as waiting without a reason.
fn judge_unsaid(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container): (&PodLife<'_>, &ContainerLife<'_>),
    (unsaid, until): (Option<&Revision<'_>>, &Revision<'_>),
    seen: &mut Seen,
) {
    let Some(unsaid) = unsaid else { return };
    let quantity = format!("how long {}/{} was shown as waiting without a reason", pod.key, container.name);
    let Some(measured) = run.measure(quantity, &pod.node, unsaid, until, clause.in_time()) else { return };
    if measured.fit() != Fit::Met {
        seen.measure(measured);
    }
}

/// Whether a container may be in back-off: a revision shows by its restart count or its last state that it terminated
/// before, or a hook may have failed.
fn may_loop(pod: &PodLife<'_>, container: &ContainerLife<'_>, revision: &Revision<'_>) -> bool {
    let ended = |status: &Value| !status["lastState"]["terminated"].is_null();
    let mut shown = statuses(revision).filter(|(name, _)| *name == container.name);
    let hooked = pod.containers.iter().any(|of| of.lifecycle("postStart").is_some());
    hooked || shown.any(|(_, status)| ended(status) || status["restartCount"].as_u64() > Some(0))
}
