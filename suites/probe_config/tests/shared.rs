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

/// The readiness and the liveness probe have the same command, which they run every four seconds for a minute, or which
/// runs once for both.
fn commands(both: bool, timeout: u64) -> &'static str {
    let probe = json!({
        "exec": { "command": ["/agnhost-rs", "exec", "check"] }, "periodSeconds": 4, "timeoutSeconds": timeout,
    });
    let mut run = pod(PERIOD, json!({ "readinessProbe": probe, "livenessProbe": probe }));
    for nth in 0..15_u16 {
        let at = 2.0 + 4.0 * f64::from(nth);
        run.exec(at, "check", Some(0));
        if both {
            run.exec(at + 0.1, "check", Some(0));
        }
    }
    verdict(&run.done(), PERIOD)
}

#[test]
fn each_of_two_probes_runs_its_command() {
    assert_ne!(commands(true, 3), "violated");
    assert_eq!(commands(false, 3), "violated", "one command answers for both");
    assert_ne!(commands(false, 1), "violated", "a command may fail before it starts");
}
