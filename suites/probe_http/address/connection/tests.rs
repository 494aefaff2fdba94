use probity_composer::Composer;
use probity_script::witness::{Fact, Request};
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
