//! A container's restart count, compared with the instances that its target recorded.

use probity_model::timeline::{At, ContainerKind, ContainerLife, KubeEvent, Life, PodLife, Revision};
use probity_model::{Clause, EventId, Seen, Timeline};

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
/// only for milliseconds may leave no line, so a number may be missing between the recorded numbers. A start that failed in the
/// runtime counts as well, and perhaps only an event reports it.
fn judge_unrecorded_restarts(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container): (&PodLife<'_>, &ContainerLife<'_>),
    seen: &mut Seen,
) {
    let failed = |event: &KubeEvent<'_>| event.is_of(&container.name, "Failed");
    if pod.events.iter().any(failed) {
        return;
    }
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
        None => {
            if let Some((began, shown)) = follower_is_shown(life) {
                let finding = format!(
                    "{name} was restarted {} times, but a status that shows a later start of another container does not \
                     show this",
                    life.number
                );
                seen.violated(finding, [life.began.id, began, shown]);
            }
        }
    }
}

/// If all containers of a pod restart together, the kubelet is busy with all of them, so the status may be late. But a status
/// that shows a container as running reflects everything that came before its start, and a container starts only after the init
/// containers before it. Returns the start of such a container after the end of this init container, and the status that
/// shows it.
fn follower_is_shown(life: &Life<'_, '_>) -> Option<(EventId, EventId)> {
    let (run, pod) = (life.run, life.pod);
    let failed = pod.events.iter().any(|event| event.reason == "Failed");
    if life.container.kind != ContainerKind::Init || !pod.restarts_as_one() || failed {
        return None;
    }
    let (exit, _) = life.exited_by_itself()?;
    let exit = At::of(exit);
    let place = pod.containers.iter().position(|of| of.name == life.container.name)?;
    let later = pod.containers.get(place + 1..)?.iter();
    let mut starts = later.flat_map(|of| of.attempts.iter().map(move |attempt| (of, attempt)));
    starts.find_map(|(of, attempt)| {
        let follows = attempt.is_complete() && run.before(&exit, &attempt.began);
        let shows = |shown: &&Revision<'_>| {
            let status = shown.container(&of.name);
            !shown.terminating()
                && status.is_some_and(|status| status.is_running() && status.restarts == attempt.number)
        };
        let shown = of_kubelet(pod).find(|shown| follows && shows(shown))?;
        Some((attempt.began.id, shown.id))
    })
}
