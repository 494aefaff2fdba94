//! Learns the kinds of containers, and the probes of a port, from what the API server sends to the kubelet about pods.
//! The other proxies need these facts.

use serde_json::Value;

use crate::board::Board;
use crate::pods::probes::{PROBES, containers_of, probes_of};

/// The namespace and name of an object.
#[must_use]
pub(super) fn name_of(object: &Value) -> Option<(&str, &str)> {
    let text = |path| object.pointer(path).and_then(Value::as_str);
    Some((text("/metadata/namespace")?, text("/metadata/name")?))
}

/// Remembers a pod.
pub(super) fn learn(board: &Board, pod: &Value) {
    let Some((namespace, name)) = name_of(pod) else { return };
    for (container, kind) in containers_of(pod) {
        if let Some(container) = container.get("name").and_then(Value::as_str) {
            board.learn_kind(namespace, name, container, kind);
        }
    }
    PROBES.learn(namespace, name, probes_of(pod));
}

/// Forgets a pod that was removed.
pub(super) fn forget(pod: &Value) {
    if let Some((namespace, name)) = name_of(pod) {
        PROBES.forget(namespace, name);
    }
}
