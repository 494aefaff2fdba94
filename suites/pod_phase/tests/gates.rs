//! Hand-written histories of pods with scheduling gates.

use probity_composer::{Composer, NODE};
use probity_model::history::{Change, Did};
use serde_json::{Value, json};

use crate::tests::verdict;

const GATES: &str = "pod.scheduling.gates-delay";

fn spec(gates: &[&str], node: bool) -> Value {
    let gates: Vec<Value> = gates.iter().map(|name| json!({ "name": name })).collect();
    let mut spec = json!({ "schedulingGates": gates, "containers": [{ "name": "target" }] });
    if node {
        spec["nodeName"] = json!(NODE);
    }
    spec
}

fn waits(status: &str, reason: &str) -> Value {
    json!({
        "phase": "Pending", "conditions": [{ "type": "PodScheduled", "status": status, "reason": reason }],
    })
}

fn gated() -> Value {
    waits("False", "SchedulingGated")
}

/// A pod with two gates, created at 0 s.
fn pod() -> Composer {
    let mut run = Composer::new(&[GATES]);
    run.pod_seen(0.0, &spec(&["a", "b"], false), &gated(), Change::Added);
    run
}

fn shown(run: &mut Composer, at: f64, gates: &[&str], node: bool, status: &Value) {
    run.pod_seen(at, &spec(gates, node), status, Change::Modified);
}

#[test]
fn a_gated_pod_waits_until_the_last_gate_is_removed() {
    let judged = |early: bool, until: f64| {
        let mut run = pod();
        shown(&mut run, 10.0, &["b"], false, &gated());
        if early {
            shown(&mut run, 12.0, &["b"], true, &gated());
        }
        shown(&mut run, 20.0, &[], false, &gated());
        if until > 0.0 {
            shown(&mut run, until, &[], true, &waits("True", ""));
        }
        run.reading(60.0);
        verdict(&run.done(), GATES)
    };
    assert_eq!(judged(false, 21.0), "holds");
    assert_eq!(judged(false, 40.0), "violated", "it was scheduled late");
    assert_eq!(judged(false, 0.0), "violated", "it was never scheduled");
    assert_eq!(judged(true, 21.0), "violated", "one gate was left");
}

#[test]
fn a_gated_pod_says_what_it_waits_for() {
    let judged = |status: &Value| {
        let mut run = pod();
        shown(&mut run, 1.0, &["a", "b"], false, status);
        run.reading(30.0);
        verdict(&run.done(), GATES)
    };
    assert_eq!(judged(&gated()), "holds");
    assert_eq!(judged(&waits("True", "SchedulingGated")), "violated");
    assert_eq!(judged(&waits("False", "Unschedulable")), "violated");
    assert_eq!(judged(&json!({ "phase": "Pending" })), "violated");
    let mut running = gated();
    running["phase"] = json!("Running");
    assert_eq!(judged(&running), "violated");
}

#[test]
fn a_short_look_at_a_gated_pod_shows_nothing() {
    let mut run = pod();
    run.reading(3.0);
    assert_eq!(verdict(&run.done(), GATES), "inconclusive");
    let mut open = pod();
    shown(&mut open, 1.0, &[], false, &gated());
    open.reading(3.0);
    assert_eq!(verdict(&open.done(), GATES), "inconclusive", "it may still be scheduled in time");
}

#[test]
fn a_missed_revision_hides_what_happened_to_a_gated_pod() {
    let mut run = pod();
    run.gap(2.0, 8.0, "Pod");
    run.reading(30.0);
    assert_eq!(verdict(&run.done(), GATES), "inconclusive");
}

#[test]
fn no_gate_can_be_added() {
    let entry = |removes: bool| match removes {
        true => json!({ "name": "a", "$patch": "delete" }),
        false => json!({ "name": "c" }),
    };
    let accepted = |removes: bool| {
        let mut run = pod();
        let patch = json!({ "spec": { "schedulingGates": [entry(removes)] } });
        let (kind, name) = ("Pod".to_owned(), "pod".to_owned());
        run.deed(2.0, Did::Patched { kind, name, patch, subresource: String::new() });
        verdict(&run.done(), GATES)
    };
    assert_eq!(accepted(false), "violated");
    assert_eq!(accepted(true), "inconclusive", "this alone shows nothing");
    let rejected = |what: &str, why: &str| {
        let mut run = pod();
        run.deed(2.0, Did::Failed { what: format!("patch the pod pod by {what}"), why: why.to_owned() });
        verdict(&run.done(), GATES)
    };
    let add = "{ spec: { schedulingGates: [{ name: c }] } }";
    let remove = "{ spec: { schedulingGates: [{ name: a, $patch: delete }] } }";
    assert_eq!(rejected(add, "the API server answered 422 Invalid: no"), "holds");
    assert_eq!(rejected(remove, "the API server answered 422 Invalid: no"), "violated");
    let exchange = "{ spec: { schedulingGates: [{ name: a, $patch: delete }, { name: c }] } }";
    assert_eq!(rejected(exchange, "the API server answered 422 Invalid: no"), "holds");
    assert_eq!(rejected(add, "the API server did not answer"), "inconclusive");
}
