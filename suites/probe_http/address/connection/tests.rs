use probity_composer::Composer;
use probity_script::witness::{Closed, Ending, Fact, Request};
use serde_json::json;

use crate::tests::verdict;

const FRESH: &str = "probe.http.new-connection-each";

fn probed_once() -> Composer {
    let probe = json!({ "httpGet": { "path": "/ready", "port": 8080 } });
    let mut run = Composer::new(&[FRESH]);
    let container = json!({ "name": "target", "readinessProbe": probe });
    run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0);
    run.probe(2.0, "/ready", 200);
    run
}

#[test]
fn two_connections_for_two_probes_hold() {
    let mut run = probed_once();
    run.probe(3.0, "/ready", 200);
    assert_eq!(verdict(&run.done(), FRESH), "holds");
}

#[test]
fn a_second_request_on_a_connection_is_a_violation() {
    let mut run = probed_once();
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    run.fact(
        3.0,
        Fact::Request(Request {
            conn: 0,
            nth: 2,
            endpoint: None,
            probe: 2,
            hop: None,
            method: "GET".to_owned(),
            target: "/ready".to_owned(),
            protocol: "HTTP/1.1".to_owned(),
            headers: vec![header("User-Agent", "kube-probe/1.36")],
            body: 0,
            first_byte_us: 0,
            service: None,
        }),
    );
    assert_eq!(verdict(&run.done(), FRESH), "violated");
}

#[test]
fn one_probe_shows_nothing() {
    assert_eq!(verdict(&probed_once().done(), FRESH), "inconclusive");
}

/// The verdict on two probes, if the kubelet closes the connection of the second one this long after its answer at 3 s.
fn closed_after(span: f64) -> &'static str {
    let mut run = probed_once();
    run.probe(3.0, "/ready", 200);
    // This record replaces the one before it.
    let how = Ending::PeerClosed;
    let end = Closed { conn: 1, how, received: 9, sent: 9, lived_us: 0, error: None };
    run.fact(3.0 + span, Fact::Closed(end));
    verdict(&run.done(), FRESH)
}

#[test]
fn a_connection_is_closed_soon_after_its_answer() {
    assert_eq!(closed_after(0.1), "holds");
    assert_eq!(closed_after(4.0), "violated");
}
