//! Which records of the changes that runs made to nodes are trusted.
//!
//! `gc` finds records by their labels, and anybody who may create an object in some namespace can give it these labels.
//! Without a check, that person could make `gc` run the user's command on nodes, and remove taints, cordons and
//! extended resources.

use probity_case::manifest::RUN;
use serde_json::Value;

use crate::api::client::ClusterClient;
use crate::fields::Fields as _;
use crate::setup::node_changes::NodeChange;
use crate::setup::undo;

/// Why a record is not trusted; `None` if it is trusted. A namespace that the user names is trusted.
pub(super) async fn doubt(
    cluster: &ClusterClient,
    record: &Value,
    vouched: Option<&str>,
) -> Option<&'static str> {
    if !is_as_written(record) {
        return Some(
            "this is not a record of a run: its name does not match its content, or its node name is invalid; delete it",
        );
    }
    let place = record.text("/metadata/namespace");
    if vouched == Some(place) {
        return None;
    }
    // Anybody who may label a namespace has permissions in the whole cluster, and could do harm without a record.
    let namespace = cluster.get("", "Namespace", place).await.ok().flatten().unwrap_or_default();
    let run = record["metadata"]["labels"][RUN].as_str();
    (run.is_none() || namespace["metadata"]["labels"][RUN].as_str() != run).then_some(
        "the run did not create this namespace, or it cannot be read; if the run used it, pass it with --namespace, otherwise delete the record",
    )
}

/// Whether a record has the name that a run gives to a record of this content, and a valid node name.
fn is_as_written(record: &Value) -> bool {
    let node = record.text("/data/node");
    let name = match NodeChange::of_record(record) {
        Some(change) => Some(change.record_name(node)),
        None => undo::name_of(record),
    };
    is_node_name(node) && name.as_deref() == Some(record.name())
}

/// Whether this can be the UID of a pod. Any other text could be an option or a path for the user's command.
pub(super) fn is_uid(uid: &str) -> bool {
    !uid.starts_with('-') && uid.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// Whether this can be the name of a node. Any other text could be an option or a path for the user's command.
pub(crate) fn is_node_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label = |label: &str| {
        label.starts_with(plain) && label.ends_with(plain) && label.chars().all(|c| plain(c) || c == '-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(name: &str, data: Value) -> Value {
        json!({ "metadata": { "name": name }, "data": data })
    }

    #[test]
    fn only_a_record_as_runs_write_it_is_believed() {
        let taint =
            |node: &str| json!({ "node": node, "change": "taint", "key": "a/b", "effect": "NoExecute" });
        let resource =
            |name: &str| json!({ "node": "n1", "change": "resource", "name": name, "amount": "1" });
        for (name, data) in [
            ("probity-heal-n1", json!({ "node": "n1", "verb": "heal" })),
            ("probity-cordon-n1", json!({ "node": "n1", "change": "cordon" })),
            ("probity-taint-n1-a.b-noexecute", taint("n1")),
            ("probity-resource-n1-probity.dev.room", resource("probity.dev/room")),
        ] {
            assert!(is_as_written(&record(name, data)), "{name}");
        }
        for (name, data) in [
            ("probity-heal-n2", json!({ "node": "n1", "verb": "heal" })),
            ("probity-kill-n1", json!({ "node": "n1", "verb": "kill" })),
            ("probity-heal---all", json!({ "node": "--all", "verb": "heal" })),
            ("probity-heal-../n1", json!({ "node": "../n1", "verb": "heal" })),
            ("probity-heal-", json!({ "node": "", "verb": "heal" })),
            ("probity-taint-n2-a.b-noexecute", taint("n1")),
            ("probity-taint-n1-a.b-noexecute", json!({})),
            ("probity-resource-n1-cpu", resource("cpu")),
        ] {
            assert!(!is_as_written(&record(name, data)), "{name}");
        }
    }

    #[test]
    fn a_node_has_the_name_of_a_host() {
        for name in ["n1", "ip-10-0-0-1.eu.example", "1"] {
            assert!(is_node_name(name), "{name}");
        }
        for name in ["", "-n", "n-", "N1", "a..b", "a/b", "a b", "n\n", &"a".repeat(254)] {
            assert!(!is_node_name(name), "{name:?}");
        }
    }
}
