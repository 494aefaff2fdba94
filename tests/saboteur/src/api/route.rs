//! Determines the subject of a request to the API server, only from its method, path and query.

/// What a request is about, according to its path and query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// The namespace; `None` for resources without a namespace, or for all namespaces.
    pub(super) namespace: Option<String>,
    /// The resource: `pods`, `events`.
    pub(super) resource: String,
    /// The object's name; `None` for a list, a watch or a creation.
    pub(super) name: Option<String>,
    /// A subresource of the object: `status`, `token`.
    pub(super) part: Option<String>,
    /// Whether the request is for a stream of changes.
    pub(super) watch: bool,
}

/// What is done with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// The status of a pod is written.
    WriteStatus {
        /// The pod's namespace.
        namespace: String,
        /// The pod's name.
        pod: String,
    },
    /// One pod is read.
    ReadPod {
        /// The pod's namespace.
        namespace: String,
        /// The pod's name.
        pod: String,
    },
    /// A pod is removed.
    RemovePod {
        /// The pod's namespace.
        namespace: String,
        /// The pod's name.
        pod: String,
    },
    /// All pods are listed.
    ListPods,
    /// All pods are watched.
    WatchPods,
    /// An event is written or, with a name, an earlier event is changed.
    WriteEvent {
        /// The event's namespace.
        namespace: String,
    },
    /// Something else in a namespace.
    Other {
        /// The namespace.
        namespace: String,
        /// The object's name, if it has one.
        name: String,
        /// The resource with its subresource: `serviceaccounts/token`.
        resource: String,
    },
    /// A request that no defect changes.
    Untouched,
}

/// Reads a path and a query. None if the path is not about an API object, such as `/version`.
#[must_use]
pub(super) fn asked(path: &str, query: &str) -> Option<Asked> {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match parts.next()? {
        "api" => parts.next()?,
        "apis" => parts.nth(1)?,
        _ => return None,
    };
    let mut asked = Asked { watch: is_watch(query), ..Asked::default() };
    let mut resource = parts.next()?;
    if resource == "namespaces" {
        // `namespaces/NAME` alone is the namespace itself.
        let name = parts.next();
        match parts.next() {
            None => {
                asked.name = name.map(str::to_owned);
            }
            Some(inner) => {
                asked.namespace = name.map(str::to_owned);
                resource = inner;
            }
        }
    }
    resource.clone_into(&mut asked.resource);
    asked.name = asked.name.or_else(|| parts.next().map(str::to_owned));
    asked.part = parts.next().map(str::to_owned);
    Some(asked)
}

fn is_watch(query: &str) -> bool {
    query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1" | "watch"))
}

/// Decides what is done with a request.
#[must_use]
pub(super) fn route(method: &str, path: &str, query: &str) -> Route {
    let Some(asked) = asked(path, query) else { return Route::Untouched };
    let part = asked.part.as_deref();
    match (method, asked.resource.as_str(), asked.namespace, asked.name) {
        ("PATCH" | "PUT", "pods", Some(namespace), Some(pod)) if part == Some("status") => {
            Route::WriteStatus { namespace, pod }
        }
        ("GET", "pods", Some(namespace), Some(pod)) if part.is_none() && !asked.watch => {
            Route::ReadPod { namespace, pod }
        }
        ("DELETE", "pods", Some(namespace), Some(pod)) if part.is_none() => {
            Route::RemovePod { namespace, pod }
        }
        ("GET", "pods", _, None) if asked.watch => Route::WatchPods,
        ("GET", "pods", _, None) => Route::ListPods,
        ("POST" | "PATCH" | "PUT", "events", Some(namespace), _) => Route::WriteEvent { namespace },
        (_, resource, Some(namespace), name) if !asked.watch => {
            let resource = part.map_or_else(|| resource.to_owned(), |part| format!("{resource}/{part}"));
            Route::Other { namespace, name: name.unwrap_or_default(), resource }
        }
        _ => Route::Untouched,
    }
}

/// Decides what is done with a request of a controller: only its writes in a namespace may be struck.
#[must_use]
pub(super) fn route_of_controllers(method: &str, path: &str) -> Route {
    match asked(path, "") {
        Some(Asked { namespace: Some(namespace), resource, name, part, .. }) if method != "GET" => {
            let resource = part.map_or_else(|| resource.clone(), |part| format!("{resource}/{part}"));
            Route::Other { namespace, name: name.unwrap_or_default(), resource }
        }
        _ => Route::Untouched,
    }
}

#[cfg(test)]
mod tests {
    use super::{Route, route, route_of_controllers};

    #[test]
    fn only_what_controllers_write_in_a_namespace_may_be_struck() {
        let status = "/apis/policy/v1/namespaces/run-1/poddisruptionbudgets/web/status";
        let written = Route::Other {
            namespace: "run-1".into(),
            name: "web".into(),
            resource: "poddisruptionbudgets/status".into(),
        };
        assert_eq!(route_of_controllers("PUT", status), written);
        assert_eq!(route_of_controllers("GET", status), Route::Untouched);
        assert_eq!(route_of_controllers("PATCH", "/api/v1/nodes/node1"), Route::Untouched);
        let pod = Route::Other { namespace: "run-1".into(), name: "a".into(), resource: "pods".into() };
        assert_eq!(route_of_controllers("DELETE", "/api/v1/namespaces/run-1/pods/a"), pod);
    }

    #[test]
    fn each_request_of_a_kubelet_finds_its_way() {
        let pod = |namespace: &str, pod: &str| (namespace.to_owned(), pod.to_owned());
        let (namespace, name) = pod("run-1", "probe");
        assert_eq!(
            route("PATCH", "/api/v1/namespaces/run-1/pods/probe/status", ""),
            Route::WriteStatus { namespace: namespace.clone(), pod: name.clone() }
        );
        assert_eq!(
            route("GET", "/api/v1/namespaces/run-1/pods/probe", ""),
            Route::ReadPod { namespace: namespace.clone(), pod: name.clone() }
        );
        assert_eq!(
            route("DELETE", "/api/v1/namespaces/run-1/pods/probe", ""),
            Route::RemovePod { namespace: namespace.clone(), pod: name }
        );
        assert_eq!(
            route("POST", "/apis/events.k8s.io/v1/namespaces/run-1/events", ""),
            Route::WriteEvent { namespace: namespace.clone() }
        );
        assert_eq!(
            route("PATCH", "/api/v1/namespaces/run-1/events/probe.1", ""),
            Route::WriteEvent { namespace }
        );
    }

    #[test]
    fn a_watch_is_told_from_a_list() {
        let query = "fieldSelector=spec.nodeName%3Dnode1&resourceVersion=5";
        assert_eq!(route("GET", "/api/v1/pods", query), Route::ListPods);
        assert_eq!(route("GET", "/api/v1/pods", &format!("{query}&watch=true")), Route::WatchPods);
    }

    #[test]
    fn other_objects_of_a_namespace_are_named_with_their_part() {
        let other = |namespace: &str, name: &str, resource: &str| Route::Other {
            namespace: namespace.into(),
            name: name.into(),
            resource: resource.into(),
        };
        assert_eq!(
            route("PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node1", ""),
            other("kube-node-lease", "node1", "leases")
        );
        assert_eq!(
            route("POST", "/api/v1/namespaces/run-1/serviceaccounts/default/token", ""),
            other("run-1", "default", "serviceaccounts/token")
        );
    }

    #[test]
    fn what_belongs_to_no_namespace_is_left_alone() {
        for path in
            ["/version", "/api/v1/nodes/node1", "/api/v1/nodes/node1/status", "/", "/api/v1/namespaces/run-1"]
        {
            assert_eq!(route("GET", path, ""), Route::Untouched, "{path}");
        }
        assert_eq!(route("GET", "/api/v1/namespaces/n/configmaps", "watch=true"), Route::Untouched);
    }
}
