//! The settings of kubelets that matter to clauses, read through the API server.
//!
//! This needs permission to get nodes/proxy, which `probity rbac` does not include (see [`crate::api::probe_counts`]).
//! Without it, the settings are unknown: violations are reported as if every kubelet had the defaults, and the findings
//! of clauses that depend on settings say that the settings are not known.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use kube::core::Request;
use probity_model::history::NodeFacts;
use probity_model::kubelet_settings::changed_by;
use serde_json::Value;

use crate::api::client::ClusterClient;
use crate::error::ClusterError;

/// The settings of a kubelet that does not answer within this time are unknown.
const WITHIN: Duration = Duration::from_secs(5);
/// How many kubelets are asked at the same time.
const AT_ONCE: usize = 16;

impl ClusterClient {
    /// Adds to the facts of each node what its kubelet's configuration changes. If the harness may not read the
    /// configuration of the first kubelet, the others are not asked. Returns a warning if some configurations could not
    /// be read.
    pub(crate) async fn add_settings(&self, nodes: &mut BTreeMap<String, NodeFacts>) -> Option<String> {
        let names: Vec<String> = nodes.keys().cloned().collect();
        let (first, others) = names.split_first()?;
        let of_first = self.settings_in_time(first).await;
        let refused = matches!(&of_first, Some(Err(error)) if error.is_rejection());
        let asked = if refused { Vec::new() } else { others.to_vec() };
        let others = stream::iter(asked).map(|name| async move {
            let settings = self.settings_in_time(&name).await;
            (name, settings)
        });
        let others: Vec<_> = others.buffer_unordered(AT_ONCE).collect().await;
        let mut problem = None;
        for (name, settings) in [(first.clone(), of_first)].into_iter().chain(others) {
            match (nodes.get_mut(&name), settings) {
                (Some(node), Some(Ok(settings))) => node.settings = Some(settings),
                (_, Some(Err(error))) => {
                    problem.get_or_insert_with(|| error.to_string());
                }
                (_, None) => {
                    problem.get_or_insert_with(|| {
                        format!("{name} did not answer within {} s", WITHIN.as_secs())
                    });
                }
                (None, _) => {}
            }
        }
        Some(unread(nodes, &problem?, refused))
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

/// The warning about settings that are not known.
fn unread(nodes: &BTreeMap<String, NodeFacts>, problem: &str, refused: bool) -> String {
    let unknown = nodes.values().filter(|node| node.settings.is_none()).count();
    let hint = match refused {
        true => {
            "; with `get` on `nodes/proxy`, which gives access to the whole API of the kubelets, probity can read them"
        }
        false => "",
    };
    format!(
        "the settings of {unknown} of {} kubelets are not known ({problem}), so these kubelets are expected to have the \
         default settings{hint}",
        nodes.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warning_counts_the_kubelets_whose_settings_are_not_known() {
        let facts = |settings| NodeFacts { settings, ..NodeFacts::default() };
        let known = facts(Some(BTreeMap::new()));
        let nodes = [("a", facts(None)), ("b", known), ("c", facts(None))];
        let nodes: BTreeMap<String, NodeFacts> =
            nodes.into_iter().map(|(name, facts)| (name.to_owned(), facts)).collect();
        let warning = unread(&nodes, "403 Forbidden", true);
        let counted = "the settings of 2 of 3 kubelets are not known (403 Forbidden), ";
        assert!(warning.starts_with(counted) && warning.contains("nodes/proxy"), "{warning}");
        assert!(!unread(&nodes, "503 Service Unavailable", false).contains("nodes/proxy"));
    }
}
