//! Objects that the API server shows: pods, events, EndpointSlices, and answers to dry runs.

use probity_model::EventId;
use probity_model::history::{Change, Did, Happening, Sighting, Tried};
use serde_json::{Value, json};

use crate::{Composer, NODE, ZERO_WALL_US, us};

/// The generation of a composed pod, which is never changed.
const GENERATION: u64 = 1;

impl Composer {
    /// Creates the pod: the deed, and its first revision, bound to the node.
    pub fn create(&mut self, at: f64, spec: &Value) -> &mut Self {
        let (name, kind) = (self.pod.clone(), "Pod".to_owned());
        let manifest = self.pod_object(spec, &json!({}));
        self.deed(at, Did::Created { kind, name, manifest });
        let mut bound = spec.clone();
        bound["nodeName"] = json!(NODE);
        self.pod_seen(at, &bound, &json!({ "phase": "Pending", "qosClass": "BestEffort" }), Change::Added)
    }

    /// A revision of the pod, as the API server shows it.
    pub fn pod_seen(&mut self, at: f64, spec: &Value, status: &Value, change: Change) -> &mut Self {
        let object = self.pod_object(spec, status);
        self.sighting(at, "Pod", &self.pod.clone(), change, object)
    }

    /// A revision with this status, and the labels and the spec of the last revision.
    pub fn status(&mut self, at: f64, status: &Value) -> &mut Self {
        let name = self.pod.clone();
        let last = self.history.events().rev().find_map(|(_, event)| match &event.what {
            Happening::Sighting(seen) if seen.kind == "Pod" && seen.name == name => Some(seen.object.clone()),
            _ => None,
        });
        let last = last.unwrap_or_default();
        let mut object = self.pod_object(&last["spec"], status);
        if last["metadata"]["labels"].is_object() {
            object["metadata"]["labels"] = last["metadata"]["labels"].clone();
        }
        self.sighting(at, "Pod", &name, Change::Modified, object)
    }

    /// A usual status of a running pod with one container.
    pub fn running(&mut self, at: f64, ready: bool, started: bool, restarts: u64) -> &mut Self {
        let status = running_status(&self.container, at, ready, started, restarts);
        self.status(at, &status)
    }

    fn pod_object(&self, spec: &Value, status: &Value) -> Value {
        let (uid, labels) = (format!("uid-{}", self.pod), json!({ "probity.dev/pod": self.pod }));
        json!({
            "metadata": { "name": self.pod, "uid": uid, "labels": labels, "generation": GENERATION },
            "spec": spec, "status": status,
        })
    }

    /// A revision of any object.
    pub fn sighting(&mut self, at: f64, kind: &str, name: &str, change: Change, object: Value) -> &mut Self {
        self.revision += 1;
        let (kind, name, revision) = (kind.to_owned(), name.to_owned(), self.revision.to_string());
        self.push(at, Happening::Sighting(Sighting { kind, name, change, revision, object }));
        self
    }

    /// An event recorded for the container of the pod.
    pub fn event(&mut self, at: f64, kind: &str, reason: &str, message: &str) -> &mut Self {
        let path = format!("spec.containers{{{}}}", self.container);
        let name = format!("{}.{}", self.pod, self.revision);
        let object = json!({
            "metadata": { "name": name },
            "involvedObject": { "kind": "Pod", "name": self.pod, "uid": format!("uid-{}", self.pod), "fieldPath": path },
            "reason": reason, "message": message, "type": kind, "count": 1,
        });
        self.sighting(at, "Event", &name, Change::Added, object)
    }

    /// An EndpointSlice of a Service with only this pod's endpoint.
    pub fn slice(&mut self, at: f64, service: &str, conditions: &Value) -> &mut Self {
        let name = format!("{service}-abcde");
        let object = json!({
            "metadata": { "name": name, "labels": { "kubernetes.io/service-name": service } },
            "endpoints": [{
                "addresses": ["10.0.0.7"], "conditions": conditions, "targetRef": { "kind": "Pod", "name": self.pod },
            }],
        });
        self.sighting(at, "EndpointSlice", &name, Change::Modified, object)
    }

    /// A manifest was sent as a dry run.
    pub fn tried(
        &mut self,
        at: f64,
        name: &str,
        manifest: Value,
        code: u16,
        message: &str,
        stored: Value,
    ) -> EventId {
        let (name, message) = (name.to_owned(), message.to_owned());
        self.deed(at, Did::Tried(Tried { name, manifest, code, message, stored }))
    }
}

/// A usual status of a running pod with one container, whose instance began 0.1 s before.
#[must_use]
pub fn running_status(container: &str, at: f64, ready: bool, started: bool, restarts: u64) -> Value {
    let condition = |kind: &str, holds: bool, since: f64| {
        let status = if holds { "True" } else { "False" };
        let changed = timestamp(since);
        json!({ "type": kind, "status": status, "lastTransitionTime": changed, "observedGeneration": GENERATION })
    };
    json!({
        "phase": "Running", "qosClass": "BestEffort", "observedGeneration": GENERATION, "startTime": timestamp(0.0),
        "podIP": "10.0.0.7", "podIPs": [{ "ip": "10.0.0.7" }], "hostIP": "10.0.0.1", "hostIPs": [{ "ip": "10.0.0.1" }],
        "conditions": [
            condition("Initialized", true, 0.0), condition("ContainersReady", ready, at),
            condition("Ready", ready, at), condition("PodScheduled", true, 0.0),
            condition("PodReadyToStartContainers", true, 0.0),
        ],
        "containerStatuses": [{
            "name": container, "image": "agnhost-rs", "imageID": "sha256:1",
            "ready": ready, "started": started, "restartCount": restarts,
            "containerID": format!("containerd://{container}-{restarts}"),
            "state": { "running": { "startedAt": timestamp(at) } }, "lastState": {},
        }],
    })
}

/// A time of the composed run as the API writes it: truncated to the second.
#[must_use]
pub fn timestamp(at: f64) -> String {
    let second = (us(at) + ZERO_WALL_US).div_euclid(1_000_000);
    jiff::Timestamp::from_second(second).map(|at| at.to_string()).unwrap_or_default()
}
