//! Hand-written histories for the judges of events and reports.

mod counted;
mod events;
mod excess;
mod failures;
mod followed;
mod given;
mod inside;
mod mounted;
mod spoken;
mod statuses;
mod stops;
mod uncreated;
mod waits;

use probity_composer::{Composer, NODE, timestamp};
use probity_model::history::{Change, Did};
use probity_script::witness::{Exiting, Fact};
use serde_json::{Value, json};

use crate::tests::verdict;

/// A pod with a sidecar, an init container and a main container.
fn three() -> Value {
    json!({
        "initContainers": [{ "name": "first" }, { "name": "helper", "restartPolicy": "Always" }],
        "containers": [{ "name": "target" }],
    })
}

fn one(container: Value) -> Value {
    json!({ "containers": [container] })
}

/// A history of a pod.
fn pod(clause: &str, spec: &Value) -> Composer {
    let mut run = Composer::new(&[clause]);
    run.create(0.0, spec);
    run
}

/// An event of a kubelet, as it records it for the first time.
fn event(at: f64, container: &str, kind: &str, reason: &str, message: &str) -> Value {
    let list = if container == "target" { "containers" } else { "initContainers" };
    json!({
        "metadata": { "name": format!("pod.{container}.{reason}") },
        "involvedObject": {
            "apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": "uid-pod",
            "fieldPath": format!("spec.{list}{{{container}}}"),
        },
        "reason": reason, "message": message, "type": kind, "count": 1,
        "source": { "component": "kubelet", "host": NODE },
        "reportingComponent": "kubelet", "reportingInstance": NODE,
        "firstTimestamp": timestamp(at), "lastTimestamp": timestamp(at),
    })
}

fn told(run: &mut Composer, at: f64, event: &Value) {
    let name = event["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    run.sighting(at, "Event", &name, Change::Added, event.clone());
}

/// An object with a new value at a path.
fn with(mut object: Value, path: &str, value: Value) -> Value {
    if let Some(place) = object.pointer_mut(path) {
        *place = value;
    }
    object
}

fn exits(run: &mut Composer, at: f64, code: u8) {
    run.fact(at, Fact::Exiting(Exiting { code, why: "plan".to_owned() }));
    run.left(at + 0.01);
}

fn stops(run: &mut Composer, at: f64) {
    run.signal(at, "SIGTERM");
    run.fact(at + 0.1, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
    run.left(at + 0.11);
}

fn deletes(run: &mut Composer, at: f64) {
    run.deed(at, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace: None });
}

/// The verdict if nothing more happens until 30 s.
fn concluded(mut run: Composer, clause: &str) -> &'static str {
    run.reading(30.0);
    verdict(&run.done(), clause)
}
