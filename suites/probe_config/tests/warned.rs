//! Successes with a warning between failures.

use serde_json::json;

use super::{answers, http, pod, verdict};

const RESETS: &str = "probe.failure-threshold.consecutive";

/// A liveness probe with the threshold three gets these answers, of which 304 is a success with a warning, and its
/// container is stopped half a second after the last of them, or not at all.
fn judged(statuses: &[u16], stopped: bool) -> &'static str {
    let mut run = pod(RESETS, json!({ "livenessProbe": http(json!({ "failureThreshold": 3 })) }));
    answers(&mut run, 2, statuses);
    if stopped {
        run.signal(1.5 + f64::from(u32::try_from(statuses.len()).unwrap_or_default()), "SIGTERM");
    }
    verdict(&run.done(), RESETS)
}

#[test]
fn a_success_with_a_warning_makes_the_count_begin_anew() {
    assert_eq!(judged(&[200, 500, 304, 500, 304, 500, 304], false), "holds");
    assert_eq!(judged(&[200, 500, 304, 500, 304, 500], true), "violated");
    assert_eq!(judged(&[200, 500, 304, 500, 500, 500], true), "inconclusive");
    assert_eq!(judged(&[200, 500, 304, 500], false), "inconclusive");
}
