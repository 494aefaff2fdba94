//! Resizes that must wait because other pods hold the resources that they need.

use probity_model::timeline::{PodLife, Revision};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::asked::{Amount, Resize, feasible};
use crate::reading::patches::is_resizing;
use crate::reading::qos::{DECIDING, amount, containers};
use crate::reading::quantities::{is_same, thousandths};
use crate::reading::statuses::{has_run, status_of};

/// The reason of the condition of a resize that may become possible later.
const DEFERRED: &str = "Deferred";

/// How much of a resource the containers of a pod request together, in thousandths.
fn requested(spec: &Value, resource: &str) -> i128 {
    containers(spec).filter_map(|of| amount(of, "requests", resource)).sum()
}

/// Whether a pod of the case ran beside a resized pod on its node.
fn is_neighbor(pod: &PodLife<'_>, resized: &PodLife<'_>) -> bool {
    pod.node == resized.node && pod.uid != resized.uid && has_run(pod)
}

/// Whether the pods of the case alone leave no room for a resize on its node.
pub(super) fn has_no_room(run: &Timeline<'_>, resize: &Resize<'_, '_>) -> bool {
    let Some(node) = run.history.header.nodes.get(&resize.pod().node) else { return false };
    let there = |pod: &PodLife<'_>| {
        let gone = pod.revisions.iter().find(|shown| shown.gone);
        is_neighbor(pod, resize.pod()) && gone.is_none_or(|gone| run.before(&resize.patch.done, &gone.at))
    };
    DECIDING.into_iter().any(|resource| {
        let neighbors = run.pods.iter().filter(|pod| there(pod));
        let taken: i128 = neighbors.map(|pod| requested(pod.spec, resource)).sum();
        let room = node.allocatable.get(resource).and_then(|all| thousandths(all));
        room.is_some_and(|room| taken.saturating_add(requested(&resize.after["spec"], resource)) > room)
    })
}

/// Whether a node has enough for a resize, whatever its other pods hold, and the resize only changes CPUs. A kubelet may not
/// be able to change the memory of a container that may use swap.
pub(super) fn is_plainly_possible(run: &Timeline<'_>, resize: &Resize<'_, '_>) -> bool {
    let Some(node) = run.history.header.nodes.get(&resize.pod().node) else { return false };
    let fits = |resource: &str| {
        let room = node.allocatable.get(resource).and_then(|all| thousandths(all));
        room.is_some_and(|room| requested(&resize.after["spec"], resource) <= room)
    };
    let mut changes = resize.containers().flat_map(|of| resize.changes(&of.name));
    DECIDING.into_iter().all(fits) && changes.all(|change| change.resource == "cpu")
}

/// A deferred resize is complete after the removal of a pod that makes room for it, unless the resize of a pod with a
/// higher priority takes this room.
pub(super) fn is_retried(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let all: Vec<Resize<'_, '_>> = feasible(run).collect();
    for resize in &all {
        let Some(told) = deferred(run, resize) else { continue };
        accuse_early(run, resize, seen);
        if !has_no_room(run, resize) {
            continue;
        }
        seen.applies();
        let Some((holder, freed)) = freed(run, resize, told) else { continue };
        match all.iter().find(|first| goes_first(run, first, resize, holder)) {
            Some(first) => judge_order(run, (first, resize), (told, holder), seen),
            None => judge(run, clause, (resize, told), (holder, freed), seen),
        }
    }
}

/// The priority of a pod, which the API server derives from its class.
fn priority(resize: &Resize<'_, '_>) -> i64 {
    resize.pod().spec.get("priority").and_then(Value::as_i64).unwrap_or_default()
}

/// Whether another resize on the node waits for the same room and has a higher priority, and there is not enough room for
/// both when the holder of the room is gone.
fn goes_first(
    run: &Timeline<'_>,
    first: &Resize<'_, '_>,
    resize: &Resize<'_, '_>,
    holder: &PodLife<'_>,
) -> bool {
    let (pod, own) = (first.pod(), resize.pod());
    let Some(node) = run.history.header.nodes.get(&own.node) else { return false };
    let rival = pod.node == own.node && pod.uid != own.uid && priority(first) > priority(resize);
    let waits = deferred(run, first).is_some_and(|told| {
        holder.revisions.iter().find(|shown| shown.terminating()).is_some_and(|going| {
            told.id < going.id && run.before(&going.at, &first.until) && run.before(&going.at, &resize.until)
        })
    });
    let both = |resource: &str| {
        let of = |one: &Resize<'_, '_>| requested(&one.after["spec"], resource);
        let room = node.allocatable.get(resource).and_then(|all| thousandths(all));
        room.is_some_and(|room| of(first).saturating_add(of(resize)) > room)
    };
    rival && waits && DECIDING.into_iter().any(both)
}

/// The revision that shows that a resize is complete, after the revision that showed it as deferred.
fn completed<'t, 'h>(
    run: &Timeline<'_>,
    resize: &Resize<'t, 'h>,
    told: &Revision<'_>,
) -> Option<&'t Revision<'h>> {
    let later = resize.pod().revisions.iter().filter(|shown| shown.id > told.id);
    later.filter(|shown| run.before(&shown.at, &resize.until)).find(|shown| is_done(resize, shown))
}

/// The resize of a pod with a lower priority does not take the room for which another resize waits.
fn judge_order(
    run: &Timeline<'_>,
    (first, resize): (&Resize<'_, '_>, &Resize<'_, '_>),
    (told, holder): (&Revision<'_>, &PodLife<'_>),
    seen: &mut Seen,
) {
    let going = holder.revisions.iter().find(|shown| shown.terminating()).map(|going| going.id);
    let Some(done) = completed(run, resize, told).filter(|done| Some(done.id) > going) else { return };
    if completed(run, first, told).is_none_or(|earlier| earlier.id > done.id) {
        let finding = format!(
            "the resizes of {} and {} waited for the same memory or CPU, and the former, which has the lower priority, got it",
            resize.pod().key,
            first.pod().key
        );
        seen.violated(finding, [first.patch.id, resize.patch.id, done.id].into_iter().chain(going));
    }
}

/// The first revision that shows that a resize is deferred.
fn deferred<'t, 'h>(run: &Timeline<'_>, resize: &Resize<'t, 'h>) -> Option<&'t Revision<'h>> {
    let mut after = resize.patch.after(run).filter(|shown| run.before(&shown.at, &resize.until));
    after.find(|shown| is_deferred(resize, shown))
}

fn is_deferred(resize: &Resize<'_, '_>, shown: &Revision<'_>) -> bool {
    let said = resize.wait(shown);
    said.is_some_and(|said| said["status"] == "True" && said["reason"] == DEFERRED)
}

/// Reports a deferred resize whose resources are shown as allocated. A kubelet that grants the resize at this moment may
/// write one such status, so two in a row are required.
fn accuse_early(run: &Timeline<'_>, resize: &Resize<'_, '_>, seen: &mut Seen) {
    let mut after = resize.patch.after(run).filter(|shown| run.before(&shown.at, &resize.until)).peekable();
    while let (Some(shown), Some(next)) = (after.next(), after.peek()) {
        let early = |shown: &Revision<'_>| {
            if is_deferred(resize, shown) { allocated_early(resize, shown) } else { None }
        };
        if let Some((container, amount)) = early(shown).filter(|_| early(next).is_some()) {
            let finding = format!(
                "the resize of {} is deferred, but {amount} is shown as allocated for container {container}",
                resize.pod().key
            );
            return seen.violated(finding, [resize.patch.id, shown.id, next.id]);
        }
    }
}

/// The container and the amount that a resize requests, if a revision shows this amount as allocated and the last revision
/// before the resize does not.
fn allocated_early<'t>(resize: &Resize<'t, '_>, shown: &Revision<'_>) -> Option<(&'t str, String)> {
    let allocated = |shown: &Revision<'_>, name: &str, resource: &str| {
        status_of(shown, name).map(|status| status["allocatedResources"][resource].clone())
    };
    resize.containers().find_map(|container| {
        let (name, changes) = (container.name.as_str(), resize.changes(&container.name));
        let mut requests = changes.iter().filter(|of| of.list == "requests");
        let wrong = requests.find(|of| {
            let has = |shown: &Revision<'_>| {
                allocated(shown, name, of.resource).is_some_and(|is| is_same(&is, of.new))
            };
            has(shown) && !has(resize.before)
        });
        wrong.map(|of| (name, format!("{} of {}", of.new, of.resource)))
    })
}

/// The first removal of a pod that makes room for a deferred resize. This pod ran beside the resized pod, so what it
/// requested is free after its removal.
fn freed<'t, 'h>(
    run: &'t Timeline<'h>,
    resize: &Resize<'_, '_>,
    told: &Revision<'_>,
) -> Option<(&'t PodLife<'h>, &'t Revision<'h>)> {
    let more = |resource: &str| {
        requested(&resize.after["spec"], resource) - requested(&resize.before.object["spec"], resource)
    };
    let enough = |pod: &PodLife<'_>| {
        is_neighbor(pod, resize.pod())
            && DECIDING.into_iter().all(|resource| requested(pod.spec, resource) >= more(resource))
    };
    let gone = |pod: &'t PodLife<'h>| {
        let gone = pod.revisions.iter().find(|shown| shown.gone)?;
        (gone.id > told.id).then_some((pod, gone))
    };
    run.pods.iter().filter(|pod| enough(pod)).filter_map(gone).min_by_key(|(_, gone)| gone.id)
}

fn judge(
    run: &Timeline<'_>,
    clause: &Clause,
    (resize, told): (&Resize<'_, '_>, &Revision<'_>),
    (holder, freed): (&PodLife<'_>, &Revision<'_>),
    seen: &mut Seen,
) {
    let pod = resize.pod();
    let going = holder.revisions.iter().find(|shown| shown.terminating());
    let going = going.map_or(freed.id, |going| going.id);
    match completed(run, resize, told) {
        // Somebody else made room earlier.
        Some(done) if done.id < going => {}
        // The resources are free as soon as the containers have ended.
        Some(done) if done.id < freed.id => seen.fine([told.id, done.id, freed.id]),
        Some(done) => {
            let quantity =
                format!("from the removal of {} to the end of the resize of {}", holder.key, pod.key);
            seen.within(run, &pod.node, quantity, (freed, done), clause.in_time());
        }
        None => {
            let due = freed.at.later(clause.slack_us());
            let due = due.later(run.noise_between(&pod.node, &freed.at, &due));
            let watched = run.watched_for(pod, &freed.at, clause.slack_us());
            if watched && run.before(&due, &resize.until) {
                let finding = format!(
                    "the resize of {} was deferred, and is not complete although {} has been removed",
                    pod.key, holder.key
                );
                let events = [resize.patch.id, told.id, freed.id].into_iter().chain(run.last_event());
                seen.violated(finding, events);
            }
        }
    }
}

/// Whether a revision shows that a resize is complete.
fn is_done(resize: &Resize<'_, '_>, shown: &Revision<'_>) -> bool {
    let shows = |container: &str| {
        let status = status_of(shown, container);
        let mut changes = resize.changes(container).into_iter();
        let is = |of: &Amount<'_>| status.map(|status| &status["resources"][of.list][of.resource]);
        changes.all(|of| is(&of).is_some_and(|is| is_same(is, of.new)))
    };
    !is_resizing(shown) && !shown.gone && resize.containers().all(|container| shows(&container.name))
}
