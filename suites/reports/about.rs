//! The metadata of an event: the pod and the container that it is about, the component that recorded it, and its type.

use std::collections::BTreeSet;

use probity_model::timeline::{ContainerKind, ContainerLife, KubeEvent, PodLife};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::{KUBELET, kind_of, of_containers, word};

/// Reports each event about a container that `wrong` finds fault with. For each reason, one correct event is cited.
fn judge_each<'p, 'h: 'p>(
    pods: impl IntoIterator<Item = &'p PodLife<'h>>,
    seen: &mut Seen,
    wrong: impl Fn(&PodLife<'h>, &KubeEvent<'h>) -> Option<String>,
) {
    for pod in pods {
        let mut said = BTreeSet::new();
        for event in of_containers(pod) {
            if let Some(wrong) = wrong(pod, event) {
                seen.violated(format!("an event {} about {} {wrong}", event.reason, pod.key), [event.id]);
            } else if said.insert(word(event)) {
                seen.fine([event.id]);
                seen.facet("reason", word(event));
            }
        }
    }
}

/// An event names its pod with everything that distinguishes it from other objects.
pub(super) fn names_its_pod(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge_each(&run.pods, seen, misnamed);
    for event in run.strays.iter().filter(|event| kind_of(event).is_some()) {
        let uid = event.text("/involvedObject/uid").unwrap_or_default();
        if !run.pods.iter().any(|pod| pod.uid == uid) {
            let finding = format!("an event {} is about {uid:?}, which no pod has as its UID", event.reason);
            seen.violated(finding, run.to_the_end([event.id]));
        }
    }
}

/// What is wrong with the reference of an event to its pod.
fn misnamed(pod: &PodLife<'_>, event: &KubeEvent<'_>) -> Option<String> {
    let namespace = pod.last()?.object.pointer("/metadata/namespace").and_then(Value::as_str);
    let fields = [
        ("apiVersion", Some("v1")),
        ("kind", Some("Pod")),
        ("namespace", namespace),
        ("name", Some(pod.name.as_str())),
        ("uid", Some(pod.uid_on_node())),
    ];
    fields.into_iter().find_map(|(field, wanted)| {
        let is = event.text(&format!("/involvedObject/{field}"));
        let wrong = wanted.is_some() && is != wanted;
        wrong.then(|| format!("has the {field} {:?}", is.unwrap_or_default()))
    })
}

/// An event names the kubelet of the pod's node.
pub(super) fn names_its_kubelet(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let bound = run.pods.iter().filter(|pod| !pod.node.is_empty());
    judge_each(bound, seen, |pod, event| {
        let node = pod.node.as_str();
        let mut fields = vec![("/source/component", KUBELET), ("/source/host", node)];
        // A combined event is a copy without these two fields.
        if !event.is_combined() {
            fields.extend([("/reportingComponent", KUBELET), ("/reportingInstance", node)]);
        }
        let (path, wanted) = fields.into_iter().find(|(path, wanted)| event.text(path) != Some(wanted))?;
        let is = event.text(path).unwrap_or_default();
        Some(format!("has {is:?} in {path}, not {wanted:?}"))
    });
}

/// An event about a container has the path of that container in the pod.
pub(super) fn names_its_container(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let mut said = BTreeSet::new();
        for event in of_containers(pod) {
            let path = event.text("/involvedObject/fieldPath").unwrap_or_default();
            // Only the reason and the type of a combined event are certain. The image of a volume belongs to no container.
            if event.is_combined() || (path.is_empty() && may_be_of_a_volume(pod, event)) {
                continue;
            }
            let container = event.container.and_then(|name| container_of(pod, name));
            // If the record of the pod has gaps, an ephemeral container may have been added unseen.
            if container.is_none() && path.starts_with("spec.ephemeralContainers") && !run.gaps.is_empty() {
                continue;
            }
            let list = match container.map(|of| of.kind) {
                Some(ContainerKind::Main) => "containers",
                Some(ContainerKind::Ephemeral) => "ephemeralContainers",
                _ => "initContainers",
            };
            match container {
                Some(of) if path == format!("spec.{list}{{{}}}", of.name) => {
                    if said.insert((word(event), of.kind.word())) {
                        seen.fine([event.id]);
                        seen.facet("container", of.kind.word());
                        seen.facet("reason", word(event));
                    }
                }
                _ => {
                    let finding = format!(
                        "an event {} of {} has the path {path:?}, which does not belong to any of its containers",
                        event.reason, pod.key
                    );
                    seen.violated(finding, [event.id]);
                }
            }
        }
    }
}

/// Whether an event may be about the image of a volume.
fn may_be_of_a_volume(pod: &PodLife<'_>, event: &KubeEvent<'_>) -> bool {
    let of_pull = !matches!(event.reason, "Created" | "Started" | "Killing" | "Unhealthy" | "ProbeWarning");
    let volumes = pod.spec.get("volumes").and_then(Value::as_array);
    of_pull && volumes.is_some_and(|volumes| volumes.iter().any(|volume| volume.get("image").is_some()))
}

/// A container of a pod, including one that was added to it.
fn container_of<'p, 'h>(pod: &'p PodLife<'h>, name: &str) -> Option<&'p ContainerLife<'h>> {
    pod.container(name).or_else(|| pod.ephemeral.iter().find(|of| of.name == name))
}

/// An event has the type that belongs to its reason.
pub(super) fn has_its_type(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge_each(&run.pods, seen, |_, event| {
        let wanted = kind_of(event).unwrap_or_default();
        (event.kind != wanted).then(|| format!("has the type {:?}, not {wanted}", event.kind))
    });
}
