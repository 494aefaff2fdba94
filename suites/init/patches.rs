//! Init containers of an existing pod: only their images can be changed, and such a change restarts nothing.

use probity_model::history::Did;
use probity_model::timeline::{ContainerKind, PodLife};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Stamp, Timeline};
use serde_json::Value;

use crate::reading::inits::touched_after;
use crate::reading::mains::{first_lives, mains};
use crate::reading::patches::{changes_image, is_renamed};

/// The fields of an init container, other than its image, that a patch may try to change.
const OTHERS: [&str; 4] = ["command", "args", "env", "resources"];

/// The changes of an accepted patch to the init containers of a pod.
fn patched(did: &Did) -> Option<(&str, &Vec<Value>)> {
    let Did::Patched { kind, name, patch, subresource } = did else { return None };
    let list = patch.get("spec")?.get("initContainers")?.as_array()?;
    // The resources of a container can also be changed, but only through the subresource `resize`.
    (kind == "Pod" && subresource.is_empty()).then_some((name, list))
}

/// Whether a failed step was a patch of an object itself, and not of its subresource `resize`.
fn is_patch(what: &str) -> bool {
    what.starts_with("patch ") && !what.contains(" (resize) ")
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

/// A patch of the image is accepted and shown; any other patch is rejected because the field is immutable.
pub(super) fn image_alone(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (id, deed) in &run.deeds {
        match &deed.did {
            Did::Failed { what, why } if is_patch(what) && what.contains("initContainers") => {
                judge_refusal(*id, what, why, seen);
            }
            did => {
                let Some((name, list)) = patched(did) else { continue };
                let other = list.iter().find_map(|entry| OTHERS.iter().find(|of| entry.get(**of).is_some()));
                if let Some(other) = other {
                    seen.violated(
                        format!("the API server accepted a change to the {other} of an init container"),
                        [*id],
                    );
                    continue;
                }
                let pod = run.pods.iter().rfind(|pod| pod.name == name);
                for entry in list.iter().filter(|entry| entry.get("image").is_some()) {
                    judge_image(pod, *id, entry, seen);
                }
            }
        }
    }
}

/// Judges an accepted patch of an image. Admission can store an image under another name.
fn judge_image(pod: Option<&PodLife<'_>>, id: EventId, entry: &Value, seen: &mut Seen) {
    let renamed = |asked: &Value, shown: &Value| {
        asked.as_str().zip(shown.as_str()).is_some_and(|(asked, shown)| is_renamed(asked, shown))
    };
    if let Some(shown) = pod.and_then(|pod| shown_image(pod, id, entry, |asked, shown| asked == shown)) {
        seen.fine([id, shown]);
        seen.facet("patch", "image");
    } else if let Some(shown) = pod.and_then(|pod| shown_image(pod, id, entry, renamed)) {
        let why = "the pod shows the new image under another name: admission may have replaced it";
        seen.doubt(Doubt::Ambiguous, why, [id, shown]);
    } else {
        let finding = "the API server accepted a patch of an image, but the pod does not show it";
        seen.violated(finding, [id]);
    }
}

/// Judges a rejected patch, of which the history has only the message.
fn judge_refusal(id: EventId, what: &str, why: &str, seen: &mut Seen) {
    let forbidden = why.contains("may not change fields");
    match OTHERS.iter().find(|field| what.contains(&format!("{field}: "))) {
        Some(field) if forbidden => {
            seen.fine([id]);
            seen.facet("patch", *field);
        }
        None if forbidden => seen.violated("the API server rejected a new image for an init container", [id]),
        _ => {
            let why = format!("the patch was rejected for another reason: {why}");
            seen.doubt(Doubt::StepFailed, why, [id]);
        }
    }
}
