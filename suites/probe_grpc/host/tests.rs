use probity_composer::{Composer, Told};
use serde_json::{Value, json};

use crate::reading::scene::Scene;
use crate::reading::unvisited::tests::opened;
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

#[test]
fn a_port_without_any_check_is_a_violation() {
    let judged = |until: f64, comes: bool| {
        let mut run = Composer::new(&[HOST]);
        let probe = json!({ "grpc": { "port": 9090 }, "periodSeconds": 1 });
        run.create(0.0, &json!({ "containers": [{ "name": "target", "readinessProbe": probe }] }))
            .start(1.0, 0);
        opened(&mut run, 1.0, "[::]:9090");
        if comes {
            run.connection(2.0, "web", 9090);
        }
        run.running(until, false, true, 0);
        verdict(&run.done(), HOST)
    };
    assert_eq!(judged(60.0, false), "violated");
    assert_ne!(judged(60.0, true), "violated");
    assert_ne!(judged(8.0, false), "violated");
}
