//! What is known about the nodes, as far as the harness may read them.

use std::collections::BTreeMap;

use probity_case::Placement;
use probity_model::history::NodeFacts;
use serde_json::Value;

use crate::api::client::ClusterClient;
use crate::fields::Fields as _;

/// The harness's own pods on a node, and some to spare.
const OWN_PODS: u64 = 4;

impl ClusterClient {
    /// The schedulable nodes that take pods which are placed like this, with their facts. Empty if nodes may not be read.
    pub async fn node_facts(&self, placement: &Placement) -> BTreeMap<String, NodeFacts> {
        let nodes = self.usable_nodes(placement).await.unwrap_or_default();
        nodes.iter().map(|node| (node.name().to_owned(), facts(node))).collect()
    }

    /// How many more pods the nodes take, if that can be known: what they can hold less what they have.
    pub async fn free_pods(&self, placement: &Placement) -> Option<u32> {
        let nodes = self.usable_nodes(placement).await?;
        let pods = self.list("", "Pod", None).await.map(|listing| listing.items).unwrap_or_default();
        let free = nodes.iter().filter_map(|node| {
            let room: u64 = node.text("/status/allocatable/pods").parse().ok()?;
            let taken = pods.iter().filter(|pod| pod.text("/spec/nodeName") == node.name()).count() as u64;
            Some(room.saturating_sub(taken + OWN_PODS))
        });
        u32::try_from(free.sum::<u64>()).ok().filter(|free| *free > 0)
    }

    async fn usable_nodes(&self, placement: &Placement) -> Option<Vec<Value>> {
        let mut nodes = self.list("", "Node", None).await.ok()?.items;
        nodes.retain(|node| is_usable(node) && placement.takes(node));
        Some(nodes)
    }
}

/// Whether pods can be placed there at all.
fn is_usable(node: &Value) -> bool {
    let mut conditions = node.items("/status/conditions");
    let ready = conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    ready && node["spec"]["unschedulable"] != true
}

fn facts(node: &Value) -> NodeFacts {
    let info = |field: &str| node.text(&format!("/status/nodeInfo/{field}")).to_owned();
    NodeFacts {
        kubelet: info("kubeletVersion"),
        runtime: info("containerRuntimeVersion"),
        os_image: info("osImage"),
        kernel: info("kernelVersion"),
        architecture: info("architecture"),
        allocatable: serde_json::from_value(node["status"]["allocatable"].clone()).unwrap_or_default(),
        features: serde_json::from_value(node["status"]["features"].clone()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cordoned_and_a_broken_node_take_no_pods() {
        let ready = json!({ "conditions": [{ "type": "Ready", "status": "True" }] });
        assert!(is_usable(&json!({ "status": ready })));
        assert!(!is_usable(&json!({ "status": ready, "spec": { "unschedulable": true } })));
        assert!(!is_usable(
            &json!({ "status": { "conditions": [{ "type": "Ready", "status": "Unknown" }] } })
        ));
    }
}
