//! Dry runs: how the API server responds to every pod and workload, before anything is created.

use probity_case::Case;
use probity_case::manifest;
use serde_json::{Value, json};

use crate::api::client::ClusterClient;
use crate::error::ClusterError;
use crate::run::options::{RefusedPod, RunError, RunOptions};

/// Whether the API server keeps a field of this pod, according to a dry run. It silently drops fields whose feature
/// gate is off.
///
/// # Errors
///
/// If nothing is known, because the API server is unreachable, overloaded or fails. A rejection is an answer.
pub async fn keeps(
    cluster: &ClusterClient,
    options: &RunOptions,
    spec: &Value,
    field: &str,
) -> Result<bool, ClusterError> {
    let namespace = options.namespace.as_deref().unwrap_or("default");
    let metadata = json!({ "name": format!("{}-trial", options.run), "namespace": namespace });
    let mut spec = spec.clone();
    manifest::restrict(&mut spec);
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec });
    match cluster.create(namespace, &pod, true).await {
        Ok(stored) => Ok(stored.pointer(field).is_some()),
        Err(error) if error.is_rejection() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Submits every pod and workload to the API server in dry runs. Effects of the run's own namespace (Pod Security,
/// quotas) are visible only in the run itself.
///
/// # Errors
///
/// If some of them are refused.
pub async fn rehearse(cluster: &ClusterClient, options: &RunOptions, cases: &[Case]) -> Result<(), RunError> {
    let namespace = options.namespace.as_deref().unwrap_or("default");
    // Each placeholder gets an example amount, or the same example address.
    let setting = |placeholders: Vec<String>| {
        let address = |name: String| {
            let example = if name.starts_with("most-memory:") { "64Mi" } else { "192.0.2.1" };
            (name, example.to_owned())
        };
        let mut setting = options.setting(namespace, "", "rehearsal");
        setting.addresses.extend(placeholders.into_iter().map(address));
        setting
    };
    let mut refused = Vec::new();
    for case in cases {
        let of_pods = case
            .pods
            .iter()
            .map(|(key, pod)| (key, manifest::pod(case, key, pod, &setting(manifest::placeholders(pod)))));
        let of_workloads = case.workloads.iter().map(|(key, of)| {
            let placeholders = manifest::placeholders_in(&of.workload, &of.target);
            (key, manifest::workload(case, key, of, &setting(placeholders)))
        });
        for (key, manifest) in of_pods.chain(of_workloads) {
            let created = cluster.create(namespace, &manifest, true).await;
            if let Err(error) = created
                && let Some(refusal) = error.refusal().filter(|refusal| matches!(refusal.code, 400 | 422))
            {
                let (case, pod) = (case.name.clone(), key.clone());
                refused.push(RefusedPod { case, pod, refusal: refusal.clone() });
            }
        }
    }
    if refused.is_empty() { Ok(()) } else { Err(RunError::Refused(refused)) }
}
