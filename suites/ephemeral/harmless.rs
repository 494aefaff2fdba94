//! Ephemeral containers do not change the state of their pod, and see the processes that they should see.

use probity_model::clocks::Stamp;
use probity_model::measure::{Bound, Fit, seconds};
use probity_model::timeline::{
    At, Attempt, ContainerKind, ContainerLife, ContainerSeen, Life, PodLife, ProbeKind, ProbeOutcome,
    Revision, State,
};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::Fact;
use probity_script::witness::Dump;
use serde_json::Value;

use crate::reading::dumps::{looks, side_by_side};
use crate::reading::ends::{has_wall_clock, may_be_busy, second};
use crate::reading::patches::TARGET_CONTAINER;

/// The reason that the reference implementation of Kubernetes gives for a container that has succeeded.
const COMPLETED: &str = "Completed";

/// The event and the time at which an instance exited by itself, and its exit status.
fn exit(attempt: &Attempt<'_>) -> Option<(EventId, Stamp, u8)> {
    attempt.lines.iter().find_map(|line| match &line.line.fact {
        Fact::Exiting(exiting) => Some((line.id, line.at.clone(), exiting.code)),
        _ => None,
    })
}

/// All ephemeral containers with their pods.
fn all<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = (&'t PodLife<'h>, &'t ContainerLife<'h>)> {
    run.pods.iter().flat_map(|pod| pod.ephemeral.iter().map(move |container| (pod, container)))
}

/// An ephemeral container that has terminated is shown as terminated, and stays so.
pub(super) fn never_again(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container) in all(run) {
        let name = format!("{}/{}", pod.key, container.name);
        let Some(first) = container.attempts.first() else { continue };
        if let Some(again) = container.attempts.get(1) {
            seen.violated(
                format!("the ephemeral container {name} was started again"),
                [first.began.id, again.began.id],
            );
            continue;
        }
        let Some((id, at, code)) = exit(first) else { continue };
        let shown: Vec<_> = pod.changes_of(&container.name).collect();
        let ended = shown.iter().position(|(_, seen)| matches!(seen.state, State::Terminated { .. }));
        let wrong = shown.iter().enumerate().find(|(place, (_, status))| {
            status.restarts > 0 || ended.is_some_and(|ended| *place > ended && status.is_running())
        });
        if let Some((_, (revision, _))) = wrong {
            seen.violated(format!("the ephemeral container {name} is shown as restarted"), [id, revision.id]);
            continue;
        }
        if let Some((revision, what)) =
            ended.and_then(|at| changed_later(run, (pod, &container.name), shown.get(at)?))
        {
            let finding = format!("the ephemeral container {name} had terminated, but is later shown {what}");
            seen.violated(finding, [id, revision]);
            continue;
        }
        // If an ephemeral container runs in the process namespace of another container, the kernel kills the ephemeral
        // container when the other one ends, perhaps before the ephemeral container has exited.
        if container.spec.get(TARGET_CONTAINER).is_some() && !run.before_deletion(pod, &at) {
            continue;
        }
        let end = ended.and_then(|ended| shown.get(ended));
        judge_end(
            run,
            clause,
            (pod, &name),
            (id, &at, code),
            end.map(|(shown, status)| (shown.id, status)),
            seen,
        );
        if let Some((shown, status)) = end {
            let life = Life { run, pod, container, attempt: first };
            judge_times(clause, &life, (shown, &status.state), &At::new(id, at), seen);
        }
    }
}

/// The first revision that no longer shows the end of an ephemeral container, or shows another state than at first.
fn changed_later(
    run: &Timeline<'_>,
    (pod, name): (&PodLife<'_>, &str),
    (ended, was): &(&Revision<'_>, ContainerSeen<'_>),
) -> Option<(EventId, &'static str)> {
    let over = pod.over().map(|over| over.id);
    let later =
        pod.revisions.iter().filter(|later| later.id > ended.id && !later.terminating() && !later.gone);
    let mut later = later.take_while(|later| over.is_none_or(|over| later.id < over));
    later.find_map(|later| match later.container(name) {
        _ if run.node_was_touched() => None,
        None => Some((later.id, "without a status")),
        Some(status) if status.state != was.state => Some((later.id, "in another state")),
        Some(_) => None,
    })
}

/// The status of an ephemeral container that has exited shows it as terminated, with its exit code.
fn judge_end(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, name): (&PodLife<'_>, &str),
    (exited, at, code): (EventId, &Stamp, u8),
    shown: Option<(EventId, &ContainerSeen<'_>)>,
    seen: &mut Seen,
) {
    let watched = run.watched_for(pod, at, clause.tolerance_us("watched"));
    let Some((shown, status)) = shown else {
        // The kubelet writes no status while it stops a container, or pulls the image of another ephemeral one.
        let busy = may_be_busy(run, pod, None) || pod.ephemeral.iter().any(|of| of.attempts.is_empty());
        if watched && !run.node_was_touched() && !busy {
            let finding = format!(
                "the ephemeral container {name} exited with {code}, but is never shown as terminated"
            );
            seen.violated(finding, run.to_the_end([exited]));
        }
        return;
    };
    if let Some(wrong) = misshown(&status.state, code).filter(|_| !run.node_was_touched()) {
        let finding = format!("the ephemeral container {name} exited with {code}, but is shown with {wrong}");
        seen.violated(finding, [exited, shown]);
    } else if watched {
        seen.fine(run.to_the_end([exited, shown]));
        if pod.restart_policy() == "Always" {
            seen.facet("exit", if code == 0 { "zero" } else { "nonzero" });
        }
    }
}

/// The times in a state that shows the end of an ephemeral container are those of its process, which recorded its exit.
fn judge_times(
    clause: &Clause,
    life: &Life<'_, '_>,
    (shown, state): (&Revision<'_>, &State<'_>),
    exited: &At,
    seen: &mut Seen,
) {
    let State::Terminated { started, finished, .. } = state else { return };
    // If the first line was lost, it is not known when the process began.
    let began = life.lines.first().is_some_and(|line| matches!(line.line.fact, Fact::Started(_)));
    if life.run.node_was_touched() || !has_wall_clock(life) || !began {
        return;
    }
    let (slack, waits) = (clause.slack_us(), clause.tolerance_us("first-instruction"));
    let begins = format!("{} + {} until the process has a CPU", seconds(slack), seconds(waits));
    let instants = [
        ("startedAt", *started, (&life.began, &life.began), Bound::at_most(slack + waits, begins)),
        ("finishedAt", *finished, (exited, life.ended.as_ref().unwrap_or(exited)), clause.in_time()),
    ];
    for (field, at, (from, to), bound) in instants {
        let Some(at) = at.map(|at| second(life, shown, at)) else { continue };
        let words = format!("between the {field} of {} and the record of its process", life.name());
        let late = life.run.measure(words.clone(), &life.node, from, &at, clause.in_time());
        let early = life.run.measure(words, &life.node, &at, to, bound);
        // One of the two measurements shows how far apart the times are, and the other is negative.
        match [late, early].into_iter().flatten().find(|measured| measured.fit() != Fit::Met) {
            Some(apart) => seen.measure(apart),
            None => seen.fine([from.id, shown.id]),
        }
    }
}

/// The mistake in a state that shows the end of a process with this exit code.
fn misshown(state: &State<'_>, code: u8) -> Option<String> {
    let State::Terminated { code: shown, reason, .. } = state else { return None };
    let well = *reason == COMPLETED;
    match () {
        () if *shown != i64::from(code) => Some(format!("the exit code {shown}")),
        () if well != (code == 0) => Some(format!("the reason {reason:?}")),
        () => None,
    }
}

/// The part of a pod's status that an ephemeral container must not change: the phase, the readiness of the pod, and the
/// restarts and the readiness of the other containers.
#[derive(PartialEq)]
struct Standing<'h> {
    phase: &'h str,
    ready: Option<bool>,
    containers_ready: Option<bool>,
    containers: Vec<Option<(u64, bool)>>,
}

impl<'h> Standing<'h> {
    fn of(pod: &PodLife<'h>, revision: &Revision<'h>) -> Self {
        let shown = |of: &ContainerLife<'_>| revision.container(&of.name).map(|of| (of.restarts, of.ready));
        Self {
            phase: revision.phase(),
            ready: revision.is("Ready"),
            containers_ready: revision.is("ContainersReady"),
            containers: pod.containers.iter().map(shown).collect(),
        }
    }
}

/// Whether any change must be the kubelet's doing: no plan makes a container exit, no probe got a failing answer, and
/// nothing was done to the node.
fn is_calm(run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
    let stays =
        |container: &ContainerLife<'_>| container.plan().is_some_and(|plan| plan.process.exit.is_empty());
    let lives = run.lives().into_iter().filter(|life| std::ptr::eq(life.pod, pod));
    let well = lives
        .flat_map(|life| ProbeKind::ALL.map(|kind| life.probed(kind)))
        .flatten()
        .all(|probed| probed.probes.iter().all(|probe| probed.outcome(probe) != ProbeOutcome::Failure));
    well && pod.containers.iter().all(stays) && !run.node_was_touched()
}

/// Whether the spec in a revision has an ephemeral container of this name.
fn has_ephemeral(shown: &Revision<'_>, name: &str) -> bool {
    let all = shown.object.pointer("/spec/ephemeralContainers").and_then(Value::as_array);
    all.is_some_and(|all| all.iter().any(|of| of["name"] == name))
}

/// A pod stays as it was while an ephemeral container runs, and after it has failed.
pub(super) fn no_effect(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container) in all(run).filter(|(pod, _)| is_calm(run, pod)) {
        let running = |status: &ContainerSeen<'_>| status.is_running();
        let shown: Vec<_> = pod.changes_of(&container.name).collect();
        let Some((began, _)) = shown.iter().find(|(_, status)| running(status)) else { continue };
        // A kubelet shows a new container as waiting before it runs, so the pod is compared with its state before the
        // container was added.
        let Some(before) =
            pod.revisions.iter().take_while(|shown| !has_ephemeral(shown, &container.name)).last()
        else {
            continue;
        };
        let was = Standing::of(pod, before);
        if was.ready != Some(true) {
            continue;
        }
        let later = pod.revisions.iter().filter(|later| later.id > before.id && !later.terminating());
        if let Some(other) = later.clone().find(|later| Standing::of(pod, later) != was) {
            let finding = format!(
                "the status of {} changed while it had the ephemeral container {}",
                pod.key, container.name
            );
            // On a busy node, a probe may have timed out although the container answered. In this case, the status of a
            // container changes, too. If only the pod is not ready, the node may have missed its heartbeats.
            let now = Standing::of(pod, other);
            let has_probe = pod.containers.iter().any(|of| !of.probes.is_empty());
            let by_node = now.containers_ready == was.containers_ready && now.phase == was.phase;
            let excused = by_node || now.containers != was.containers && has_probe;
            if excused && run.noise_between(&pod.node, &before.at, &other.at) > 0 {
                seen.doubt(
                    Doubt::Ambiguous,
                    format!("{finding}; the node was busy, so a probe or the node may have been late"),
                    [before.id, other.id],
                );
            } else {
                seen.violated(finding, [before.id, other.id]);
            }
            continue;
        }
        seen.fine([before.id, began.id]);
        seen.facet("while", "runs");
        let failed = container.attempts.first().and_then(exit).filter(|(.., code)| *code != 0);
        let watched = |at: &Stamp| run.watched_for(pod, at, clause.tolerance_us("watched"));
        if let Some((id, ..)) = failed.filter(|(_, at, _)| watched(at)) {
            seen.fine(run.to_the_end([before.id, id]));
            seen.facet("while", "failed");
        }
    }
}

/// The record of what a container saw: from its last instance that had started before the given one.
fn view<'t>(
    run: &Timeline<'_>,
    container: &'t ContainerLife<'_>,
    before: &Attempt<'_>,
) -> Option<(EventId, &'t Dump)> {
    let begun = |of: &&Attempt<'_>| !run.before(&before.began, &of.began);
    container.attempts.iter().rfind(begun)?.lines.iter().find_map(|line| match &line.line.fact {
        Fact::Dump(dump) => Some((line.id, dump)),
        _ => None,
    })
}

/// An ephemeral container sees the processes of its target container, or of the whole pod if the pod shares its process
/// namespace. Otherwise, each container of a pod sees only its own processes.
pub(super) fn shared_processes(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    if !run.node_was_touched() {
        judge_own_processes(run, seen);
    }
    for (pod, container) in all(run) {
        let target = container.spec.get(TARGET_CONTAINER).and_then(Value::as_str);
        let shares = pod.spec.get("shareProcessNamespace") == Some(&Value::Bool(true));
        let Some(own) = container.attempts.first() else { continue };
        let Some((id, dump)) = view(run, container, own) else { continue };
        for other in &pod.containers {
            let by = match () {
                () if shares => "pod",
                () if target == Some(&other.name) => "target",
                () => continue,
            };
            let Some((known, its)) = view(run, other, own) else { continue };
            let same =
                dump.namespaces.get("pid").zip(its.namespaces.get("pid")).map(|(one, other)| one == other);
            let Some(same) = same else { continue };
            let finding = || {
                format!(
                    "{}/{} has a different process namespace than {}",
                    pod.key, container.name, other.name
                )
            };
            // Both containers run the same program, so a count of its processes shows whether the ephemeral container
            // sees both.
            let programs = dump.processes.iter().filter(|process| process.name == "agnhost-rs").count();
            seen.check(same && programs > 1, finding, [known, id]);
            if same && programs > 1 {
                seen.facet("by", by);
                if by == "target" {
                    seen.facet("target", other.kind.word());
                }
            }
        }
    }
}

/// The containers of a pod share one process namespace if `shareProcessNamespace` is true; otherwise each has its own.
fn judge_own_processes(run: &Timeline<'_>, seen: &mut Seen) {
    let all: Vec<_> =
        looks(run).into_iter().filter(|look| look.life.container.kind != ContainerKind::Ephemeral).collect();
    for (one, other) in side_by_side(run, &all) {
        let pod = one.life.pod;
        if other.life.pod.uid != pod.uid || pod.spec.get("hostPID").is_some() {
            continue;
        }
        let shares = pod.spec.get("shareProcessNamespace").is_some_and(|shares| *shares == true);
        let (here, there) = (one.dump.namespaces.get("pid"), other.dump.namespaces.get("pid"));
        let Some((here, there)) = here.zip(there) else { continue };
        let finding = || {
            let (a, b) = (one.life.name(), other.life.name());
            let how = if shares { "different process namespaces" } else { "the same process namespace" };
            format!("{a} and {b} have {how}, but shareProcessNamespace is {shares}")
        };
        seen.check((here == there) == shares, finding, [one.line.id, other.line.id]);
    }
}
