use probity_composer::Told;
use probity_script::Fact;
use probity_script::witness::{Closed, Ending, Request};
use serde_json::json;

use crate::reading::scene::Scene;

const SERVICE: &str = "probe.grpc.service-field";
const NAMES: &str = "probe.grpc.naming-advice";
const AGENT: &str = "probe.grpc.user-agent";
const FRESH: &str = "probe.grpc.new-connection-each";

fn asked(clause: &str, wanted: &str, service: &str) -> &'static str {
    let grpc =
        if wanted.is_empty() { json!({ "port": 9090 }) } else { json!({ "port": 9090, "service": wanted }) };
    let mut scene = Scene::new(clause, "readinessProbe", &json!({ "grpc": grpc }), &json!({}));
    scene.run.grpc(2.0, service, "status 1");
    scene.at(4.0)
}

#[test]
fn the_service_is_asked_for_as_written() {
    assert_eq!(asked(SERVICE, "ready", "ready"), "holds");
    assert_eq!(asked(SERVICE, "ready", ""), "violated");
    assert_eq!(asked(SERVICE, "", ""), "holds");
    assert_eq!(asked(SERVICE, "", "target"), "violated");
    assert_eq!(asked(NAMES, "shop-readiness", "shop-readiness"), "holds");
    assert_eq!(asked(NAMES, "shop-readiness", "shop"), "violated");
    assert_eq!(asked(NAMES, "shop", "shop"), "inconclusive");
}

fn sent(headers: &[(&str, &str)]) -> &'static str {
    let handler = json!({ "grpc": { "port": 9090 } });
    let mut scene = Scene::new(AGENT, "readinessProbe", &handler, &json!({}));
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    scene.run.call(2.0, "", &Told { headers, ..Told::get(super::CHECK, "status 1") });
    scene.at(4.0)
}

#[test]
fn the_metadata_is_what_a_kubelet_sends() {
    let agent = ("user-agent", "kube-probe/1.36 grpc-go/1.79.3");
    let deadline = ("grpc-timeout", "998m");
    assert_eq!(sent(&[agent, deadline, ("content-type", "application/grpc"), ("te", "trailers")]), "holds");
    assert_eq!(sent(&[agent]), "violated");
    assert_eq!(sent(&[agent, ("grpc-timeout", "2S")]), "violated");
    assert_eq!(sent(&[deadline]), "violated");
    assert_eq!(sent(&[("user-agent", "kube-probe/1.35 grpc-go/1.79.3"), deadline]), "violated");
    assert_eq!(sent(&[agent, deadline, ("x-token", "1")]), "violated");
}

fn twice(nth: u64) -> &'static str {
    let mut scene = Scene::new(FRESH, "readinessProbe", &json!({ "grpc": { "port": 9090 } }), &json!({}));
    scene.run.grpc(2.0, "", "status 1");
    if nth == 1 {
        scene.run.grpc(3.0, "", "status 1");
    }
    if nth == 2 {
        scene.run.fact(
            3.0,
            Fact::Request(Request {
                conn: 0,
                nth,
                endpoint: None,
                probe: 2,
                hop: None,
                method: "POST".to_owned(),
                target: super::CHECK.to_owned(),
                protocol: "HTTP/2".to_owned(),
                headers: Vec::new(),
                body: 0,
                first_byte_us: 0,
                service: Some(String::new()),
            }),
        );
    }
    scene.at(5.0)
}

#[test]
fn each_check_has_its_own_connection() {
    assert_eq!(twice(1), "holds");
    assert_eq!(twice(2), "violated");
    assert_eq!(twice(0), "inconclusive");
}

/// The second of three checks gets its answer at 3 s, and the kubelet closes its connection at this time. The target is
/// stalled until the other time.
fn closed_at(closed: f64, stalled: f64) -> &'static str {
    let mut scene = Scene::new(FRESH, "readinessProbe", &json!({ "grpc": { "port": 9090 } }), &json!({}));
    scene.run.grpc(2.0, "", "status 1");
    scene.run.grpc(3.0, "", "status 1");
    // This record replaces the one before it.
    let how = Ending::PeerClosed;
    let end = Closed { conn: 1, how, received: 9, sent: 9, lived_us: 0, error: None };
    scene.run.fact(closed, Fact::Closed(end));
    scene.run.noise(3.1, stalled);
    scene.run.grpc(9.0, "", "status 1");
    scene.at(12.0)
}

#[test]
fn a_connection_is_closed_soon_after_its_check() {
    assert_eq!(closed_at(3.1, 3.2), "holds");
    assert_eq!(closed_at(7.0, 3.2), "violated");
    assert_ne!(closed_at(7.0, 6.9), "violated", "the target was stalled");
}
