//! New images of containers that run.

use probity_model::timeline::{At, ContainerKind, ContainerLife, Life};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::mains::lives_of;
use crate::reading::patches::{self, Patch, image_in};

/// A main container or a sidecar that runs is stopped in time once an update has changed its image.
pub(super) fn replace_containers(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for patch in patches::of_pods(run).iter().filter(|patch| patch.refused.is_none()) {
        if patch.pod.was_ended_from_outside() || run.deletion(patch.pod).is_some() || run.node_was_touched() {
            continue;
        }
        let changed = changed(run, patch);
        for life in &changed {
            judge(clause, patch, life, seen);
        }
        if !changed.is_empty() {
            spares_others(run, patch, seen);
        }
    }
}

/// Containers whose images stay are not stopped, unless something else stops them.
fn spares_others(run: &Timeline<'_>, patch: &Patch<'_, '_>, seen: &mut Seen) {
    let stays = |container: &&ContainerLife<'_>| {
        let probed =
            ["livenessProbe", "startupProbe"].iter().any(|probe| container.spec.get(*probe).is_some());
        container.kind == ContainerKind::Main && !probed && !patches::changes_image(run, patch.pod, container)
    };
    for container in patch.pod.containers.iter().filter(stays) {
        for life in lives_of(run, patch.pod, container) {
            match life.stop() {
                Some(stop) if run.before(&patch.began, &stop.at) => {
                    let finding = format!("{} was stopped, although its image had not changed", life.name());
                    seen.violated(finding, [patch.id, stop.id]);
                }
                _ => seen.fine([patch.id]),
            }
        }
    }
}

/// The instances that ran when a patch changed the images of their containers.
fn changed<'t, 'h>(run: &'t Timeline<'h>, patch: &Patch<'t, 'h>) -> Vec<Life<'t, 'h>> {
    let Some(before) = patch.before(run) else { return Vec::new() };
    let lives = patch.pod.containers.iter().filter_map(|container| {
        let wanted = image_in(&patch.asked, &container.name).filter(|_| container.stays())?;
        let known = image_in(before.object, &container.name)?;
        let last = lives_of(run, patch.pod, container)
            .rfind(|life| run.before(&life.began, &patch.began))
            .filter(|_| wanted != known)?;
        let ran = last.ended.as_ref().is_none_or(|ended| run.before(&patch.done, ended));
        ran.then_some(last)
    });
    lives.collect()
}

fn judge(clause: &Clause, patch: &Patch<'_, '_>, life: &Life<'_, '_>, seen: &mut Seen) {
    if !life.holes.is_empty() || life.exited_by_itself().is_some() {
        return;
    }
    let asked = At::new(patch.id, patch.began.clone());
    if let Some(stop) = life.stop() {
        let quantity = format!("from the change of its image to the stop signal of {}", life.name());
        life.within(seen, quantity, (&asked, stop), clause.in_time());
        seen.facet("container", life.container.kind.word());
    } else if life.watched_for(&patch.done, clause.slack_us()) {
        let finding = format!("{} kept running with its old image", life.name());
        seen.violated(finding, [Some(patch.id), life.run.last_event()].into_iter().flatten());
    }
}
