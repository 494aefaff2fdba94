//! Pods that a kubelet ends because its node is short of memory or shuts down, or to make room for a critical pod: the
//! condition that shows this.

use probity_model::timeline::{At, PodLife};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::critical::{LackOfRoom, lacks_of_room};
use crate::reading::ends::End;
use crate::reading::node_shutdowns::node_shutdowns;
use crate::reading::shortage::{Member, shortages};
use crate::reading::statuses::{EVICTED, has_run};
use crate::reading::targets::{self, BY_KUBELET};

/// An evicted pod has the condition together with its terminal phase, and a pod that stays does not have the condition.
pub(super) fn evicted_pods_say_so(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for shortage in shortages(run, seen) {
        let evicted = shortage.evicted();
        for (gone, at) in &evicted {
            // This clause does not judge whether a pod failed if all of its containers exited with 0.
            if !ended_well(run, gone) {
                judge_gone(run, clause, (gone.pod, at), &EVICTION, seen);
            }
        }
        if let Some((_, at)) = evicted.first() {
            let spared = shortage.members.iter().filter(|left| left.stays(run));
            spared.for_each(|left| judge_spared(left.pod, at, "evicted", seen));
        }
    }
}

/// A pod that was preempted for a critical pod has the condition from its terminal phase on. Pods that do not hold the
/// resource do not have the condition.
pub(super) fn preempted_pods_say_so(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for lack in lacks_of_room(run) {
        if judge_admitted(run, clause, &lack, seen) {
            for holder in lack.holders.iter().filter(|holder| holder.deleted.is_none()) {
                judge_gone(run, clause, (holder, &lack.at), &PREEMPTION, seen);
            }
        }
        for other in lack.others.iter().filter(|other| other.deleted.is_none()) {
            judge_spared(other, &lack.at, "preempted", seen);
        }
    }
}

/// A pod that ended because its node shuts down has the condition from its terminal phase on.
pub(super) fn shut_down_pods_say_so(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for shutdown in node_shutdowns(run, seen) {
        // With another policy, a pod succeeds if all of its containers exit with 0.
        for pod in shutdown.pods.iter().filter(|pod| pod.restart_policy() == "Always") {
            let lives = shutdown.lives(run, pod);
            let stops = lives.iter().filter_map(|life| life.stop().map(At::of));
            if let Some(first) = stops.min_by_key(|stop| stop.id) {
                judge_gone(run, clause, (pod, &first), &SHUTDOWN, seen);
            }
        }
    }
}

/// Whether the critical pod was not rejected. A rejection violates the clause.
fn judge_admitted(run: &Timeline<'_>, clause: &Clause, lack: &LackOfRoom<'_, '_>, seen: &mut Seen) -> bool {
    let LackOfRoom { resource, critical, at, .. } = lack;
    let rejected = critical.over().filter(|_| !has_run(critical));
    if let Some(over) = rejected {
        let finding = format!(
            "{} was rejected for lack of {resource}, although only pods that are not critical hold it",
            critical.key
        );
        seen.violated(finding, [at.id, over.id]);
        return false;
    }
    let runs = critical.revisions.iter().find(|shown| shown.phase() == "Running");
    match runs {
        Some(runs) => {
            seen.fine([at.id, runs.id]);
            seen.facet("pod", "critical");
        }
        None if run.watched_for(critical, &at.stamp, clause.slack_us()) => {
            let finding = format!(
                "{} never ran, although only pods that are not critical hold {resource}",
                critical.key
            );
            seen.violated(finding, run.to_the_end([at.id]));
        }
        None => {}
    }
    true
}

/// How a kubelet ends a pod.
struct Ending {
    /// What happened to the pod.
    done: &'static str,
    /// The reason in the status, if the documentation names one.
    reason: Option<&'static str>,
    /// The facet of such a pod.
    facet: &'static str,
}

const EVICTION: Ending = Ending { done: "evicted", reason: Some(EVICTED), facet: "evicted" };
const SHUTDOWN: Ending =
    Ending { done: "terminated by the shutdown of its node", reason: Some("Terminated"), facet: "shut-down" };
const PREEMPTION: Ending = Ending { done: "preempted", reason: None, facet: "preempted" };

fn ended_well(run: &Timeline<'_>, gone: &Member<'_, '_>) -> bool {
    gone.lives(run).all(|life| End::of(&life).and_then(|end| end.code) == Some(0))
}

/// Judges a pod that the kubelet ended. `at` is the first sign of this end, or of its cause.
fn judge_gone(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, at): (&PodLife<'_>, &At),
    ending: &Ending,
    seen: &mut Seen,
) {
    let (key, done) = (&pod.key, ending.done);
    let early = |shown: &&_| targets::says(shown, BY_KUBELET);
    let Some(over) = pod.over() else {
        if let Some(early) = pod.revisions.iter().find(early) {
            let finding = format!("{key} never became Failed, although {}", targets::in_words(early));
            seen.violated(finding, [at.id, early.id]);
        } else if run.watched_for(pod, &at.stamp, clause.slack_us()) {
            let finding = format!("{key} was {done}, but never became Failed");
            seen.violated(finding, run.to_the_end([at.id]));
        }
        return;
    };
    if let Some(early) = pod.revisions.iter().take_while(|shown| shown.id < over.id).find(early) {
        let finding =
            format!("the phase of {key} is still {}, but {}", early.phase(), targets::in_words(early));
        seen.violated(finding, [early.id, over.id]);
        return;
    }
    for shown in pod.revisions.iter().filter(|shown| shown.id >= over.id && !shown.gone) {
        let (phase, reason) = (shown.phase(), shown.object["status"]["reason"].as_str());
        let explained = ending.reason.is_none_or(|wanted| reason == Some(wanted));
        if phase != "Failed" || !explained || !targets::says(shown, BY_KUBELET) {
            let (reason, condition) = (reason.unwrap_or("none"), targets::in_words(shown));
            let finding =
                format!("{key} was {done}; its phase is {phase} (reason: {reason}), and {condition}");
            seen.violated(finding, [at.id, shown.id]);
            return;
        }
    }
    seen.fine([at.id, over.id]);
    seen.facet("pod", ending.facet);
}

/// Judges a pod that was not ended when another pod was.
fn judge_spared(pod: &PodLife<'_>, at: &At, done: &str, seen: &mut Seen) {
    let Some(last) = pod.last().filter(|last| !last.terminating() && !last.gone) else { return };
    let later = pod.revisions.iter().filter(|shown| shown.id > at.id);
    if let Some(wrong) = later.into_iter().find(|shown| targets::reason(shown) == Some(BY_KUBELET)) {
        let finding = format!("{} was not {done}, but {}", pod.key, targets::in_words(wrong));
        seen.violated(finding, [at.id, wrong.id]);
    } else if last.phase() == "Running" {
        seen.fine([at.id, last.id]);
        seen.facet("pod", "spared");
    }
}
