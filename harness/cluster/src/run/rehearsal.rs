//! Dry runs: what the API server says about every pod and workload, before anything is created.

use std::collections::BTreeMap;

use probity_case::Case;
use probity_case::manifest::{self, Setting};

use crate::api::client::ClusterClient;
use crate::run::options::{RefusedPod, RunError, RunOptions};

/// Asks the API server in dry runs about every pod and workload. What only the run's own namespace can decide (Pod
/// Security, quotas) is left to it.
///
/// # Errors
///
/// If some are refused.
pub async fn rehearse(cluster: &ClusterClient, options: &RunOptions, cases: &[Case]) -> Result<(), RunError> {
    let namespace = options.namespace.as_deref().unwrap_or("default");
    // Each placeholder has some address.
    let setting = |placeholders: Vec<String>| {
        let address = |name| (name, "192.0.2.1".to_owned());
        let addresses: BTreeMap<_, _> = placeholders.into_iter().map(address).collect();
        Setting { addresses, ..options.setting(namespace, "", "rehearsal") }
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
