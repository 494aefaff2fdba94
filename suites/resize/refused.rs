//! Resizes that cannot be carried out: those that no node can satisfy, and those that the API server must not accept.

use probity_model::measure::seconds;
use probity_model::timeline::Revision;
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::asked::{Resize, resizes};
use crate::reading::patches::{Patch, container_in, of_part};
use crate::reading::qos::class_of;
use crate::reading::quantities::{WHOLE, thousandths};
use crate::reading::statuses::statuses;

/// No node has more processors than this, the largest number of them that Linux supports on x86.
const CORES: i128 = 8192;

fn is_beyond(asked: &Value, container: &str) -> bool {
    let cpu = container_in(asked, container).and_then(|of| of["resources"]["requests"]["cpu"].as_str());
    cpu.and_then(thousandths).is_some_and(|cpu| cpu > CORES * WHOLE)
}

/// Whether a resize asks for more than any node has.
pub(super) fn is_too_large(resize: &Resize<'_, '_>, container: &str) -> bool {
    is_beyond(&resize.patch.asked, container)
}

/// A resize beyond every node is rejected, or marked as infeasible; the container runs on as before.
pub(super) fn too_large(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let beyond = |patch: &&Patch<'_, '_>| {
        let mut all = patch.pod.containers.iter();
        all.any(|container| is_beyond(&patch.asked, &container.name))
    };
    for patch in of_part(run, "resize").iter().filter(beyond).filter(|patch| patch.refused.is_some()) {
        seen.fine([patch.id]);
    }
    for resize in &resizes(run) {
        for container in resize.containers().filter(|container| is_too_large(resize, &container.name)) {
            judge_infeasible(run, resize, &container.name, clause, seen);
        }
    }
}

fn judge_infeasible(
    run: &Timeline<'_>,
    resize: &Resize<'_, '_>,
    container: &str,
    clause: &Clause,
    seen: &mut Seen,
) {
    let (pod, key) = (resize.pod(), &resize.pod().key);
    let says = |shown: &&Revision<'_>| {
        shown
            .condition("PodResizePending")
            .is_some_and(|of| of["status"] == "True" && of["reason"] == "Infeasible")
    };
    let mut after = pod.revisions.iter().filter(|shown| shown.id > resize.before.id && !shown.gone);
    let after_all = || pod.revisions.iter().filter(|shown| run.before(&resize.patch.began, &shown.at));
    let said = after.find(says);
    let was = |shown: &Revision<'_>| {
        statuses(shown).find(|(name, _)| *name == container).map(|(_, of)| of["allocatedResources"].clone())
    };
    let changed = after_all().find(|shown| was(shown).is_some_and(|now| Some(now) != was(resize.before)));
    let restarted = after_all().find(|shown| {
        let count = |of: &Revision<'_>| of.container(container).map(|of| of.restarts);
        count(shown) > count(resize.before)
    });
    match (changed.or(restarted), said) {
        (Some(shown), _) if !shown.terminating() => {
            let finding =
                format!("a resize of {key} that no node can satisfy changed its resources or restarted it");
            seen.violated(finding, [resize.patch.id, shown.id]);
        }
        (_, Some(said)) => seen.fine([resize.patch.id, said.id]),
        (_, None) if run.watched_for(pod, &resize.patch.done, clause.slack_us()) => {
            let finding = format!(
                "no node can satisfy the resize of {key}, but it was not marked as infeasible within {}",
                seconds(clause.slack_us())
            );
            seen.violated(finding, [Some(resize.patch.id), run.last_event()].into_iter().flatten());
        }
        _ => {}
    }
}

/// A resize that changes the QoS class is rejected.
pub(super) fn another_class(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for patch in of_part(run, "resize") {
        let Some(before) = patch.before(run) else { continue };
        let old = &before.object["spec"];
        let new = with_resources(old, &patch.asked);
        if class_of(old) == class_of(&new) {
            continue;
        }
        match patch.refused {
            Some(_) if patch.is_invalid() => seen.fine([patch.id]),
            Some(_) => {}
            None => {
                let finding =
                    format!("a resize made a pod of the class {} one of {}", class_of(old), class_of(&new));
                seen.violated(finding, [before.id, patch.id]);
            }
        }
    }
}

/// A spec with the resources that a patch asks for.
fn with_resources(spec: &Value, asked: &Value) -> Value {
    let mut new = spec.clone();
    for list in ["containers", "initContainers"] {
        for container in new[list].as_array_mut().into_iter().flatten() {
            let name = container["name"].as_str().unwrap_or_default().to_owned();
            let Some(of) = container_in(asked, &name) else { continue };
            for (kind, amounts) in of["resources"].as_object().into_iter().flatten() {
                for (resource, amount) in amounts.as_object().into_iter().flatten() {
                    container["resources"][kind][resource] = amount.clone();
                }
            }
        }
    }
    new
}
