//! What is known about the nodes, as far as the harness may read them.

use std::collections::{BTreeMap, BTreeSet};

use probity_case::Placement;
use probity_model::history::{NodeFacts, RESTART_ALL_GATE};
use probity_model::version::minor;
use serde_json::Value;

use crate::api::client::ClusterClient;
use crate::error::ClusterError;
use crate::fields::Fields as _;

/// The number of the harness's own pods on a node, and a small reserve.
const OWN_PODS: u64 = 4;

/// The label of nodes that run the control plane, such as the controllers.
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// The first version whose kubelets declare features by default (feature gate `NodeDeclaredFeatures`).
const DECLARED_SINCE: (u32, u32) = (1, 36);

/// The schedulable nodes that match a placement.
#[derive(Debug, Default)]
pub(crate) struct UsableNodes {
    pub(crate) facts: BTreeMap<String, NodeFacts>,
    /// Those that run the control plane, as far as their labels say so. Their noise affects all cases.
    pub(crate) control_plane: BTreeSet<String>,
}

impl ClusterClient {
    /// The schedulable nodes that match a placement, with their facts. Empty without permission to read nodes.
    ///
    /// # Errors
    ///
    /// If the API server is unreachable, overloaded or fails.
    pub async fn node_facts(
        &self,
        placement: &Placement,
    ) -> Result<BTreeMap<String, NodeFacts>, ClusterError> {
        Ok(self.nodes(placement).await?.facts)
    }

    /// The same nodes, and which of them run the control plane.
    pub(crate) async fn nodes(&self, placement: &Placement) -> Result<UsableNodes, ClusterError> {
        let nodes = self.usable_nodes(placement).await?;
        let is_control_plane = |node: &&Value| node["metadata"]["labels"].get(CONTROL_PLANE).is_some();
        let name = |node: &Value| node.name().to_owned();
        Ok(UsableNodes {
            facts: nodes.iter().map(|node| (name(node), facts(node))).collect(),
            control_plane: nodes.iter().filter(is_control_plane).map(name).collect(),
        })
    }

    /// The names of the images that each of these nodes reports. A node that has many images reports only some of them.
    ///
    /// # Errors
    ///
    /// If the API server is unreachable, overloaded or fails.
    pub async fn node_images(
        &self,
        placement: &Placement,
    ) -> Result<BTreeMap<String, BTreeSet<String>>, ClusterError> {
        let nodes = self.usable_nodes(placement).await?;
        Ok(nodes.iter().map(|node| (node.name().to_owned(), images(node))).collect())
    }

    /// How many more pods the nodes can run, if this number is known: the pods that the nodes can hold minus the pods
    /// that they have.
    pub async fn free_pods(&self, placement: &Placement) -> Option<u32> {
        let nodes = self.usable_nodes(placement).await.ok()?;
        let pods = self.list("", "Pod", None).await.map(|listing| listing.items).unwrap_or_default();
        let mut taken: BTreeMap<&str, u64> = BTreeMap::new();
        for pod in &pods {
            *taken.entry(pod.text("/spec/nodeName")).or_default() += 1;
        }
        let free = nodes.iter().filter_map(|node| {
            let room: u64 = node.text("/status/allocatable/pods").parse().ok()?;
            let taken = taken.get(node.name()).copied().unwrap_or_default();
            Some(room.saturating_sub(taken + OWN_PODS))
        });
        u32::try_from(free.sum::<u64>()).ok().filter(|free| *free > 0)
    }

    /// Empty if the API server rejects the request, usually for lack of permission.
    async fn usable_nodes(&self, placement: &Placement) -> Result<Vec<Value>, ClusterError> {
        let mut nodes = match self.list("", "Node", None).await {
            Ok(listing) => listing.items,
            Err(error) if error.is_rejection() => Vec::new(),
            Err(error) => return Err(error),
        };
        nodes.retain(|node| is_usable(node) && placement.takes(node));
        Ok(nodes)
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
        addresses: addresses(node),
        features: features(node),
        settings: None,
    }
}

/// The addresses that a kubelet can report for its node in the status of a pod.
fn addresses(node: &Value) -> Vec<String> {
    let usable = |one: &&Value| matches!(one["type"].as_str(), Some("InternalIP" | "ExternalIP"));
    let all = node.items("/status/addresses").filter(usable);
    all.filter_map(|one| one["address"].as_str().map(str::to_owned)).collect()
}

/// The features in the status of a node, the features of the handler that runs pods without a runtime class, and whether
/// the kubelet declares [`RESTART_ALL_GATE`].
fn features(node: &Value) -> BTreeMap<String, bool> {
    let read = |value: &Value| -> BTreeMap<String, bool> {
        serde_json::from_value(value.clone()).unwrap_or_default()
    };
    let default = |handler: &&Value| handler["name"].as_str().is_none_or(str::is_empty);
    let handler = node.items("/status/runtimeHandlers").find(default);
    let mut all = handler.map(|handler| read(&handler["features"])).unwrap_or_default();
    all.extend(read(&node["status"]["features"]));
    let version = minor(node.text("/status/nodeInfo/kubeletVersion").trim_start_matches('v'));
    if version.is_some_and(|version| version >= DECLARED_SINCE) {
        let declared = node.items("/status/declaredFeatures").any(|name| name == RESTART_ALL_GATE);
        all.insert(RESTART_ALL_GATE.to_owned(), declared);
    }
    all
}

fn images(node: &Value) -> BTreeSet<String> {
    let names = node.items("/status/images").filter_map(|image| image["names"].as_array());
    names.flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_handler_of_ordinary_pods_tells_the_features_of_the_runtime() {
        let handlers = json!([
            { "name": "other", "features": { "userNamespaces": false } },
            { "name": "", "features": { "userNamespaces": true, "recursiveReadOnlyMounts": false } },
        ]);
        let node = json!({
            "status": { "runtimeHandlers": handlers, "features": { "supplementalGroupsPolicy": true } },
        });
        let all = features(&node);
        assert_eq!((all["userNamespaces"], all["recursiveReadOnlyMounts"]), (true, false));
        assert!(all["supplementalGroupsPolicy"]);
        assert!(features(&json!({ "status": {} })).is_empty(), "what a node does not report is unknown");
    }

    #[test]
    fn only_a_kubelet_that_declares_features_tells_whether_a_gate_is_on() {
        let gate = |kubelet: &str, declared: Value| {
            let info = json!({ "kubeletVersion": kubelet });
            let node = json!({ "status": { "nodeInfo": info, "declaredFeatures": declared } });
            features(&node).get(RESTART_ALL_GATE).copied()
        };
        assert_eq!(gate("v1.36.3", json!(["ExtendWebSocketsToKubelet", RESTART_ALL_GATE])), Some(true));
        assert_eq!(gate("v1.36.3", json!(["ExtendWebSocketsToKubelet"])), Some(false));
        assert_eq!(gate("v1.36.3", Value::Null), Some(false));
        assert_eq!(gate("v1.35.4", Value::Null), None);
    }

    #[test]
    fn an_image_is_known_by_each_of_its_names() {
        let node =
            json!({ "status": { "images": [{ "names": ["a@sha256:1", "a:1"] }, {}, { "names": ["b:1"] }] } });
        assert_eq!(Vec::from_iter(images(&node)), ["a:1", "a@sha256:1", "b:1"]);
    }

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
