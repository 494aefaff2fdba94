//! The kinds of objects that the harness deals with.
//!
//! A closed table replaces discovery: a case can name only these kinds, and a run needs no requests to find them.

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Resource as _, TypeMeta};
use kube::core::Request;
use serde_json::Value;

use crate::error::ClusterError;
use crate::fields::Fields as _;

/// API groups with their kinds of objects, all at version v1, and whether the objects live in namespaces.
const KINDS: &[(&str, bool, &str)] = &[
    ("", true, "Pod Service ConfigMap Secret Endpoints Event ServiceAccount PersistentVolumeClaim"),
    ("", true, "ReplicationController ResourceQuota LimitRange"),
    ("discovery.k8s.io", true, "EndpointSlice"),
    ("apps", true, "Deployment ReplicaSet StatefulSet DaemonSet"),
    ("batch", true, "Job CronJob"),
    ("policy", true, "PodDisruptionBudget"),
    ("networking.k8s.io", true, "NetworkPolicy"),
    ("coordination.k8s.io", true, "Lease"),
    ("rbac.authorization.k8s.io", true, "Role RoleBinding"),
    ("", false, "Node Namespace"),
    ("scheduling.k8s.io", false, "PriorityClass"),
    ("node.k8s.io", false, "RuntimeClass"),
];

/// A kind of object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectKind {
    /// Its resource in the API.
    pub(crate) resource: ApiResource,
    /// Whether its objects live in namespaces.
    pub(crate) namespaced: bool,
}

/// The kind with this name.
pub(crate) fn find(name: &str) -> Result<ObjectKind, ClusterError> {
    let found = KINDS.iter().find(|(_, _, kinds)| kinds.split(' ').any(|kind| kind == name));
    let Some((group, namespaced, _)) = found else {
        let known: Vec<String> = KINDS.iter().map(|(_, _, kinds)| kinds.replace(' ', ", ")).collect();
        return Err(ClusterError::UnknownKind { kind: name.to_owned(), known: known.join(", ") });
    };
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", name));
    Ok(ObjectKind { resource, namespaced: *namespaced })
}

/// The kind of a manifest, at the version that the manifest names.
pub(crate) fn of(manifest: &Value) -> Result<ObjectKind, ClusterError> {
    let (api_version, kind) = (manifest.text("/apiVersion"), manifest.text("/kind"));
    let mut found = find(kind)?;
    let types = TypeMeta { api_version: api_version.to_owned(), kind: kind.to_owned() };
    if let (false, Ok(named)) = (api_version.is_empty(), GroupVersionKind::try_from(types)) {
        found.resource = ApiResource::from_gvk_with_plural(&named, &found.resource.plural);
    }
    Ok(found)
}

impl ObjectKind {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.resource.kind
    }

    /// A builder of requests about objects of this kind in a namespace, or in all namespaces if `namespace` is empty.
    pub(crate) fn requests(&self, namespace: &str) -> Request {
        let namespace = Some(namespace).filter(|name| self.namespaced && !name.is_empty());
        Request::new(DynamicObject::url_path(&self.resource, namespace))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_are_those_of_the_api() {
        let path = |kind: &str, namespace: &str| find(kind).unwrap().requests(namespace).url_path;
        assert_eq!(path("Pod", "a"), "/api/v1/namespaces/a/pods");
        assert_eq!(path("Pod", ""), "/api/v1/pods");
        assert_eq!(path("Node", "a"), "/api/v1/nodes");
        assert_eq!(path("EndpointSlice", "a"), "/apis/discovery.k8s.io/v1/namespaces/a/endpointslices");
        assert_eq!(path("NetworkPolicy", ""), "/apis/networking.k8s.io/v1/networkpolicies");
        assert_eq!(path("PriorityClass", ""), "/apis/scheduling.k8s.io/v1/priorityclasses");
    }

    #[test]
    fn a_manifest_is_sent_to_the_version_that_it_names() {
        let path = |version: &str| {
            of(&json!({ "apiVersion": version, "kind": "Event" })).unwrap().requests("a").url_path
        };
        assert_eq!(path("v1"), "/api/v1/namespaces/a/events");
        assert_eq!(path("events.k8s.io/v1"), "/apis/events.k8s.io/v1/namespaces/a/events");
        assert_eq!(path(""), "/api/v1/namespaces/a/events");
    }

    #[test]
    fn an_unknown_kind_is_named_with_the_known_ones() {
        let error = find("Pods").unwrap_err().to_string();
        assert!(error.contains("`Pods`") && error.contains("PodDisruptionBudget"), "{error}");
    }
}
