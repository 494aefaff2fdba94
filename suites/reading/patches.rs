//! Patches of pods by the harness: what each one asked for, and whether the API server accepted it.

use probity_case::ONLY;
use probity_document as document;
use probity_model::clocks::Stamp;
use probity_model::history::{Deed, Did};
use probity_model::timeline::{ContainerLife, PodLife, Revision};
use probity_model::{EventId, Timeline};
use serde_json::Value;

/// The subresource through which ephemeral containers are added.
pub(crate) const EPHEMERAL: &str = "ephemeralcontainers";

/// The subresource through which resources are changed in place.
pub(crate) const RESIZE: &str = "resize";

/// The condition of a resize that must wait, because its node lacks room or does not support it.
pub(crate) const PENDING: &str = "PodResizePending";
/// The condition of a resize that is being enacted.
pub(crate) const IN_PROGRESS: &str = "PodResizeInProgress";
/// The conditions of a resize that is not complete.
pub(crate) const RESIZING: [&str; 2] = [PENDING, IN_PROGRESS];

/// Whether a revision shows a resize that is not complete.
pub(crate) fn is_resizing(shown: &Revision<'_>) -> bool {
    RESIZING.iter().any(|kind| shown.condition(kind).is_some())
}

/// The field of an ephemeral container that names the container whose process namespace it shares.
pub(crate) const TARGET_CONTAINER: &str = "targetContainerName";

/// A patch of a pod, or of a subresource of it.
pub(crate) struct Patch<'t, 'h> {
    /// The deed.
    pub(crate) id: EventId,
    /// When it began.
    pub(crate) began: Stamp,
    /// When its answer arrived.
    pub(crate) done: Stamp,
    /// The pod.
    pub(crate) pod: &'t PodLife<'h>,
    /// The requested change.
    pub(crate) asked: Value,
    /// The API server's message if it rejected the patch.
    pub(crate) refused: Option<&'h str>,
}

/// The last resize of a pod.
pub(crate) fn last_resize(run: &Timeline<'_>, pod: &PodLife<'_>) -> Option<EventId> {
    let mut deeds = run.deeds.iter().rev();
    let last = deeds.find(|(_, deed)| match &deed.did {
        Did::Patched { name, subresource, .. } => *name == pod.name && subresource == RESIZE,
        _ => false,
    });
    last.map(|(id, _)| *id)
}

/// All patches of pods themselves, in order.
pub(crate) fn of_pods<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Patch<'t, 'h>> {
    of_part(run, "")
}

/// All patches of a subresource of pods, in order, including ephemeral containers that steps added.
pub(crate) fn of_part<'t, 'h>(run: &'t Timeline<'h>, part: &str) -> Vec<Patch<'t, 'h>> {
    let read = |(id, deed): &(EventId, &'h Deed)| {
        let began = Stamp::harness(deed.began_us);
        let known =
            |pod: &&PodLife<'h>| pod.revisions.first().is_some_and(|first| run.before(&first.at, &began));
        let mut pods = run.pods.iter().filter(known);
        let (pod, asked, refused) = match &deed.did {
            Did::Patched { kind, name, patch, subresource } if kind == "Pod" && subresource == part => {
                (pods.rfind(|pod| pod.name == *name)?, patch.clone(), None)
            }
            Did::Failed { what, why } => {
                let (key, asked) = from_words(what, part)?;
                (pods.rfind(|pod| pod.key == key)?, asked, Some(why.as_str()))
            }
            _ => return None,
        };
        Some(Patch { id: *id, began, done: run.heard(*id), pod, asked, refused })
    };
    run.deeds.iter().filter_map(read).collect()
}

/// The pod's key and the patch of this subresource. For a failed step, only its description is known, which contains
/// the patch in the form in which a case writes it.
fn from_words<'w>(what: &'w str, part: &str) -> Option<(&'w str, Value)> {
    let rest = what.strip_prefix("patch the pod")?;
    // Older histories use `by`.
    let parts = [" with ", " by "].into_iter().filter_map(|word| rest.split_once(word));
    let (whose, patch) = parts.min_by_key(|(whose, _)| whose.len())?;
    let (pod, of) = match whose.rsplit_once(" (") {
        Some((pod, of)) => (pod, of.trim_end_matches(')')),
        None => (whose, ""),
    };
    let key = if pod.is_empty() { ONLY } else { pod.trim_start() };
    (of == part).then(|| Some((key, document::read("patch", "patch", patch).ok()?)))?
}

/// A container in the spec of a pod, or in a patch of one.
pub(crate) fn container_in<'v>(pod: &'v Value, name: &str) -> Option<&'v Value> {
    let lists = ["containers", "initContainers"].into_iter().filter_map(|list| pod["spec"][list].as_array());
    lists.flatten().find(|container| container["name"] == name)
}

/// Its image.
pub(crate) fn image_in<'v>(pod: &'v Value, name: &str) -> Option<&'v str> {
    container_in(pod, name)?["image"].as_str()
}

/// The last part of an image's name, without its tag and its digest, and these two if it has them.
fn parts_of(image: &str) -> (&str, Option<&str>, Option<&str>) {
    let last = image.rsplit_once('/').map_or(image, |(_, last)| last);
    let (tagged, digest) =
        last.split_once('@').map_or((last, None), |(tagged, digest)| (tagged, Some(digest)));
    let (name, tag) = tagged.split_once(':').map_or((tagged, None), |(name, tag)| (name, Some(tag)));
    (name, tag, digest)
}

/// Whether two images have the same name, perhaps in different registries.
pub(crate) fn is_named_alike(one: &str, other: &str) -> bool {
    parts_of(one).0 == parts_of(other).0
}

/// Whether an image that was asked for is shown under another name. Admission can replace the registry of an image, and
/// can add the digest of an image or replace its tag with it.
pub(crate) fn is_renamed(asked: &str, shown: &str) -> bool {
    let ((name, tag, digest), (shown_name, shown_tag, shown_digest)) = (parts_of(asked), parts_of(shown));
    let keeps_tag = shown_tag == tag || shown_tag.is_none() && shown_digest.is_some();
    asked != shown && shown_name == name && keeps_tag && (digest.is_none() || shown_digest == digest)
}

/// Whether a patch of the pod names an image for a container: in that case, the process of the container is replaced.
pub(crate) fn changes_image(run: &Timeline<'_>, pod: &PodLife<'_>, container: &ContainerLife<'_>) -> bool {
    is_accepted(run, pod, "", |asked| image_in(asked, &container.name).is_some())
}

/// Whether a resize names a container, whose policy may restart it.
fn is_resized(run: &Timeline<'_>, pod: &PodLife<'_>, container: &ContainerLife<'_>) -> bool {
    is_accepted(run, pod, RESIZE, |asked| container_in(asked, &container.name).is_some())
}

/// Whether the kubelet may stop a container and start it again because its image or its resources change.
pub(crate) fn restarts_for_update(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    container: &ContainerLife<'_>,
) -> bool {
    changes_image(run, pod, container) || is_resized(run, pod, container)
}

/// Whether the kubelet may stop a container because of its spec: its image or resources change, or its pod
/// has a deadline.
pub(crate) fn may_stop_for_spec(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    container: &ContainerLife<'_>,
) -> bool {
    restarts_for_update(run, pod, container) || pod.had_deadline()
}

/// Whether the API server accepted a patch of this subresource of a pod that asks for something.
fn is_accepted(run: &Timeline<'_>, pod: &PodLife<'_>, part: &str, asks: impl Fn(&Value) -> bool) -> bool {
    let patches = of_part(run, part);
    patches.iter().any(|patch| patch.pod.uid == pod.uid && patch.refused.is_none() && asks(&patch.asked))
}

/// Whether a value contains everything that another one asks for; the API server sets defaults.
pub(crate) fn is_part_of(asked: &Value, shown: &Value) -> bool {
    match (asked, shown) {
        (Value::Object(asked), Value::Object(shown)) => {
            asked.iter().all(|(field, asked)| shown.get(field).is_some_and(|shown| is_part_of(asked, shown)))
        }
        (Value::Array(asked), Value::Array(shown)) => {
            asked.iter().all(|asked| shown.iter().any(|shown| is_part_of(asked, shown)))
        }
        _ => asked == shown,
    }
}

impl<'t, 'h> Patch<'t, 'h> {
    /// The pod before the patch, as last shown.
    pub(crate) fn before(&self, run: &Timeline<'_>) -> Option<&'t Revision<'h>> {
        self.pod.revisions.iter().rev().find(|shown| run.before(&shown.at, &self.began))
    }

    /// The revisions that may show the patch. The watch may be faster than the answer.
    pub(crate) fn after(&self, run: &Timeline<'_>) -> impl Iterator<Item = &'t Revision<'h>> {
        let known = self.before(run).map(|before| before.id);
        self.pod.revisions.iter().filter(move |shown| known.is_none_or(|known| shown.id > known))
    }

    /// Whether the pod shows the image from the patch for a container, but only under another name.
    pub(crate) fn is_renamed(&self, run: &Timeline<'_>, container: &str) -> bool {
        let Some(asked) = image_in(&self.asked, container) else { return false };
        let mut renamed = false;
        for image in self.after(run).filter_map(|shown| image_in(shown.object, container)) {
            if image == asked {
                return false;
            }
            renamed |= is_renamed(asked, image);
        }
        renamed
    }

    /// Whether the API server rejected the patch because it is invalid, and not for another reason.
    pub(crate) fn is_invalid(&self) -> bool {
        self.refused.is_some_and(|why| why.contains("422 Invalid"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_image_keeps_its_name_in_another_registry() {
        assert!(is_renamed("a.local/b:1", "mirror:5000/a.local/b:1"));
        assert!(is_renamed("b:1", "b:1@sha256:0"));
        assert!(is_renamed("b:1", "mirror/b@sha256:0"));
        assert!(!is_renamed("b:1", "b:1"), "it is the same name");
        assert!(!is_renamed("b:1", "b:2"), "it is another image");
        assert!(!is_renamed("b:1", "mirror/c:1"));
        assert!(!is_renamed("b:1", "b"));
        assert!(!is_renamed("b@sha256:0", "b@sha256:1"));
    }

    #[test]
    fn a_failed_patch_is_read_from_its_sentence() {
        let read = from_words("patch the pod by { spec: { activeDeadlineSeconds: null } }", "");
        assert_eq!(read, Some((ONLY, json!({ "spec": { "activeDeadlineSeconds": null } }))));
        let read = from_words("patch the pod a with { metadata: { finalizers: [probity.dev/late] } }", "");
        assert_eq!(read, Some(("a", json!({ "metadata": { "finalizers": ["probity.dev/late"] } }))));
        let read =
            from_words("patch the pod by { spec: { containers: [{ name: c, image: a.local/b:1 }] } }", "");
        let image = json!([{ "name": "c", "image": "a.local/b:1" }]);
        assert_eq!(read, Some((ONLY, json!({ "spec": { "containers": image } }))));
        let resized = "patch the pod a (resize) by { spec: {} }";
        assert_eq!(from_words(resized, "resize"), Some(("a", json!({ "spec": {} }))));
        assert_eq!(from_words(resized, ""), None, "it is a patch of a subresource");
        assert_eq!(from_words("patch Service web by { spec: {} }", ""), None);
        assert_eq!(from_words("patch the pod by { metadata: { labels: { a: b…", ""), None, "it was cut off");
    }
}
