//! Containers whose images are not on the node and cannot be pulled: what their status shows, and which events are
//! recorded.

use std::collections::BTreeSet;

use probity_model::timeline::{At, ContainerKind, ContainerLife, KubeEvent, PodLife, Revision, State};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::pull_times::{FAILED_PULL, PULLING, Pulls};
use super::tally::Told;
use super::{NORMAL, WARNING};
use crate::reading::patches::changes_image;
use crate::reading::statuses::of_kubelet;

/// The registry of images that no node can have: port 9 is the discard service (RFC 863), which serves no images.
const NOWHERE: &str = "localhost:9/";

/// Why it is not known when the status and the events are due.
const UNENDED: &str = "nothing shows that a pull for the pod has ended";

/// Why the image of a container cannot be used.
#[derive(Clone, Copy)]
pub(super) enum Lack {
    /// Its policy forbids a pull, and no node has it.
    Unpulled,
    /// Its name is not a valid image name.
    Misnamed,
    /// No registry serves it.
    Unserved,
}

impl Lack {
    fn of(container: &ContainerLife<'_>) -> Option<Self> {
        let text = |field: &str| container.spec.get(field).and_then(Value::as_str).unwrap_or_default();
        let (image, policy) = (text("image"), text("imagePullPolicy"));
        match policy {
            _ if is_misnamed(image) => Some(Self::Misnamed),
            "Never" if image.starts_with(NOWHERE) => Some(Self::Unpulled),
            "Always" | "IfNotPresent" if image.starts_with(NOWHERE) => Some(Self::Unserved),
            _ => None,
        }
    }

    /// The waiting reasons of such a container, in the reference implementation of Kubernetes.
    fn reasons(self) -> &'static [&'static str] {
        match self {
            Self::Unpulled => &["ErrImageNeverPull"],
            Self::Misnamed => &["InvalidImageName"],
            Self::Unserved => &FAILED_PULL,
        }
    }

    /// The events about it, each with its type, in the reference implementation of Kubernetes.
    fn events(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Unpulled => &[("ErrImageNeverPull", WARNING), ("Failed", WARNING)],
            Self::Misnamed => &[("InspectFailed", WARNING), ("Failed", WARNING)],
            Self::Unserved => &[(PULLING, NORMAL), ("Failed", WARNING), ("BackOff", NORMAL)],
        }
    }
}

/// Whether the last part of an image's name has a capital letter before its tag, which no repository has.
fn is_misnamed(image: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or_default();
    let name = last.split([':', '@']).next().unwrap_or_default();
    name.chars().any(|char| char.is_ascii_uppercase())
}

/// The pods that are not ended from outside, such as by a deletion or an eviction.
fn plain<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = &'t PodLife<'h>> {
    run.pods.iter().filter(move |pod| {
        !pod.was_ended_from_outside() && run.deletion(pod).is_none() && !run.node_was_touched()
    })
}

/// The containers that do not start only because their image is missing: no other container of the pod must start
/// before them.
pub(super) fn lacking<'t, 'h>(
    run: &'t Timeline<'h>,
) -> impl Iterator<Item = (&'t PodLife<'h>, &'t ContainerLife<'h>, Lack)> {
    let firsts = plain(run).flat_map(|pod| {
        let helped = pod.containers.iter().any(|of| of.kind != ContainerKind::Main);
        pod.containers.iter().take(if helped { 1 } else { pod.containers.len() }).map(move |of| (pod, of))
    });
    let lacks = firsts.filter_map(|(pod, of)| Some((pod, of, Lack::of(of)?)));
    lacks.filter(|(pod, of, _)| !changes_image(run, pod, of))
}

/// The first revision that shows that a pod has its network, so that its containers can be started.
fn begun<'p, 'h>(pod: &'p PodLife<'h>) -> Option<&'p Revision<'h>> {
    of_kubelet(pod).find(|shown| shown.is("PodReadyToStartContainers") == Some(true))
}

/// The first revision that shows an ephemeral container in the spec of a pod that has its network. Ephemeral containers wait
/// for no other container.
fn added<'p, 'h>(pod: &'p PodLife<'h>, container: &ContainerLife<'_>) -> Option<&'p Revision<'h>> {
    let listed = |shown: &&Revision<'_>| {
        let list = shown.object.pointer("/spec/ephemeralContainers").and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(|of| of["name"] == container.name.as_str()))
    };
    let ready = |shown: &&Revision<'_>| shown.is("PodReadyToStartContainers") == Some(true);
    of_kubelet(pod).filter(ready).find(listed)
}

/// A container whose image is missing waits for this image, and is never shown as running.
pub(super) fn waits(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let ephemeral = plain(run).flat_map(|pod| pod.ephemeral.iter().map(move |of| (pod, of)));
    let ephemeral = ephemeral.filter_map(|(pod, of)| Some((pod, of, Lack::of(of)?, added(pod, of))));
    let others = lacking(run).map(|(pod, of, lack)| (pod, of, lack, begun(pod)));
    for (pod, container, lack, first) in others.chain(ephemeral) {
        let (name, mut said) = (format!("{}/{}", pod.key, container.name), BTreeSet::new());
        for shown in of_kubelet(pod) {
            let Some(status) = shown.container(&container.name) else { continue };
            match status.state {
                State::Waiting { reason } if lack.reasons().contains(&reason) => {
                    if said.insert(reason) {
                        seen.fine([shown.id]);
                        seen.facet("reason", reason);
                    }
                }
                // The container is shown in this way before the kubelet handles it.
                State::Waiting { reason: "ContainerCreating" | "PodInitializing" } if said.is_empty() => {}
                State::Waiting { reason } => {
                    seen.violated(
                        format!("{name} has no image, but is waiting with the reason {reason:?}"),
                        [shown.id],
                    );
                }
                _ => seen.violated(format!("{name} has no image, but is not shown as waiting"), [shown.id]),
            }
        }
        let Some(first) = first.filter(|_| said.is_empty()) else { continue };
        let delay = Pulls::of(run, pod).delay(&first.at, clause.slack_us());
        if !run.watched_for(pod, &first.at, clause.slack_us().saturating_add(delay.unwrap_or_default())) {
            continue;
        }
        if delay.is_none() {
            seen.doubt(Doubt::TooShort, format!("{name} has no image, but {UNENDED}"), [first.id]);
        } else {
            let finding = format!("{name} has no image, but its status does not show this");
            seen.violated(finding, run.to_the_end([first.id]));
        }
    }
}

/// Each attempt to get an image is reported, with its result.
pub(super) fn reported(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container, lack) in lacking(run) {
        let (pulls, Some(first)) = (Pulls::of(run, pod), begun(pod)) else { continue };
        let delay = pulls.delay(&first.at, clause.slack_us());
        let from = At::new(first.id, first.at.later(delay.unwrap_or_default()));
        for (reason, kind) in lack.events() {
            let says = |event: &KubeEvent<'_>| event.is_of(&container.name, reason);
            match pulls.tally.told(clause, &from, (kind, 1), says) {
                Told::Yes(event) => {
                    seen.fine([first.id, event]);
                    seen.facet("reason", *reason);
                }
                Told::No if delay.is_none() => {
                    let why =
                        format!("no event {reason} is about {}/{}, but {UNENDED}", pod.key, container.name);
                    seen.doubt(Doubt::TooShort, why, [first.id]);
                }
                Told::No => {
                    let finding = format!(
                        "{}/{} has no image, but no event {reason} reports this",
                        pod.key, container.name
                    );
                    seen.violated(finding, run.to_the_end([first.id]));
                }
                Told::Unknown => {}
            }
        }
    }
}
