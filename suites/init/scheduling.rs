//! Scheduling counts what init containers and sidecars request, even if the main containers request nothing.

use probity_model::timeline::{ContainerKind, PodLife, Revision};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use crate::reading::scheduling::SCHEDULED;

/// The prefix of resources that no node has: only the harness uses it.
const NOWHERE: &str = "probity.dev/";
/// The reason of the condition if no node fits: Kubernetes documentation.
const UNSCHEDULABLE: &str = "Unschedulable";

/// Whether a container requests a resource that no node has.
fn asks(container: &Value) -> bool {
    let requests = container.get("resources").and_then(|of| of.get("requests")?.as_object());
    requests.is_some_and(|requests| requests.keys().any(|name| name.starts_with(NOWHERE)))
}

/// The kind of the containers that request a resource that no node has. `None` if they are of several kinds, or if main
/// containers are among them.
fn hindered_by(pod: &PodLife<'_>) -> Option<ContainerKind> {
    let mut kinds =
        pod.containers.iter().filter(|container| asks(container.spec)).map(|container| container.kind);
    let first = kinds.next().filter(|kind| *kind != ContainerKind::Main)?;
    kinds.all(|kind| kind == first).then_some(first)
}

fn is_unschedulable(shown: &Revision<'_>) -> bool {
    let reason = shown.condition(SCHEDULED).and_then(|of| of.get("reason")?.as_str());
    shown.is(SCHEDULED) == Some(false) && reason == Some(UNSCHEDULABLE)
}

fn has_node(shown: &Revision<'_>) -> bool {
    shown.object["spec"]["nodeName"].is_string()
}

/// A pod with an init container that fits on no node stays unscheduled, while other pods are scheduled.
pub(super) fn counts_inits(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let free = run.pods.iter().filter(|pod| !pod.containers.iter().any(|container| asks(container.spec)));
    let beside = free.filter_map(|pod| pod.revisions.iter().find(|shown| has_node(shown))).next();
    for pod in &run.pods {
        let Some(kind) = hindered_by(pod) else { continue };
        if let Some(bound) = pod.revisions.iter().find(|shown| has_node(shown)) {
            let what = if kind == ContainerKind::Sidecar { "a sidecar" } else { "an init container" };
            let finding =
                format!("{} has a node, although {what} in it requests a resource that no node has", pod.key);
            seen.violated(finding, [bound.id]);
            continue;
        }
        let (Some(beside), Some(shown)) =
            (beside, pod.revisions.iter().find(|shown| is_unschedulable(shown)))
        else {
            continue;
        };
        if run.watched_for(pod, &shown.at, clause.tolerance_us("watched")) {
            seen.fine(run.to_the_end([shown.id, beside.id]));
            seen.facet("container", if kind == ContainerKind::Sidecar { "sidecar" } else { "init" });
        }
    }
}
