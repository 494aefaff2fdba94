//! Hand-written histories of a controller manager with a small threshold.

use probity_composer::{Composer, NODE, timestamp};
use probity_model::history::{CONFIGURE_CONTROLLERS, Change, Did};
use serde_json::{Value, json};

use crate::tests::verdict_of_all_facets as verdict;

const THRESHOLD: &str = "podgc.threshold";
/// The pods, in the order of their creation.
const PODS: [&str; 4] = ["a", "b", "c", "d"];

fn shown(run: &mut Composer, at: f64, name: &str, created: usize, change: Change) {
    let object = json!({
        "metadata": { "name": name, "uid": name, "creationTimestamp": timestamp(created as f64 * 2.0) },
        "spec": { "nodeName": NODE, "restartPolicy": "Never", "containers": [{ "name": "target" }] },
        "status": { "phase": "Succeeded" },
    });
    run.sighting(at, "Pod", name, change, object);
}

/// Four pods have ended, and the threshold allows two. The given pods are removed at 40 s, and the case lasts until the
/// given time.
fn collected(removed: &[&str], output: &Value, until: f64) -> &'static str {
    let mut run = Composer::new(&[THRESHOLD]);
    for (created, name) in PODS.iter().enumerate() {
        shown(&mut run, created as f64 + 1.0, name, created, Change::Added);
    }
    let input = Some(json!({ "terminated-pod-gc-threshold": 2 }));
    let (node, verb, output) = (NODE.to_owned(), CONFIGURE_CONTROLLERS.to_owned(), Some(output.clone()));
    run.deed(20.0, Did::NodeVerb { node, verb, uid: None, input, exit: Some(0), output, proof: None });
    for (created, name) in PODS.iter().enumerate().filter(|(_, name)| removed.contains(name)) {
        shown(&mut run, 40.0, name, created, Change::Deleted);
    }
    run.reading(until);
    verdict(&run.done(), THRESHOLD)
}

fn runs() -> Value {
    json!({ "arguments": ["kube-controller-manager", "--terminated-pod-gc-threshold=2"] })
}

#[test]
fn the_oldest_pods_are_removed_until_no_more_are_left_than_may_be() {
    assert_eq!(collected(&["a", "b"], &runs(), 100.0), "holds");
    assert_eq!(collected(&[], &runs(), 100.0), "violated");
    assert_eq!(collected(&["a"], &runs(), 100.0), "violated", "three pods are left");
    assert_eq!(collected(&["c", "d"], &runs(), 100.0), "violated", "the newest pods were removed");
    assert_eq!(collected(&["a", "b"], &runs(), 50.0), "inconclusive", "more pods may still be removed");
    assert_eq!(collected(&["a", "b", "c"], &runs(), 100.0), "inconclusive", "pods of others may count");
    assert_eq!(collected(&[], &runs(), 40.0), "inconclusive", "the pods may still be removed");
}

#[test]
fn a_controller_manager_that_does_not_run_with_the_flag_shows_nothing() {
    assert_eq!(collected(&[], &json!({ "arguments": ["kube-controller-manager"] }), 100.0), "inconclusive");
    assert_eq!(collected(&[], &json!({}), 100.0), "inconclusive");
}
