use probity_composer::{Composer, Told};
use serde_json::{Value, json};

use crate::tests::verdict;

const DEFAULT: &str = "probe.http.host-default-pod-ip";
const FIELD: &str = "probe.http.host-field-overrides-address";
const VHOST: &str = "probe.http.vhost-via-header";

fn pod(get: &Value) -> Value {
    json!({ "containers": [{ "name": "target", "readinessProbe": { "httpGet": get, "periodSeconds": 1 } }] })
}

/// A pod at 10.0.0.7 that gets one request, which names this host.
fn asked_for(clause: &str, get: &Value, host: &str) -> &'static str {
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &pod(get)).start(1.0, 0).running(1.5, false, true, 0);
    let mut told = Told::get("/ready", 200);
    told.headers[0].1 = host.to_owned();
    run.http(2.0, &told);
    verdict(&run.done(), clause)
}

#[test]
fn the_pod_ip_and_port_hold() {
    let get = json!({ "path": "/ready", "port": 8080 });
    assert_eq!(asked_for(DEFAULT, &get, "10.0.0.7:8080"), "holds");
}

#[test]
fn another_host_header_is_a_violation() {
    let get = json!({ "path": "/ready", "port": 8080 });
    assert_eq!(asked_for(DEFAULT, &get, "localhost:8080"), "violated");
}

#[test]
fn a_probe_at_another_address_than_the_pods_is_a_violation() {
    let mut run = Composer::new(&[DEFAULT]);
    let status = json!({ "phase": "Running", "podIP": "192.0.2.7" });
    run.create(0.0, &pod(&json!({ "path": "/ready", "port": 8080 }))).start(1.0, 0).status(1.5, &status);
    run.probe(2.0, "/ready", 200);
    assert_eq!(verdict(&run.done(), DEFAULT), "violated");
}

#[test]
fn nobody_at_an_open_port_is_a_violation() {
    let mut run =
        crate::reading::unvisited::tests::listening(DEFAULT, &json!({ "path": "/ready", "port": 8080 }));
    run.running(60.0, false, true, 0);
    assert_eq!(verdict(&run.done(), DEFAULT), "violated");
}

#[test]
fn a_probe_with_a_host_says_nothing_of_the_default() {
    let get = json!({ "path": "/ready", "port": 8080, "host": "192.0.2.9" });
    assert_eq!(asked_for(DEFAULT, &get, "192.0.2.9:8080"), "inconclusive");
}

#[test]
fn the_host_header_of_the_spec_holds() {
    let headers = json!([{ "name": "Host", "value": "app.example" }]);
    let get = json!({ "path": "/ready", "port": 8080, "httpHeaders": headers });
    assert_eq!(asked_for(VHOST, &get, "app.example"), "holds");
    assert_eq!(asked_for(VHOST, &get, "10.0.0.7:8080"), "violated");
}

#[test]
fn no_host_header_in_the_spec_says_nothing_of_virtual_hosts() {
    assert_eq!(asked_for(VHOST, &json!({ "path": "/ready", "port": 8080 }), "10.0.0.7:8080"), "inconclusive");
}

fn seen_at(ip: &str, ready: bool) -> Value {
    json!({ "phase": "Running", "podIP": ip, "containerStatuses": [{ "name": "target", "ready": ready }] })
}

/// Pod `a` has a readiness probe that goes to pod `b`. The requests that the targets see go to 10.0.0.7.
fn two_pods(ip_of_a: &str, ip_of_b: &str) -> Composer {
    let mut run = Composer::new(&[FIELD]);
    let probing = pod(&json!({ "path": "/for-a", "port": 8080, "host": ip_of_b }));
    let probed = json!({ "containers": [{ "name": "target" }] });
    for (name, ip, spec) in [("a", ip_of_a, probing), ("b", ip_of_b, probed)] {
        run.of(name, "target").create(0.0, &spec).status(0.5, &seen_at(ip, false)).start(1.0, 0);
    }
    run
}

#[test]
fn a_probe_at_the_pod_that_host_names_holds() {
    let mut run = two_pods("10.0.0.6", "10.0.0.7");
    run.of("b", "target").probe(2.0, "/for-a", 200);
    run.of("a", "target").status(3.0, &seen_at("10.0.0.6", true));
    assert_eq!(verdict(&run.done(), FIELD), "holds");
}

#[test]
fn a_probe_at_its_own_pod_in_spite_of_host_is_a_violation() {
    let mut run = two_pods("10.0.0.7", "10.0.0.6");
    run.of("a", "target").probe(2.0, "/for-a", 200);
    assert_eq!(verdict(&run.done(), FIELD), "violated");
}

#[test]
fn a_probe_with_a_host_names_it() {
    let named = |host: &str| {
        let mut run = two_pods("10.0.0.6", "10.0.0.7");
        let mut told = Told::get("/for-a", 200);
        told.headers[0].1 = host.to_owned();
        run.of("b", "target").http(2.0, &told);
        verdict(&run.done(), FIELD)
    };
    assert_eq!(named("10.0.0.7:8080"), "holds");
    assert_eq!(named("10.0.0.6:8080"), "violated", "its own pod");
}

#[test]
fn the_name_of_a_port_does_not_replace_the_host() {
    let judged = |arrives_at: &str| {
        let mut run = Composer::new(&[FIELD]);
        let mut probing = pod(&json!({ "path": "/for-a", "port": "web", "host": "10.0.0.7" }));
        probing["containers"][0]["ports"] = json!([{ "name": "web", "containerPort": 8080 }]);
        let probed = json!({ "containers": [{ "name": "target" }] });
        for (name, ip, spec) in [("a", "10.0.0.6", probing), ("b", "10.0.0.7", probed)] {
            run.of(name, "target").create(0.0, &spec).status(0.5, &seen_at(ip, false)).start(1.0, 0);
        }
        let local = if arrives_at == "a" { "10.0.0.6" } else { "10.0.0.7" }.to_owned();
        run.of(arrives_at, "target").http(2.0, &Told { local, ..Told::get("/for-a", 200) });
        verdict(&run.done(), FIELD)
    };
    assert_eq!(judged("b"), "holds");
    assert_eq!(judged("a"), "violated");
}

#[test]
fn ready_without_a_success_at_that_host_is_a_violation() {
    let mut run = two_pods("10.0.0.6", "10.0.0.7");
    run.of("b", "target").probe(2.0, "/for-a", 503);
    run.of("a", "target").status(3.0, &seen_at("10.0.0.6", true));
    assert_eq!(verdict(&run.done(), FIELD), "violated");
}

#[test]
fn a_host_that_nobody_of_ours_has_says_nothing() {
    let get = json!({ "path": "/ready", "port": 8080, "host": "192.0.2.9" });
    assert_eq!(asked_for(FIELD, &get, "10.0.0.7:8080"), "inconclusive");
}
