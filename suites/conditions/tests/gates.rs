//! Hand-written histories of pods with readiness gates: when such a pod is ready, and how its status names the gates.

use super::*;

/// The reason for a pod that is not ready only because of its gates.
const WAITS: &str = "ReadinessGatesNotReady";

fn gated() -> Value {
    json!({
        "readinessGates": [{ "conditionType": GATE }, { "conditionType": OTHER }],
        "containers": [{ "name": "target" }],
    })
}

#[test]
fn a_gate_without_a_condition_is_shut() {
    let clause = "readinessgate.missing-is-false";
    assert_eq!(judged(clause, &gated(), &[ready_as("True", "False", &[])]), "holds");
    assert_eq!(judged(clause, &gated(), &[ready_as("True", "True", &[(GATE, "True")])]), "violated");
    assert_eq!(judged(clause, &gated(), &[ready_as("False", "False", &[])]), "inconclusive");
}

/// Judges a pod with two gates that has these statuses at these times.
fn through(statuses: &[(f64, Value)]) -> &'static str {
    let clause = "readinessgate.ready-needs-both";
    let mut run = pod(clause, &gated());
    for (at, status) in statuses {
        run.status(*at, status);
    }
    run.reading(60.0);
    verdict(&run.done(), clause)
}

#[test]
fn a_pod_is_ready_with_its_containers_and_all_of_its_gates() {
    let (both, one) = ([(GATE, "True"), (OTHER, "True")], [(GATE, "True"), (OTHER, "False")]);
    let as_it_is = |containers, pod| ready_as(containers, pod, &both);
    let course = |late: f64| {
        vec![
            (2.0, ready_as("True", "False", &one)),
            (8.0, as_it_is("True", "False")),
            (8.0 + late, as_it_is("True", "True")),
            (18.0, ready_as("True", "True", &one)),
            (18.2, ready_as("True", "False", &one)),
            (24.0, as_it_is("True", "False")),
            (24.2, as_it_is("True", "True")),
            (30.0, as_it_is("False", "False")),
            (36.0, as_it_is("True", "True")),
        ]
    };
    assert_eq!(through(&course(0.2)), "holds");
    assert_eq!(through(&course(7.0)), "violated", "the kubelet notices the gate late");
    assert_eq!(through(&course(0.2)[..2]), "violated", "the kubelet never notices the gate");
    assert_eq!(through(&[(2.0, ready_as("True", "True", &one))]), "violated", "one gate is enough");
    assert_eq!(through(&[]), "inconclusive");
}

#[test]
fn a_gate_counts_until_the_pod_is_gone() {
    let clause = "readinessgate.ready-needs-both";
    let judged = |at_last: &'static str| {
        let shut = [(GATE, "True"), (OTHER, "False")];
        let mut run = pod(clause, &gated());
        run.status(2.0, &ready_as("True", "False", &shut));
        run.deed(10.0, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace: None });
        for (at, ready) in [(10.1, "False"), (10.5, at_last)] {
            leaves(&mut run, at, &gated(), &ready_as("True", ready, &shut));
        }
        run.reading(60.0);
        verdict(&run.done(), clause)
    };
    assert_eq!(judged("False"), "holds");
    assert_eq!(judged("True"), "violated");
}

/// A revision of a pod that terminates.
fn leaves(run: &mut Composer, at: f64, spec: &Value, status: &Value) {
    let object = json!({
        "metadata": {
            "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod" },
            "deletionTimestamp": timestamp(40.0), "deletionGracePeriodSeconds": 30,
        },
        "spec": spec, "status": status,
    });
    run.sighting(at, "Pod", "pod", Change::Modified, object);
}

#[test]
fn a_container_that_has_ended_is_not_ready_while_its_pod_terminates() {
    let clause = "pod.condition.containersready";
    let judged = |ready: bool| {
        let mut run = pod(clause, &plain());
        run.status(2.0, &ready_as("True", "True", &[]));
        run.deed(10.0, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace: None });
        let mut ended = ready_as("False", "False", &[]);
        ended["containerStatuses"][0]["state"] =
            json!({ "terminated": { "exitCode": 0, "reason": "Completed" } });
        ended["containerStatuses"][0]["ready"] = json!(ready);
        leaves(&mut run, 11.0, &plain(), &ended);
        run.reading(60.0);
        verdict(&run.done(), clause)
    };
    assert_eq!(judged(false), "holds");
    assert_eq!(judged(true), "violated");
}

#[test]
fn containers_behind_a_gate_are_shown_as_ready() {
    let clause = "readinessgate.containersready-shown";
    let because = |status: Value, reason: &str, message: &str| {
        with(with(status, "Ready", "reason", json!(reason)), "Ready", "message", json!(message))
    };
    let shut = |reason: &str, message: &str| {
        because(ready_as("True", "False", &[(GATE, "False"), (OTHER, "True")]), reason, message)
    };
    let missing = because(ready_as("True", "False", &[]), WAITS, &format!("{GATE} {OTHER}"));
    let mut hidden = ready_as("False", "False", &[(GATE, "False"), (OTHER, "True")]);
    hidden["containerStatuses"][0]["ready"] = json!(true);
    assert_eq!(judged(clause, &gated(), &[missing, shut(WAITS, GATE)]), "holds");
    assert_eq!(judged(clause, &gated(), &[shut(WAITS, OTHER)]), "violated", "the gate is not named");
    assert_eq!(
        judged(clause, &gated(), &[shut("ContainersNotReady", GATE)]),
        "violated",
        "the containers are ready"
    );
    let soon = judged(clause, &gated(), &[shut(WAITS, OTHER), shut(WAITS, GATE)]);
    assert_ne!(soon, "violated", "the kubelet had not heard of the gate yet");
    assert_eq!(judged(clause, &gated(), &[hidden]), "violated");
    assert_eq!(judged(clause, &plain(), &[whole()]), "inconclusive", "it has no gates");
}
