use probity_composer::Told;
use serde_json::json;

use crate::reading::scene::Scene;

const NODE: &str = "probe.kubelet.network-probes-from-node";
const TCP: &str = "probe.tcp.from-node";

fn http(peer: &str) -> &'static str {
    let handler = json!({ "httpGet": { "path": "/r", "port": 8080 } });
    let mut scene = Scene::new(NODE, "readinessProbe", &handler, &json!({}));
    scene.run.http(2.0, &Told { peer: peer.to_owned(), ..Told::get("/r", 200) });
    scene.at(4.0)
}

#[test]
fn a_request_from_the_node_holds_and_one_from_inside_does_not() {
    assert_eq!(http("10.0.0.1:40000"), "holds");
    assert_eq!(http("10.0.0.7:40000"), "violated");
    assert_eq!(http("127.0.0.1:40000"), "violated");
}

fn tcp(peers: &[&str]) -> &'static str {
    let mut scene = Scene::new(TCP, "livenessProbe", &json!({ "tcpSocket": { "port": 8080 } }), &json!({}));
    for (second, peer) in (2..).zip(peers) {
        scene.run.tcp(f64::from(second), &Told { peer: (*peer).to_owned(), ..Told::get("", "") });
    }
    scene.at(9.0)
}

#[test]
fn connections_from_inside_alone_are_a_violation() {
    assert_eq!(tcp(&["10.0.0.1:40000"]), "holds");
    assert_eq!(tcp(&["10.0.0.1:40000", "127.0.0.1:40001"]), "holds");
    assert_eq!(tcp(&["10.0.0.7:40000", "10.0.0.7:40001"]), "violated");
    assert_eq!(tcp(&["10.0.0.7:40000"]), "inconclusive");
}

/// Bare connections at these seconds from these peers, to this address.
fn tcp_at(clause: &str, connections: &[(f64, &str, &str)]) -> &'static str {
    let mut scene =
        Scene::new(clause, "livenessProbe", &json!({ "tcpSocket": { "port": 8080 } }), &json!({}));
    for (at, peer, local) in connections {
        let (peer, local) = ((*peer).to_owned(), (*local).to_owned());
        scene.run.tcp(*at, &Told { peer, local, ..Told::get("", "") });
    }
    scene.at(20.0)
}

const OWN: &str = "10.0.0.7";
const KUBELET: &str = "10.0.0.1:40000";
const INSIDE: &str = "127.0.0.1:40000";

/// A connection every second; every third one is from this peer and to this address.
fn every_third(clause: &str, peer: &str, local: &str, seconds: u16) -> &'static str {
    let connection = |second: u16| match second % 3 {
        0 => (f64::from(second), peer, local),
        _ => (f64::from(second), KUBELET, OWN),
    };
    tcp_at(clause, &(2..2 + seconds).map(connection).collect::<Vec<_>>())
}

#[test]
fn some_connections_from_inside_when_only_the_probe_is_due_are_a_violation() {
    assert_eq!(every_third(TCP, INSIDE, OWN, 12), "violated");
    assert_eq!(every_third(TCP, "10.0.0.7:40000", OWN, 12), "violated");
    assert_eq!(every_third(TCP, INSIDE, OWN, 6), "holds", "there are too few");
    assert_eq!(every_third(TCP, KUBELET, OWN, 12), "holds");
}

#[test]
fn connections_from_inside_beside_those_of_the_probe_are_of_somebody_else() {
    let mut both = Vec::new();
    for second in 2..12_u16 {
        both.push((f64::from(second), KUBELET, OWN));
        both.push((f64::from(second) + 0.5, INSIDE, OWN));
    }
    assert_eq!(tcp_at(TCP, &both), "holds");
}

#[test]
fn some_connections_to_another_address_when_only_the_probe_is_due_are_a_violation() {
    let clause = "probe.tcp.default-host";
    assert_eq!(every_third(clause, KUBELET, "10.0.0.8", 12), "violated");
    assert_eq!(every_third(clause, KUBELET, "10.0.0.8", 6), "holds", "there are too few");
    assert_eq!(every_third(clause, KUBELET, OWN, 12), "holds");
}

#[test]
fn a_container_that_connects_to_others_may_be_the_source() {
    let hook = json!({ "preStop": { "sleep": { "seconds": 1 } } });
    let probe = json!({ "tcpSocket": { "port": 8080 }, "periodSeconds": 1 });
    let mut scene = Scene::of(TCP, &json!({ "livenessProbe": probe, "lifecycle": hook }), &json!({}), true);
    for second in 2..14_u16 {
        let peer = if second % 3 == 0 { INSIDE } else { KUBELET }.to_owned();
        scene.run.tcp(f64::from(second), &Told { peer, ..Told::get("", "") });
    }
    assert_eq!(scene.at(20.0), "holds");
}
