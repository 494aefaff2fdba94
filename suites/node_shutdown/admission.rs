//! Pods that are created for a node while its shutdown is announced, and after it was cancelled.

use probity_model::measure::Bound;
use probity_model::timeline::{At, PodLife};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::node_shutdowns::{Cancelled, NodeShutdown, created_for, node_shutdowns};
use crate::reading::statuses::is_explained;

/// A pod that is created for the node during the shutdown is rejected, and never runs.
pub(super) fn rejects_new_pods(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for shutdown in node_shutdowns(run, seen) {
        for pod in run.pods.iter().filter(|pod| shutdown.covers_creation(run, pod)) {
            judge_new(run, clause, (&shutdown, pod), seen);
        }
    }
}

fn judge_new(
    run: &Timeline<'_>,
    clause: &Clause,
    (shutdown, pod): (&NodeShutdown<'_, '_>, &PodLife<'_>),
    seen: &mut Seen,
) {
    let (Some((created, _)), key) = (pod.created, &pod.key) else { return };
    // Pods wait for a kubelet that admits them after the cancellation.
    let until = shutdown.cancelled.as_ref().map_or_else(|| run.end(), |of| of.at.stamp.clone());
    let mut lives = pod.containers.iter().flat_map(|container| &container.attempts);
    if let Some(life) = lives.find(|life| run.before(&life.began, &until)) {
        let finding = format!("{key} was created while its node was shutting down, but a container ran");
        return seen.violated(finding, [created, life.began.id]);
    }
    let Some(over) = pod.over() else {
        let end = At::new(created, until);
        let bound = Bound::at_most(clause.slack_us(), "the slack");
        if run.misses(shutdown.node, (&run.deed_at(created), &end), bound) {
            let finding = format!("{key} was created while its node was shutting down, but was not rejected");
            seen.violated(finding, run.to_the_end([shutdown.at.id, created]));
        }
        return;
    };
    let right = over.phase() == "Failed" && is_explained(over);
    let finding = || {
        format!(
            "{key} was created while its node was shutting down; its phase became {} (reason: {})",
            over.phase(),
            pod.reason().unwrap_or("none")
        )
    };
    seen.check(right, finding, [shutdown.at.id, created, over.id]);
}

/// After a cancellation, the node runs new pods. Pods that the shutdown ended do not run again.
pub(super) fn accepts_pods_again(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for shutdown in node_shutdowns(run, seen) {
        let Some(cancelled) = &shutdown.cancelled else { continue };
        for pod in &run.pods {
            let at = created_for(run, pod, shutdown.node).filter(|at| at.id > cancelled.at.id);
            if let Some(at) = at {
                judge_later(run, clause, (pod, &at), seen);
            }
        }
        for pod in &shutdown.pods {
            judge_ended(run, cancelled, pod, seen);
        }
    }
}

/// Judges a pod that was created after the cancellation.
fn judge_later(run: &Timeline<'_>, clause: &Clause, (pod, at): (&PodLife<'_>, &At), seen: &mut Seen) {
    let mut lives = pod.containers.iter().flat_map(|container| &container.attempts);
    if let Some(life) = lives.next() {
        seen.fine([at.id, life.began.id]);
        seen.facet("pod", "new");
        return;
    }
    let rejected = pod.over();
    if rejected.is_some() || run.watched_for(pod, &at.stamp, clause.slack_us()) {
        let finding = format!(
            "{} was created after the shutdown of its node had been cancelled, but never ran",
            pod.key
        );
        seen.violated(finding, run.to_the_end([at.id].into_iter().chain(rejected.map(|over| over.id))));
    }
}

/// Judges a pod that the shutdown had ended.
fn judge_ended(run: &Timeline<'_>, cancelled: &Cancelled, pod: &PodLife<'_>, seen: &mut Seen) {
    let Some(over) = pod.over().filter(|over| over.id < cancelled.at.id) else { return };
    let mut lives = pod.containers.iter().flat_map(|container| &container.attempts);
    if let Some(again) = lives.find(|life| run.before(&over.at, &life.began)) {
        let finding = format!("the shutdown of its node ended {}, but a container started again", pod.key);
        seen.violated(finding, [over.id, again.began.id]);
    } else {
        seen.fine(run.to_the_end([over.id]));
        seen.facet("pod", "ended");
    }
}
