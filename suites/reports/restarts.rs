//! A container's restart count, compared with the instances that its target recorded.

use probity_model::timeline::{ContainerLife, Life, PodLife, Revision};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::ends::is_undivided;
use crate::reading::mains::lives_of;
use crate::reading::statuses::of_kubelet;

/// The count never decreases, and it grows with each restart and with nothing else.
pub(super) fn each_restart(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    if run.lost_a_sandbox() {
        return;
    }
    for pod in run.pods.iter().filter(|pod| !pod.was_ended_from_outside()) {
        for container in &pod.containers {
            judge_fall(pod, container, seen);
            if run.node_was_touched() {
                continue;
            }
            let lives: Vec<Life<'_, '_>> = lives_of(run, pod, container).collect();
            if !lives.is_empty() && lives.iter().all(|life| life.is_complete()) {
                judge_unrecorded_restarts(run, clause, (pod, container), seen);
                lives.iter().for_each(|life| judge_life(clause, life, seen));
            }
        }
    }
}

fn judge_fall(pod: &PodLife<'_>, container: &ContainerLife<'_>, seen: &mut Seen) {
    let mut last = None;
    for shown in of_kubelet(pod) {
        let Some(status) = shown.container(&container.name) else { continue };
        if let Some((id, restarts)) = last.filter(|(_, restarts)| status.restarts < *restarts) {
            let finding = format!(
                "the restartCount of {}/{} fell from {restarts} to {}",
                pod.key, container.name, status.restarts
            );
            seen.violated(finding, [id, shown.id]);
        }
        last = Some((shown.id, status.restarts));
    }
}

/// A container that is shown as running for a while has restarted as often as its count shows. An instance that runs
/// only for milliseconds may leave no line, so a number may be missing between the recorded numbers.
fn judge_unrecorded_restarts(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container): (&PodLife<'_>, &ContainerLife<'_>),
    seen: &mut Seen,
) {
    let began = |number: u64| container.attempts.iter().any(|attempt| attempt.number >= number);
    let lasted = |shown: &Revision<'_>, restarts: u64| {
        let until = shown.at.later(clause.slack_us());
        let mut later =
            pod.revisions.iter().filter(|other| other.id > shown.id && run.before(&other.at, &until));
        later.all(|other| {
            let status = other.container(&container.name);
            status.is_some_and(|status| status.is_running() && status.restarts == restarts)
        })
    };
    for shown in of_kubelet(pod) {
        let Some(status) = shown.container(&container.name).filter(|status| status.is_running()) else {
            continue;
        };
        let unseen = !began(status.restarts) && lasted(shown, status.restarts);
        if unseen && run.watched_for(pod, &shown.at, clause.slack_us()) {
            let finding = format!(
                "{}/{} runs with a restartCount of {}, but its process started {} times",
                pod.key,
                container.name,
                status.restarts,
                container.attempts.len()
            );
            seen.violated(finding, run.to_the_end([shown.id]));
            return;
        }
    }
}

/// The status soon shows the number of a new instance.
fn judge_life(clause: &Clause, life: &Life<'_, '_>, seen: &mut Seen) {
    let name = life.name();
    let counted = of_kubelet(life.pod).find(|shown| {
        shown.container(&life.container.name).is_some_and(|status| status.restarts >= life.number)
    });
    match counted {
        // A hook, or a container that is slow to stop, delays the status of the whole pod.
        Some(shown) if life.number > 0 && is_undivided(life) => {
            let quantity = format!("from restart {} of {name} to the status that counts it", life.number);
            let bound = clause.in_time();
            life.within(seen, quantity, (&life.began, shown), bound);
        }
        Some(shown) => seen.fine([life.began.id, shown.id]),
        None if is_undivided(life) && life.watched_for(&life.began, clause.slack_us()) => {
            let finding =
                format!("{name} was restarted {} times, but the status does not show this", life.number);
            seen.violated(finding, life.run.to_the_end([life.began.id]));
        }
        None => {}
    }
}
