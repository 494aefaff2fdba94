use probity_composer::{Composer, Told, running_status};
use serde_json::{Value, json};

use crate::reading::unvisited::tests::opened;
use crate::tests::verdict;

const LOOPBACK: &str = "probe.http.host-localhost-hostnetwork";

/// A pod in the node's network that listens on this address, with a probe of port 8080 that has this `host`.
fn listening_on(bind: &str, host: &Value) -> Composer {
    let get = json!({ "path": "/ready", "port": 8080, "host": host });
    let container = json!({ "name": "target", "readinessProbe": { "httpGet": get } });
    let mut run = Composer::new(&[LOOPBACK]);
    run.create(0.0, &json!({ "hostNetwork": true, "containers": [container] })).start(1.0, 0);
    opened(&mut run, 1.0, &format!("{bind}:8080"));
    run
}

fn probe_from(run: &mut Composer, peer: &str) {
    run.http(2.0, &Told { peer: format!("{peer}:40000"), ..Told::get("/ready", 200) });
}

#[test]
fn a_probe_of_the_loopback_address_arrives_from_there() {
    let mut run = listening_on("127.0.0.1", &json!("127.0.0.1"));
    probe_from(&mut run, "127.0.0.1");
    assert_eq!(verdict(&run.done(), LOOPBACK), "holds");
}

#[test]
fn a_probe_without_host_that_arrives_is_a_violation() {
    let mut run = listening_on("127.0.0.1", &Value::Null);
    probe_from(&mut run, "127.0.0.1");
    assert_eq!(verdict(&run.done(), LOOPBACK), "violated");
}

#[test]
fn a_probe_without_host_fails() {
    let mut run = listening_on("127.0.0.1", &Value::Null);
    run.event(3.0, "Warning", "Unhealthy", "Readiness probe failed: connection refused");
    assert_eq!(verdict(&run.done(), LOOPBACK), "holds");
}

#[test]
fn ready_without_an_arrival_is_a_violation() {
    let mut run = listening_on("127.0.0.1", &Value::Null);
    run.status(3.0, &running_status("target", 2.0, true, true, 0));
    assert_eq!(verdict(&run.done(), LOOPBACK), "violated");
}

#[test]
fn a_server_on_all_addresses_is_not_spoken_of() {
    let mut run = listening_on("0.0.0.0", &Value::Null);
    probe_from(&mut run, "127.0.0.1");
    assert_eq!(verdict(&run.done(), LOOPBACK), "inconclusive");
}
