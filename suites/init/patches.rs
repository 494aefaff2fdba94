//! Init containers of an existing pod: only their images can be changed, and such a change restarts nothing.

use probity_model::history::Did;
use probity_model::timeline::{ContainerKind, PodLife};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Stamp, Timeline};
use serde_json::Value;

use crate::reading::inits::touched_after;
use crate::reading::mains::{first_lives, mains};
use crate::reading::patches::{self, Patch, changes_image, container_in, is_part_of, is_renamed};

/// The changes of an accepted patch to the init containers of a pod.
fn patched(did: &Did) -> Option<(&str, &Vec<Value>)> {
    let Did::Patched { kind, name, patch, subresource } = did else { return None };
    let list = patch.get("spec")?.get("initContainers")?.as_array()?;
    // The resources of a container can also be changed, but only through the subresource `resize`.
    (kind == "Pod" && subresource.is_empty()).then_some((name, list))
}

/// The revision that shows the image from a patch, or an image that is the same according to a comparison.
fn shown_image(
    pod: &PodLife<'_>,
    since: EventId,
    entry: &Value,
    is_image: impl Fn(&Value, &Value) -> bool,
) -> Option<EventId> {
    let shows = |list: &Value| {
        let mut of = list.as_array().into_iter().flatten();
        of.any(|one| one["name"] == entry["name"] && is_image(&entry["image"], &one["image"]))
    };
    // The watch may show the image before the answer to the patch comes.
    let shown = pod.revisions.iter().filter(|shown| shows(&shown.object["spec"]["initContainers"]));
    shown.map(|shown| shown.id).max().filter(|id| *id > since || shows_last(pod, *id))
}

fn shows_last(pod: &PodLife<'_>, id: EventId) -> bool {
    pod.last().is_some_and(|last| last.id == id)
}

/// A change of an init container's image does not stop or start anything in the pod.
pub(super) fn image_restarts_nothing(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (id, deed) in &run.deeds {
        let Some((name, list)) = patched(&deed.did) else { continue };
        let pod = run.pods.iter().rfind(|pod| pod.name == name);
        let asked = Stamp::harness(deed.began_us);
        // An init container that has not succeeded yet runs again in any case.
        let begun = |pod: &&PodLife<'_>| {
            first_lives(pod).is_some_and(|first| !first.iter().any(|of| run.before(&asked, &of.began)))
        };
        let Some(pod) = pod.filter(begun) else { continue };
        let of_init = |entry: &Value| {
            let container = entry["name"].as_str().and_then(|name| pod.container(name));
            container.is_some_and(|container| container.kind == ContainerKind::Init)
        };
        let mut images = list.iter().filter(|entry| entry.get("image").is_some()).peekable();
        if images.peek().is_none()
            || !images.all(of_init)
            || mains(pod).any(|main| changes_image(run, pod, main))
        {
            continue;
        }
        if let Some((what, event)) = touched_after(run, pod, *id) {
            seen.violated(format!("{what} after the image of an init container was changed"), [*id, event]);
        } else if run.watched_for(pod, &run.heard(*id), clause.tolerance_us("watched")) {
            seen.fine(run.to_the_end([*id]));
        }
    }
}

/// The first field of an init container, other than its image, that a patch tries to change.
fn other_field<'p>(run: &Timeline<'_>, patch: &'p Patch<'_, '_>, entry: &'p Value) -> Option<&'p str> {
    let known = patch.before(run).and_then(|shown| container_in(shown.object, entry["name"].as_str()?));
    let changed = |field: &str, asked: &Value| !known.is_some_and(|known| is_part_of(asked, &known[field]));
    let fields = entry.as_object()?.iter().filter(|(field, asked)| changed(field, asked));
    fields.map(|(field, _)| field.as_str()).find(|field| !["name", "image"].contains(field))
}

/// A patch of the image is accepted and shown; any other patch is rejected because the field is immutable.
pub(super) fn image_alone(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for patch in patches::of_pods(run) {
        let asked = patch.asked.pointer("/spec/initContainers").and_then(Value::as_array);
        let Some(list) = asked else { continue };
        let other = list.iter().find_map(|entry| other_field(run, &patch, entry));
        let mut images = list.iter().filter(|entry| entry.get("image").is_some()).peekable();
        match (patch.refused, other) {
            (Some(why), _) => judge_refusal(patch.id, (other, images.peek().is_some()), why, seen),
            (None, Some(other)) => {
                let finding = format!("the API server accepted a change to the {other} of an init container");
                seen.violated(finding, [patch.id]);
            }
            (None, None) => images.for_each(|entry| judge_image(patch.pod, patch.id, entry, seen)),
        }
    }
}

/// Judges an accepted patch of an image. Admission can store an image under another name.
fn judge_image(pod: &PodLife<'_>, id: EventId, entry: &Value, seen: &mut Seen) {
    let renamed = |asked: &Value, shown: &Value| {
        asked.as_str().zip(shown.as_str()).is_some_and(|(asked, shown)| is_renamed(asked, shown))
    };
    if let Some(shown) = shown_image(pod, id, entry, |asked, shown| asked == shown) {
        seen.fine([id, shown]);
        seen.facet("patch", "image");
    } else if let Some(shown) = shown_image(pod, id, entry, renamed) {
        let why = "the pod shows the new image under another name: admission may have replaced it";
        seen.doubt(Doubt::Ambiguous, why, [id, shown]);
    } else {
        let finding = "the API server accepted a patch of an image, but the pod does not show it";
        seen.violated(finding, [id]);
    }
}

/// Judges a rejected patch, which tried to change another field, an image, or both.
fn judge_refusal(id: EventId, (other, image): (Option<&str>, bool), why: &str, seen: &mut Seen) {
    let forbidden = why.contains("may not change fields");
    match other {
        Some(field) if forbidden => {
            seen.fine([id]);
            seen.facet("patch", field);
        }
        None if forbidden && image => {
            seen.violated("the API server rejected a new image for an init container", [id]);
        }
        _ => {
            let why = format!("the patch was rejected for another reason: {why}");
            seen.doubt(Doubt::StepFailed, why, [id]);
        }
    }
}
