//! Conditions that keep their times and the fields that others gave them, and messages without containers that are done.

use super::super::{NETWORK, RESTARTING, TARGET};
use super::*;
use crate::reading::patches::PENDING;

const TIME: &str = "pod.condition.transition-time";

fn at(status: Value, kind: &str, second: f64) -> Value {
    with(status, kind, "lastTransitionTime", json!(timestamp(second)))
}

/// Judges a condition that becomes True at 3 s, and is shown with this time at 4 s.
fn moved(spec: &Value, kind: &str, second: f64) -> &'static str {
    let low = with(whole(), kind, "status", json!("False"));
    judged(TIME, spec, &[low, at(whole(), kind, 3.0), at(whole(), kind, second)])
}

#[test]
fn the_time_stays_while_no_container_can_have_been_unready() {
    for kind in ["Ready", "ContainersReady", NETWORK] {
        assert_ne!(moved(&plain(), kind, 3.0), "violated", "{kind}");
        assert_eq!(moved(&plain(), kind, 4.0), "violated", "{kind}");
    }
    let probe = json!({ "httpGet": { "path": "/ready", "port": 80 } });
    let probed = json!({ "containers": [{ "name": "target", "readinessProbe": probe }] });
    assert_ne!(moved(&probed, "Ready", 4.0), "violated", "the probe may have failed in between");
    let gated =
        json!({ "readinessGates": [{ "conditionType": GATE }], "containers": [{ "name": "target" }] });
    assert_ne!(moved(&gated, "Ready", 4.0), "violated", "the gate may have been closed in between");
    let limited = json!({ "activeDeadlineSeconds": 60, "containers": [{ "name": "target" }] });
    assert_ne!(moved(&limited, NETWORK, 4.0), "violated", "its deadline may be over");
}

#[test]
fn the_restart_of_all_containers_has_its_time() {
    let shown = |status, second| at(ready_as("True", "True", &[(RESTARTING, status)]), RESTARTING, second);
    let times = |second| judged(TIME, &plain(), &[shown("False", 1.0), shown("True", second)]);
    assert_ne!(times(3.0), "violated");
    assert_eq!(times(40.0), "violated", "it is still to come");
    assert_eq!(times(-9.0), "violated", "it was long ago");
    let unseen = judged(TIME, &plain(), &[shown("False", 1.0), shown("False", 3.0)]);
    assert_ne!(unseen, "violated", "all containers may have restarted in between");
    let undated = with(shown("True", 1.0), RESTARTING, "lastTransitionTime", Value::Null);
    let fields =
        |status| judged("pod.condition.fields", &plain(), &[ready_as("False", "False", &[]), status]);
    assert_eq!(fields(shown("True", 1.0)), "holds");
    assert_eq!(fields(undated), "violated");
}

#[test]
fn the_kubelet_does_not_move_the_time_of_an_eviction() {
    let judged = |second: f64, is_patched: bool| {
        let mut run = pod(TIME, &plain());
        let shown = |second| at(ready_as("True", "True", &[(TARGET, "True")]), TARGET, second);
        run.status(2.0, &shown(1.0));
        if is_patched {
            patch(&mut run, 2.5, TARGET, "True", "status");
        }
        run.status(3.0, &shown(second));
        verdict(&run.done(), TIME)
    };
    assert_ne!(judged(1.0, false), "violated");
    assert_eq!(judged(3.0, false), "violated");
    assert_ne!(judged(3.0, true), "violated", "a client may have set the time");
}

#[test]
fn an_eviction_has_a_time() {
    let evicted = |reason: &str| {
        let shown = with(ready_as("True", "True", &[(TARGET, "True")]), TARGET, "reason", json!(reason));
        let undated = with(shown, TARGET, "lastTransitionTime", Value::Null);
        judged("pod.condition.fields", &plain(), &[undated])
    };
    assert_eq!(evicted("TerminationByKubelet"), "violated");
    assert_ne!(evicted("EvictionByEvictionAPI"), "violated", "no kubelet wrote it");
}

#[test]
fn the_condition_of_a_resize_keeps_its_time() {
    let waits = |second: f64, generation: u64| {
        let shown = at(ready_as("True", "True", &[(PENDING, "True")]), PENDING, second);
        with(shown, PENDING, "observedGeneration", json!(generation))
    };
    let times = |second, generation| judged(TIME, &plain(), &[waits(1.0, 2), waits(second, generation)]);
    assert_ne!(times(1.0, 2), "violated");
    assert_eq!(times(3.0, 2), "violated");
    assert_ne!(times(3.0, 3), "violated", "it is about another resize");
}

#[test]
fn a_condition_that_is_true_has_no_complaint() {
    let clause = "pod.condition.fields";
    let judged = |message: &str| {
        let shown = with(whole(), "ContainersReady", "message", json!(message));
        judged(clause, &plain(), &[ready_as("False", "False", &[]), shown])
    };
    assert_eq!(judged(""), "holds");
    assert_eq!(judged("all containers are well"), "holds", "the words of another vendor");
    assert_eq!(judged("containers with unready status: [target]"), "violated");
    assert_eq!(judged("the status of pod readiness gate \"a\" is not \"True\", but False"), "violated");
}

#[test]
fn only_containers_that_are_not_ready_are_named() {
    let spec = json!({ "containers": [{ "name": "target" }, { "name": "other" }] });
    let judged = |message: &str| {
        let mut shown = ready_as("False", "False", &[]);
        let mut other = shown["containerStatuses"][0].clone();
        (other["name"], other["ready"]) = (json!("other"), json!(true));
        let target = shown["containerStatuses"][0].take();
        shown["containerStatuses"] = json!([target, other]);
        for kind in ["ContainersReady", "Ready"] {
            shown = with(shown, kind, "message", json!(message));
        }
        judged("pod.condition.containersready", &spec, &[shown])
    };
    assert_ne!(judged("containers with unready status: [target]"), "violated");
    assert_eq!(judged("containers with unready status: [target other]"), "violated");
    assert_ne!(judged("other is ready, but target is not"), "violated", "the words of another vendor");
}

#[test]
fn only_containers_that_are_not_done_are_named() {
    let spec = json!({
        "initContainers": [{ "name": "first" }, { "name": "second" }], "containers": [{ "name": "target" }],
    });
    let judged = |message: &str| {
        let mut shown = with(pending("True", "False"), "Initialized", "message", json!(message));
        let ended = json!({ "terminated": { "exitCode": 0, "reason": "Completed" } });
        shown["initContainerStatuses"] = json!([
            { "name": "first", "ready": true, "restartCount": 0, "state": ended },
            { "name": "second", "ready": false, "restartCount": 0, "state": { "running": {} } },
        ]);
        judged("pod.condition.initialized", &spec, &[shown])
    };
    assert_ne!(judged("containers with incomplete status: [second]"), "violated");
    assert_eq!(judged("containers with incomplete status: [first second]"), "violated");
    assert_ne!(judged("first is done, but second is not"), "violated", "the words of another vendor");
}

#[test]
fn conditions_of_others_keep_their_fields() {
    let clause = "pod.condition.custom-preserved";
    let judged = |field: &str, value: Value| {
        let mut run = pod(clause, &plain());
        run.status(1.5, &ready_as("False", "False", &[]));
        patch(&mut run, 2.0, "a", "True", "status");
        run.status(3.0, &ready_as("True", "True", &[("a", "True")]));
        run.status(4.0, &with(ready_as("False", "False", &[("a", "True")]), "a", field, value));
        verdict(&run.done(), clause)
    };
    assert_ne!(judged("message", Value::Null), "violated");
    assert_ne!(judged("lastProbeTime", json!(timestamp(4.0))), "violated");
    for field in ["lastTransitionTime", "reason", "message"] {
        assert_eq!(judged(field, json!(timestamp(4.0))), "violated", "{field}");
    }
}

#[test]
fn a_patch_may_change_only_the_message_of_a_condition() {
    let clause = "pod.condition.custom-preserved";
    let mut run = pod(clause, &plain());
    let shown =
        |message: &str| with(ready_as("False", "False", &[("a", "True")]), "a", "message", json!(message));
    run.status(1.5, &shown("old"));
    let patch = json!({ "status": { "conditions": [{ "type": "a", "status": "True", "message": "new" }] } });
    let (kind, name, subresource) = ("Pod".to_owned(), "pod".to_owned(), "status".to_owned());
    run.deed(2.0, Did::Patched { kind, name, patch, subresource });
    run.status(2.1, &shown("old")).status(3.0, &shown("new")).status(4.0, &shown("new"));
    assert_ne!(verdict(&run.done(), clause), "violated", "the old message may be shown once more");
}
