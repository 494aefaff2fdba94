use serde_json::{Value, json};

use crate::reading::scene::Scene;

const SERVING: &str = "probe.grpc.serving-success";
const SERVICE: &str = "probe.grpc.wrong-service-fails";
const NONE: &str = "probe.grpc.unimplemented-fails";
const PORT: &str = "probe.grpc.wrong-port-fails";
const TLS: &str = "probe.grpc.plaintext-only";
const THREE: &str = "probe.grpc.uses-same-endpoint-three-kinds";

fn scene(clause: &str, listener: &Value) -> Scene {
    let plan = json!({ "listeners": { "grpc": listener } });
    Scene::new(clause, "readinessProbe", &json!({ "grpc": { "port": 9090 } }), &plan)
}

fn answered(clause: &str, answer: &str, ready: bool) -> &'static str {
    let mut scene = scene(clause, &json!({ "port": 9090, "protocol": "grpc" }));
    for second in 2..18 {
        scene.run.grpc(f64::from(second), "", answer);
    }
    scene.run.running(2.4, ready, true, 0);
    scene.at(18.0)
}

#[test]
fn serving_is_success_and_nothing_else_is() {
    for word in ["serving", "status 1"] {
        assert_eq!(answered(SERVING, word, true), "holds", "{word}");
        assert_eq!(answered(SERVING, word, false), "violated", "{word}");
    }
    for word in ["status 2", "status 0", "status 77", "not-found", "code 14", "close"] {
        assert_eq!(answered(SERVING, word, false), "holds", "{word}");
        assert_eq!(answered(SERVING, word, true), "violated", "{word}");
    }
    assert_eq!(answered(SERVING, "half-frame", true), "inconclusive");
}

/// Judges a run with eight seconds of SERVING, four seconds of `answer`, and then SERVING again. `falls` and `rises`
/// say whether the status changes to not ready, and back to ready.
fn between(answer: &str, falls: bool, rises: bool) -> &'static str {
    let mut scene = scene(SERVING, &json!({ "port": 9090, "protocol": "grpc" }));
    scene.run.running(2.2, true, true, 0);
    for second in 2..18 {
        let answer = if (10..14).contains(&second) { answer } else { "status 1" };
        scene.run.grpc(f64::from(second), "", answer);
        if (second == 10 && falls) || (second == 14 && falls && rises) {
            scene.run.running(f64::from(second) + 0.2, second == 14, true, 0);
        }
    }
    scene.at(18.0)
}

#[test]
fn each_answer_is_judged_by_itself() {
    for answer in ["status 0", "status 2", "status 3", "status 77", "code 14", "not-found"] {
        assert_eq!(between(answer, true, true), "holds", "{answer}");
        assert_eq!(between(answer, false, true), "violated", "{answer}");
    }
    assert_eq!(between("status 2", true, false), "violated", "the container does not become ready again");
}

#[test]
fn errors_are_failures() {
    for (clause, word) in [(SERVICE, "not-found"), (NONE, "unimplemented")] {
        assert_eq!(answered(clause, word, false), "holds");
        assert_eq!(answered(clause, word, true), "violated");
        assert_eq!(answered(clause, "status 1", true), "inconclusive");
    }
}

fn vain(clause: &str, listener: &Value, says: &str, ready: bool) -> &'static str {
    let mut scene = scene(clause, listener);
    scene.run.running(3.0, ready, true, 0).event(4.0, "Warning", "Unhealthy", says);
    scene.at(9.0)
}

#[test]
fn nobody_who_could_answer_is_a_failure() {
    let failed = "Readiness probe failed: timeout: failed to connect service";
    let errored = "Readiness probe errored and resulted in unknown state";
    for (clause, listener) in [
        (PORT, json!({ "port": 9091, "protocol": "grpc" })),
        (NONE, json!({ "port": 9090 })),
        (TLS, json!({ "port": 9090, "protocol": "grpc", "tls": {} })),
    ] {
        assert_eq!(vain(clause, &listener, failed, false), "holds", "{clause}");
        assert_eq!(vain(clause, &listener, failed, true), "violated", "{clause}");
        assert_eq!(vain(clause, &listener, errored, false), "violated", "{clause}");
        assert_eq!(vain(clause, &json!({ "port": 9090, "protocol": "grpc" }), failed, false), "inconclusive");
    }
}

/// A sidecar whose liveness probe fails until the second `end`, beside a main container that only sleeps. The sidecar
/// may get its stop signal before `end`.
fn vain_sidecar(main: &Value, stop: Option<f64>, end: f64) -> &'static str {
    let plan = json!({ "listeners": { "grpc": { "port": 9091, "protocol": "grpc" } } });
    let env = json!([{ "name": "AGNHOST_PLAN", "value": plan.to_string() }]);
    let probe = json!({ "grpc": { "port": 9090 }, "periodSeconds": 1, "failureThreshold": 2 });
    let side = json!({ "name": "target", "restartPolicy": "Always", "env": env, "livenessProbe": probe });
    let mut run = probity_composer::Composer::new(&[PORT]);
    run.create(0.0, &json!({ "initContainers": [side], "containers": [main] })).start(1.0, 0);
    let status = probity_composer::running_status("main", 2.0, true, true, 0);
    run.status(2.1, &status);
    run.event(4.0, "Warning", "Unhealthy", "Liveness probe failed: timeout");
    if let Some(stop) = stop {
        run.signal(stop, "SIGTERM");
        run.left(stop + 0.1);
    }
    run.reading(end);
    crate::tests::verdict(&run.done(), PORT)
}

#[test]
fn a_sidecar_whose_probe_is_in_vain_is_killed_beside_a_container_that_sleeps() {
    let sleeps = json!({ "name": "main", "args": ["pause"] });
    assert_eq!(vain_sidecar(&sleeps, Some(5.0), 6.0), "holds");
    assert_eq!(vain_sidecar(&sleeps, None, 6.0), "inconclusive", "an event alone proves nothing");
    assert_eq!(vain_sidecar(&sleeps, None, 60.0), "violated");
    assert_eq!(vain_sidecar(&json!({ "name": "main", "image": "other" }), None, 60.0), "inconclusive");
}

fn three(ready: bool) -> &'static str {
    let check = |service: &str| json!({ "grpc": { "port": 9090, "service": service }, "periodSeconds": 1 });
    let container = json!({
        "name": "target", "startupProbe": check("s"), "livenessProbe": check("l"), "readinessProbe": check("r"),
    });
    let mut run = probity_composer::Composer::new(&[THREE]);
    run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0).running(1.2, false, false, 0);
    run.grpc(2.0, "s", "status 1");
    run.running(2.2, false, true, 0);
    for second in 3..18 {
        run.grpc(f64::from(second), "l", "status 1");
        run.grpc(f64::from(second) + 0.1, "r", "status 1");
    }
    run.running(3.4, ready, true, 0).reading(18.0);
    crate::tests::verdict(&run.done(), THREE)
}

#[test]
fn three_kinds_on_one_port_work() {
    assert_eq!(three(true), "holds");
    assert_eq!(three(false), "violated");
    assert_eq!(answered(THREE, "status 1", false), "inconclusive");
}
