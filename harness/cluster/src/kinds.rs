//! The kinds of objects that the harness deals with, and where the API server keeps them.
//!
//! A closed table instead of discovery: a case names only these, and a run costs no requests to find them.

use serde_json::Value;

use crate::error::ClusterError;

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name, such as `Pod`.
    pub kind: &'static str,
    /// Its API group; empty for the core group.
    pub group: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Its name in paths and rights, such as `pods`.
    pub plural: &'static str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

const fn core(kind: &'static str, plural: &'static str) -> Kind {
    Kind { kind, group: "", version: "v1", plural, namespaced: true }
}

const fn v1(group: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { kind, group, version: "v1", plural, namespaced: true }
}

const fn cluster(group: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { kind, group, version: "v1", plural, namespaced: false }
}

/// All of them.
pub const KINDS: &[Kind] = &[
    core("Pod", "pods"),
    core("Service", "services"),
    core("ConfigMap", "configmaps"),
    core("Secret", "secrets"),
    core("Endpoints", "endpoints"),
    core("Event", "events"),
    core("ServiceAccount", "serviceaccounts"),
    core("PersistentVolumeClaim", "persistentvolumeclaims"),
    core("ReplicationController", "replicationcontrollers"),
    core("ResourceQuota", "resourcequotas"),
    core("LimitRange", "limitranges"),
    v1("discovery.k8s.io", "EndpointSlice", "endpointslices"),
    v1("apps", "Deployment", "deployments"),
    v1("apps", "ReplicaSet", "replicasets"),
    v1("apps", "StatefulSet", "statefulsets"),
    v1("apps", "DaemonSet", "daemonsets"),
    v1("batch", "Job", "jobs"),
    v1("batch", "CronJob", "cronjobs"),
    v1("policy", "PodDisruptionBudget", "poddisruptionbudgets"),
    v1("networking.k8s.io", "NetworkPolicy", "networkpolicies"),
    v1("coordination.k8s.io", "Lease", "leases"),
    v1("rbac.authorization.k8s.io", "Role", "roles"),
    v1("rbac.authorization.k8s.io", "RoleBinding", "rolebindings"),
    cluster("", "Node", "nodes"),
    cluster("", "Namespace", "namespaces"),
    cluster("scheduling.k8s.io", "PriorityClass", "priorityclasses"),
    cluster("node.k8s.io", "RuntimeClass", "runtimeclasses"),
];

/// The names of all kinds, for people.
#[must_use]
pub fn names() -> String {
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.kind).collect();
    names.join(", ")
}

/// The kind of this name.
///
/// # Errors
///
/// If the table has none.
pub fn find(kind: &str) -> Result<&'static Kind, ClusterError> {
    let found = KINDS.iter().find(|known| known.kind == kind);
    found.ok_or_else(|| ClusterError::UnknownKind { kind: kind.to_owned() })
}

/// The kind of a manifest.
///
/// # Errors
///
/// If it says none, or one that the table has not.
pub fn of(manifest: &Value) -> Result<&'static Kind, ClusterError> {
    find(manifest.get("kind").and_then(Value::as_str).unwrap_or_default())
}

impl Kind {
    /// `v1` or `apps/v1`.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The path of all objects of the kind in a namespace, or everywhere if it is empty or the kind has none.
    #[must_use]
    pub fn path(&self, namespace: &str) -> String {
        self.path_at(&self.api_version(), namespace)
    }

    /// The same, at a version that a manifest names.
    #[must_use]
    pub fn path_at(&self, api_version: &str, namespace: &str) -> String {
        let root = if api_version.contains('/') { "apis" } else { "api" };
        if self.namespaced && !namespace.is_empty() {
            format!("/{root}/{api_version}/namespaces/{namespace}/{}", self.plural)
        } else {
            format!("/{root}/{api_version}/{}", self.plural)
        }
    }
}

/// A text as it may stand in a query.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn paths_are_those_of_the_api() {
        let path = |kind: &str, namespace: &str| find(kind).unwrap().path(namespace);
        assert_eq!(path("Pod", "a"), "/api/v1/namespaces/a/pods");
        assert_eq!(path("Pod", ""), "/api/v1/pods");
        assert_eq!(path("Node", "a"), "/api/v1/nodes");
        assert_eq!(path("EndpointSlice", "a"), "/apis/discovery.k8s.io/v1/namespaces/a/endpointslices");
    }

    #[test]
    fn an_unknown_kind_is_named_with_the_known_ones() {
        let error = find("Pods").unwrap_err().to_string();
        assert!(error.contains("`Pods`") && error.contains("PodDisruptionBudget"), "{error}");
    }

    #[test]
    fn selectors_are_escaped_in_queries() {
        assert_eq!(escape("probity.dev/run=a,b"), "probity.dev%2Frun%3Da%2Cb");
    }
}
