//! Pods on a node that is down, before and after the node has the out-of-service taint.

use probity_composer::{Composer, NODE};
use probity_model::history::{Change, Did};
use serde_json::{Value, json};

use crate::tests::verdict;

const CLAUSE: &str = "podgc.out-of-service";

fn pod(ready: bool, going: bool, phase: &str) -> Value {
    let word = if ready { "True" } else { "False" };
    let mut metadata = json!({ "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod" } });
    if going {
        metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    let status = json!({ "phase": phase, "conditions": [{ "type": "Ready", "status": word }] });
    json!({ "metadata": metadata, "spec": { "nodeName": NODE, "containers": [{ "name": "target" }] }, "status": status })
}

/// The node goes down at 5 s. At 50 s the cluster notices this and the pod is deleted, and at 80 s the node gets the
/// taint. The pod is removed at the given time and in the given phase.
fn outage(noticed: bool, gone: Option<(f64, &str)>) -> &'static str {
    let mut run = Composer::new(&[CLAUSE]);
    run.sighting(1.0, "Pod", "pod", Change::Added, pod(true, false, "Running"));
    let text = |text: &str| text.to_owned();
    run.deed(5.0, Did::verb(NODE, "kill", Some(0), None));
    if noticed {
        run.sighting(50.0, "Pod", "pod", Change::Modified, pod(false, false, "Running"));
    }
    run.sighting(50.5, "Pod", "pod", Change::Modified, pod(!noticed, true, "Running"));
    let (key, value) = (text("node.kubernetes.io/out-of-service"), text("nodeshutdown"));
    let tainted = Did::Tainted { node: text(NODE), key, value, effect: text("NoExecute") };
    match gone {
        Some((at, phase)) if at < 80.0 => {
            run.sighting(at, "Pod", "pod", Change::Deleted, pod(false, true, phase));
            run.deed(80.0, tainted);
        }
        Some((at, phase)) => {
            run.deed(80.0, tainted);
            run.sighting(at, "Pod", "pod", Change::Deleted, pod(false, true, phase));
        }
        None => {
            run.deed(80.0, tainted);
        }
    }
    run.reading(200.0);
    verdict(&run.done(), CLAUSE)
}

#[test]
fn a_pod_on_a_node_that_is_out_of_service_is_removed_and_not_before() {
    assert_eq!(outage(true, Some((95.0, "Failed"))), "holds");
    assert_eq!(outage(true, Some((95.0, "Running"))), "violated", "it did not fail first");
    assert_eq!(outage(true, Some((150.0, "Failed"))), "violated", "too late");
    assert_eq!(outage(true, None), "violated", "never");
    assert_eq!(outage(true, Some((70.0, "Failed"))), "violated", "the node had no taint yet");
    assert_eq!(outage(false, Some((95.0, "Failed"))), "inconclusive", "nothing shows that the node was down");
}
