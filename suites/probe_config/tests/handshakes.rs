//! A TLS handshake that gets no answer.

use probity_composer::Told;
use probity_script::witness::Ending;
use serde_json::json;

use super::{pod, verdict};

const TIMEOUT: &str = "probe.timeout.http";

/// The port of a probe with a timeout of two seconds accepts two connections and sends nothing. The second connection
/// comes this long after the first.
fn silent(scheme: &str, apart: f64) -> &'static str {
    let get = json!({ "path": "/p", "port": 8080, "scheme": scheme });
    let probe = json!({ "httpGet": get, "periodSeconds": 1, "timeoutSeconds": 2 });
    let mut run = pod(TIMEOUT, json!({ "readinessProbe": probe }));
    let (connection, ending) = ("hold".to_owned(), Ending::PeerClosed);
    let held = Told { connection, took: 1.0, ending, ..Told::get("", "") };
    run.tcp(2.0, &held);
    run.tcp(2.0 + apart, &held);
    run.reading(20.0);
    verdict(&run.done(), TIMEOUT)
}

#[test]
fn the_timeout_includes_the_handshake() {
    assert_eq!(silent("HTTPS", 2.1), "holds");
    assert_eq!(silent("HTTPS", 10.0), "violated");
    assert_eq!(silent("HTTP", 10.0), "inconclusive", "without TLS, nothing shows what the kubelet waits for");
}
