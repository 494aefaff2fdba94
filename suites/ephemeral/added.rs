//! How ephemeral containers get into a pod.

use probity_model::timeline::{At, PodLife, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

use crate::reading::patches::{self, EPHEMERAL, Patch, is_part_of};
use crate::reading::rejections::{for_another_reason, is_because_of};

/// The list of ephemeral containers in a pod's spec.
pub(super) const LIST: &str = "ephemeralContainers";
/// Fields that all kinds of containers have, and that do not change what an ephemeral container does.
const USUAL: [&str; 6] = ["env", "securityContext", "volumeMounts", "stdin", "tty", "workingDir"];

/// The ephemeral containers that a patch names.
pub(super) fn named<'p>(patch: &'p Patch<'_, '_>) -> impl Iterator<Item = &'p Value> + use<'p> {
    patch.asked.get("spec").and_then(|spec| spec.get(LIST)?.as_array()).into_iter().flatten()
}

/// The name in a container's spec.
pub(super) fn name(container: &Value) -> &str {
    container.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// The ephemeral container of this name as the pod had it before a patch.
pub(super) fn before<'h>(run: &Timeline<'h>, patch: &Patch<'_, 'h>, wanted: &str) -> Option<&'h Value> {
    let list = patch.before(run)?.object.get("spec")?.get(LIST)?.as_array()?;
    list.iter().find(|container| name(container) == wanted)
}

/// The revision after a patch that shows an ephemeral container of this name, with the container.
fn shown<'h>(run: &Timeline<'h>, patch: &Patch<'_, 'h>, wanted: &str) -> Option<(EventId, &'h Value)> {
    patch.after(run).find_map(|revision| {
        let list = revision.object.get("spec")?.get(LIST)?.as_array()?;
        Some((revision.id, list.iter().find(|container| name(container) == wanted)?))
    })
}

/// The accepted patches of the subresource that add exactly one container, each with this container.
fn additions<'t, 'h>(run: &'t Timeline<'h>) -> Vec<(Patch<'t, 'h>, Value)> {
    let mut all = Vec::new();
    for patch in patches::of_part(run, EPHEMERAL) {
        let new: Vec<Value> =
            named(&patch).filter(|one| before(run, &patch, name(one)).is_none()).cloned().collect();
        if let ([only], None) = (new.as_slice(), patch.refused) {
            let only = only.clone();
            all.push((patch, only));
        }
    }
    all
}

/// An ephemeral container that was added through the subresource runs, and there is no other way to add one.
pub(super) fn by_the_subresource(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (patch, container) in additions(run) {
        judge_start(run, clause, (&patch, name(&container)), seen);
    }
    for patch in patches::of_pods(run).iter().filter(|patch| named(patch).next().is_some()) {
        let key = &patch.pod.key;
        match patch.refused {
            Some(_) if patch.is_invalid() => {
                seen.fine([patch.id]);
                seen.facet("by", "update");
            }
            Some(why) => {
                let why = format!("an update of {key} was rejected for another reason: {why}");
                seen.doubt(Doubt::StepFailed, why, [patch.id]);
            }
            None => match named(patch).find_map(|one| shown(run, patch, name(one))) {
                Some((id, _)) => {
                    let finding = format!("an update of {key} added an ephemeral container");
                    seen.violated(finding, [patch.id, id]);
                }
                None => {
                    let finding =
                        format!("the API server accepted an update of {key} with an ephemeral container");
                    seen.violated(finding, [patch.id]);
                }
            },
        }
    }
    for (id, tried) in &run.tried {
        if tried.manifest.get("spec").and_then(|spec| spec.get(LIST)).is_none() {
            continue;
        }
        match tried.code {
            ..300 => {
                let finding =
                    format!("`{}` was accepted, although it has an ephemeral container", tried.name);
                seen.violated(finding, [*id]);
            }
            400 | 422 if is_because_of(tried, LIST) => {
                seen.fine([*id]);
                seen.facet("by", "creation");
            }
            _ => for_another_reason((*id, tried), seen),
        }
    }
}

/// An ephemeral container starts soon after it was added.
fn judge_start(run: &Timeline<'_>, clause: &Clause, (patch, name): (&Patch<'_, '_>, &str), seen: &mut Seen) {
    let pod = patch.pod;
    let Some(container) = pod.ephemeral.iter().find(|container| container.name == name) else {
        if run.watched_for(pod, &patch.done, clause.slack_us()) {
            let finding =
                format!("the API server accepted the ephemeral container {name}, but {} has none", pod.key);
            seen.violated(finding, run.to_the_end([patch.id]));
        }
        return;
    };
    if container.plan().is_none() {
        return;
    }
    // A pod that completes soon starts nothing any more.
    let still_runs = |over: &Revision<'_>| run.longer_than(pod, (&patch.done, &over.at), clause.slack_us());
    if let Some(first) = container.attempts.first() {
        let quantity = format!("from the addition of {}/{name} to the start of its process", pod.key);
        let asked = At::new(patch.id, patch.began.clone());
        seen.within(run, &pod.node, quantity, (asked, first.began.clone()), clause.in_time());
        seen.facet("by", "subresource");
    } else if stays(run, pod, patch, clause) && pod.over().is_none_or(still_runs) {
        let finding = format!("the ephemeral container {name} of {} never ran", pod.key);
        seen.violated(finding, run.to_the_end([patch.id]));
    }
}

/// Whether the pod was watched for long enough after a patch, and the harness would have received records of the
/// container.
fn stays(run: &Timeline<'_>, pod: &PodLife<'_>, patch: &Patch<'_, '_>, clause: &Clause) -> bool {
    let others_heard = pod.containers.iter().any(|of| !of.attempts.is_empty());
    others_heard && run.watched_for(pod, &patch.done, clause.slack_us())
}

/// The API server accepts and shows the usual fields of containers.
pub(super) fn with_usual_fields(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (patch, container) in additions(run) {
        let fields: Vec<&str> = USUAL.into_iter().filter(|field| container.get(*field).is_some()).collect();
        let name = name(&container);
        match shown(run, &patch, name) {
            Some((id, shown)) => {
                for field in fields {
                    if is_part_of(&container[field], &shown[field]) {
                        seen.fine([patch.id, id]);
                        seen.facet("field", field);
                    } else {
                        let finding = format!("the ephemeral container {name} has lost its {field}");
                        seen.violated(finding, [patch.id, id]);
                    }
                }
            }
            None if run.watched_for(patch.pod, &patch.done, clause.slack_us()) => {
                let finding =
                    format!("the API server accepted the ephemeral container {name}, but does not show it");
                seen.violated(finding, run.to_the_end([patch.id]));
            }
            None => {}
        }
    }
}
