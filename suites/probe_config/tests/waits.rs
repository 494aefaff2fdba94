//! Waits for an answer on a busy node.

use probity_composer::Told;
use serde_json::json;

use super::{http, pod, verdict};

const TIMEOUT: &str = "probe.timeout.http";

/// A probe with a timeout of two seconds gets no answer, and the kubelet closes it after this time. The node is stalled
/// between these two times, both counted from the arrival of the probe.
fn given_up(took: f64, stalled: (f64, f64)) -> &'static str {
    let mut run = pod(TIMEOUT, json!({ "readinessProbe": http(json!({ "timeoutSeconds": 2 })) }));
    let error = Some("the peer gave up".to_owned());
    run.http(3.0, &Told { took, error, written: 0, ..Told::get("/p", 200) });
    run.noise(3.0 + stalled.0, 3.0 + stalled.1);
    verdict(&run.done(), TIMEOUT)
}

#[test]
fn a_stall_before_the_timeout_does_not_excuse_a_longer_wait() {
    assert_eq!(given_up(2.0, (0.3, 1.5)), "holds");
    assert_eq!(given_up(2.6, (0.3, 1.5)), "violated");
}

#[test]
fn a_stall_at_the_timeout_may_explain_a_longer_wait() {
    assert_eq!(given_up(2.6, (1.8, 2.55)), "inconclusive");
}
