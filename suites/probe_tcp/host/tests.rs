use probity_composer::Told;
use serde_json::json;

use crate::reading::scene::Scene;

const HOST: &str = "probe.tcp.default-host";
const NAME: &str = "probe.tcp.host-service-name-unusable";

fn scene() -> Scene {
    Scene::new(HOST, "readinessProbe", &json!({ "tcpSocket": { "port": 8080 } }), &json!({}))
}

#[test]
fn a_connection_to_the_pods_address_holds() {
    let mut scene = scene();
    scene.run.tcp(2.0, &Told::get("", ""));
    assert_eq!(scene.at(4.0), "holds");
}

#[test]
fn connections_to_another_address_alone_are_a_violation() {
    let mut scene = scene();
    for second in 2..5 {
        let local = "10.0.0.8".to_owned();
        scene.run.tcp(f64::from(second), &Told { local, ..Told::get("", "") });
    }
    assert_eq!(scene.at(6.0), "violated");
}

#[test]
fn without_a_connection_nothing_is_shown() {
    assert_eq!(scene().at(4.0), "inconclusive");
}

fn named(host: &str, ready: bool) -> &'static str {
    let handler = json!({ "tcpSocket": { "port": 80, "host": host } });
    let mut scene = Scene::new(NAME, "readinessProbe", &handler, &json!({}));
    let says = "Readiness probe failed: dial tcp: lookup web.default.svc: no such host";
    scene.run.running(3.0, ready, true, 0).event(3.1, "Warning", "Unhealthy", says);
    scene.at(9.0)
}

#[test]
fn the_name_of_a_service_fails() {
    assert_eq!(named("web.default.svc", false), "holds");
    assert_eq!(named("no_web.default.svc", false), "holds");
}

#[test]
fn a_node_that_resolves_the_names_of_services_is_doubt() {
    assert_eq!(named("web.default.svc", true), "inconclusive");
    assert_eq!(named("_http._tcp.web.default.svc", true), "inconclusive", "the name of a port");
    assert_eq!(named("no_web.default.svc", true), "violated", "no resolver knows this name");
    assert_eq!(named("no_web.default.svc.cluster.local.", true), "violated");
}

/// The verdict if a liveness probe never stops its container.
fn alive(host: &str) -> &'static str {
    let handler = json!({ "tcpSocket": { "port": 80, "host": host } });
    Scene::new(NAME, "livenessProbe", &handler, &json!({})).at(60.0)
}

#[test]
fn a_liveness_probe_may_find_the_service() {
    assert_eq!(alive("web.default.svc"), "inconclusive");
    assert_eq!(alive("no_web.default.svc"), "violated");
}

#[test]
fn an_address_says_nothing_of_names() {
    let handler = json!({ "tcpSocket": { "port": 80, "host": "10.0.0.9" } });
    assert_eq!(Scene::new(NAME, "readinessProbe", &handler, &json!({})).at(9.0), "inconclusive");
}
