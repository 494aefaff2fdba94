use probity_composer::Told;
use serde_json::json;

use crate::reading::scene::Scene;

const SUCCESS: &str = "probe.result.success";
const UNKNOWN: &str = "probe.result.unknown-no-action";

fn passing(blamed: bool) -> Scene {
    let mut scene = Scene::http(SUCCESS, "readinessProbe", &json!({ "/r": 200 }));
    scene.ready(2.2, true);
    for second in 2..30 {
        scene.probe(f64::from(second), &[Told::get("/r", 200)]);
        if blamed && second == 20 {
            scene.run.event(20.5, "Warning", "Unhealthy", "Readiness probe failed: connection refused");
        }
    }
    scene
}

#[test]
fn probes_that_pass_change_nothing() {
    assert_eq!(passing(false).at(30.0), "holds");
    assert_eq!(passing(true).at(30.0), "violated");
}

#[test]
fn a_failure_on_a_node_that_was_held_up_is_doubt() {
    let mut scene = passing(true);
    scene.run.noise(19.0, 20.0);
    assert_eq!(scene.at(30.0), "inconclusive");
}

fn short(ready: bool) -> &'static str {
    let told = json!({ "body": { "bytes": 100 }, "stall-after": 40 });
    let mut scene = Scene::http(
        UNKNOWN,
        "readinessProbe",
        &json!({ "/r": [{ "answer": 200, "times": 2 }, { "answer": told }] }),
    );
    scene.probes(2..4, &[Told::get("/r", 200)]).ready(2.2, true);
    let cut = Told { step: 1, error: Some("the peer gave up".to_owned()), took: 0.9, ..Told::get("/r", 200) };
    scene.probes(4..9, std::slice::from_ref(&cut));
    scene.ready(6.5, ready).probes(9..20, &[cut]);
    scene.at(20.0)
}

#[test]
fn a_body_that_breaks_off_keeps_the_state() {
    assert_eq!(short(true), "holds");
    assert_eq!(short(false), "violated");
}

/// A ready container fails every second readiness probe, and the others get a body that breaks off. The threshold is two,
/// and the container is shown as not ready after the second failure, or stays ready.
fn unsteady(falls: bool) -> &'static str {
    let probe =
        json!({ "httpGet": { "path": "/r", "port": 8080 }, "periodSeconds": 1, "failureThreshold": 2 });
    let body = json!({ "body": { "bytes": 100 }, "stall-after": 40 });
    let failing = json!({ "answer": 500, "when": { "probe": "every 2" } });
    let script = json!([{ "answer": 200, "times": 3 }, failing, { "answer": body }]);
    let mut scene = Scene::with(UNKNOWN, &json!({ "readinessProbe": probe }), &json!({ "/r": script }));
    scene.probes(2..5, &[Told::get("/r", 200)]).ready(2.2, true);
    let failed = Told { step: 1, ..Told::get("/r", 500) };
    let cut = Told { step: 2, error: Some("the peer gave up".to_owned()), took: 0.9, ..Told::get("/r", 200) };
    for second in 5..30_u32 {
        let told = if second.is_multiple_of(2) { &cut } else { &failed };
        scene.probe(f64::from(second), std::slice::from_ref(told));
    }
    if falls {
        scene.ready(7.3, false);
    }
    scene.at(30.0)
}

#[test]
fn an_error_between_readiness_failures_does_not_end_their_row() {
    assert_eq!(unsteady(true), "holds");
    assert_eq!(unsteady(false), "violated");
}

/// The answers to a startup probe fail and break off in turn. The threshold is two, and the container is stopped after the
/// second failure, or never.
fn interrupted(stops: bool) -> &'static str {
    let probe =
        json!({ "httpGet": { "path": "/r", "port": 8080 }, "periodSeconds": 1, "failureThreshold": 2 });
    let body = json!({ "body": { "bytes": 100 }, "stall-after": 40 });
    let script = json!([{ "answer": 500, "when": { "probe": "every 2" } }, { "answer": body }]);
    let plan = json!({ "listeners": { "web": { "port": 8080, "paths": { "/r": script } } } });
    let mut scene = Scene::of(UNKNOWN, &json!({ "startupProbe": probe }), &plan, false);
    let failed = Told::get("/r", 500);
    let cut = Told { step: 1, error: Some("the peer gave up".to_owned()), took: 0.9, ..Told::get("/r", 200) };
    for second in 2..if stops { 5 } else { 30_u32 } {
        let told = if second.is_multiple_of(2) { &failed } else { &cut };
        scene.probe(f64::from(second), std::slice::from_ref(told));
    }
    if stops {
        scene.run.signal(4.2, "SIGTERM");
        scene.run.left(4.3);
    }
    scene.at(30.0)
}

#[test]
fn an_error_between_startup_failures_does_not_end_their_row() {
    assert_eq!(interrupted(true), "holds");
    assert_eq!(interrupted(false), "violated");
}

/// The answers to a readiness probe pass and break off in turn. Three successes are needed, and the container is shown as ready
/// at this time, or never.
fn rising(ready: Option<f64>) -> &'static str {
    let probe =
        json!({ "httpGet": { "path": "/r", "port": 8080 }, "periodSeconds": 1, "successThreshold": 3 });
    let body = json!({ "body": { "bytes": 100 }, "stall-after": 40 });
    let script = json!([{ "answer": 200, "when": { "probe": "every 2" } }, { "answer": body }]);
    let mut scene = Scene::with(UNKNOWN, &json!({ "readinessProbe": probe }), &json!({ "/r": script }));
    let cut = Told { step: 1, error: Some("the peer gave up".to_owned()), took: 0.9, ..Told::get("/r", 200) };
    scene.ready(1.5, false);
    for second in 2..30_u32 {
        let told = if second.is_multiple_of(2) { &Told::get("/r", 200) } else { &cut };
        scene.probe(f64::from(second), std::slice::from_ref(told));
        if let Some(ready) =
            ready.filter(|ready| *ready > f64::from(second) && *ready < f64::from(second + 1))
        {
            scene.ready(ready, true);
        }
    }
    scene.at(30.0)
}

#[test]
fn an_error_between_successes_does_not_end_their_row() {
    assert_eq!(rising(Some(6.5)), "holds");
    assert_eq!(rising(Some(20.5)), "violated");
    assert_eq!(rising(None), "violated");
}

#[test]
fn probes_go_on_after_an_error() {
    let judged = |more: bool| {
        let body = json!({ "body": { "bytes": 100 }, "stall-after": 40 });
        let script =
            json!([{ "answer": 200, "times": 3 }, { "answer": body, "times": 1 }, { "answer": 200 }]);
        let mut scene = Scene::http(UNKNOWN, "livenessProbe", &json!({ "/r": script }));
        scene.probes(2..5, &[Told::get("/r", 200)]);
        let error = Some("the peer gave up".to_owned());
        scene.probe(5.0, &[Told { step: 1, error, took: 0.9, ..Told::get("/r", 200) }]);
        if more {
            scene.probes(6..40, &[Told { step: 2, ..Told::get("/r", 200) }]);
        }
        scene.at(40.0)
    };
    assert_ne!(judged(true), "violated");
    assert_eq!(judged(false), "violated");
}

fn undeclared(says: &str) -> &'static str {
    let handler = json!({ "tcpSocket": { "port": "nope" } });
    let mut scene = Scene::new(UNKNOWN, "livenessProbe", &handler, &json!({}));
    scene.run.event(4.0, "Warning", "Unhealthy", says);
    scene.at(20.0)
}

#[test]
fn an_error_is_no_failure() {
    assert_eq!(undeclared("Liveness probe errored and resulted in unknown state: nope"), "holds");
    assert_eq!(undeclared("Liveness probe failed: nope"), "violated");
    assert_eq!(undeclared("nothing to the point"), "inconclusive");
}
