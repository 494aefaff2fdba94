//! What is known about the nodes, as far as the harness may read them.

use std::collections::BTreeMap;

use probity_model::history::NodeFacts;
use serde_json::Value;

use crate::api::client::ClusterClient;
use crate::fields::Fields as _;

/// The harness's own pods on a node, and some to spare.
const OWN_PODS: u64 = 4;

impl ClusterClient {
    /// The schedulable nodes with their facts, or the one that the user named. Empty if nodes may not be read.
    pub async fn node_facts(&self, only: Option<&str>) -> BTreeMap<String, NodeFacts> {
        let nodes = self.usable_nodes(only).await.unwrap_or_default();
        nodes.iter().map(|node| (node.name().to_owned(), facts(node))).collect()
    }

    /// How many more pods the nodes take, if that can be known: what they can hold less what they have.
    pub async fn free_pods(&self, only: Option<&str>) -> Option<u32> {
        let nodes = self.usable_nodes(only).await?;
        let pods = self.list("", "Pod", None).await.map(|listing| listing.items).unwrap_or_default();
        let free = nodes.iter().filter_map(|node| {
            let room: u64 = node.text("/status/allocatable/pods").parse().ok()?;
            let taken = pods.iter().filter(|pod| pod.text("/spec/nodeName") == node.name()).count() as u64;
            Some(room.saturating_sub(taken + OWN_PODS))
        });
        u32::try_from(free.sum::<u64>()).ok().filter(|free| *free > 0)
    }

    async fn usable_nodes(&self, only: Option<&str>) -> Option<Vec<Value>> {
        let mut nodes = self.list("", "Node", None).await.ok()?.items;
        nodes.retain(|node| takes_pods(node) && only.is_none_or(|only| only == node.name()));
        Some(nodes)
    }
}

/// Whether ordinary pods can be placed there.
fn takes_pods(node: &Value) -> bool {
    let tainted =
        node.items("/spec/taints").any(|taint| matches!(taint.text("/effect"), "NoSchedule" | "NoExecute"));
    let mut conditions = node.items("/status/conditions");
    let ready = conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    !tainted && ready && node["spec"]["unschedulable"] != true
}

fn facts(node: &Value) -> NodeFacts {
    let info = |field: &str| node.text(&format!("/status/nodeInfo/{field}")).to_owned();
    NodeFacts {
        kubelet: info("kubeletVersion"),
        runtime: info("containerRuntimeVersion"),
        os_image: info("osImage"),
        kernel: info("kernelVersion"),
        architecture: info("architecture"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tainted_a_cordoned_and_a_broken_node_take_no_pods() {
        let ready = json!({ "conditions": [{ "type": "Ready", "status": "True" }] });
        assert!(takes_pods(&json!({ "status": ready })));
        assert!(!takes_pods(&json!({ "status": ready, "spec": { "unschedulable": true } })));
        assert!(!takes_pods(&json!({ "status": ready, "spec": { "taints": [{ "effect": "NoSchedule" }] } })));
        assert!(!takes_pods(
            &json!({ "status": { "conditions": [{ "type": "Ready", "status": "Unknown" }] } })
        ));
    }
}
