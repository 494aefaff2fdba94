//! The settings of kubelets that matter to clauses, read through the API server.
//!
//! This needs permission to get nodes/proxy, which `probity rbac` does not include (see [`crate::api::probe_counts`]).
//! Without it, every kubelet is expected to have the defaults.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use kube::core::Request;
use probity_model::history::NodeFacts;
use probity_model::kubelet_settings::changed_by;
use serde_json::Value;

use crate::api::client::ClusterClient;
use crate::error::ClusterError;

/// A kubelet that does not answer within this time is expected to have the defaults.
const WITHIN: Duration = Duration::from_secs(5);
/// How many kubelets are asked at the same time.
const AT_ONCE: usize = 16;

impl ClusterClient {
    /// Adds to the facts of each node what its kubelet's configuration changes. If the harness may not read the
    /// configuration of the first kubelet, the others are not asked.
    pub(crate) async fn add_settings(&self, nodes: &mut BTreeMap<String, NodeFacts>) {
        let names: Vec<String> = nodes.keys().cloned().collect();
        let Some((first, others)) = names.split_first() else { return };
        let of_first = self.settings_in_time(first).await;
        if matches!(&of_first, Some(Err(error)) if error.is_rejection()) {
            return;
        }
        let others = stream::iter(others.to_vec()).map(|name| async move {
            let settings = self.settings_in_time(&name).await;
            (name, settings)
        });
        let others: Vec<_> = others.buffer_unordered(AT_ONCE).collect().await;
        for (name, settings) in [(first.clone(), of_first)].into_iter().chain(others) {
            if let (Some(node), Some(Ok(settings))) = (nodes.get_mut(&name), settings) {
                node.settings = settings;
            }
        }
    }

    async fn settings_in_time(&self, node: &str) -> Option<Result<BTreeMap<String, String>, ClusterError>> {
        tokio::time::timeout(WITHIN, self.kubelet_settings(node)).await.ok()
    }

    async fn kubelet_settings(&self, node: &str) -> Result<BTreeMap<String, String>, ClusterError> {
        let request = Request::new("/api/v1/nodes").get_subresource("proxy/configz", node);
        let answer: Value = self.request("read the configuration of a kubelet", request).await?;
        Ok(changed_by(&answer["kubeletconfig"]))
    }
}
