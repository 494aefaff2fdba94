//! The start and the end of a container: the status in the API must agree with the record of the process.

use std::collections::{BTreeMap, BTreeSet};

use probity_model::measure::{Bound, Fit, seconds, whole_seconds};
use probity_model::mechanisms::{LEAST_GRACE, NEAR, WHOLE_SECOND};
use probity_model::timeline::{At, ContainerKind, ContainerSeen, Happened, Life, Revision, State};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use probity_script::{Consumer, Process};
use serde_json::Value;

use super::bounds;
use super::last_states::{LostEnds, judge_forgotten, judge_gone, judge_wait};
use crate::reading::ends::{End, has_wall_clock, is_undivided, second, shown_ends};
use crate::reading::memory::{killed_for_memory, may_miss_reasons};
use crate::reading::statuses::EXCEEDED;
use crate::reading::termination::KILLED;

/// The reason for the exit status 0, as in the Kubernetes documentation.
const COMPLETED: &str = "Completed";
/// Reasons that do not fit a process that exited, or that was killed after a stop signal: a lack of memory, a failed
/// start, an instance that the kubelet lost, and two reasons of pods.
const OTHER_ENDS: [&str; 5] = [OUT_OF_MEMORY, "StartError", LOST, "DeadlineExceeded", "Evicted"];

/// The reason of a container that exceeded its memory limit.
const OUT_OF_MEMORY: &str = "OOMKilled";
/// The reason of a container that the kubelet lost.
const LOST: &str = "ContainerStatusUnknown";

/// `startedAt` of a running container shows the second in which its process started.
pub(super) fn running_since(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_start_kept(run, seen);
    for life in run.lives().undisturbed().only(|life| life.is_numbered() && has_wall_clock(life)) {
        let mut told = BTreeSet::new();
        for (revision, status) in life.revisions() {
            let State::Running { started } = status.state else { continue };
            match started {
                None => {
                    let finding =
                        format!("the status shows {} as running, but has no startedAt", life.name());
                    seen.violated(finding, [life.began.id, revision.id]);
                }
                Some(since) if told.insert(since) => {
                    judge_same_start(&life, (revision, since), seen);
                    bounds::judge_start(&life, (revision, since), seen);
                    let shown = second(&life, revision, since);
                    judge_instant(clause, &life, ("startedAt", &shown), (&life.began, &life.began), seen);
                }
                Some(_) => {}
            }
        }
    }
}

/// While an instance runs, its `startedAt` stays the same, even if its kubelet restarts.
fn judge_start_kept(run: &Timeline<'_>, seen: &mut Seen) {
    for (pod, container) in run.containers() {
        let mut first = BTreeMap::new();
        for revision in &pod.revisions {
            let Some(status) = revision.container(&container.name) else { continue };
            let State::Running { started: Some(now) } = status.state else { continue };
            let (shown, before) = *first.entry(status.id).or_insert((revision.id, now));
            if before != now && !status.id.is_empty() {
                let finding = format!(
                    "the startedAt of {}/{} changed by {} while the same instance was running",
                    pod.key,
                    container.name,
                    seconds(whole_seconds((now - before).abs()))
                );
                seen.violated(finding, [shown, revision.id]);
                break;
            }
        }
    }
}

/// The `startedAt` of an instance does not change: a status that shows how the instance ended has the same `startedAt`
/// as the statuses that showed it as running.
fn judge_same_start(life: &Life<'_, '_>, (shown, running): (&Revision<'_>, i64), seen: &mut Seen) {
    // A last state may be about another instance. And when the containers of a deleted pod are removed one by one, the
    // status may show an earlier instance, but with the current restart count.
    let id = shown.container(&life.container.name).map(|status| status.id);
    let other = life.revisions().find_map(|(later, status)| match status.state {
        State::Terminated { started: Some(at), .. } if at != running && Some(status.id) == id => {
            Some((later, at))
        }
        _ => None,
    });
    if let Some((later, ended)) = other {
        let apart = seconds(whole_seconds((ended - running).abs()));
        let finding = format!(
            "the states Running and Terminated of one instance of {} have values of startedAt that are {apart} apart",
            life.name()
        );
        seen.violated(finding, [shown.id, later.id]);
    }
}

/// The status of a terminated container has the exit code, a reason, the start time and the end time.
pub(super) fn how_it_ended(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    // A kubelet that evicts a pod removes its containers, and may no longer know how they ended.
    let evicted = |life: &Life<'_, '_>| {
        life.pod.over().is_some_and(|over| over.object["status"]["reason"] == "Evicted")
    };
    let lives = run.lives().undisturbed().only(|life| life.is_numbered() && !evicted(life));
    let mut lost = LostEnds::default();
    for life in lives {
        let Some(end) = End::of(&life) else { continue };
        let mut told = BTreeSet::new();
        for (revision, state) in shown_ends(&life) {
            let State::Terminated { code, reason, started, finished } = state else { continue };
            if is_replaced_wait(&life, &end, revision, reason) {
                let finding = format!(
                    "{} was waiting for its restart when its pod finished, but is shown as killed, without times",
                    life.name()
                );
                seen.diverges(finding, [end.earliest.id, revision.id]);
                told.insert((code, reason, started, finished));
                continue;
            }
            if told.insert((code, reason, started, finished)) {
                judge_status(&life, &end, revision, (code, reason), seen);
                if let Some(at) = finished {
                    bounds::judge_end(&life, (revision, at), seen);
                }
                let instants = [
                    ("startedAt", started, &life.began, &life.began),
                    ("finishedAt", finished, &end.earliest, end.at()),
                ];
                for (field, shown, from, to) in instants {
                    match shown {
                        Some(at) if has_wall_clock(&life) => {
                            judge_instant(
                                clause,
                                &life,
                                (field, &second(&life, revision, at)),
                                (from, to),
                                seen,
                            );
                        }
                        Some(_) => {}
                        None => {
                            let finding =
                                format!("{} terminated, but the status has no {field}", life.name());
                            seen.violated(finding, [end.earliest.id, revision.id]);
                        }
                    }
                }
            }
        }
        let unshown = clause.slack_us() + clause.tolerance_us("to-be-shown");
        judge_forgotten(&life, &end, unshown, &mut lost, seen);
        judge_wait(&life, &end, &mut lost, seen);
        // A container that was started again is no longer Terminated, so its last end may never be shown. The kubelet's
        // worker for the pod may also be busy with a hook or with another container.
        let outside =
            life.lives_again().is_some() || life.pod.was_ended_from_outside() || !is_undivided(&life);
        if told.is_empty() && !outside && life.watched_for(end.at(), unshown) {
            let finding =
                format!("{} terminated, but no status showed it within {}", life.name(), seconds(unshown));
            seen.violated(finding, run.to_the_end([end.earliest.id]));
        }
    }
    judge_lack_of_memory(run, clause, seen);
    judge_kept(run, &mut lost, seen);
    lost.judge(seen);
    judge_gone(run, seen);
    judge_never_ran(run, seen);
}

/// Only a container that ran can exit with 0, so a status with this exit code has the times of the start and the end,
/// even if the container left no record. Init containers are left out: the kubelet may conclude that one succeeded from
/// the fact that the pod is initialized.
fn judge_never_ran(run: &Timeline<'_>, seen: &mut Seen) {
    let timeless = |status: ContainerSeen<'_>| matches!(status.state, State::Terminated { code: 0, started, finished, .. } if started.is_none() || finished.is_none());
    for pod in &run.pods {
        for of in pod.containers.iter().filter(|of| of.kind != ContainerKind::Init) {
            let shown = pod.revisions.iter().find(|shown| shown.container(&of.name).is_some_and(timeless));
            if let Some(shown) = shown {
                let finding = format!(
                    "{}/{} is shown with exit code 0, but without the times of its start and its end",
                    pod.key, of.name
                );
                seen.violated(finding, [shown.id]);
            }
        }
    }
}

/// While an instance runs, its status keeps showing how the previous instance ended.
fn judge_kept(run: &Timeline<'_>, all_lost: &mut LostEnds, seen: &mut Seen) {
    if run.lost_a_sandbox() {
        return;
    }
    let has_last = |status: &ContainerSeen<'_>| matches!(status.last, State::Terminated { .. });
    for life in run.lives().undisturbed() {
        let shown: Vec<_> = life.revisions().filter(|(_, status)| status.is_running()).collect();
        let lost = shown.windows(2).find_map(|pair| {
            let [(earlier, before), (later, after)] = pair else { return None };
            (has_last(before) && !has_last(after)).then_some([earlier.id, later.id])
        });
        if let Some(events) = lost {
            let finding = format!("the status of {} no longer shows its last state", life.name());
            all_lost.add(&life, finding, events, seen);
        }
    }
}

/// If a container was killed because it exceeded its memory limit, the status gives this reason. A runtime may learn of
/// one such kill too late, so the judge requires the reason for at least one of two kills. Once shown, the reason stays. A
/// runtime that may watch only a few containers learns of none.
fn judge_lack_of_memory(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let least = clause.tolerance_times("inotify-instances");
    let (mut untold, mut told, mut missed) = (Vec::new(), false, None);
    for life in run.lives().undisturbed().only(|life| life.is_numbered()) {
        let Some(killed) = killed_for_memory(&life) else { continue };
        let reasons: Vec<_> = shown_ends(&life)
            .filter_map(|(revision, state)| match state {
                State::Terminated { reason, .. } => Some((revision.id, reason)),
                _ => None,
            })
            .collect();
        let mut since = reasons.iter().skip_while(|(_, reason)| *reason != OUT_OF_MEMORY);
        let Some((first, _)) = since.next() else {
            untold.extend(reasons.first().map(|(shown, _)| (killed, *shown)));
            missed = missed.or_else(|| may_miss_reasons(run, &life.node, least));
            continue;
        };
        told = true;
        match since.find(|(_, reason)| ![OUT_OF_MEMORY, LOST].contains(reason)) {
            Some((later, _)) => {
                let finding = format!(
                    "the status of {} no longer shows that it was killed because of its memory usage",
                    life.name()
                );
                seen.violated(finding, [killed, *first, *later]);
            }
            None => seen.fine([killed, *first]),
        }
    }
    if untold.len() > 1 && !told {
        let finding = format!(
            "{} containers were killed because they exceeded their memory limits, but no status shows this",
            untold.len()
        );
        let events = untold.into_iter().flat_map(|(killed, shown)| [killed, shown]);
        match missed {
            Some(line) => {
                let why = format!(
                    "{finding}; however, the node allows fewer than {least} inotify instances (fs.inotify.max_user_instances), so the runtime may not have learned the reason"
                );
                seen.doubt(Doubt::Ambiguous, why, events.chain([line]));
            }
            None => seen.violated(finding, events),
        }
    }
}

/// Whether the status of an ended pod shows a container that waited for its restart as lost: a sidecar, or any
/// container of a pod that exceeded its deadline. The last state of the container still shows how it had ended.
fn is_replaced_wait(life: &Life<'_, '_>, end: &End, shown: &Revision<'_>, reason: &str) -> bool {
    let over = matches!(shown.phase(), "Succeeded" | "Failed");
    let status = shown.container(&life.container.name);
    let kept = status.is_some_and(|status| match status.last {
        State::Terminated { code, .. } => Some(code) == end.code,
        _ => false,
    });
    let expired = life.pod.reason() == Some(EXCEEDED);
    (life.container.kind == ContainerKind::Sidecar || expired) && reason == LOST && over && kept
}

/// The shown exit code is the exit code of the process, and the reason matches it.
fn judge_status(
    life: &Life<'_, '_>,
    end: &End,
    revision: &Revision<'_>,
    (code, reason): (i64, &str),
    seen: &mut Seen,
) {
    let events = [life.began.id, end.earliest.id, revision.id];
    let name = life.name();
    if let Some(truth) = end.code.filter(|truth| *truth != code) {
        // A process that exits just when its grace period ends may be killed after it has recorded its exit.
        let waited = life.stop().and_then(|stop| life.run.clocks.between(&stop.at, end.at()));
        let late = waited.is_some_and(|waited| waited.hi >= life.pod.grace().min(LEAST_GRACE) - WHOLE_SECOND);
        if code == KILLED && late && life.run.stalled_at(&end.at().stamp) > 0 {
            let why = format!("{name} exited with {truth}, perhaps just when it was killed");
            seen.doubt(Doubt::Ambiguous, why, events);
            return;
        }
        seen.violated(format!("{name} exited with {truth}, but the status shows exit code {code}"), events);
        return;
    }
    let other = OTHER_ENDS.contains(&reason) && ended_plainly(life, revision);
    let fits = !reason.is_empty() && (reason == COMPLETED) == (code == 0) && !other;
    let said = if reason.is_empty() { "no reason" } else { reason };
    seen.check(fits, || format!("{name} exited with {code}, but the status shows the reason {said}"), events);
    if fits && end.code.is_some() {
        let way = if end.was_killed(life) {
            "killed"
        } else if code == 0 {
            "zero"
        } else {
            "status"
        };
        seen.facet("exit", way);
    }
}

/// Whether a container certainly ended by an exit, or by a kill after a stop signal. (A container with a memory limit
/// may be reported as OOMKilled. The kubelet removes the containers of a deleted pod, and may lose them.)
fn ended_plainly(life: &Life<'_, '_>, shown: &Revision<'_>) -> bool {
    let free = !limits_memory(life.container.spec) && !limits_memory(life.pod.spec);
    let known = life.exiting().is_some() || life.stop().is_some();
    ((free && known) || outlived_its_stop(life)) && life.before_deletion(&shown.at)
}

/// Whether a container or a pod has a memory limit.
fn limits_memory(spec: &Value) -> bool {
    !spec["resources"]["limits"]["memory"].is_null()
}

/// Whether a process that takes no memory ignored its stop signal, and was killed at the end of the shortest grace period or
/// later. It did not need more memory at that time. (Files in a volume can take memory, too, and so can children.)
fn outlived_its_stop(life: &Life<'_, '_>) -> bool {
    let takes = |of: &Consumer| !matches!(of, Consumer::Cpu { .. });
    let small = |process: &Process| process.children.is_empty() && !process.consume.iter().any(takes);
    let small = life.container.plan().is_some_and(|plan| small(&plan.process));
    let idle = small && !limits_memory(life.pod.spec);
    let stop = life.stop().filter(|_| idle && life.exiting().is_none());
    let end = life.ended.as_ref();
    stop.zip(end).is_some_and(|(stop, end)| life.run.at_least(&stop.at, end) >= LEAST_GRACE - NEAR)
}

/// A time in the status lies between two known times, within the slack.
fn judge_instant(
    clause: &Clause,
    life: &Life<'_, '_>,
    (field, shown): (&str, &At),
    (from, to): (&At, &At),
    seen: &mut Seen,
) {
    let start = field == "startedAt";
    let what = if start { "the start" } else { "the end" };
    let run = life.run;
    let late = run.measure(
        format!("from {what} of {} to its {field}", life.name()),
        &life.node,
        from,
        shown,
        clause.in_time(),
    );
    let bound = if start { first_instruction(clause) } else { clause.in_time() };
    let early =
        run.measure(format!("from the {field} of {} to {what}", life.name()), &life.node, shown, to, bound);
    // One of the two measurements shows how far apart the times are, and the other is negative.
    for measured in [late, early].into_iter().flatten() {
        if measured.fit() != Fit::Met {
            seen.measure(measured);
            return;
        }
    }
    seen.fine([life.began.id, from.id, shown.id()]);
}

/// How much later than `startedAt` a process may begin: the process may wait for a CPU, and cannot record this wait.
fn first_instruction(clause: &Clause) -> Bound {
    let (slack, waits) = (clause.slack_us(), clause.tolerance_us("first-instruction"));
    let words = format!("{} + {} until the process has a CPU", seconds(slack), seconds(waits));
    Bound::at_most(slack + waits, words)
}
