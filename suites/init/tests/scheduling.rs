//! Hand-written histories of pods whose init containers fit on no node.

use probity_composer::{Composer, NODE};
use probity_model::history::Change;
use serde_json::{Value, json};

use crate::tests::verdict;

const SCHEDULING: &str = "init.resources.scheduling";

fn spec(asks: &str, bound: bool) -> Value {
    let none = json!({ "requests": { "probity.dev/none": "1" }, "limits": { "probity.dev/none": "1" } });
    let of = |name: &str| if name == asks { none.clone() } else { json!({}) };
    let mut spec = json!({
        "initContainers": [
            { "name": "init", "resources": of("init") },
            { "name": "sidecar", "restartPolicy": "Always", "resources": of("sidecar") },
        ],
        "containers": [{ "name": "main", "resources": of("main") }],
    });
    if bound {
        spec["nodeName"] = json!(NODE);
    }
    spec
}

fn status(reason: &str) -> Value {
    let condition = json!({ "type": "PodScheduled", "status": "False", "reason": reason });
    json!({ "phase": "Pending", "conditions": [condition] })
}

/// A pod in which this container requests a resource that no node has, and another pod that requests nothing.
fn judged(asks: &str, (reason, bound, beside): (&str, bool, bool), until: f64) -> &'static str {
    let mut run = Composer::new(&[SCHEDULING]);
    run.of("free", "main").pod_seen(0.0, &spec("", beside), &json!({ "phase": "Pending" }), Change::Added);
    run.of("big", "main").pod_seen(0.5, &spec(asks, false), &status(reason), Change::Added);
    if bound {
        run.pod_seen(1.0, &spec(asks, true), &json!({ "phase": "Pending" }), Change::Modified);
    }
    run.reading(until);
    verdict(&run.done(), SCHEDULING)
}

#[test]
fn a_pod_waits_for_what_its_init_containers_request() {
    for asks in ["init", "sidecar"] {
        assert_eq!(judged(asks, ("Unschedulable", false, true), 30.0), "holds");
        assert_eq!(judged(asks, ("Unschedulable", true, true), 30.0), "violated");
        assert_eq!(judged(asks, ("Unschedulable", false, true), 1.0), "inconclusive", "too short");
        assert_eq!(
            judged(asks, ("Unschedulable", false, false), 30.0),
            "inconclusive",
            "no pod is scheduled"
        );
        assert_eq!(judged(asks, ("SchedulingGated", false, true), 30.0), "inconclusive", "another reason");
    }
    assert_eq!(judged("main", ("Unschedulable", false, true), 30.0), "inconclusive", "it is not about mains");
}
