//! Hand-written histories of pods that wait for a node.

use probity_composer::{Composer, NODE, timestamp};
use probity_model::history::Change;
use serde_json::{Value, json};

use super::plain;
use crate::tests::verdict;

const CLAUSE: &str = "pod.condition.podscheduled";

#[test]
fn a_pod_is_scheduled_if_and_only_if_it_has_a_node() {
    let judged = |node: bool, conditions: &Value| {
        let mut run = Composer::new(&[CLAUSE]);
        let mut spec = plain();
        if node {
            spec["nodeName"] = json!(NODE);
        }
        let status = json!({ "phase": "Pending", "startTime": timestamp(1.0), "conditions": conditions });
        run.pod_seen(1.0, &spec, &status, Change::Added);
        run.pod_seen(2.0, &spec, &status, Change::Modified).reading(30.0);
        verdict(&run.done(), CLAUSE)
    };
    let is = |status: &str| json!([{ "type": "PodScheduled", "status": status, "reason": "Unschedulable" }]);
    assert_eq!(judged(true, &is("True")), "holds");
    assert_eq!(judged(true, &is("False")), "violated");
    assert_eq!(judged(false, &is("True")), "violated");
    assert_eq!(judged(false, &json!([])), "violated", "the status has no such condition for long");
    assert_eq!(judged(false, &is("False")), "holds");
    assert_eq!(verdict(&Composer::new(&[CLAUSE]).done(), CLAUSE), "inconclusive");
}

#[test]
fn a_pod_that_waited_for_its_node_gets_a_new_time() {
    let clause = "pod.condition.transition-time";
    let judged = |second: f64, seen: &[f64]| {
        let mut run = Composer::new(&[clause]);
        let says = |status: &str, second: f64| {
            let of = json!([{ "type": "PodScheduled", "status": status, "lastTransitionTime": timestamp(second) }]);
            json!({ "phase": "Pending", "conditions": of })
        };
        for at in seen {
            run.pod_seen(*at, &plain(), &says("False", 1.0), Change::Modified);
        }
        let mut spec = plain();
        spec["nodeName"] = json!(NODE);
        run.pod_seen(12.1, &spec, &says("True", second), Change::Modified);
        run.reading(30.0);
        verdict(&run.done(), clause)
    };
    assert_ne!(judged(12.0, &[1.0, 12.0]), "violated");
    assert_eq!(judged(1.0, &[1.0, 12.0]), "violated");
    assert_ne!(judged(1.0, &[1.0, 2.0]), "holds");
    assert_ne!(judged(12.0, &[12.0]), "violated", "the old status was not shown for long");
}

#[test]
fn a_pod_without_gates_does_not_blame_them() {
    let judged = |later: Option<&str>, until: f64| {
        let mut run = Composer::new(&[CLAUSE]);
        let mut spec = plain();
        spec["schedulingGates"] = json!([{ "name": "a" }]);
        let says = |reason: &str| {
            let of = json!([{ "type": "PodScheduled", "status": "False", "reason": reason }]);
            json!({ "phase": "Pending", "conditions": of })
        };
        run.pod_seen(1.0, &spec, &says("SchedulingGated"), Change::Added);
        run.pod_seen(5.0, &plain(), &says("SchedulingGated"), Change::Modified);
        if let Some(reason) = later {
            run.pod_seen(6.0, &plain(), &says(reason), Change::Modified);
        }
        run.reading(until);
        verdict(&run.done(), CLAUSE)
    };
    assert_eq!(judged(Some("Unschedulable"), 30.0), "holds");
    assert_eq!(judged(None, 30.0), "violated");
    assert_ne!(judged(None, 7.0), "violated", "the scheduler may not have considered the pod yet");
}
