//! Taints, cordons and extended resources that steps set on nodes, and how they are removed.
//!
//! A run that is killed cannot undo anything. So before a run changes a node, it records the change in its namespace,
//! and `gc` undoes the change if the run did not.

use probity_case::wide::OWN_PREFIX;
use serde_json::{Value, json};

use crate::api::client::ClusterClient;
use crate::error::ClusterError;
use crate::fields::Fields as _;
use crate::setup::undo;

/// How many times a change of a node's taints is retried if somebody else changed the node at the same time.
const TRIES: u32 = 8;

/// A change of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeChange {
    /// A taint.
    Taint {
        /// Its key.
        key: String,
        /// Its value; may be empty.
        value: String,
        /// Its effect.
        effect: String,
    },
    /// A cordon.
    Cordon,
    /// An extended resource.
    Resource {
        /// Its name.
        name: String,
        /// How much of it the node has.
        amount: u32,
    },
}

/// Why a node could not be changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NodeChangeError {
    /// A request failed.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The node does not exist.
    #[error("there is no node {0}")]
    Missing(String),
    /// The node already had the change, so nobody could tell later whether to undo it.
    #[error("{0}, so the harness does not change it")]
    Already(String),
}

impl NodeChange {
    /// The name of its record.
    pub(super) fn record_name(&self, node: &str) -> String {
        match self {
            Self::Taint { key, effect, .. } => {
                let key = key.replace('/', ".");
                format!("probity-taint-{node}-{key}-{effect}").to_ascii_lowercase()
            }
            Self::Cordon => format!("probity-cordon-{node}"),
            Self::Resource { name, .. } => {
                format!("probity-resource-{node}-{}", name.replace('/', ".")).to_ascii_lowercase()
            }
        }
    }

    /// What it is, in words.
    pub(crate) fn in_words(&self, node: &str) -> String {
        match self {
            Self::Taint { key, value, effect } => {
                let value = if value.is_empty() { String::new() } else { format!("={value}") };
                format!("the taint {key}{value}:{effect} of node {node}")
            }
            Self::Cordon => format!("the cordon of node {node}"),
            Self::Resource { name, .. } => format!("the resource {name} of node {node}"),
        }
    }

    /// Whether a node has it.
    fn is_on(&self, node: &Value) -> bool {
        match self {
            Self::Taint { key, effect, .. } => node.items("/spec/taints").any(|taint| is(taint, key, effect)),
            Self::Cordon => node["spec"]["unschedulable"] == true,
            Self::Resource { name, .. } => in_status(node, name),
        }
    }

    /// The patch that adds the change to a node, or removes it. The patch fails if the node has changed in the
    /// meantime.
    fn patch(&self, node: &Value, add: bool) -> Value {
        let version = json!({ "resourceVersion": node["metadata"]["resourceVersion"] });
        let spec = match self {
            Self::Resource { name, amount } => {
                let amount = if add { json!(amount.to_string()) } else { Value::Null };
                let list = json!({ name.as_str(): amount });
                return json!({ "metadata": version, "status": { "capacity": list, "allocatable": list } });
            }
            Self::Taint { key, value, effect } => {
                let others = node.items("/spec/taints").filter(|taint| !is(taint, key, effect)).cloned();
                let mut taints: Vec<Value> = others.collect();
                if add {
                    let mut taint = json!({ "key": key, "effect": effect });
                    if !value.is_empty() {
                        taint["value"] = json!(value);
                    }
                    taints.push(taint);
                }
                json!({ "taints": taints })
            }
            Self::Cordon => json!({ "unschedulable": if add { json!(true) } else { Value::Null } }),
        };
        json!({ "metadata": version, "spec": spec })
    }

    /// The part of a node that the change patches.
    fn subresource(&self) -> &'static str {
        match self {
            Self::Taint { .. } | Self::Cordon => "",
            Self::Resource { .. } => "status",
        }
    }

    /// Records that the change is about to be made, unless the node already has it.
    pub(crate) async fn record(
        &self,
        cluster: &ClusterClient,
        namespace: &str,
        run: &str,
        node: &str,
    ) -> Result<(), NodeChangeError> {
        let seen = cluster.get("", "Node", node).await?;
        let seen = seen.ok_or_else(|| NodeChangeError::Missing(node.to_owned()))?;
        if self.is_on(&seen) {
            let already = format!("somebody else has set {} already", self.in_words(node));
            return Err(NodeChangeError::Already(already));
        }
        let data = match self {
            Self::Taint { key, value, effect } => {
                json!({ "node": node, "change": "taint", "key": key, "value": value, "effect": effect })
            }
            Self::Cordon => json!({ "node": node, "change": "cordon" }),
            Self::Resource { name, amount } => {
                json!({ "node": node, "change": "resource", "name": name, "amount": amount.to_string() })
            }
        };
        undo::write(cluster, namespace, run, &self.record_name(node), &data).await?;
        Ok(())
    }

    /// Makes the change.
    pub(crate) async fn make(&self, cluster: &ClusterClient, node: &str) -> Result<(), NodeChangeError> {
        match self.set(cluster, node, true).await? {
            true => Ok(()),
            false => Err(NodeChangeError::Missing(node.to_owned())),
        }
    }

    /// Undoes the change, and deletes its record. On a node that no longer exists, there is nothing to undo.
    pub(crate) async fn take_back(
        &self,
        cluster: &ClusterClient,
        namespace: &str,
        node: &str,
    ) -> Result<(), ClusterError> {
        self.set(cluster, node, false).await?;
        cluster.delete_if_present(namespace, undo::KIND, &self.record_name(node), None).await
    }

    /// Adds the change to a node, or removes it. Returns whether the node exists.
    async fn set(&self, cluster: &ClusterClient, node: &str, add: bool) -> Result<bool, ClusterError> {
        let mut tries = 0;
        loop {
            let Some(seen) = cluster.get("", "Node", node).await? else { return Ok(false) };
            if self.is_on(&seen) == add {
                return Ok(true);
            }
            tries += 1;
            match cluster.patch("", "Node", node, self.subresource(), &self.patch(&seen, add)).await {
                Ok(_) => return Ok(true),
                Err(error) if error.code() == 409 && tries < TRIES => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads a record; `None` if it is about a node that a verb took away.
    pub(super) fn of_record(record: &Value) -> Option<Self> {
        let text = |field: &str| record.text(&format!("/data/{field}")).to_owned();
        match record.text("/data/change") {
            "taint" => Some(Self::Taint { key: text("key"), value: text("value"), effect: text("effect") }),
            "cordon" => Some(Self::Cordon),
            // Runs advertise only these resources, so any other record is forged.
            "resource" if record.text("/data/name").starts_with(OWN_PREFIX) => Some(Self::Resource {
                name: text("name"),
                amount: text("amount").parse().unwrap_or_default(),
            }),
            _ => None,
        }
    }
}

/// Whether the status of a node shows a resource.
fn in_status(node: &Value, resource: &str) -> bool {
    ["capacity", "allocatable"].into_iter().any(|list| node["status"][list].get(resource).is_some())
}

/// Whether a taint has this key and this effect, which together are unique on a node.
fn is(taint: &Value, key: &str, effect: &str) -> bool {
    taint["key"] == key && taint["effect"] == effect
}

/// Undoes the change of a record, and deletes the record. Returns the change in words, and the result; `None` if the
/// record is about a node that a verb took away.
pub(super) async fn undo(cluster: &ClusterClient, record: &Value) -> Option<(String, Result<(), String>)> {
    let change = NodeChange::of_record(record)?;
    let (node, namespace) = (record.text("/data/node"), record.text("/metadata/namespace"));
    let done = change.take_back(cluster, namespace, node).await.map_err(|error| error.to_string());
    Some((change.in_words(node), done))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taint(key: &str) -> NodeChange {
        NodeChange::Taint { key: key.to_owned(), value: String::new(), effect: "NoExecute".to_owned() }
    }

    #[test]
    fn a_taint_leaves_the_others_of_the_node_as_they_are() {
        let other = json!({ "key": "vendor", "value": "v", "effect": "NoSchedule" });
        let same_key = json!({ "key": "probity.dev/away", "effect": "NoSchedule" });
        let node = json!({ "metadata": { "resourceVersion": "7" }, "spec": { "taints": [other, same_key] } });
        let change = taint("probity.dev/away");
        let added = change.patch(&node, true);
        assert_eq!(added["metadata"]["resourceVersion"], "7");
        let own = json!({ "key": "probity.dev/away", "effect": "NoExecute" });
        assert_eq!(added["spec"]["taints"], json!([other, same_key, own]));
        assert!(!change.is_on(&node) && change.is_on(&added));
        assert_eq!(change.patch(&added, false)["spec"]["taints"], json!([other, same_key]));
    }

    #[test]
    fn a_cordon_is_lifted_by_removing_the_field() {
        let node = json!({ "metadata": { "resourceVersion": "7" }, "spec": {} });
        let cordoned = NodeChange::Cordon.patch(&node, true);
        assert!(!NodeChange::Cordon.is_on(&node) && NodeChange::Cordon.is_on(&cordoned));
        assert_eq!(NodeChange::Cordon.patch(&cordoned, false)["spec"]["unschedulable"], Value::Null);
    }

    #[test]
    fn a_resource_is_advertised_and_removed_in_the_status() {
        let change = NodeChange::Resource { name: "probity.dev/room".to_owned(), amount: 2 };
        let node =
            json!({ "metadata": { "resourceVersion": "7" }, "status": { "capacity": { "cpu": "2" } } });
        let added = change.patch(&node, true);
        assert_eq!(added["metadata"]["resourceVersion"], "7");
        assert_eq!(
            added["status"]["capacity"],
            json!({ "probity.dev/room": "2" }),
            "others stay as they are"
        );
        assert!(!change.is_on(&node) && change.is_on(&added));
        let gone = json!({ "probity.dev/room": null });
        let status = json!({ "capacity": gone, "allocatable": gone });
        assert_eq!((&change.patch(&added, false)["status"], change.subresource()), (&status, "status"));
    }

    #[test]
    fn records_of_one_node_have_different_names() {
        let names = [taint("probity.dev/a"), taint("probity.dev/b"), NodeChange::Cordon]
            .map(|change| change.record_name("n1"));
        assert_eq!(names[0], "probity-taint-n1-probity.dev.a-noexecute");
        assert!(names[0] != names[1] && names[1] != names[2]);
    }
}
