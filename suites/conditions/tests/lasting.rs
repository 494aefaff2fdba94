//! Conditions that stay wrong, and the containers that a condition names because the pod waits for them.

use super::*;

#[test]
fn once_all_containers_are_ready_no_condition_stays_false() {
    let clause = "pod.condition.set-of-five";
    let unlike = |kind: &str| with(whole(), kind, "status", json!("False"));
    for kind in ["Initialized", "Ready", super::super::NETWORK] {
        assert_eq!(judged(clause, &plain(), &[unlike(kind)]), "violated", "{kind}");
        assert_eq!(judged(clause, &plain(), &[unlike(kind), whole()]), "holds", "one late status: {kind}");
    }
    let limited = json!({ "activeDeadlineSeconds": 5, "containers": [{ "name": "target" }] });
    assert_ne!(judged(clause, &limited, &[unlike("Ready")]), "violated", "its deadline may be over");
    let gated =
        json!({ "readinessGates": [{ "conditionType": GATE }], "containers": [{ "name": "target" }] });
    assert_ne!(judged(clause, &gated, &[unlike("Ready")]), "violated", "it has a gate");
}

#[test]
fn what_is_not_ready_has_its_own_reason_only() {
    let clause = "pod.condition.containersready";
    let low = || ready_as("False", "False", &[]);
    let both = |field: &str, value: &str| {
        with(with(low(), "ContainersReady", field, json!(value)), "Ready", field, json!(value))
    };
    let judged = |status: Value| judged(clause, &plain(), &[status, whole()]);
    assert_eq!(judged(low()), "holds");
    assert_eq!(judged(both("reason", "Unwell")), "violated");
    assert_eq!(
        judged(both("reason", "UnknownContainerStatuses")),
        "violated",
        "there are container statuses"
    );
    assert_eq!(
        judged(with(low(), "Ready", "reason", json!("Unwell"))),
        "violated",
        "Ready and ContainersReady differ"
    );
    assert_eq!(
        judged(with(low(), "Ready", "message", json!("target"))),
        "violated",
        "Ready and ContainersReady differ"
    );
    let mut unknown = both("reason", "UnknownContainerStatuses");
    unknown["containerStatuses"] = json!([]);
    assert_ne!(judged(unknown), "violated");
    assert_ne!(
        judged(both("reason", "PodFailed")),
        "violated",
        "something outside may be about to end the pod"
    );
}

#[test]
fn a_pod_whose_main_container_runs_is_initialized() {
    let clause = "pod.condition.initialized";
    let not = with(whole(), "Initialized", "status", json!("False"));
    assert_eq!(judged(clause, &plain(), &[not]), "violated");
    assert_ne!(judged(clause, &plain(), &[whole()]), "violated");
}

/// Judges a pod with a sidecar that starts at 1 s, and these statuses from 2 s on, one each second.
fn helped(statuses: &[Value]) -> &'static str {
    let clause = "pod.condition.initialized";
    let helper = json!({ "name": "helper", "restartPolicy": "Always" });
    let mut run = pod(clause, &json!({ "initContainers": [helper], "containers": [{ "name": "target" }] }));
    run.of("pod", "helper").start(1.0, 0);
    for (at, status) in (2_u32..).zip(statuses) {
        run.status(f64::from(at), status);
    }
    run.reading(30.0);
    verdict(&run.done(), clause)
}

#[test]
fn a_pod_is_initialized_after_its_last_sidecar() {
    let (low, high) = (pending("True", "False"), pending("True", "True"));
    let mut started = high.clone();
    started["initContainerStatuses"] =
        json!([{ "name": "helper", "started": true, "restartCount": 0, "state": { "running": {} } }]);
    assert_ne!(helped(&[low.clone(), started.clone()]), "violated");
    assert_eq!(helped(std::slice::from_ref(&low)), "violated", "the pod is never initialized");
    let late: Vec<Value> = (0..8).map(|_| low.clone()).chain([started]).collect();
    assert_eq!(helped(&late), "violated", "the condition is late");
    let unnamed = with(low, "Initialized", "message", json!("something is incomplete"));
    assert_eq!(helped(&[unnamed]), "violated", "the sidecar is not named");
    assert_eq!(helped(&[]), "violated", "nothing is ever shown");
}

#[test]
fn times_of_one_status_may_be_a_second_apart() {
    let clause = "ptsc.initialized-order-init";
    let spec = json!({ "initContainers": [{ "name": "first" }], "containers": [{ "name": "target" }] });
    let at = |second| with(whole(), "ContainersReady", "lastTransitionTime", json!(timestamp(second)));
    assert_eq!(judged(clause, &spec, &[at(0.0)]), "holds", "each time is rounded down separately");
    assert_eq!(judged(clause, &spec, &[at(-2.0)]), "violated");
}

#[test]
fn the_clock_of_a_node_may_step_back_between_two_statuses() {
    let clause = "ptsc.initialized-order-init";
    let spec = json!({ "initContainers": [{ "name": "first" }], "containers": [{ "name": "target" }] });
    let initialized = with(whole(), "ContainersReady", "status", json!("False"));
    let ready = |second| with(whole(), "ContainersReady", "lastTransitionTime", json!(timestamp(second)));
    assert_eq!(judged(clause, &spec, &[initialized.clone(), ready(0.0)]), "holds");
    assert_eq!(judged(clause, &spec, &[initialized, ready(-2.0)]), "violated");
}
