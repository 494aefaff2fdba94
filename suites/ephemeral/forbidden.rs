//! Patches of ephemeral containers that the API server rejects.

use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::added::{before, name, named};
use crate::reading::patches::{self, EPHEMERAL, Patch};

/// Fields that an ephemeral container must not have.
const FORBIDDEN: [&str; 5] = ["ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"];
/// The annotation by which the API server recognizes the mirror pod of a static pod.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Judges a patch of ephemeral containers that must be rejected with a message that contains a certain word.
fn judge(patch: &Patch<'_, '_>, (what, word): (&str, &str), seen: &mut Seen) -> bool {
    let key = &patch.pod.key;
    match patch.refused {
        None => {
            let finding = format!("the API server accepted an ephemeral container of {key} {what}");
            seen.violated(finding, [patch.id]);
            false
        }
        Some(why) if patch.is_invalid() && why.contains(word) => {
            seen.fine([patch.id]);
            true
        }
        Some(why) => {
            let why = format!("a patch of {key} was rejected for another reason: {why}");
            seen.doubt(Doubt::StepFailed, why, [patch.id]);
            false
        }
    }
}

/// Ephemeral containers with ports, probes or hooks are rejected.
pub(super) fn fields(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for patch in patches::of_part(run, EPHEMERAL) {
        let wrong: Vec<&str> = FORBIDDEN
            .into_iter()
            .filter(|field| named(&patch).any(|container| container.get(*field).is_some()))
            .collect();
        if let [field] = wrong.as_slice()
            && judge(&patch, (&format!("with {field}"), field), seen)
        {
            seen.facet("field", *field);
        }
    }
}

/// Ephemeral containers with requests or limits are rejected.
pub(super) fn resources(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for patch in patches::of_part(run, EPHEMERAL) {
        for list in ["requests", "limits"] {
            let asks =
                |container: &Value| container.get("resources").is_some_and(|of| of.get(list).is_some());
            if named(&patch).any(asks) && judge(&patch, ("with resources", "resources"), seen) {
                seen.facet("list", list);
            }
        }
    }
}

/// Changes to an existing ephemeral container are rejected.
pub(super) fn changes(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for patch in patches::of_part(run, EPHEMERAL) {
        for container in named(&patch) {
            let Some(known) = before(run, &patch, name(container)) else { continue };
            let differs =
                |field: &str| container.get(field).is_some_and(|asked| known.get(field) != Some(asked));
            let change = match () {
                () if container.get("$patch").and_then(Value::as_str) == Some("delete") => "removal",
                () if differs("image") => "image",
                () if differs("env") => "environment",
                () => continue,
            };
            let what = format!("to be changed: {change} of {}", name(container));
            if judge(&patch, (&what, "may not be"), seen) && stays(run, &patch, known, seen) {
                seen.facet("change", change);
            }
        }
    }
}

/// Whether all revisions after the patch show the container unchanged.
fn stays(run: &Timeline<'_>, patch: &Patch<'_, '_>, known: &Value, seen: &mut Seen) -> bool {
    let changed = patch.after(run).find(|revision| {
        let list = revision.object.get("spec").and_then(|spec| spec.get(super::added::LIST)?.as_array());
        let is = list.into_iter().flatten().find(|container| name(container) == name(known));
        is != Some(known)
    });
    let Some(changed) = changed else { return true };
    let finding = format!("a patch was rejected, but it changed {} of {}", name(known), patch.pod.key);
    seen.violated(finding, [patch.id, changed.id]);
    false
}

/// Ephemeral containers in the mirror pods of static pods are rejected.
pub(super) fn mirrors(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for patch in patches::of_part(run, EPHEMERAL) {
        let mirror = patch.before(run).is_some_and(|before| {
            let notes = before.object.pointer("/metadata/annotations");
            notes.is_some_and(|notes| notes.get(MIRROR).is_some())
        });
        if mirror {
            judge(&patch, ("in a mirror pod", "static"), seen);
        }
    }
}
