use probity_composer::{Composer, Told, running_status};
use serde_json::{Value, json};

use crate::reading::unvisited::tests::opened;
use crate::tests::verdict;

const FIELD: &str = "probe.http.host-field-overrides-address";
const THERE: &str = "10.0.0.6";

/// The status of a pod at an address.
fn seen_at(ip: &str, ready: bool) -> Value {
    let mut status = running_status("target", 1.0, ready, true, 0);
    status["podIP"] = json!(ip);
    status
}

/// A pod whose TCP probe goes to another pod, which opens the port at 1.5 s.
fn two_pods() -> Composer {
    let mut run = Composer::new(&[FIELD]);
    let server = json!({ "containers": [{ "name": "target" }] });
    run.of("server", "target").create(0.0, &server).start(1.0, 0).status(1.2, &seen_at(THERE, true));
    opened(&mut run, 1.5, "[::]:9001");
    let probe = json!({ "tcpSocket": { "port": 9001, "host": THERE }, "periodSeconds": 1 });
    let asks = json!({ "containers": [{ "name": "target", "readinessProbe": probe }] });
    run.of("asks", "target").create(2.0, &asks).start(3.0, 0).status(3.2, &seen_at("10.0.0.7", false));
    run
}

fn visited(peer: &str) -> Composer {
    let mut run = two_pods();
    let (listener, local, peer) = ("raw".to_owned(), THERE.to_owned(), peer.to_owned());
    run.of("server", "target").tcp(4.0, &Told { listener, local, peer, port: 9001, ..Told::get("", "") });
    run.of("asks", "target");
    run
}

/// The verdict if the container is shown in this way at the end.
fn ends(mut run: Composer, at: f64, ready: bool) -> &'static str {
    run.status(at, &seen_at("10.0.0.7", ready)).reading(at + 0.1);
    verdict(&run.done(), FIELD)
}

#[test]
fn a_connection_to_the_host_that_makes_ready_holds() {
    assert_eq!(ends(visited("10.0.0.1:40000"), 5.0, true), "holds");
}

#[test]
fn a_connection_without_effect_is_a_violation_once_its_time_is_over() {
    assert_eq!(ends(visited("10.0.0.1:40000"), 30.0, false), "violated");
    assert_eq!(ends(visited("10.0.0.1:40000"), 12.0, false), "holds", "a status may be late");
}

#[test]
fn no_connection_at_the_host_is_a_violation_once_its_time_is_over() {
    assert_eq!(ends(two_pods(), 30.0, false), "violated");
    assert_eq!(ends(two_pods(), 12.0, false), "inconclusive", "a busy kubelet may be late");
}

#[test]
fn a_connection_of_a_pod_is_not_the_probe() {
    assert_eq!(ends(visited("10.0.0.7:40000"), 30.0, false), "violated");
    assert_eq!(ends(visited("10.0.0.7:40000"), 12.0, false), "inconclusive");
}
