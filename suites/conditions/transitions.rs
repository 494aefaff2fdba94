//! `lastTransitionTime` of conditions: it changes if and only if the status of the condition changes.

use probity_model::clocks::Stamp;
use probity_model::measure::{Fit, seconds, whole_seconds};
use probity_model::mechanisms::{CLOCK_STEP, PERIODS_TO_COME};
use probity_model::timeline::{At, ContainerSeen, PodLife, Probe, ProbeKind, ProbeOutcome, Revision, State};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};

use super::patches::is_patched;
use super::steady::stayed_true;
use super::{KUBELETS, NETWORK, RESTARTING, TARGET, text};
use crate::reading::kubelet_restarts::is_written_anew;
use crate::reading::mains::lives_of;
use crate::reading::patches::RESIZING;
use crate::reading::scheduling::SCHEDULED;
use crate::reading::statuses::of_kubelet;
use crate::reading::wall_clocks::is_steady;

/// The conditions that are True only while all containers run.
const BY_CONTAINERS: [&str; 2] = ["ContainersReady", "Ready"];

/// The time of each condition that a kubelet manages is the time of its last change of status. If a node is lost in the run,
/// the control plane also writes conditions, and the returning kubelet writes the times that it remembers, so the judge only
/// checks that the time of `Ready` changes. For `PodScheduled`, which the scheduler and the API server write, it only checks
/// this as well. Static pods whose kubelet restarted are left out. The restart of all containers may begin and end within a
/// second, and between two statuses, so the condition for it is judged only by the time of each change. Other components
/// set `DisruptionTarget`, so the kubelet must only keep its time.
pub(super) fn tells_of_changes(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let mut unmoved = Vec::new();
    // Two changes within one second have the same time, and the second status may be as late as any other.
    let late = clause.slack_us() + clause.tolerance_us("rounding");
    for pod in run.pods.iter().filter(|pod| !run.lost_a_node() && !is_written_anew(run, pod)) {
        let theirs = is_patched(run, pod, TARGET);
        let more = [RESTARTING, TARGET].into_iter().filter(|kind| *kind != TARGET || !theirs);
        for kind in KUBELETS.into_iter().chain(more) {
            let told: Vec<&Revision<'_>> =
                of_kubelet(pod).filter(|shown| shown.turned(kind).is_some()).collect();
            for (at, pair) in told.windows(2).enumerate() {
                let &[before, after] = pair else { continue };
                judge_since_start(run, (pod, kind), (before, after), seen);
                match text(before, kind, "status") == text(after, kind, "status") {
                    true if kind == RESTARTING => {}
                    false if kind == TARGET => {}
                    false if kind == RESTARTING => {
                        judge_change(run, clause, (pod, kind), (before, after), seen);
                    }
                    true => judge_kept(run, clause, (pod, kind), &told[..=at], &told[at + 1..], seen),
                    false => match is_unmoved(run, clause, (pod, kind), &told[..=at], after) {
                        Some(wrong) if wrong.apart > late => unmoved.push(wrong),
                        wrong => {
                            unmoved.extend(wrong);
                            judge_change(run, clause, (pod, kind), (before, after), seen);
                        }
                    },
                }
            }
        }
        judge_resizes(run, pod, seen);
    }
    for pod in run.pods.iter().filter(|pod| !is_written_anew(run, pod)) {
        let lost = run.lost_a_node().then_some("Ready");
        for kind in lost.into_iter().chain([SCHEDULED]) {
            let told: Vec<&Revision<'_>> =
                pod.revisions.iter().filter(|shown| shown.turned(kind).is_some()).collect();
            // The loop above judges what the kubelet has already written in a run that lost no node.
            let new = |at: &usize| run.lost_a_node() || told[at - 1].start_second().is_none();
            let ends = (1..told.len()).filter(new);
            unmoved.extend(ends.filter_map(|at| is_unmoved(run, clause, (pod, kind), &told[..at], told[at])));
        }
    }
    // One late status can show changes of several conditions.
    let at_once = |first: &Unmoved| unmoved.iter().all(|one| one.events == first.events);
    match unmoved.as_slice() {
        [one, ..] if one.apart <= late && at_once(one) => {
            let why = format!("{}; both changes may have happened within one second", one.finding);
            seen.doubt(Doubt::Ambiguous, why, one.events);
        }
        all => all.iter().for_each(|one| seen.violated(one.finding.clone(), one.events)),
    }
}

/// The condition of a resize keeps its time as long as it is True for the same reason and about the same generation of
/// the pod. A restarted kubelet writes a new time, so nothing is judged if the case did something to a node.
fn judge_resizes(run: &Timeline<'_>, pod: &PodLife<'_>, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    let all: Vec<&Revision<'_>> = of_kubelet(pod).collect();
    for (kind, pair) in RESIZING.into_iter().flat_map(|kind| all.windows(2).map(move |pair| (kind, pair))) {
        let &[before, after] = pair else { continue };
        let (Some(first), Some(second)) = (before.condition(kind), after.condition(kind)) else { continue };
        let kept = |field: &&str| first.get(field) == second.get(field);
        let same = ["status", "reason", "observedGeneration"].iter().all(kept);
        if same && before.turned(kind) != after.turned(kind) {
            let finding = format!(
                "{kind} of {} is still about the same resize, but its lastTransitionTime changed",
                pod.key
            );
            seen.violated(finding, [before.id, after.id]);
        }
    }
}

/// A change of a condition that keeps the time of the previous change.
struct Unmoved {
    finding: String,
    events: [EventId; 2],
    /// The time between the two statuses.
    apart: i64,
}

/// A change after these revisions with the same lastTransitionTime as the previous change. Either the two changes were shown
/// far apart, or the condition was shown with its old status long after the previous change.
fn is_unmoved(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, kind): (&PodLife<'_>, &str),
    so_far: &[&Revision<'_>],
    after: &Revision<'_>,
) -> Option<Unmoved> {
    let (second, before) = (after.turned(kind)?, *so_far.last()?);
    if text(before, kind, "status") == text(after, kind, "status") {
        return None;
    }
    let alike = |shown: &Revision<'_>| {
        text(shown, kind, "status") == text(before, kind, "status")
            && shown.turned(kind) == before.turned(kind)
    };
    let first = so_far.iter().rev().take_while(|shown| alike(shown)).last()?;
    let quiet = |from: &Revision<'_>, to: &Revision<'_>| {
        run.at_least(&from.at, &to.at) - run.noise_between(&pod.node, &from.at, &to.at)
    };
    let apart = quiet(before, after).max(quiet(first, before));
    let finding = format!("{kind} of {} changed, but its lastTransitionTime did not", pod.key);
    let is = before.turned(kind) == Some(second) && apart > clause.tolerance_us("unmoved");
    is.then_some(Unmoved { finding, events: [before.id, after.id], apart })
}

/// A new reason or message is not a change of status. Between two revisions, a condition may change and change back
/// unseen, so this is judged only for conditions that have had the same status so far, or that certainly stayed True
/// between the two revisions. `Ready` and `ContainersReady` are not judged if the two revisions differ in the instances
/// of containers or in which are started or ready: all containers may have been ready for a moment in between. For
/// example, a kubelet that syncs a pod while its first probe succeeds may reset the new result until its next sync, and
/// send only the reset status. Also, a container may start and end while the API server is unavailable.
fn judge_kept(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, kind): (&PodLife<'_>, &str),
    so_far: &[&Revision<'_>],
    to_come: &[&Revision<'_>],
    seen: &mut Seen,
) {
    let (Some(&before), Some(&after)) = (so_far.last(), to_come.first()) else { return };
    let status = text(after, kind, "status");
    let steady = so_far.iter().all(|shown| text(shown, kind, "status") == status);
    let same = before.turned(kind) == after.turned(kind);
    let said_otherwise =
        ["reason", "message"].iter().any(|field| text(before, kind, field) != text(after, kind, field));
    let by_containers = BY_CONTAINERS.contains(&kind);
    let turns = to_come.iter().find(|shown| text(shown, kind, "status") != status);
    let soon = turns
        .and_then(|turns| run.clocks.between(&after.at, &turns.at))
        .is_some_and(|span| span.lo <= clause.slack_us());
    let turned = by_containers
        && (soon || !are_alike(pod, before, after))
        && !one_stayed_unready(run, pod, before, after);
    // The sandbox may have come and gone between two statuses.
    let networked = kind == NETWORK && !are_alike(pod, before, after);
    if !same && ((steady && !turned && !networked) || stayed_true(run, pod, kind, (before, after))) {
        let finding = format!(
            "{kind} of {} was {} before and after, but its lastTransitionTime changed",
            pod.key,
            status.unwrap_or_default()
        );
        seen.violated(finding, [before.id, after.id]);
    } else if same && said_otherwise {
        seen.fine([before.id, after.id]);
        seen.facet("kept", "reason or message");
    }
}

/// Whether a container is shown as not ready by two revisions, and its readiness probe failed throughout. If so, there
/// was no moment in between in which all containers were ready.
fn one_stayed_unready(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    before: &Revision<'_>,
    after: &Revision<'_>,
) -> bool {
    pod.containers.iter().filter(|container| container.stays()).any(|container| {
        let unready = |shown: &Revision<'_>| {
            shown.container(&container.name).filter(|now| !now.ready).map(|now| now.restarts)
        };
        let Some(number) = unready(before).filter(|number| unready(after) == Some(*number)) else {
            return false;
        };
        let life = lives_of(run, pod, container).find(|life| life.number == number && life.is_numbered());
        let Some(probed) = life.and_then(|life| life.probed(ProbeKind::Readiness)) else { return false };
        let whole = probed.holes.is_empty() && pod.sees(&container.name, probed.spec);
        let since = before.at.earlier(PERIODS_TO_COME.of(probed.spec.period));
        let during = |probe: &&&Probe<'_>| run.before(&since, &probe.at) && run.before(&probe.at, &after.at);
        let mut asked = probed.probes.iter().filter(during).peekable();
        whole && asked.peek().is_some() && asked.all(|probe| probed.surely(probe) == ProbeOutcome::Failure)
    })
}

/// Whether two revisions show the same instance of each container, with the same `ready` and `started`.
pub(super) fn are_alike(pod: &PodLife<'_>, before: &Revision<'_>, after: &Revision<'_>) -> bool {
    let of = |seen: ContainerSeen<'_>| (seen.started, seen.ready, seen.restarts, seen.id.to_owned());
    let mut names = pod.containers.iter().map(|container| &container.name);
    names.all(|name| before.container(name).map(of) == after.container(name).map(of))
}

/// A pod became ready only after the kubelet had seen all of its containers running, so the time is not before the start of
/// any container that has not restarted since. Both times are whole seconds of one clock, so no noise can explain this.
fn judge_since_start(
    run: &Timeline<'_>,
    (pod, kind): (&PodLife<'_>, &str),
    (before, after): (&Revision<'_>, &Revision<'_>),
    seen: &mut Seen,
) {
    let rises = before.is(kind) == Some(false) && after.is(kind) == Some(true);
    let Some(second) = after.turned(kind).filter(|_| rises && BY_CONTAINERS.contains(&kind)) else { return };
    let starts = pod.containers.iter().filter(|of| of.stays()).filter_map(|of| {
        let (was, now) = (before.container(&of.name)?, after.container(&of.name)?);
        match now.state {
            State::Running { started: Some(start) } if now.restarts == was.restarts => {
                Some((start, &of.name))
            }
            _ => None,
        }
    });
    let Some((start, name)) = starts.max() else { return };
    let early = whole_seconds(start).saturating_sub(whole_seconds(second));
    let certain = early > CLOCK_STEP && is_steady(run, &pod.node);
    if certain && !is_patched(run, pod, kind) {
        let finding = format!(
            "{kind} of {} is True, but its lastTransitionTime is {} before the start of {name}",
            pod.key,
            seconds(early)
        );
        seen.violated(finding, [before.id, after.id]);
    }
}

/// A new status has a new time, which is neither long before the revision that shows the change, nor after that
/// revision.
fn judge_change(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, kind): (&PodLife<'_>, &str),
    (before, after): (&Revision<'_>, &Revision<'_>),
    seen: &mut Seen,
) {
    let Some(second) = after.turned(kind) else { return };
    let told = At::new(after.id, Stamp::wall_second(&pod.node, second));
    let quantity = format!("from lastTransitionTime of {kind} of {} to the revision that shows it", pod.key);
    let Some(mut measured) = run.measure(quantity, &pod.node, &told, after, clause.in_time()) else { return };
    measured.events = vec![before.id, after.id];
    // No stall makes a kubelet write a time in the future.
    if measured.observed.hi < -clause.tolerance_us("rounding") {
        let finding =
            format!("lastTransitionTime of {kind} of {} is later than the revision that shows it", pod.key);
        return seen.violated(finding, [before.id, after.id]);
    }
    if measured.fit() == Fit::Met {
        seen.facet("change", if after.is(kind) == Some(true) { "to True" } else { "from True" });
    }
    seen.measure(measured);
}
