//! What the node reports about itself.

use std::collections::BTreeMap;

use probity_model::history::NodeFacts;

/// The allocatable resources of the node.
pub(crate) const ALLOCATABLE: [(&str, &str); 2] = [("cpu", "2"), ("memory", "4096Mi")];
/// The allocatable local storage of the node, which no pod uses up.
const STORAGE: (&str, &str) = ("ephemeral-storage", "100Gi");
/// The address of the node.
pub(crate) const NODE_ADDRESS: &str = "10.89.0.2";

/// The facts about the node that the harness reads at the start of a run.
pub(crate) fn node_facts() -> NodeFacts {
    let amounts = ALLOCATABLE.into_iter().chain([STORAGE]);
    NodeFacts {
        kubelet: "v1.36.3".to_owned(),
        runtime: "containerd://2.2.0".to_owned(),
        architecture: "amd64".to_owned(),
        allocatable: amounts.map(|(resource, amount)| (resource.to_owned(), amount.to_owned())).collect(),
        addresses: vec![NODE_ADDRESS.to_owned()],
        settings: Some(BTreeMap::new()),
        ..NodeFacts::default()
    }
}
