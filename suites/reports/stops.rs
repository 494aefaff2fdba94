//! An event reports that a container is stopped only if the container is stopped.

use probity_model::history::Did;
use probity_model::timeline::{ContainerLife, KubeEvent, PodLife, ProbeKind};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::mains::lives_of;

/// A container that ended by itself was not stopped, and no event reports that it was.
pub(super) fn only_what_is_stopped(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    if run.was_touched() {
        return;
    }
    for pod in run.pods.iter().filter(|pod| run.deletion(pod).is_none() && !may_be_stopped(run, pod)) {
        for container in pod.containers.iter().filter(|of| is_left_alone(pod, of)) {
            let mut ends = Vec::new();
            for life in lives_of(run, pod, container) {
                let stopped = life.signals().next().is_some() || !life.holes.is_empty();
                match life.attempt.exited_by_itself() {
                    Some((line, _)) if !stopped => ends.push(line),
                    None if !stopped && life.lives_on() => {}
                    _ => {
                        ends.clear();
                        break;
                    }
                }
            }
            let Some(end) = ends.first() else { continue };
            let killing = |event: &&KubeEvent<'_>| event.is_of(&container.name, "Killing");
            if let Some(event) = pod.events.iter().find(killing) {
                let finding = format!(
                    "{}/{} exited by itself, but an event says {:?}",
                    pod.key, container.name, event.message
                );
                seen.violated(finding, [end.id, event.id]);
            } else if run.watched_for(pod, &end.at, clause.slack_us()) {
                seen.fine([end.id]);
            }
        }
    }
}

/// Whether something other than deletion may stop the containers of a pod: a deadline, or an end from outside.
fn may_be_stopped(run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
    let evicted = |did: &Did| matches!(did, Did::Evicted { pod: of, .. } if *of == pod.name);
    pod.had_deadline() || pod.was_ended_from_outside() || run.deeds.iter().any(|(_, deed)| evicted(&deed.did))
}

/// Whether nothing can cause a container to be stopped: neither one of its own fields nor the end of its pod.
fn is_left_alone(pod: &PodLife<'_>, container: &ContainerLife<'_>) -> bool {
    let probed = ProbeKind::STOPPING.into_iter().any(|kind| container.probe(kind).is_some());
    !probed && container.lifecycle("postStart").is_none() && !pod.work_is_done(container)
}
