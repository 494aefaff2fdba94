//! What differs for sidecars, and for containers that only sleep: when they begin and end, and what they listen to.
//!
//! Nothing here judges. A sidecar is started again under every restart policy, begins before the main containers and
//! ends after them; all else that holds for a container holds for it.

use probity_model::timeline::{ContainerKind, ContainerLife, PodLife, ProbeKind};
use serde_json::json;

/// Whether a container is one of ours that only sleeps: it has no plan and listens to nothing.
pub(crate) fn sleeps(container: &ContainerLife<'_>) -> bool {
    let program = container.spec.get("command").is_none();
    program && container.plan().is_none() && container.spec.get("args") == Some(&json!(["pause"]))
}

/// The containers that a kubelet may have to start before it looks at this one's probes: all that stay, but behind a
/// sidecar with a startup probe only those before it, since the others wait for that.
pub(crate) fn started_before<'t, 'h>(
    pod: &'t PodLife<'h>,
    container: &'t ContainerLife<'h>,
) -> impl Iterator<Item = &'t ContainerLife<'h>> {
    let gate = container.kind == ContainerKind::Sidecar && container.probe(ProbeKind::Startup).is_some();
    let own = pod.containers.iter().position(|other| other.name == container.name).unwrap_or_default();
    let upto = if gate { own + 1 } else { pod.containers.len() };
    pod.containers.iter().take(upto).filter(|container| container.kind != ContainerKind::Init)
}
