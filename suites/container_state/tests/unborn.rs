//! Containers that never ran, or that run and are shown as if they did not.

use probity_composer::Composer;
use serde_json::{Value, json};

use super::{ENDED, STATES, ended, plain, running, status};
use crate::tests::verdict;

#[test]
fn a_container_that_never_ran_has_not_ended() {
    let judged = |main: Value| {
        let mut run = Composer::new(&[STATES]);
        let inits = [json!({ "name": "first" })];
        let spec = json!({ "restartPolicy": "Never", "initContainers": inits, "containers": [{ "name": "target" }] });
        run.create(0.0, &spec);
        let one = |name: &str, state: Value| json!({ "name": name, "restartCount": 0, "ready": false, "state": state, "lastState": {} });
        let failed = one("first", ended(1, "Error", 1.0, 3.0));
        run.status(
            4.0,
            &json!({ "phase": "Failed", "initContainerStatuses": [failed], "containerStatuses": [one("target", main)] }),
        );
        run.reading(20.0);
        verdict(&run.done(), STATES)
    };
    assert_ne!(judged(json!({ "waiting": { "reason": "PodInitializing" } })), "violated");
    assert_eq!(judged(ended(137, "ContainerStatusUnknown", 0.0, 0.0)), "violated");
}

#[test]
fn a_container_does_not_end_before_the_sidecar_has_started_up() {
    let judged = |answer: u16, state: Value| {
        let mut run = Composer::new(&[STATES]);
        let probe = json!({ "httpGet": { "path": "/start", "port": 8080 }, "periodSeconds": 1 });
        let helper = json!({ "name": "helper", "restartPolicy": "Always", "startupProbe": probe });
        run.create(0.0, &json!({ "initContainers": [helper], "containers": [{ "name": "target" }] }));
        run.of("pod", "helper").start(1.0, 0).probe(2.0, "/start", answer);
        let one = |name: &str, state: Value| json!({ "name": name, "restartCount": 0, "ready": false, "state": state, "lastState": {} });
        let helper = one("helper", ended(0, "Completed", 1.0, 3.0));
        let mains = [one("target", state)];
        run.status(
            4.0,
            &json!({ "phase": "Failed", "initContainerStatuses": [helper], "containerStatuses": mains }),
        );
        run.reading(20.0);
        verdict(&run.done(), STATES)
    };
    let unknown = || ended(137, "ContainerStatusUnknown", 0.0, 0.0);
    assert_ne!(judged(503, json!({ "waiting": { "reason": "PodInitializing" } })), "violated");
    assert_eq!(judged(503, unknown()), "violated");
    assert_ne!(judged(200, unknown()), "violated", "it may have been created");
}

#[test]
fn a_container_that_never_ran_has_not_exited_with_0() {
    let judged = |kind: &str, code: i64| {
        let mut run = Composer::new(&[ENDED]);
        run.create(0.0, &json!({ kind: [{ "name": "target", "image": "none" }] }));
        let end = json!({ "exitCode": code, "reason": "x", "startedAt": null, "finishedAt": null });
        let state = json!({ "terminated": end });
        let one =
            json!({ "name": "target", "restartCount": 0, "ready": false, "state": state, "lastState": {} });
        let statuses = if kind == "containers" { "containerStatuses" } else { "initContainerStatuses" };
        run.status(4.0, &json!({ "phase": "Failed", statuses: [one] })).reading(20.0);
        verdict(&run.done(), ENDED)
    };
    assert_eq!(judged("containers", 0), "violated");
    assert_ne!(judged("containers", 137), "violated");
    assert_ne!(
        judged("initContainers", 0),
        "violated",
        "the kubelet may conclude it from the initialized pod"
    );
}

#[test]
fn a_container_that_runs_does_not_wait() {
    let waiting = || json!({ "waiting": { "reason": "ContainerCreating" } });
    let judged = |first: Value, (at, later): (f64, Value), until: f64| {
        let mut run = plain(STATES);
        run.status(1.5, &status(0, first, json!({}))).status(at, &status(0, later, json!({})));
        run.probe(until, "/", 200);
        run.reading(until);
        verdict(&run.done(), STATES)
    };
    assert_eq!(judged(running(1.0), (5.0, waiting()), 6.0), "violated", "it was shown as running");
    assert_eq!(judged(waiting(), (3.0, running(1.0)), 20.0), "holds");
    assert_eq!(
        judged(waiting(), (9.0, waiting()), 10.0),
        "violated",
        "it has been running for eight seconds"
    );
    assert_eq!(judged(waiting(), (3.0, waiting()), 20.0), "violated", "it is never shown as running");
}
