//! The containers of a pod as its spec lists them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::pod::{ContainerLife, Revision};
use super::spec::{ContainerKind, ProbeKind, ProbeSpec};

/// A container of this kind, without any instance yet.
fn life(kind: ContainerKind, spec: &Value) -> ContainerLife<'_> {
    let probes = ProbeKind::ALL.iter().filter_map(|kind| ProbeSpec::of(spec, *kind)).collect();
    ContainerLife { name: text(spec, "name").to_owned(), kind, spec, probes, attempts: Vec::new() }
}

/// The ephemeral containers that the last revision shows. Earlier revisions have no others, because ephemeral
/// containers cannot be removed.
pub(super) fn ephemeral<'h>(revisions: &[Revision<'h>]) -> Vec<ContainerLife<'h>> {
    let spec = revisions.last().and_then(|last| last.object.get("spec"));
    let list = spec.and_then(|spec| spec.get("ephemeralContainers")?.as_array());
    list.into_iter().flatten().map(|spec| life(ContainerKind::Ephemeral, spec)).collect()
}

/// The containers of a spec, init containers first; each without any instance yet.
pub(super) fn containers(spec: &Value) -> Vec<ContainerLife<'_>> {
    let list = |name: &str| spec.get(name).and_then(Value::as_array).into_iter().flatten();
    let init = list("initContainers").map(|spec| match text(spec, "restartPolicy") {
        "Always" => life(ContainerKind::Sidecar, spec),
        _ => life(ContainerKind::Init, spec),
    });
    let mut seen = BTreeSet::new();
    init.chain(list("containers").map(|spec| life(ContainerKind::Main, spec)))
        .filter(|container| seen.insert(container.name.clone()))
        .collect()
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}
