//! Hand-written histories of pods that use more storage than their limit.

use probity_composer::Composer;
use probity_script::Fact;
use probity_script::witness::{Consumed, Exiting};
use serde_json::{Value, json};

use crate::tests::verdict;

const CLAUSE: &str = "pod.lifecycle.node-pressure-not-survived";
const WRITTEN: u64 = 16 << 20;

/// By 5 s a container has written 16 MiB, which may be more than its limit.
fn writing(limit: &str) -> Composer {
    let mut run = Composer::new(&[CLAUSE]);
    let plan = r#"{"process":{"consume":[{"disk":{"path":"/scratch/file","bytes":"16MiB"}}]}}"#;
    let spec = json!({
        "volumes": [{ "name": "plain", "emptyDir": {} }, { "name": "scratch", "emptyDir": { "sizeLimit": limit } }],
        "containers": [{
            "name": "target", "env": [{ "name": "AGNHOST_PLAN", "value": plan }],
            "volumeMounts": [{ "name": "scratch", "mountPath": "/scratch" }],
        }],
    });
    run.create(0.0, &spec).start(1.0, 0).running(1.5, true, true, 0);
    run.fact(5.0, Fact::Consumed(Consumed { resource: "disk".to_owned(), amount: WRITTEN, error: None }));
    run
}

const MESSAGE: &str = "Usage of EmptyDir volume \"scratch\" exceeds the limit \"4Mi\".";

fn over(run: &mut Composer, at: f64, phase: &str, reason: Option<&str>, code: u8) {
    run.signal(at - 1.0, "SIGTERM");
    if code == 0 {
        run.fact(at - 0.9, Fact::Exiting(Exiting { code, why: "stop".to_owned() }));
    }
    run.left(at - 0.8);
    let state = json!({ "terminated": { "exitCode": code, "reason": "Error" } });
    let mut status: Value = json!({
        "phase": phase, "podIP": "10.0.0.7",
        "containerStatuses": [{
            "name": "target", "restartCount": 0, "ready": false, "started": false,
            "containerID": "containerd://target-0", "state": state, "lastState": {},
        }],
    });
    if let Some(reason) = reason {
        status["reason"] = json!(reason);
        status["message"] = json!(MESSAGE);
    }
    run.status(at, &status);
}

fn ended(phase: &str, reason: Option<&str>, code: u8) -> &'static str {
    let mut run = writing("4Mi");
    over(&mut run, 30.0, phase, reason, code);
    run.reading(60.0);
    verdict(&run.done(), CLAUSE)
}

#[test]
fn an_eviction_without_a_message_is_a_violation() {
    let mut run = writing("4Mi");
    over(&mut run, 30.0, "Failed", Some("Evicted"), 137);
    run.status(35.0, &json!({ "phase": "Failed", "reason": "Evicted", "podIP": "10.0.0.7" })).reading(60.0);
    assert_eq!(verdict(&run.done(), CLAUSE), "violated");
}

#[test]
fn a_message_names_no_other_volume() {
    let told = |message: &str| {
        let mut run = writing("4Mi");
        over(&mut run, 30.0, "Failed", Some("Evicted"), 137);
        let status =
            json!({ "phase": "Failed", "reason": "Evicted", "message": message, "podIP": "10.0.0.7" });
        run.status(35.0, &status).reading(60.0);
        verdict(&run.done(), CLAUSE)
    };
    assert_eq!(told(MESSAGE), "holds");
    assert_eq!(told("a volume is too large"), "holds", "it names none");
    assert_eq!(told("the volume \"scratch\" is not as \"plain\" as it was"), "holds");
    assert_eq!(told("Usage of EmptyDir volume \"plain\" exceeds the limit \"4Mi\"."), "violated");
}

#[test]
fn a_pod_beyond_its_limit_is_evicted() {
    assert_eq!(ended("Failed", Some("Evicted"), 137), "holds");
    assert_eq!(ended("Failed", None, 137), "violated");
    assert_eq!(ended("Succeeded", None, 137), "violated");
    assert_eq!(ended("Succeeded", None, 0), "diverges", "the end of the containers counts as success");
}

#[test]
fn a_pod_that_goes_on_or_comes_back_is_noticed() {
    let mut run = writing("4Mi");
    run.reading(200.0);
    assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    let mut run = writing("4Mi");
    run.signal(28.0, "SIGTERM");
    run.left(29.0).start(30.0, 1).running(30.5, true, true, 1).reading(60.0);
    assert_eq!(verdict(&run.done(), CLAUSE), "violated");
}

#[test]
fn a_node_may_not_count_local_storage() {
    let judged = |resources: &[&str]| {
        let mut run = writing("4Mi");
        run.reading(200.0);
        let mut history = run.done();
        for facts in history.header.nodes.values_mut() {
            let all = resources.iter().map(|resource| ((*resource).to_owned(), "8Gi".to_owned()));
            facts.allocatable = all.collect();
        }
        verdict(&history, CLAUSE)
    };
    assert_eq!(judged(&["memory"]), "inconclusive");
    assert_eq!(judged(&["memory", "ephemeral-storage"]), "violated");
    assert_eq!(judged(&[]), "violated", "the harness may not read nodes");
}

#[test]
fn a_pod_within_its_limit_is_left_alone() {
    let mut run = writing("64Mi");
    run.reading(200.0);
    assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
}

/// A container gets its stop signal at 10 s and exits with this code. Its pod is shown as Failed for this reason at 11
/// s, with the container still running, and as Succeeded at 12 s.
fn changed(clause: &str, reason: &str, code: u8) -> &'static str {
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &json!({ "containers": [{ "name": "target" }] }))
        .start(1.0, 0)
        .running(1.5, true, true, 0);
    run.signal(10.0, "SIGTERM");
    run.fact(10.1, Fact::Exiting(Exiting { code, why: "stop".to_owned() }));
    run.left(10.2);
    let shown = |phase: &str, reason: Value, state: Value| {
        json!({ "phase": phase, "reason": reason, "podIP": "10.0.0.7", "containerStatuses": [{
            "name": "target", "restartCount": 0, "ready": false, "started": false,
            "containerID": "containerd://target-0", "state": state, "lastState": {},
        }] })
    };
    run.status(11.0, &shown("Failed", json!(reason), json!({ "running": {} })));
    let ended = json!({ "terminated": { "exitCode": code, "reason": "Completed" } });
    run.status(12.0, &shown("Succeeded", json!(null), ended)).reading(40.0);
    verdict(&run.done(), clause)
}

#[test]
fn only_an_evicted_pod_that_exits_with_0_may_change_its_terminal_phase() {
    for clause in ["pod.phase.failed", "pod.phase.terminal-sticky"] {
        assert_eq!(changed(clause, "Evicted", 0), "diverges");
        assert_eq!(changed(clause, "Evicted", 3), "violated");
        assert_eq!(changed(clause, "DeadlineExceeded", 0), "violated");
    }
}
