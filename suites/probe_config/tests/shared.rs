//! An endpoint that two probes use.

use serde_json::json;

use super::{http, pod, verdict};

const PERIOD: &str = "probe.timing.period";

/// The readiness and the liveness probe use one endpoint for twenty seconds. The second probe comes only in the seconds
/// for which `comes` is true.
fn judged(comes: impl Fn(u16) -> bool) -> &'static str {
    let mut run = pod(PERIOD, json!({ "readinessProbe": http(json!({})), "livenessProbe": http(json!({})) }));
    for second in 2..22_u16 {
        run.probe(f64::from(second), "/p", 200);
        if comes(second) {
            run.probe(f64::from(second) + 0.4, "/p", 200);
        }
    }
    verdict(&run.done(), PERIOD)
}

#[test]
fn each_of_two_probes_asks_on_its_own() {
    assert_ne!(judged(|_| true), "violated");
    assert_eq!(judged(|_| false), "violated", "one request answers for both");
    assert_eq!(judged(|second| second > 11), "violated", "the second probe is missing for ten seconds");
    assert_ne!(judged(|second| second != 11), "violated", "one request may fall outside the measured time");
}
