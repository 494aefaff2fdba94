//! New images of containers that run.

use probity_model::measure::{Bound, seconds};
use probity_model::timeline::{At, ContainerLife, Life, Revision, State};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::ends::{killed_at, may_be_busy};
use crate::reading::hooks::judge_command_before_stop;
use crate::reading::mains::lives_of;
use crate::reading::patches::{self, Patch, image_in};
use crate::reading::statuses::NO_IMAGE;
use crate::reading::termination::time_of_ends;
use crate::termination::judge_kill_within;

/// A main container or a sidecar that runs is stopped in time once an update has changed its image, after its hook and with the
/// grace period of its pod.
pub(super) fn replace_containers(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for patch in patches::of_pods(run).iter().filter(|patch| patch.refused.is_none()) {
        if patch.pod.was_ended_from_outside() || run.deletion(patch.pod).is_some() || run.node_was_touched() {
            continue;
        }
        let containers = patch.pod.containers.iter();
        let corrected =
            containers.filter(|container| judge_waiting(run, clause, (patch, container), seen)).count();
        let changed = changed(run, patch);
        for life in &changed {
            judge(clause, patch, life, seen);
        }
        if corrected > 0 || !changed.is_empty() {
            spares_others(run, patch, seen);
        }
    }
}

/// A container that waits because its image is missing starts once it has the image of a target, which its node has. Returns
/// whether it is such a container.
fn judge_waiting(
    run: &Timeline<'_>,
    clause: &Clause,
    (patch, container): (&Patch<'_, '_>, &ContainerLife<'_>),
    seen: &mut Seen,
) -> bool {
    let waits = |shown: &Revision<'_>| {
        let state = shown.container(&container.name).map(|of| of.state);
        matches!(state, Some(State::Waiting { reason }) if NO_IMAGE.contains(&reason))
    };
    let others = || patch.pod.containers.iter().filter(|of| of.name != container.name);
    let wanted = image_in(&patch.asked, &container.name).filter(|wanted| container.spec["image"] != *wanted);
    let busy = may_be_busy(patch.pod, None);
    let waited = patch.before(run).is_some_and(waits);
    if busy || !waited || !wanted.is_some_and(|image| is_of_target(others(), image)) {
        return false;
    }
    let begun = |shown: &&Revision<'_>| {
        let state = shown.container(&container.name).map(|of| of.state);
        matches!(state, Some(State::Running { .. } | State::Terminated { .. }))
    };
    let (name, asked) = (&container.name, At::new(patch.id, patch.began.clone()));
    if let Some(begun) = patch.after(run).find(begun) {
        let quantity =
            format!("from the change of its missing image to the start of {}/{name}", patch.pod.key);
        seen.within(run, &patch.pod.node, quantity, (asked, At::of(begun)), clause.in_time());
        seen.facet("before", "waiting");
    } else if run.watched_for(patch.pod, &patch.done, clause.slack_us()) {
        let finding = format!("{}/{name} has a new image, but still waits for the old one", patch.pod.key);
        seen.violated(finding, [Some(patch.id), run.last_event()].into_iter().flatten());
    }
    true
}

/// Whether an image is that of a target among these containers, whatever its tag: every node has it.
fn is_of_target<'t, 'h: 't>(of: impl Iterator<Item = &'t ContainerLife<'h>>, image: &str) -> bool {
    let targets = of.filter(|of| of.plan().is_some());
    targets.filter_map(|of| of.spec["image"].as_str()).any(|of| repository(of) == repository(image))
}

/// An image without its tag.
fn repository(image: &str) -> &str {
    let (repository, tag) = image.rsplit_once(':').unwrap_or((image, ""));
    if tag.contains('/') { image } else { repository }
}

/// Containers whose images stay are neither stopped nor started anew, unless something else ends them.
fn spares_others(run: &Timeline<'_>, patch: &Patch<'_, '_>, seen: &mut Seen) {
    let stays = |container: &&ContainerLife<'_>| {
        let probed =
            ["livenessProbe", "startupProbe"].iter().any(|probe| container.spec.get(*probe).is_some());
        let killable = probed || container.has_memory_limit();
        container.stays() && !killable && !patches::changes_image(run, patch.pod, container)
    };
    for container in patch.pod.containers.iter().filter(stays).filter(|_| patch.pod.over().is_none()) {
        for life in lives_of(run, patch.pod, container) {
            let stop = life.stop().filter(|stop| run.before(&patch.began, &stop.at)).map(|stop| stop.id);
            let killed = killed_at(&life).filter(|at| run.before(&patch.began, at)).map(|at| at.id);
            if let Some(end) = stop.or(killed) {
                let finding = format!("{} was stopped, although its image had not changed", life.name());
                seen.violated(finding, [patch.id, end]);
            } else {
                seen.fine([patch.id]);
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

/// The kubelet stops one container of a pod after the other, each after its hook.
fn bound(clause: &Clause, life: &Life<'_, '_>, hooked: bool) -> Bound {
    let hook = if hooked { life.pod.grace() } else { 0 };
    let others = time_of_ends(life.run, life.pod, &life.container.name, life.began.at.lo);
    let (slack, more) = (clause.slack_us(), hook.saturating_add(others));
    let words = format!("{} + {} for a hook and other containers", seconds(slack), seconds(more));
    Bound::at_most(slack.saturating_add(more), words)
}

fn judge(clause: &Clause, patch: &Patch<'_, '_>, life: &Life<'_, '_>, seen: &mut Seen) {
    if !life.holes.is_empty() || life.exited_by_itself().is_some() {
        return;
    }
    let asked = At::new(patch.id, patch.began.clone());
    if let Some(stop) = life.stop() {
        let quantity = format!("from the change of its image to the stop signal of {}", life.name());
        let hooked = life.container.lifecycle("preStop").is_some();
        life.within(seen, quantity, (&asked, stop), bound(clause, life, hooked));
        if !judge_command_before_stop(life, patch.id, stop, seen) && !hooked {
            judge_kill_within(clause.tolerance_us("kill"), life, stop, life.pod.grace(), seen);
        }
        judge_next(patch, life, seen);
        seen.facet("container", life.container.kind.word());
        seen.facet("before", "running");
    } else if life.watched_for(&patch.done, clause.slack_us()) {
        let finding = format!("{} kept running with its old image", life.name());
        seen.violated(finding, [Some(patch.id), life.run.last_event()].into_iter().flatten());
    }
}

/// No node has the new image if it is not that of a target: then nothing starts in place of the stopped container.
fn judge_next(patch: &Patch<'_, '_>, life: &Life<'_, '_>, seen: &mut Seen) {
    let unknown = image_in(&patch.asked, &life.container.name)
        .is_some_and(|image| !is_of_target(patch.pod.containers.iter(), image));
    if let Some(again) = life.lives_again().filter(|_| unknown) {
        let finding = format!("{} was started again with its old image", life.name());
        seen.violated(finding, [patch.id, again]);
    }
}
