//! Images for which a kubelet must ask the registry although they are on the node.

use probity_model::timeline::{ContainerLife, PodLife, State};
use probity_model::{Clause, EventId, Seen, Timeline};

use super::pull_times::{FAILED_PULL, PULLED, PULLING};
use crate::reading::statuses::of_kubelet;

/// The policy that requires this, according to the Kubernetes API reference.
const ALWAYS: &str = "Always";
/// What the event about an image says if the kubelet did not ask for it, in the reference implementation of Kubernetes.
const NOT_ASKED: &str = "already present on machine";

/// The image and the policy of a container.
fn image<'h>(container: &ContainerLife<'h>) -> (Option<&'h str>, Option<&'h str>) {
    let text = |field: &str| container.spec.get(field)?.as_str();
    (text("image"), text("imagePullPolicy"))
}

/// A revision that shows that another container with the same image runs on the same node, although its kubelet asks no
/// registry.
fn on_node(run: &Timeline<'_>, pod: &PodLife<'_>, container: &ContainerLife<'_>) -> Option<EventId> {
    let (wanted, _) = image(container);
    let on_same = run.pods.iter().filter(|other| other.node == pod.node);
    let all = on_same.flat_map(|other| other.containers.iter().map(move |of| (other, of)));
    let mut same = all.filter(|(_, of)| {
        let (own, policy) = image(of);
        own == wanted && policy != Some(ALWAYS)
    });
    same.find_map(|(other, of)| {
        let runs = of_kubelet(other).find(|shown| {
            let status = shown.container(&of.name);
            status.is_some_and(|status| matches!(status.state, State::Running { .. }))
        });
        runs.map(|shown| shown.id)
    })
}

/// A container whose policy is Always starts only after its registry responded: the kubelet does not just take an image that
/// is on the node.
pub(super) fn even_if_on_node(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        for container in pod.containers.iter().filter(|of| image(of).1 == Some(ALWAYS)) {
            let name = format!("{}/{}", pod.key, container.name);
            let mut taken = pod.events.iter().filter(|event| event.is_of(&container.name, PULLED));
            if let Some(event) = taken.find(|event| event.message.contains(NOT_ASKED)) {
                let finding = format!(
                    "the imagePullPolicy of {name} is Always, but the kubelet took the image of the node without a pull"
                );
                seen.violated(finding, [event.id]);
                continue;
            }
            let Some(there) = on_node(run, pod, container) else { continue };
            let pulled = pod.events.iter().find(|event| event.is_of(&container.name, PULLING));
            let waits = of_kubelet(pod).find(|shown| {
                let status = shown.container(&container.name);
                status.is_some_and(|status| {
                    matches!(status.state, State::Waiting { reason } if FAILED_PULL.contains(&reason))
                })
            });
            let asked = pulled.map(|event| event.id).or_else(|| waits.map(|shown| shown.id));
            if let Some(asked) = asked {
                seen.fine([there, asked]);
            }
        }
    }
}
