//! Conditions that contradict each other, the containers of the same status, or the starts of these containers.

use probity_model::history::{Happening, Reading};

use super::*;

#[test]
fn without_gates_a_pod_is_ready_when_its_containers_are() {
    let clause = "pod.condition.containersready";
    let low = || ready_as("False", "False", &[]);
    let alone = || with(whole(), "Ready", "status", json!("False"));
    assert_eq!(judged(clause, &plain(), &[low(), whole(), whole()]), "holds");
    assert_eq!(judged(clause, &plain(), &[low(), alone(), whole()]), "violated", "for a moment only");
    let gated =
        json!({ "readinessGates": [{ "conditionType": GATE }], "containers": [{ "name": "target" }] });
    assert_ne!(judged(clause, &gated, &[low(), alone(), whole()]), "violated", "a gate may be closed");
    let unwatched = |reason: &str, stalled: bool| {
        let mut run = pod(clause, &plain());
        run.status(2.0, &low()).status(3.0, &whole()).status(4.0, &alone()).status(9.0, &whole());
        if stalled {
            run.noise(3.0, 9.0);
        }
        run.event(9.5, "Warning", reason, "Node is not ready").reading(30.0);
        verdict(&run.done(), clause)
    };
    assert_ne!(
        unwatched("NodeNotReady", false),
        "violated",
        "the control plane thinks that its node is lost"
    );
    assert_eq!(unwatched("Unhealthy", false), "violated");
    assert_eq!(unwatched("Unhealthy", true), "violated", "no noise changes one condition alone");
}

/// A container starts at 10 s, and its pod becomes ready at this time, which is shown at 14 s.
fn ready_since(second: f64, restarts: u64, more: impl FnOnce(&mut Composer)) -> &'static str {
    let clause = "pod.condition.transition-time";
    let mut run = pod(clause, &plain());
    let begun = |mut status: Value| {
        status["containerStatuses"][0]["state"] = json!({ "running": { "startedAt": timestamp(10.0) } });
        status["containerStatuses"][0]["restartCount"] = json!(restarts);
        status
    };
    let since =
        |status: Value, kind: &str| with(status, kind, "lastTransitionTime", json!(timestamp(second)));
    run.status(9.0, &ready_as("False", "False", &[]));
    run.status(14.0, &begun(since(since(whole(), "Ready"), "ContainersReady")));
    more(&mut run);
    run.reading(30.0);
    verdict(&run.done(), clause)
}

#[test]
fn a_pod_is_not_ready_before_its_containers_start() {
    assert_eq!(ready_since(11.0, 0, |_| {}), "holds");
    assert_ne!(
        ready_since(9.0, 0, |_| {}),
        "violated",
        "the clock may have stepped back by less than a second"
    );
    let noisy = |run: &mut Composer| {
        run.noise(5.0, 14.0);
    };
    assert_ne!(ready_since(11.0, 0, noisy), "violated");
    assert_eq!(ready_since(8.0, 0, noisy), "violated", "both times are of one clock");
    assert_ne!(ready_since(8.0, 1, noisy), "violated", "an earlier instance may have been ready");
    let set_back = |run: &mut Composer| {
        let (node, us) = (probity_composer::NODE.to_owned(), probity_composer::us(20.0));
        let mono_us = us + probity_composer::AHEAD_US;
        // Two seconds behind the readings before.
        let wall_us = us + probity_composer::ZERO_WALL_US - 2_000_000;
        let reading = Reading { node, sent_us: us - 500, received_us: us + 500, mono_us, wall_us };
        run.push(20.0, Happening::Reading(reading));
    };
    assert_ne!(
        ready_since(8.0, 0, |run| {
            noisy(run);
            set_back(run);
        }),
        "violated",
        "the clock of the node was set back"
    );
}

/// Judges a pod with two init containers, of which the first has succeeded, and a sidecar, with this message.
fn waiting(message: &str) -> &'static str {
    let spec = json!({
        "initContainers": [
            { "name": "first" }, { "name": "second" }, { "name": "helper", "restartPolicy": "Always" },
        ],
        "containers": [{ "name": "target" }],
    });
    let mut shown = with(pending("True", "False"), "Initialized", "message", json!(message));
    let ended = json!({ "terminated": { "exitCode": 0, "reason": "Completed" } });
    shown["initContainerStatuses"] = json!([
        { "name": "first", "ready": true, "restartCount": 0, "state": ended },
        { "name": "second", "ready": false, "restartCount": 0, "state": { "running": {} } },
        { "name": "helper", "ready": false, "restartCount": 0, "state": { "waiting": {} } },
    ]);
    let clause = "pod.condition.initialized";
    let mut run = pod(clause, &spec);
    run.status(2.0, &shown).reading(3.0);
    verdict(&run.done(), clause)
}

#[test]
fn each_status_names_the_init_containers_that_a_pod_waits_for() {
    assert_ne!(waiting("containers with incomplete status: [second helper]"), "violated");
    assert_ne!(waiting("second and then helper, before target"), "violated", "the words of another vendor");
    assert_eq!(waiting("containers with incomplete status: [helper]"), "violated", "second has not ended");
    assert_ne!(
        waiting("containers with incomplete status: [second]"),
        "violated",
        "the startup probe of the sidecar may just have succeeded"
    );
    assert_eq!(waiting("containers with incomplete status: [second helper target]"), "violated");
}
