use probity_composer::Told;
use probity_script::Fact;
use probity_script::witness::Listening;
use serde_json::json;

use crate::reading::scene::Scene;

const OPEN: &str = "probe.tcp.open-success";
const CLOSE: &str = "probe.tcp.immediate-close-healthy";
const BLIND: &str = "probe.tcp.blind-to-app";

fn scene(clause: &str, probe: &str) -> Scene {
    let plan = json!({ "listeners": { "web": { "port": 8080 } } });
    Scene::new(clause, probe, &json!({ "tcpSocket": { "port": 8080 } }), &plan)
}

fn connected(clause: &str, answer: &str, ready: bool) -> &'static str {
    let mut scene = scene(clause, "readinessProbe");
    for second in 2..18 {
        scene.run.tcp(f64::from(second), &Told { connection: answer.to_owned(), ..Told::get("", "") });
    }
    scene.run.running(2.4, ready, true, 0);
    scene.at(18.0)
}

#[test]
fn whoever_connects_succeeds() {
    assert_eq!(connected(OPEN, "serve", true), "holds");
    assert_eq!(connected(OPEN, "serve", false), "violated");
    assert_eq!(connected(OPEN, "reset", false), "inconclusive");
    assert_eq!(connected(CLOSE, "close", true), "holds");
    assert_eq!(connected(CLOSE, "close", false), "violated");
    assert_eq!(connected(CLOSE, "serve", false), "inconclusive");
}

#[test]
fn a_port_that_closes_takes_the_readiness_away() {
    for (ready, word) in [(false, "holds"), (true, "violated")] {
        let mut scene = scene(OPEN, "readinessProbe");
        for second in 2..5 {
            scene.run.tcp(f64::from(second), &Told { connection: "serve".to_owned(), ..Told::get("", "") });
        }
        scene.run.running(2.4, true, true, 0);
        let (listener, address) = ("web".to_owned(), String::new());
        scene.run.fact(5.5, Fact::Listening(Listening { listener, address, state: "closed".to_owned() }));
        scene.run.running(6.2, ready, true, 0);
        assert_eq!(scene.at(20.0), word);
    }
}

fn nobody(ready: bool) -> &'static str {
    let mut scene = Scene::new(OPEN, "readinessProbe", &json!({ "tcpSocket": { "port": 8080 } }), &json!({}));
    scene.run.running(3.0, ready, true, 0);
    scene.run.event(3.1, "Warning", "Unhealthy", "Readiness probe failed: connection refused");
    scene.at(9.0)
}

#[test]
fn a_port_that_nobody_opened_fails() {
    assert_eq!(nobody(false), "holds");
    assert_eq!(nobody(true), "violated");
}

#[test]
fn a_liveness_probe_in_vain_must_kill() {
    let handler = json!({ "tcpSocket": { "port": 8080 } });
    assert_eq!(Scene::new(OPEN, "livenessProbe", &handler, &json!({})).at(60.0), "violated");
    assert_eq!(Scene::new(OPEN, "livenessProbe", &handler, &json!({})).at(3.0), "inconclusive");
}

#[test]
fn an_application_in_trouble_does_not_matter() {
    for (killed, word) in [(false, "holds"), (true, "violated")] {
        let mut scene = scene(BLIND, "livenessProbe");
        scene.run.http(1.5, &Told::get("/r", 500));
        for second in 2..6 {
            scene.run.tcp(f64::from(second), &Told { connection: "serve".to_owned(), ..Told::get("", "") });
        }
        if killed {
            scene.killed(5.2);
        }
        assert_eq!(scene.at(20.0), word);
    }
}

/// A container with a TCP liveness probe. It is stopped at `stop`, while something else sends requests to its port.
fn stopped_at(clause: &str, stop: f64, delay: u64) -> &'static str {
    let plan = json!({ "listeners": { "web": { "port": 8080 } } });
    let probe = json!({ "tcpSocket": { "port": 8080 }, "initialDelaySeconds": delay });
    let mut scene = Scene::new(clause, "livenessProbe", &probe, &plan);
    let (listener, address) = ("web".to_owned(), "0.0.0.0:8080".to_owned());
    scene.run.fact(1.2, Fact::Listening(Listening { listener, address, state: "open".to_owned() }));
    for second in 2..6 {
        scene.run.http(f64::from(second), &Told::get("/r", 500));
    }
    scene.killed(stop);
    scene.at(20.0)
}

#[test]
fn an_open_port_is_no_reason_to_stop_a_container() {
    for clause in [OPEN, BLIND] {
        assert_eq!(stopped_at(clause, 14.2, 0), "violated");
        assert_eq!(
            stopped_at(clause, 3.9, 0),
            "inconclusive",
            "a probe may have come before the port was open"
        );
        assert_eq!(
            stopped_at(clause, 3.9, 1),
            "violated",
            "no probe was allowed to come before the port was open"
        );
    }
}
