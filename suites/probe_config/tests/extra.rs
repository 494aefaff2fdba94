//! Readiness probes that a kubelet sends because it already considers the container not ready.

use probity_composer::Told;
use probity_model::history::Listener;
use serde_json::json;

use super::{http, pod, verdict};

const EXACT: &str = "probe.failure-threshold.exact-count";

/// A readiness probe every five seconds with the threshold two. It succeeds at 2 s, 7 s and this time, then it fails at
/// these times, and the container is shown as not ready just after the last of them.
fn fails(third: f64, failures: &[f64], noise: Option<(f64, f64)>) -> &'static str {
    let probe = http(json!({ "periodSeconds": 5, "failureThreshold": 2 }));
    let mut run = pod(EXACT, json!({ "readinessProbe": probe }));
    run.probe(2.0, "/p", 200);
    run.running(2.1, true, true, 0);
    run.probe(7.0, "/p", 200);
    run.probe(third, "/p", 200);
    if let Some((from, to)) = noise {
        run.noise_by(Listener::Overload, from, to);
    }
    for at in failures {
        run.probe(*at, "/p", 503);
    }
    let last = failures.last().copied().unwrap_or_default();
    run.running(last + 0.1, false, true, 0);
    run.probe(last + 5.0, "/p", 503);
    verdict(&run.done(), EXACT)
}

#[test]
fn an_extra_probe_after_the_effect_is_not_a_second_failure() {
    assert_eq!(fails(12.0, &[17.0, 17.02], None), "violated");
    assert_eq!(fails(12.0, &[17.0, 22.0, 22.02], None), "holds");
    assert_eq!(fails(12.0, &[17.0, 22.0], None), "holds");
}

#[test]
fn a_late_probe_is_soon_followed_by_the_next_one() {
    assert_ne!(fails(12.0, &[21.8, 22.0], None), "violated", "the failure came late");
    assert_ne!(fails(15.0, &[20.0, 22.0], None), "violated", "the success before it came just as late");
    assert_ne!(fails(12.0, &[17.0, 17.02], Some((13.0, 17.0))), "violated", "the node was overloaded");
}

#[test]
fn another_attempt_after_an_error_is_not_an_extra_probe() {
    let probe = http(json!({ "periodSeconds": 5, "failureThreshold": 2 }));
    let mut run = pod(EXACT, json!({ "readinessProbe": probe }));
    run.probe(2.0, "/p", 200);
    run.running(2.1, true, true, 0);
    run.probe(7.0, "/p", 200);
    run.probe(12.0, "/p", 200);
    let error = Some("broke off".to_owned());
    run.http(17.0, &Told { error, ..Told::get("/p", 503) });
    run.probe(17.02, "/p", 503);
    run.running(17.1, false, true, 0);
    run.probe(22.0, "/p", 503);
    assert_ne!(verdict(&run.done(), EXACT), "violated");
}
