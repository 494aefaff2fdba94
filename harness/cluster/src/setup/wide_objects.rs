//! Cluster-scoped objects that cases create. They are not in the namespace of the run, so its removal does not remove
//! them. They carry the label of the run, and the name of its namespace in another label.

use probity_case::manifest::{NAMESPACE, RUN};
use probity_case::wide::WIDE_KINDS;

use crate::api::client::ClusterClient;
use crate::fields::Fields as _;
use crate::setup::namespace::Leftover;

/// Deletes all cluster-scoped objects that a run created. Returns the objects that it could not delete.
pub(crate) async fn remove(cluster: &ClusterClient, run: &str) -> Vec<Leftover> {
    let mut left = Vec::new();
    for kind in WIDE_KINDS {
        let listing = match cluster.list("", kind, Some(&format!("{RUN}={run}"))).await {
            Ok(listing) => listing.items,
            // If the harness may not list a kind, it cannot have created objects of that kind.
            Err(error) if error.refusal().is_some() => continue,
            Err(error) => {
                let what = format!("objects of the kind {kind} with the run's label");
                left.push(Leftover { what, why: error.to_string() });
                continue;
            }
        };
        for object in &listing {
            if let Err(error) = cluster.delete_if_present("", kind, object.name(), None).await {
                left.push(Leftover { what: format!("{kind} {}", object.name()), why: error.to_string() });
            }
        }
    }
    left
}

/// Whether an object belongs to a run in this namespace or, without a namespace, to any run.
pub(super) fn is_of(object: &serde_json::Value, namespace: Option<&str>) -> bool {
    namespace.is_none_or(|namespace| object["metadata"]["labels"][NAMESPACE] == namespace)
}
