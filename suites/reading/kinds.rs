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
/// running, up to the first one that makes the next ones wait. A sidecar with a startup probe makes them wait until that
/// probe succeeds, and an init container until it ends.
pub(crate) fn started_before<'t, 'h>(
    pod: &'t PodLife<'h>,
    container: &'t ContainerLife<'h>,
) -> impl Iterator<Item = &'t ContainerLife<'h>> {
    let gates = |other: &ContainerLife<'_>| {
        other.kind == ContainerKind::Sidecar && other.probe(ProbeKind::Startup).is_some()
    };
    let is_init = |other: &ContainerLife<'_>| other.kind == ContainerKind::Init;
    let own = pod.containers.iter().position(|other| other.name == container.name).unwrap_or_default();
    let from_own = pod.containers.iter().skip(own);
    let upto = from_own.take_while(|other| !gates(other) && !is_init(other)).count() + own;
    let last =
        pod.containers.get(upto).filter(|last| gates(last) || container.kind == ContainerKind::Sidecar);
    pod.containers.iter().take(upto).filter(|container| container.stays()).chain(last)
}
