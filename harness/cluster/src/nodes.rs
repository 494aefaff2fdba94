//! What is known of the nodes, as far as the harness may read them.

use std::collections::BTreeMap;

use probity_model::history::NodeFacts;
use serde_json::Value;

use crate::connect::Ground;

/// The harness's own pods on a node, and some to spare.
const OURS: u64 = 4;

impl Ground {
    /// The schedulable nodes with their facts; the one that the user named, if so. Empty if nodes may not be read.
    pub async fn node_facts(&self, only: Option<&str>) -> BTreeMap<String, NodeFacts> {
        let nodes = self.list("", "Node", None).await.map(|listing| listing.items).unwrap_or_default();
        let usable = nodes.iter().filter(|node| takes_pods(node));
        let named = usable.map(|node| (text(&node["metadata"]["name"]), facts(node)));
        named.filter(|(name, _)| only.is_none_or(|only| only == name)).collect()
    }

    /// How many more pods the nodes take, if that may be known: what they can hold less what they have.
    pub async fn free_pods(&self, only: Option<&str>) -> Option<u32> {
        let nodes = self.list("", "Node", None).await.ok()?.items;
        let pods = self.list("", "Pod", None).await.map(|listing| listing.items).unwrap_or_default();
        let free = nodes.iter().filter(|node| takes_pods(node)).filter_map(|node| {
            let name = text(&node["metadata"]["name"]);
            if only.is_some_and(|only| only != name) {
                return None;
            }
            let room: u64 = node["status"]["allocatable"]["pods"].as_str()?.parse().ok()?;
            let taken = pods.iter().filter(|pod| pod["spec"]["nodeName"] == name.as_str()).count() as u64;
            Some(room.saturating_sub(taken + OURS))
        });
        u32::try_from(free.sum::<u64>()).ok().filter(|free| *free > 0)
    }
}

/// Whether ordinary pods can be placed there.
fn takes_pods(node: &Value) -> bool {
    let repels = |taint: &Value| taint["effect"] == "NoSchedule" || taint["effect"] == "NoExecute";
    let tainted = node["spec"]["taints"].as_array().is_some_and(|taints| taints.iter().any(repels));
    let conditions = node["status"]["conditions"].as_array();
    let ready = |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
    !tainted && node["spec"]["unschedulable"] != true && conditions.is_some_and(|all| all.iter().any(ready))
}

fn facts(node: &Value) -> NodeFacts {
    let info = |field: &str| text(&node["status"]["nodeInfo"][field]);
    NodeFacts {
        kubelet: info("kubeletVersion"),
        runtime: info("containerRuntimeVersion"),
        os_image: info("osImage"),
        kernel: info("kernelVersion"),
        architecture: info("architecture"),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
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
