//! Histories of probes that are retried after a failure.

use probity_composer::Told;
use serde_json::json;

use super::{http, pod, verdict};

const PERIOD: &str = "probe.timing.period";

/// Two requests of a liveness probe that hang until the timeout of one second, this long apart; the period is 6 s.
fn hung(apart: f64) -> &'static str {
    let probe = http(json!({ "periodSeconds": 6, "timeoutSeconds": 1, "failureThreshold": 9 }));
    let mut run = pod(PERIOD, json!({ "livenessProbe": probe }));
    run.probe(2.0, "/p", 200);
    for at in [8.0, 8.0 + apart] {
        let error = Some("the peer gave up".to_owned());
        let answer = "hang".to_owned();
        run.http(at, &Told { took: 1.0, answer, error, written: 0, ..Told::get("/p", 200) });
    }
    verdict(&run.done(), PERIOD)
}

#[test]
fn a_timeout_is_not_tried_again() {
    assert_eq!(hung(6.0), "holds");
    assert_eq!(hung(1.02), "violated");
}
