use probity_composer::{Composer, Told};
use serde_json::{Value, json};

use crate::reading::unvisited::tests::listening;
use crate::tests::verdict;

const RANGE: &str = "probe.http.port-number-range";
const NAME: &str = "probe.http.port-by-name";
const NOWHERE: &str = "probe.http.port-name-unresolvable";

fn pod(probe: &Value) -> Value {
    let ports = json!([{ "name": "web", "containerPort": 8080 }]);
    json!({ "kind": "Pod", "spec": { "containers": [{ "name": "target", "ports": ports, "readinessProbe": probe }] } })
}

fn tried(clause: &str, port: &Value, code: u16, message: &str) -> &'static str {
    let mut run = Composer::new(&[clause]);
    run.tried(0.0, "port", pod(&json!({ "tcpSocket": { "port": port } })), code, message, Value::Null);
    verdict(&run.done(), clause)
}

fn named(port: &str) -> Composer {
    listening(NAME, &json!({ "path": "/ready", "port": port }))
}

fn nowhere(event: &str, ready: bool) -> Composer {
    let mut run = listening(NOWHERE, &json!({ "path": "/ready", "port": "nope" }));
    run.running(3.0, ready, true, 0).event(4.0, "Warning", "Unhealthy", event);
    run
}

#[test]
fn numbers_out_of_range_are_refused_by_name() {
    let refusal = "spec.containers[0].readinessProbe.tcpSocket.port: Invalid value: 0";
    assert_eq!(tried(RANGE, &json!(0), 422, refusal), "holds");
    assert_eq!(tried(RANGE, &json!(65536), 422, refusal), "holds");
    assert_eq!(tried(RANGE, &json!(65535), 201, ""), "holds");
    assert_eq!(tried(RANGE, &json!(-1), 201, ""), "violated");
    assert_eq!(tried(RANGE, &json!(1), 422, refusal), "violated");
    assert_eq!(tried(RANGE, &json!(0), 422, "spec.hostname: Invalid value"), "inconclusive");
}

#[test]
fn a_probe_at_the_declared_port_holds() {
    let mut run = named("web");
    run.probe(2.0, "/ready", 200);
    assert_eq!(verdict(&run.done(), NAME), "holds");
}

#[test]
fn a_probe_at_another_port_is_a_violation() {
    let mut run = named("web");
    run.http(2.0, &Told { port: 9090, ..Told::get("/ready", 200) });
    assert_eq!(verdict(&run.done(), NAME), "violated");
}

#[test]
fn a_name_that_is_not_probed_yet_is_doubt() {
    let mut run = named("web");
    run.running(4.0, false, true, 0);
    assert_eq!(verdict(&run.done(), NAME), "inconclusive");
}

#[test]
fn a_tcp_probe_at_the_declared_port_holds() {
    let mut run = Composer::new(&[NAME]);
    run.create(0.0, &pod(&json!({ "tcpSocket": { "port": "web" } }))["spec"]).start(1.0, 0);
    run.connection(2.0, "web", 8080);
    assert_eq!(verdict(&run.done(), NAME), "holds");
}

#[test]
fn a_number_says_nothing_of_names() {
    let mut run = Composer::new(&[]);
    run.create(0.0, &pod(&json!({ "httpGet": { "path": "/ready", "port": 8080 } }))["spec"]).start(1.0, 0);
    run.probe(2.0, "/ready", 200);
    assert_eq!(verdict(&run.done(), NAME), "none");
}

#[test]
fn an_undeclared_name_is_an_error_that_does_not_count() {
    let event = "Readiness probe errored and resulted in unknown state: port nope not found";
    assert_eq!(verdict(&nowhere(event, false).done(), NOWHERE), "holds");
    assert_eq!(verdict(&nowhere(event, true).done(), NOWHERE), "violated");
}

#[test]
fn an_undeclared_name_that_fails_is_a_violation() {
    let event = "Readiness probe failed: connection refused";
    assert_eq!(verdict(&nowhere(event, false).done(), NOWHERE), "violated");
}

#[test]
fn an_undeclared_name_that_arrives_is_a_violation() {
    let mut run = nowhere("Readiness probe errored", false);
    run.probe(5.0, "/ready", 200);
    assert_eq!(verdict(&run.done(), NOWHERE), "violated");
}

#[test]
fn what_cannot_name_a_port_is_refused() {
    let refusal = "spec.containers[0].readinessProbe.tcpSocket.port: Invalid value";
    assert_eq!(tried(NOWHERE, &json!("bad_name"), 201, ""), "violated");
    assert_eq!(tried(NOWHERE, &json!("good-name"), 422, refusal), "violated");
    assert_eq!(tried(NOWHERE, &json!("bad_name"), 422, refusal), "inconclusive");
}
