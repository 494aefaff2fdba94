//! Records of actions on nodes, with the verbs that undo them. The nodes were taken away, configured, or given static
//! pods.
//!
//! A run that is killed cannot undo anything. So before a run acts on a node, it records in its namespace the node and
//! the verb that undoes the action. If the run did not undo the action, `gc` does.

use probity_case::manifest::RUN;
use probity_model::history::{NODE_VERBS, REMOVE_STATIC_PODS};
use serde_json::{Value, json};

use crate::api::client::ClusterClient;
use crate::error::ClusterError;
use crate::fields::Fields as _;
use crate::setup::node_command::{Order, act};

/// The kind of the objects that record what is to be undone.
pub(super) const KIND: &str = "ConfigMap";
/// The label of the objects that record what is to be undone on a node.
const TO_UNDO: &str = "probity.dev/away";

fn object_name(node: &str, verb: &str) -> String {
    format!("probity-{verb}-{node}")
}

/// Records an action on a node before it takes place, with the verb that undoes it. An existing record is not an error.
pub(crate) async fn record(
    cluster: &ClusterClient,
    namespace: &str,
    run: &str,
    (node, verb): (&str, &str),
) -> Result<(), ClusterError> {
    let data = json!({ "node": node, "verb": verb });
    write(cluster, namespace, run, &object_name(node, verb), &data).await
}

/// Writes a record of this content into the namespace of a run. An existing record is not an error.
pub(super) async fn write(
    cluster: &ClusterClient,
    namespace: &str,
    run: &str,
    name: &str,
    data: &Value,
) -> Result<(), ClusterError> {
    let manifest = json!({
        "apiVersion": "v1", "kind": KIND,
        "metadata": {
            "name": name,
            "labels": { RUN: run, TO_UNDO: "true", "app.kubernetes.io/managed-by": "probity" },
        },
        "data": data,
    });
    match cluster.create(namespace, &manifest, false).await {
        Err(error) if error.code() != 409 => Err(error),
        _ => Ok(()),
    }
}

/// Deletes a record after its verb has undone the action.
pub(crate) async fn erase(
    cluster: &ClusterClient,
    namespace: &str,
    (node, verb): (&str, &str),
) -> Result<(), ClusterError> {
    cluster.delete_if_present(namespace, KIND, &object_name(node, verb), None).await
}

/// Whether an object records what is to be undone.
pub(super) fn is_record(object: &Value) -> bool {
    object["metadata"]["labels"][TO_UNDO] == "true"
}

/// The name that a run gives to the record of a verb; `None` if the verb undoes nothing.
pub(super) fn name_of(record: &Value) -> Option<String> {
    let (node, verb) = (record.text("/data/node"), record.text("/data/verb"));
    NODE_VERBS.iter().any(|known| known.undo == Some(verb)).then(|| object_name(node, verb))
}

/// The order in which records are undone. A node that was taken away must return first, and a kubelet must run to end
/// static pods.
pub(super) fn turn(record: &Value) -> u8 {
    match record.text("/data/verb") {
        REMOVE_STATIC_PODS => 2,
        verb if NODE_VERBS.iter().any(|known| known.takes_away && known.undo == Some(verb)) => 0,
        _ => 1,
    }
}

/// Undoes the action of a record. Returns the record in words, and the result.
pub(super) async fn undo(record: &Value, command: Option<&[String]>) -> (String, Result<(), String>) {
    let (node, verb) = (record.text("/data/node"), record.text("/data/verb"));
    let done = match act(command, Order { verb, node, pod: None, input: None }).await {
        Ok(outcome) => outcome.failure().map_or(Ok(()), Err),
        Err(error) => Err(error.to_string()),
    };
    (format!("the record of node {node}, which a run changed (`{verb}` undoes the change)"), done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_comes_back_first_and_static_pods_end_last() {
        let mut verbs = ["remove-static-pods", "restore-kubelet", "restore-controllers", "heal"];
        verbs.sort_by_key(|verb| turn(&json!({ "data": { "node": "n", "verb": verb } })));
        assert_eq!(verbs, ["heal", "restore-kubelet", "restore-controllers", "remove-static-pods"]);
    }
}
