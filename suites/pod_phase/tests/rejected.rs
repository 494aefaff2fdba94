//! Hand-written histories of pods that request more than their node has.

use probity_composer::{Composer, NODE};
use probity_model::history::Change;
use serde_json::{Value, json};

use crate::tests::verdict;

const CLAUSE: &str = "pod.phase.rejected-for-resources";

/// A pod with these requests on a node with 2 CPUs and 4000 MiB; its status after two seconds.
fn judged(requests: &Value, status: &Value) -> &'static str {
    judged_with(requests, &json!([]), status)
}

/// Like [`judged`], with these init containers.
fn judged_with(requests: &Value, inits: &Value, status: &Value) -> &'static str {
    let mut header = Composer::new(&[CLAUSE]).done().header;
    if let Some(facts) = header.nodes.get_mut(NODE) {
        for (resource, amount) in [("cpu", "2"), ("memory", "4000Mi")] {
            facts.allocatable.insert(resource.to_owned(), amount.to_owned());
        }
    }
    let mut run = Composer::with_header(header);
    let containers = json!([{ "name": "target", "resources": { "requests": requests } }]);
    let spec = json!({ "nodeName": NODE, "initContainers": inits, "containers": containers });
    run.create(0.0, &spec);
    run.pod_seen(0.5, &spec, &json!({ "phase": "Pending" }), Change::Modified);
    run.pod_seen(2.0, &spec, status, Change::Modified).reading(40.0);
    verdict(&run.done(), CLAUSE)
}

#[test]
fn a_pod_that_does_not_fit_fails_with_the_reason() {
    let much = || json!({ "memory": "5000Mi" });
    let failed =
        |reason: &str| json!({ "phase": "Failed", "reason": reason, "message": "It requests too much" });
    assert_eq!(judged(&much(), &failed("OutOfmemory")), "holds");
    assert_eq!(judged(&json!({ "cpu": "3" }), &failed("OutOfcpu")), "holds");
    assert_eq!(judged(&much(), &failed("OutOfcpu")), "violated");
    assert_eq!(judged(&much(), &json!({ "phase": "Failed" })), "violated");
    let silent = json!({ "phase": "Failed", "reason": "OutOfmemory" });
    assert_eq!(judged(&much(), &silent), "violated", "no message");
    assert_eq!(judged(&much(), &json!({ "phase": "Pending" })), "violated");
    let state = json!({ "running": { "startedAt": "2026-01-01T00:00:02Z" } });
    let running = json!({ "phase": "Running", "containerStatuses": [{
        "name": "target", "restartCount": 0, "ready": true, "started": true,
        "containerID": "containerd://target-0", "state": state, "lastState": {},
    }] });
    assert_eq!(judged(&much(), &running), "violated");
    assert_eq!(judged(&json!({ "memory": "3000Mi" }), &running), "inconclusive", "it fits");
    let most = json!({ "memory": "3000Mi" });
    let beside = |policy: Value| {
        let inits = json!([{ "name": "s", "restartPolicy": policy, "resources": { "requests": most } }]);
        judged_with(&most, &inits, &running)
    };
    assert_eq!(beside(json!("Always")), "violated", "the sidecar runs at the same time");
    assert_eq!(beside(Value::Null), "inconclusive", "the init container runs before");
}
