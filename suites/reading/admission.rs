//! How admission changes pods: their specs as stored, compared with their specs as sent.
//!
//! The defaults of a `LimitRange`, a cluster that raises requests, and a webhook that injects sidecars or replaces
//! registries all change a pod before the API server stores it. The judge then does not know what
//! the manifest as sent would have led to.

use probity_model::verdict::Doubt;
use probity_model::{EventId, Seen, Timeline};
use serde_json::Value;

use super::qos::class_of;
use super::quantities::is_same;

/// The lists of containers of a pod.
const LISTS: [&str; 2] = ["initContainers", "containers"];
/// The fields of a pod that add to the requests of its containers, or replace them.
const OF_POD: [&str; 2] = ["overhead", "resources"];
/// The amounts in the resources of a container.
const REQUESTS: &str = "requests";
const LIMITS: &str = "limits";

/// A created pod or an accepted dry run: its spec as sent, and what the API server stored.
pub(crate) struct StoredPod<'t> {
    /// The pod's key, or the name of the dry run.
    pub(crate) name: &'t str,
    /// Whether it is a dry run.
    pub(crate) is_dry_run: bool,
    /// Its events: one for a dry run, two for a pod.
    pub(crate) events: Vec<EventId>,
    /// Its spec as sent.
    pub(crate) sent: &'t Value,
    /// Its spec as stored.
    pub(crate) stored: &'t Value,
    /// The class that the API server gave it.
    pub(crate) class: Option<&'t str>,
}

/// All pods that the harness created, and all accepted dry runs.
pub(crate) fn stored_pods<'t>(run: &'t Timeline<'_>) -> Vec<StoredPod<'t>> {
    let class_in = |object: &'t Value| object.pointer("/status/qosClass").and_then(Value::as_str);
    let created = run.pods.iter().filter_map(|pod| {
        let ((id, manifest), first) = (pod.created?, pod.revisions.first()?);
        let (sent, stored) = (manifest.get("spec")?, first.object.get("spec")?);
        let (name, events) = (pod.key.as_str(), vec![id, first.id]);
        Some(StoredPod { name, is_dry_run: false, events, sent, stored, class: class_in(first.object) })
    });
    let accepted = run.tried.iter().filter(|(_, tried)| tried.code < 300);
    let tried = accepted.filter_map(|(id, tried)| {
        let (sent, stored) = (tried.manifest.get("spec")?, tried.stored.get("spec")?);
        let (name, events) = (tried.name.as_str(), vec![*id]);
        Some(StoredPod { name, is_dry_run: true, events, sent, stored, class: class_in(&tried.stored) })
    });
    created.chain(tried).collect()
}

impl<'t> StoredPod<'t> {
    /// The class that follows from the stored containers. None if the pod has pod-level resources, which are not
    /// evaluated.
    pub(crate) fn class_of_containers(&self) -> Option<&'static str> {
        let whole = |spec: &Value| spec.get("resources").is_some();
        (!whole(self.sent) && !whole(self.stored)).then(|| class_of(self.stored))
    }

    /// Whether it is stored with the containers and resources that were sent. The API server itself only adds requests
    /// that equal a limit.
    pub(crate) fn keeps_resources(&self) -> bool {
        let of_pod = |field: &str| self.sent.get(field).is_some() == self.stored.get(field).is_some();
        let pairs = self.containers();
        OF_POD.into_iter().all(of_pod)
            && pairs.is_some_and(|pairs| pairs.iter().all(|(sent, stored)| has_resources(sent, stored)))
    }

    /// Whether it is stored with the containers and images that were sent.
    pub(crate) fn keeps_images(&self) -> bool {
        let pairs = self.containers();
        pairs.is_some_and(|pairs| pairs.iter().all(|(sent, stored)| sent.get("image") == stored.get("image")))
    }

    /// The containers as sent, each as stored. None if other containers are stored.
    fn containers(&self) -> Option<Vec<(&'t Value, &'t Value)>> {
        let mut pairs = Vec::new();
        for list in LISTS {
            let all = |spec: &'t Value| spec.get(list).and_then(Value::as_array).into_iter().flatten();
            if all(self.sent).count() != all(self.stored).count() {
                return None;
            }
            for sent in all(self.sent) {
                let stored = all(self.stored).find(|stored| stored.get("name") == sent.get("name"))?;
                pairs.push((sent, stored));
            }
        }
        Some(pairs)
    }

    /// Adds a doubt, because admission changed the pod.
    pub(crate) fn doubt(&self, seen: &mut Seen) {
        let why = format!("admission changed `{}` before the API server stored it", self.name);
        seen.doubt(Doubt::Ambiguous, why, self.events.iter().copied());
    }
}

/// The amounts of resources in a list of a container.
fn amounts<'v>(container: &'v Value, list: &str) -> impl Iterator<Item = (&'v String, &'v Value)> + use<'v> {
    let amounts = container.get("resources").and_then(|resources| resources.get(list)?.as_object());
    amounts.into_iter().flatten()
}

/// An amount of a resource in a list of a container.
fn amount<'v>(container: &'v Value, list: &str, resource: &str) -> Option<&'v Value> {
    container.get("resources")?.get(list)?.get(resource)
}

/// Whether a container is stored with the resources that were sent.
fn has_resources(sent: &Value, stored: &Value) -> bool {
    let keeps = |list: &str| {
        amounts(sent, list)
            .all(|(of, asked)| amount(stored, list, of).is_some_and(|kept| is_same(asked, kept)))
    };
    let adds_nothing = |list: &str| {
        amounts(stored, list).all(|(of, added)| {
            let limit = amount(sent, LIMITS, of).filter(|_| list == REQUESTS);
            amount(sent, list, of).is_some() || limit.is_some_and(|limit| is_same(limit, added))
        })
    };
    [REQUESTS, LIMITS].into_iter().all(|list| keeps(list) && adds_nothing(list))
}

/// What admission does with the resources of pods, according to all that were stored.
pub(crate) enum Admission {
    /// It keeps the containers and resources of all pods that were stored.
    Keeps,
    /// It changed the pod of these events.
    Changes(Vec<EventId>),
    /// No pod was stored.
    Unknown,
}

impl Admission {
    /// What the history shows of it.
    pub(crate) fn of(run: &Timeline<'_>) -> Self {
        let mut is = Self::Unknown;
        for pod in stored_pods(run).into_iter().filter(|pod| pod.sent.get("containers").is_some()) {
            if !pod.keeps_resources() {
                return Self::Changes(pod.events);
            }
            is = Self::Keeps;
        }
        is
    }

    /// Adds a doubt about a dry run if admission changes pods, and returns whether it does.
    pub(crate) fn is_in_doubt(&self, name: &str, id: EventId, seen: &mut Seen) -> bool {
        let Self::Changes(events) = self else { return false };
        let why = format!("admission changes pods, so it is not known what `{name}` requests");
        seen.doubt(Doubt::Ambiguous, why, events.iter().copied().chain([id]));
        true
    }

    /// Adds a violation by the answer to a dry run. A rejected pod is not shown. What it requested is known only if
    /// other pods were stored as they were sent.
    pub(crate) fn accuse(&self, refused: bool, finding: String, events: [EventId; 2], seen: &mut Seen) {
        match self {
            Self::Unknown if refused => {
                let why = format!("{finding}, or admission changed it");
                seen.doubt(Doubt::Ambiguous, why, events);
            }
            _ => seen.violated(finding, events),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Whether a pod that is sent with a container with these resources is stored as sent if it is stored with these
    /// containers.
    fn keeps(sent: &Value, stored: &Value) -> bool {
        let sent = json!({ "containers": [{ "name": "c", "resources": sent }] });
        let stored = json!({ "containers": stored });
        let pod = StoredPod {
            name: "a",
            is_dry_run: true,
            events: vec![],
            sent: &sent,
            stored: &stored,
            class: None,
        };
        pod.keeps_resources()
    }

    #[test]
    fn the_api_server_writes_amounts_anew_and_requests_what_is_limited() {
        let limits = json!({ "limits": { "cpu": 1 } });
        let both = json!({ "limits": { "cpu": "1" }, "requests": { "cpu": "1" } });
        assert!(keeps(&limits, &json!([{ "name": "c", "resources": both }])));
        assert!(keeps(&json!({}), &json!([{ "name": "c" }])));
        assert!(!keeps(&json!({ "requests": { "cpu": "1" } }), &json!([{ "name": "c", "resources": both }])));
        assert!(!keeps(&json!({}), &json!([{ "name": "c", "resources": limits }])), "it got a limit");
        assert!(!keeps(&limits, &json!([{ "name": "c", "resources": {} }])), "it lost a limit");
        assert!(!keeps(&json!({}), &json!([{ "name": "c" }, { "name": "proxy" }])), "it got a sidecar");
    }
}
