//! Static pods. The kubelet of a node runs each of them from a manifest, and creates a mirror pod for it, which the API
//! server shows.
//!
//! A mirror pod is not the static pod itself: it can be deleted and created again while the static pod keeps running.
//! So the timeline contains one pod for each static pod, with the revisions of its first mirror pod up to the deletion
//! of this mirror pod, and with a list of all its mirror pods.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Timeline;
use super::build::unknown_pod;
use super::pod::{Mirror, PodLife};
use crate::history::{Deed, Did, EventId, Happening, History, PLACE_STATIC_POD, REMOVE_STATIC_PODS};

/// The annotation of a mirror pod: the UID that its static pod has on the node.
const MIRRORED: &str = "kubernetes.io/config.mirror";

/// A manifest that was placed on a node.
struct Placed<'h> {
    id: EventId,
    node: &'h str,
    manifest: &'h Value,
}

/// The name of a mirror pod: the kubelet appends the name of its node.
fn mirror_name(manifest: &Value, node: &str) -> Option<String> {
    let name = manifest.get("metadata")?.get("name")?.as_str()?;
    Some(format!("{name}-{node}"))
}

fn placed(deed: &Deed) -> Option<(&str, &Value)> {
    match &deed.did {
        Did::NodeVerb { node, verb, input: Some(manifest), exit: Some(0), .. }
            if verb == PLACE_STATIC_POD =>
        {
            Some((node, manifest))
        }
        _ => None,
    }
}

/// The names of the mirror pods of all static pods that the harness placed.
pub(super) fn names(history: &History) -> BTreeSet<String> {
    let deeds = history.events().filter_map(|(_, event)| match &event.what {
        Happening::Deed(deed) => placed(deed),
        _ => None,
    });
    deeds.filter_map(|(node, manifest)| mirror_name(manifest, node)).collect()
}

/// Combines all mirror pods of each static pod into one pod.
pub(super) fn gather(timeline: &mut Timeline<'_>) {
    let deeds = timeline.deeds.iter();
    let all: Vec<Placed<'_>> = deeds
        .filter_map(|(id, deed)| {
            let (node, manifest) = placed(deed)?;
            Some(Placed { id: *id, node, manifest })
        })
        .collect();
    for of in all {
        let Some(name) = mirror_name(of.manifest, of.node) else { continue };
        let (mirrors, others) =
            std::mem::take(&mut timeline.pods).into_iter().partition(|pod| pod.name == name);
        timeline.pods = others;
        let mut pod = one_pod(&of, &name, mirrors);
        pod.deleted = removed(timeline, &of);
        timeline.pods.push(pod);
    }
}

/// The deed that removed the manifest of a static pod.
fn removed(timeline: &Timeline<'_>, of: &Placed<'_>) -> Option<EventId> {
    let removes = |deed: &Deed| matches!(&deed.did, Did::NodeVerb { node, verb, exit: Some(0), .. } if node == of.node && verb == REMOVE_STATIC_PODS);
    timeline.deeds.iter().find(|(id, deed)| *id > of.id && removes(deed)).map(|(id, _)| *id)
}

fn one_pod<'h>(of: &Placed<'h>, name: &str, mirrors: Vec<PodLife<'h>>) -> PodLife<'h> {
    let mut pod = unknown_pod(name, of.manifest);
    of.node.clone_into(&mut pod.node);
    pod.created = Some((of.id, of.manifest));
    for (nth, mirror) in mirrors.into_iter().enumerate() {
        if nth == 0 {
            pod.uid.clone_from(&mirror.uid);
            pod.spec = mirror.spec;
            pod.revisions =
                mirror.revisions.iter().filter(|of| !of.terminating() && !of.gone).cloned().collect();
        }
        pod.events.extend(mirror.events);
        pod.mirrors.push(Mirror { uid: mirror.uid, deleted: mirror.deleted, revisions: mirror.revisions });
    }
    pod.is_static = true;
    pod
}

impl PodLife<'_> {
    /// The UID that the pod has on its node. A static pod and its mirror pod have different UIDs.
    #[must_use]
    pub fn uid_on_node(&self) -> &str {
        let annotations = self.mirrors.iter().flat_map(|mirror| &mirror.revisions).find_map(|revision| {
            revision.object.get("metadata")?.get("annotations")?.get(MIRRORED)?.as_str()
        });
        annotations.unwrap_or(&self.uid)
    }
}
