//! How events are joined to pods.

use probity_composer::{Composer, Told};
use probity_model::Timeline;
use probity_model::history::{Change, Did};
use probity_model::timeline::ProbeOutcome;
use serde_json::json;

#[test]
fn a_pod_that_is_seen_before_its_creation_is_answered_is_one_pod() {
    let spec = json!({ "containers": [{ "name": "target" }] });
    let mut run = Composer::new(&[]);
    run.pod_seen(0.1, &spec, &json!({ "phase": "Pending" }), Change::Added);
    let manifest = json!({ "metadata": { "name": "pod" }, "spec": spec });
    run.deed(0.2, Did::Created { kind: "Pod".to_owned(), name: "pod".to_owned(), manifest });
    run.start(0.5, 0);
    let history = run.done();
    let timeline = Timeline::of(&history);
    assert_eq!(timeline.pods.len(), 1);
    assert!(timeline.pods[0].created.is_some());
    assert_eq!(timeline.pods[0].containers[0].attempts.len(), 1);
}

#[test]
fn an_instance_that_connects_to_the_recorder_again_has_not_ended() {
    let ended = |again: bool| {
        let mut run = Composer::new(&[]);
        run.create(0.0, &json!({ "containers": [{ "name": "target" }] })).start(1.0, 0).left(5.0);
        if again {
            run.rejoin(6.0);
        }
        let history = run.done();
        Timeline::of(&history).pods[0].containers[0].attempts[0].ended.is_some()
    };
    assert!(ended(false));
    assert!(!ended(true));
}

#[test]
fn a_probe_arrives_with_the_connection_that_it_opens() {
    let probe = json!({ "httpGet": { "path": "/live", "port": 8080 }, "timeoutSeconds": 1 });
    let mut run = Composer::new(&[]);
    run.create(0.0, &json!({ "containers": [{ "name": "target", "livenessProbe": probe }] })).start(1.0, 0);
    run.http(5.0, &Told { unread: 1.5, ..Told::get("/live", 200) });
    let history = run.done();
    let timeline = Timeline::of(&history);
    let container = &timeline.pods[0].containers[0];
    let (attempt, spec) = (&container.attempts[0], &container.probes[0]);
    let probe = &attempt.probes[0];
    assert_eq!(probe.at.at.lo, attempt.connections[0].at.at.lo);
    assert_eq!(attempt.result(probe, spec).outcome(), ProbeOutcome::Failure, "the kubelet had given up");
}

#[test]
fn a_failed_start_counts_as_an_instance_only_for_the_api() {
    let numbered = |reason: &str| {
        let mut run = Composer::new(&[]);
        run.create(0.0, &json!({ "containers": [{ "name": "target" }] })).start(1.0, 0);
        let last =
            json!({ "terminated": { "exitCode": 128, "reason": reason, "containerID": "containerd://0" } });
        let status = json!({
            "name": "target", "restartCount": 1, "containerID": "containerd://1",
            "state": { "running": {} }, "lastState": last,
        });
        run.status(2.0, &json!({ "phase": "Running", "containerStatuses": [status] }));
        run.left(5.0).start(6.0, 1);
        let history = run.done();
        let timeline = Timeline::of(&history);
        let attempts = &timeline.pods[0].containers[0].attempts;
        attempts.iter().map(|attempt| (attempt.number, attempt.earlier_processes())).collect::<Vec<_>>()
    };
    assert_eq!(numbered("StartError"), [(1, 0), (2, 1)]);
    assert_eq!(numbered("Error"), [(0, 0), (1, 1)], "a process ran, but its record is missing");
}
