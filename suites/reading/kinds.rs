//! The special properties of sidecars, and of containers that only sleep: when they start, and where they listen.
//!
//! A sidecar is started again under every restart policy, begins before the main containers and ends after them. In all
//! other respects, a sidecar is a container like any other.

use probity_model::timeline::{ContainerKind, ContainerLife, PodLife, ProbeKind};
use serde_json::json;

/// Whether a container runs the target without a plan: it only sleeps, and does not listen on any port.
pub(crate) fn sleeps(container: &ContainerLife<'_>) -> bool {
    let program = container.spec.get("command").is_none();
    program && container.plan().is_none() && container.spec.get("args") == Some(&json!(["pause"]))
}

/// The containers that a kubelet may have to start before it handles the probes of this container: all that keep
/// running. For a sidecar with a startup probe, these are only the earlier containers, because the later ones wait for
/// that probe.
pub(crate) fn started_before<'t, 'h>(
    pod: &'t PodLife<'h>,
    container: &'t ContainerLife<'h>,
) -> impl Iterator<Item = &'t ContainerLife<'h>> {
    let gate = container.kind == ContainerKind::Sidecar && container.probe(ProbeKind::Startup).is_some();
    let own = pod.containers.iter().position(|other| other.name == container.name).unwrap_or_default();
    let upto = if gate { own + 1 } else { pod.containers.len() };
    pod.containers.iter().take(upto).filter(|container| container.stays())
}
