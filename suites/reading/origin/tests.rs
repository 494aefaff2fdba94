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
