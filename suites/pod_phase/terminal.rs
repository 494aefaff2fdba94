//! The phases that a pod never leaves. They depend on how the containers of the pod ended.

use probity_model::clocks::Order;
use probity_model::measure::seconds;
use probity_model::timeline::{ContainerLife, PodLife, Revision, State};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};

use super::causes::accuse_reason;
use crate::reading::alive::accuse_living;
use crate::reading::ends::{End, shows_an_earlier_instance};
use crate::reading::mains::{ends_with_its_containers, is_plain, lives_of, mains, over};
use crate::reading::statuses::EVICTED;

/// A pod is Succeeded if and only if all of its containers exited with status 0 and none restarts.
pub(super) fn succeeded(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge(run, clause, true, seen);
}

/// A pod is Failed if and only if all of its containers terminated, at least one of them with a failure, and none
/// restarts.
pub(super) fn failed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge(run, clause, false, seen);
}

fn judge(run: &Timeline<'_>, clause: &Clause, well: bool, seen: &mut Seen) {
    let wanted = if well { "Succeeded" } else { "Failed" };
    judge_phase(run, wanted, seen);
    for pod in run.pods.iter().filter(|pod| ends_with_its_containers(run, pod)) {
        let shown = pod.over().filter(|shown| run.before_deletion(pod, &shown.at));
        let Some(end) = over(run, pod).filter(|end| end.well == well && run.before_deletion(pod, &end.at))
        else {
            continue;
        };
        match shown {
            Some(shown) if shown.phase() == wanted => {
                let quantity =
                    format!("from the exit of the last container of {} to the phase {wanted}", pod.key);
                seen.within(run, &pod.node, quantity, (&end.at, shown), clause.in_time());
                if pod.restart_policy() != "Always" {
                    seen.facet("policy", pod.restart_policy());
                }
                let killed = mains(pod).any(|of| {
                    lives_of(run, pod, of)
                        .next_back()
                        .is_some_and(|last| End::of(&last).is_some_and(|end| end.was_killed(&last)))
                });
                seen.facet("end", if killed { "killed" } else { "exit" });
            }
            Some(shown) => {
                let finding = format!(
                    "all containers of {} terminated, but it is {} instead of {wanted}",
                    pod.key,
                    shown.phase()
                );
                seen.violated(finding, [end.at.id, shown.id]);
            }
            None if run.watched_for(pod, &end.at, clause.slack_us()) => {
                let late = seconds(clause.slack_us());
                let phase = pod.last().map_or("", Revision::phase);
                let finding =
                    format!("all containers of {} terminated, but it is still {phase} after {late}", pod.key);
                seen.violated(
                    finding,
                    [Some(end.at.id), pod.last().map(|last| last.id)].into_iter().flatten(),
                );
            }
            None => {}
        }
    }
}

/// Reports a terminal phase that a pod reaches while containers are running, and a reason for this phase that nothing
/// explains.
fn judge_phase(run: &Timeline<'_>, wanted: &str, seen: &mut Seen) {
    for pod in &run.pods {
        let Some(shown) = pod.over().filter(|shown| shown.phase() == wanted) else { continue };
        if let Some(next) = succeeds_after_eviction(run, pod) {
            let finding = format!(
                "{} was Failed because of an eviction before its containers were shown as ended",
                pod.key
            );
            seen.diverges(finding, [shown.id, next.id]);
            continue;
        }
        accuse_living(run, pod, shown, seen);
        if wanted == "Succeeded" {
            accuse_unsuccessful(pod, shown, seen);
        }
        if accuse_reason(run, pod, shown, seen) {
            continue;
        }
        let Some(reason) = pod.reason().filter(|_| is_plain(run, pod)) else { continue };
        let last = mains(pod).filter_map(|of| of.attempts.last()?.exited_by_itself());
        let finding = format!(
            "all containers of {} exited by themselves, but the reason in its status is {reason}",
            pod.key
        );
        seen.violated(finding, last.map(|(line, _)| line.id).chain([shown.id]));
    }
}

/// Reports a container that did not exit with 0, although the same status shows its pod as Succeeded. A container
/// that waits for its restart may have exited with 0 before.
fn accuse_unsuccessful(pod: &PodLife<'_>, shown: &Revision<'_>, seen: &mut Seen) {
    let how = |of: &ContainerLife<'_>| {
        let status = shown.container(&of.name)?;
        match (status.state, status.last) {
            (State::Waiting { .. }, State::Terminated { code: 0, .. }) => None,
            (State::Waiting { reason }, _) => {
                Some(format!("{} is waiting with the reason {reason}", of.name))
            }
            (State::Terminated { code, .. }, _) if code != 0 => {
                Some(format!("{} exited with {code}", of.name))
            }
            _ => None,
        }
    };
    if let Some(how) = mains(pod).find_map(how) {
        seen.violated(format!("{} is Succeeded, but its container {how}", pod.key), [shown.id]);
    }
}

/// The revision in which an evicted pod changes from Failed to Succeeded, because all of its containers exited with 0.
/// The previous revision showed the pod as Failed because of the eviction, and a container as still running.
fn succeeds_after_eviction<'t, 'h>(run: &Timeline<'h>, pod: &'t PodLife<'h>) -> Option<&'t Revision<'h>> {
    let failed =
        pod.over().filter(|over| over.phase() == "Failed" && over.object["status"]["reason"] == EVICTED)?;
    let runs = |of: &ContainerLife<'_>| failed.container(&of.name).is_some_and(|status| status.is_running());
    let well = |of: &ContainerLife<'_>| {
        lives_of(run, pod, of).next_back().is_some_and(|last| {
            let heard = last.attempt.last_line().is_some_and(|line| run.before(&failed.at, &line.at));
            !heard && End::of(&last).is_some_and(|end| end.code == Some(0))
        })
    };
    let next = pod.revisions.iter().find(|later| later.id > failed.id)?;
    (next.phase() == "Succeeded" && mains(pod).any(runs) && mains(pod).all(well)).then_some(next)
}

/// A pod stays in a terminal phase: the phase does not change, and none of its containers runs again.
pub(super) fn is_for_good(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    // A pod that the control plane ended while its node was cut off may keep running there, because the kubelet could
    // not be notified.
    let away = run.lost_a_node();
    for pod in run.pods.iter().filter(|_| !away) {
        let Some(over) = pod.over() else { continue };
        let (phase, mut later) = (over.phase(), pod.revisions.iter().filter(|later| later.id > over.id));
        if let Some(other) = later.clone().find(|later| later.phase() != phase) {
            let finding = format!("{} went from {phase} to {}", pod.key, other.phase());
            match succeeds_after_eviction(run, pod) {
                Some(_) => seen.diverges(finding, [over.id, other.id]),
                None if shows_an_earlier_instance(pod) => {
                    let why = format!("{finding}; the status shows an earlier instance of a container");
                    seen.doubt(Doubt::Ambiguous, why, [over.id, other.id]);
                }
                None => seen.violated(finding, [over.id, other.id]),
            }
            continue;
        }
        let again = pod
            .containers
            .iter()
            .flat_map(|of| &of.attempts)
            .find(|attempt| run.clocks.order(&over.at, &attempt.began) == Order::Before);
        let runs = later.clone().find(|later| {
            mains(pod).any(|of| later.container(&of.name).is_some_and(|status| status.is_running()))
        });
        let broken = again.map(|attempt| attempt.began.id).or_else(|| runs.map(|runs| runs.id));
        if let Some(broken) = broken {
            seen.violated(
                format!("{} was {phase}, but one of its containers runs again", pod.key),
                [over.id, broken],
            );
        } else if let Some(kept) = later.next_back() {
            seen.fine([over.id, kept.id]);
        } else if run.watched_for(pod, &over.at, clause.tolerance_us("watched")) {
            seen.fine(run.to_the_end([over.id]));
        }
    }
}
