use probity_composer::{Composer, Told};
use serde_json::{Value, json};

use crate::reading::scene::Scene;
use crate::tests::verdict;

const HOST: &str = "probe.grpc.no-host";

fn tried(grpc: Value, code: u16, message: &str) -> &'static str {
    let mut run = Composer::new(&[HOST]);
    let spec = json!({ "containers": [{ "name": "c", "livenessProbe": { "grpc": grpc } }] });
    run.tried(0.0, "it", json!({ "kind": "Pod", "spec": spec }), code, message, Value::Null);
    verdict(&run.done(), HOST)
}

#[test]
fn a_host_is_refused() {
    let grpc = || json!({ "port": 1, "host": "x" });
    assert_eq!(tried(grpc(), 400, "unknown field livenessProbe.grpc.host"), "holds");
    assert_eq!(tried(grpc(), 201, ""), "violated");
}

fn named(authority: &str) -> &'static str {
    let mut scene = Scene::new(HOST, "readinessProbe", &json!({ "grpc": { "port": 9090 } }), &json!({}));
    let headers = vec![(":authority".to_owned(), authority.to_owned())];
    scene.run.call(2.0, "", &Told { headers, ..Told::get("/grpc.health.v1.Health/Check", "status 1") });
    scene.at(4.0)
}

#[test]
fn the_pods_address_is_named() {
    assert_eq!(named("10.0.0.7:9090"), "holds");
    assert_eq!(named("localhost:9090"), "violated");
}
