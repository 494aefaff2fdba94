//! Histories of containers whose probe failures must not count in the next instance.

use serde_json::json;

use super::{begin, http, pod, verdict};

const EXACT: &str = "probe.failure-threshold.exact-count";

/// A container whose first instance is stopped after three failures of its startup probe, two seconds apart. The startup probes
/// of the next instance fail at these times, and then this instance is stopped, too.
fn stopped_again(failures: &[f64], stop: f64) -> &'static str {
    let probe = http(json!({ "periodSeconds": 2, "failureThreshold": 3 }));
    let mut run = pod(EXACT, json!({ "startupProbe": probe }));
    for at in [2.0, 4.0, 6.0] {
        run.probe(at, "/p", 500);
    }
    run.signal(6.1, "SIGTERM");
    run.left(6.5);
    begin(&mut run, 8.0, 1);
    for at in failures {
        run.probe(*at, "/p", 500);
    }
    run.signal(stop, "SIGTERM");
    run.left(stop + 0.4);
    run.reading(40.0);
    verdict(&run.done(), EXACT)
}

#[test]
fn the_failures_of_an_instance_do_not_count_in_the_next_one() {
    assert_eq!(stopped_again(&[9.0, 11.0, 13.0], 13.1), "holds");
    assert_eq!(stopped_again(&[9.0], 9.1), "violated");
    assert_eq!(stopped_again(&[], 8.6), "violated", "there was no time for three failures");
}
