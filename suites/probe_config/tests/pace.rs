//! Schedules that drift on a busy node.

use probity_model::history::Listener;
use serde_json::json;

use super::{http, pod, verdict};

const PERIOD: &str = "probe.timing.period";

/// Thirty liveness probes with a period of one second. Each interval is this long, and each probe comes later by the time that
/// `late` returns. The node is overloaded during this time.
fn paced(interval: f64, late: impl Fn(u32) -> f64, overload: (f64, f64)) -> &'static str {
    let mut run = pod(PERIOD, json!({ "livenessProbe": http(json!({})) }));
    for turn in 0..30 {
        run.probe(2.0 + interval * f64::from(turn) + late(turn), "/p", 200);
    }
    run.noise_by(Listener::Overload, overload.0, overload.1);
    verdict(&run.done(), PERIOD)
}

#[test]
fn an_overload_does_not_excuse_a_schedule_that_drifts() {
    for interval in [1.04, 0.96] {
        assert_eq!(paced(interval, |_| 0.0, (4.0, 10.0)), "violated");
    }
    assert_ne!(paced(1.0, |_| 0.0, (4.0, 10.0)), "violated");
    assert_ne!(paced(1.01, |_| 0.0, (4.0, 10.0)), "violated", "so little is not certain");
    assert_ne!(paced(1.04, |_| 0.0, (2.0, 31.0)), "violated", "the node was overloaded for most of the time");
}

#[test]
fn late_probes_on_a_busy_node_are_not_a_drift() {
    let often = |turn: u32| if turn.is_multiple_of(2) { 0.3 } else { 0.0 };
    assert_ne!(paced(1.0, often, (3.0, 12.0)), "violated");
    let more_and_more = |turn: u32| if (4..12).contains(&turn) { 0.1 * f64::from(turn - 3) } else { 0.0 };
    assert_ne!(paced(1.0, more_and_more, (5.0, 12.0)), "violated");
}

/// Commands with a period of two seconds come at these intervals, while the node is overloaded or not.
fn commands(interval: f64, overload: (f64, f64)) -> &'static str {
    let probe = json!({ "exec": { "command": ["/agnhost-rs", "exec", "live"] }, "periodSeconds": 2 });
    let mut run = pod(PERIOD, json!({ "livenessProbe": probe }));
    for turn in 0..30 {
        run.exec(2.0 + interval * f64::from(turn), "live", Some(0));
    }
    run.noise_by(Listener::Overload, overload.0, overload.1);
    verdict(&run.done(), PERIOD)
}

#[test]
fn commands_drift_only_if_they_also_do_so_without_an_overload() {
    assert_eq!(commands(2.2, (10.0, 16.0)), "violated");
    assert_ne!(commands(2.05, (10.0, 16.0)), "violated", "the start of a command takes a varying time");
    assert_ne!(commands(2.2, (4.0, 30.0)), "violated", "each command may take longer than the period");
}
