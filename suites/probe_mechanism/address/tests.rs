use probity_composer::Told;
use probity_script::Fact;
use probity_script::witness::Listening;
use serde_json::json;

use crate::reading::scene::Scene;

const IP: &str = "probe.http.targets-pod-ip";

#[test]
fn a_probe_at_the_pods_address_holds() {
    let handler = json!({ "httpGet": { "path": "/r", "port": 8080 } });
    let mut scene = Scene::new(IP, "readinessProbe", &handler, &json!({}));
    scene.run.http(2.0, &Told::get("/r", 200));
    assert_eq!(scene.at(4.0), "holds");
}

fn loopback(ready: bool, says: &str) -> &'static str {
    let plan = json!({ "listeners": { "web": { "port": 8080, "bind": "127.0.0.1" } } });
    let mut scene = Scene::new(IP, "readinessProbe", &json!({ "tcpSocket": { "port": 8080 } }), &plan);
    let (listener, address) = ("web".to_owned(), "127.0.0.1:8080".to_owned());
    scene.run.fact(1.1, Fact::Listening(Listening { listener, address, state: "open".to_owned() }));
    scene.run.running(3.0, ready, true, 0).event(3.1, "Warning", "Unhealthy", says);
    scene.at(9.0)
}

#[test]
fn a_server_at_the_loopback_is_not_reached() {
    let refused = "Readiness probe failed: dial tcp 10.0.0.7:8080: connection refused";
    assert_eq!(loopback(false, refused), "holds");
    assert_eq!(loopback(true, refused), "violated");
    assert_eq!(loopback(false, "nothing to the point"), "inconclusive");
}
