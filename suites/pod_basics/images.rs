//! Updates of the images of existing containers.

use std::collections::BTreeSet;

use probity_model::measure::{Bound, Fit, seconds};
use probity_model::timeline::{At, ContainerLife, Life, PodLife, Revision, State};
use probity_model::{Clause, EventId, Seen, Timeline};

use crate::reading::ends::{End, killed_at, may_be_busy};
use crate::reading::kills::judge_graceful_stop;
use crate::reading::mains::lives_of;
use crate::reading::patches::{self, Patch, image_in};
use crate::reading::statuses::{NO_IMAGE, status_of};
use crate::reading::termination::time_of_ends;

/// A running main container or sidecar is stopped in time once an update has changed its image. Its hook runs first,
/// and it has the grace period of its pod.
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

/// A container that waits because its image is missing starts once a patch gives it the image of a target, which its
/// node has. Returns whether the container is of this kind.
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
    let busy = may_be_busy(run, patch.pod, None);
    let waited = patch.before(run).is_some_and(waits);
    // The node may lack the image under its other name.
    let renamed = patch.is_renamed(run, &container.name);
    if busy || renamed || !waited || !wanted.is_some_and(|image| is_of_target(others(), image)) {
        return false;
    }
    let begun = |shown: &&Revision<'_>| {
        let state = shown.container(&container.name).map(|of| of.state);
        matches!(state, Some(State::Running { .. } | State::Terminated { .. }))
    };
    let (name, asked) = (&container.name, At::new(patch.id, patch.began.clone()));
    if let Some(begun) = patch.after(run).find(begun) {
        let quantity =
            format!("from the change of the missing image to the start of {}/{name}", patch.pod.key);
        seen.within(run, &patch.pod.node, quantity, (asked, At::of(begun)), clause.in_time());
        seen.facet("before", "waiting");
    } else if run.watched_for(patch.pod, &patch.done, clause.slack_us()) {
        let finding = format!("{}/{name} has a new image, but still waits for the old one", patch.pod.key);
        seen.violated(finding, run.to_the_end([patch.id]));
    }
    true
}

/// Whether a target among these containers uses this image, whatever the tag. Every node has the image of a target.
fn is_of_target<'t, 'h: 't>(of: impl Iterator<Item = &'t ContainerLife<'h>>, image: &str) -> bool {
    let targets = of.filter(|of| of.plan().is_some());
    targets.filter_map(|of| of.spec["image"].as_str()).any(|of| repository(of) == repository(image))
}

/// Whether an image has the name of a target's image, perhaps in another registry. A node may have it.
fn is_named_like_target(pod: &PodLife<'_>, image: &str) -> bool {
    let targets = pod.containers.iter().filter(|of| of.plan().is_some());
    targets.filter_map(|of| of.spec["image"].as_str()).any(|of| patches::is_named_alike(of, image))
}

/// An image without its tag.
fn repository(image: &str) -> &str {
    let (repository, tag) = image.rsplit_once(':').unwrap_or((image, ""));
    if tag.contains('/') { image } else { repository }
}

/// Containers whose images do not change are neither stopped nor restarted, unless something else ends them.
fn spares_others(run: &Timeline<'_>, patch: &Patch<'_, '_>, seen: &mut Seen) {
    let stays = |container: &&ContainerLife<'_>| {
        let probed =
            ["livenessProbe", "startupProbe"].iter().any(|probe| container.spec.get(*probe).is_some());
        let killable = probed || container.has_memory_limit();
        container.stays() && !killable && !patches::restarts_for_update(run, patch.pod, container)
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

/// How soon a container must be stopped: the kubelet stops the containers of a pod one after the other, each after its
/// hook.
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
        let quantity = format!("from the change of the image to the stop signal of {}", life.name());
        let hooked = life.container.lifecycle("preStop").is_some();
        life.within(seen, quantity, (&asked, stop), bound(clause, life, hooked));
        judge_graceful_stop(clause.tolerance_us("kill"), life, patch.id, stop, seen);
        judge_next(clause, patch, life, seen);
        seen.facet("container", life.container.kind.word());
        seen.facet("before", "running");
    } else if life.watched_for(&patch.done, clause.slack_us()) {
        let finding = format!("{} kept running with its old image", life.name());
        seen.violated(finding, life.run.to_the_end([patch.id]));
    }
}

/// The container starts again with its new image. No node has the new image unless it is the image of a target. If the
/// node lacks the image, nothing starts in place of the stopped container. If admission gives an image another name, it is
/// not known whether the node has the image.
fn judge_next(clause: &Clause, patch: &Patch<'_, '_>, life: &Life<'_, '_>, seen: &mut Seen) {
    let name = &life.container.name;
    let image = image_in(&patch.asked, name).filter(|_| !patch.is_renamed(life.run, name));
    let Some(image) = image else { return };
    if is_of_target(patch.pod.containers.iter(), image) {
        judge_start(clause, (patch, image), life, seen);
    } else if let Some(again) = life.lives_again().filter(|_| !is_named_like_target(patch.pod, image)) {
        let finding = format!("{} was started again with its old image", life.name());
        seen.violated(finding, [patch.id, again]);
    }
}

/// A container whose new image is on its node starts again soon after its end, whatever its restart policy.
fn judge_start(
    clause: &Clause,
    (patch, image): (&Patch<'_, '_>, &str),
    life: &Life<'_, '_>,
    seen: &mut Seen,
) {
    let Some(end) = End::of(life) else { return };
    let Some(next) = life.next() else {
        if life.lives_again().is_none() && life.watched_for(end.at(), clause.slack_us()) {
            let late = seconds(clause.slack_us());
            let finding = format!(
                "{} was stopped for a new image, and was not started again within {late}",
                life.name()
            );
            seen.violated(finding, life.run.to_the_end([patch.id]));
        }
        return;
    };
    let quantity = format!("from the exit of {} to its start with the new image", life.name());
    let in_time = bound(clause, life, false);
    if life.within(seen, quantity, (end.at(), &next.began), in_time) == Some(Fit::Met) {
        seen.facet("starts", life.policy());
    }
    judge_content(patch, image, (life, &next), seen);
}

/// The status of the new instance shows the image ID that the status shows for containers on the same node that had this
/// image from the start, and it no longer shows the name of the old image. A runtime may know an image by several names,
/// but does not use one name for two images. On another node, the same image can have another ID: if it was loaded and
/// not pulled, or for another architecture.
fn judge_content(
    patch: &Patch<'_, '_>,
    image: &str,
    (old, next): (&Life<'_, '_>, &Life<'_, '_>),
    seen: &mut Seen,
) {
    let has_it = |pod: &PodLife<'_>, of: &ContainerLife<'_>| {
        let here = pod.node == next.pod.node;
        here && of.spec["image"] == image && !patches::changes_image(next.run, pod, of)
    };
    let all = next.run.containers().filter(|(pod, of)| has_it(pod, of));
    let (known, names): (BTreeSet<&str>, BTreeSet<&str>) =
        all.flat_map(|(pod, of)| images(pod, of, None)).map(|of| (of.id, of.name)).unzip();
    if known.is_empty() {
        return;
    }
    let (before, after) = (images_of(old), images_of(next));
    let old_names: BTreeSet<&str> =
        before.iter().filter(|of| !known.contains(of.id)).map(|of| of.name).collect();
    if let Some(wrong) = after.iter().find(|of| !known.contains(of.id)) {
        let finding = format!("{} has a new image, but runs with the image ID {}", next.name(), wrong.id);
        seen.violated(finding, [patch.id, wrong.shown]);
    } else if let Some(wrong) =
        after.iter().find(|of| old_names.contains(of.name) && !names.contains(of.name))
    {
        let finding =
            format!("{} has a new image, but is shown with the old one, {}", next.name(), wrong.name);
        seen.violated(finding, [patch.id, wrong.shown]);
    }
}

/// The image of a running container in a revision.
struct ShownImage<'h> {
    shown: EventId,
    id: &'h str,
    name: &'h str,
}

/// The images of one instance of a container in the revisions that show it as running.
fn images_of<'h>(life: &Life<'_, 'h>) -> Vec<ShownImage<'h>> {
    images(life.pod, life.container, Some(life.number)).collect()
}

/// The images of a container in the revisions that show it as running, either all or only those of one instance.
fn images<'t, 'h>(
    pod: &'t PodLife<'h>,
    container: &'t ContainerLife<'h>,
    number: Option<u64>,
) -> impl Iterator<Item = ShownImage<'h>> {
    pod.revisions.iter().filter_map(move |shown| {
        let seen = shown.container(&container.name)?;
        let meant = seen.is_running() && number.is_none_or(|number| number == seen.restarts);
        let status = status_of(shown, &container.name).filter(|_| meant)?;
        let text = |field: &str| status.get(field)?.as_str();
        Some(ShownImage { shown: shown.id, id: text("imageID")?, name: text("image")? })
    })
}
