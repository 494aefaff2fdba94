//! How many answers in a row count.

use probity_composer::Composer;
use probity_script::witness::{ChangeSeen, Fact};
use serde_json::{Value, json};

use super::{answers, begin, http, pod, verdict};

const AFTER: &str = "probe.success-threshold.readiness";
const FIRST: &str = "probe.success-threshold.first-start";
const RESTART: &str = "probe.success-threshold.after-restart";
const RESETS: &str = "probe.failure-threshold.consecutive";
const SHORT: &str = "probe.timing.fault-shorter-than-window";
const EXACT: &str = "probe.failure-threshold.exact-count";
const GOES_ON: &str = "probe.failure-threshold.readiness-keeps-running";
const WINDOW: &str = "probe.failure-threshold.detection-window";

/// Readiness with three successes needed and one failure; shown as ready after these answers.
fn ready_after(clause: &str, statuses: &[u16]) -> Composer {
    let probe = http(json!({ "successThreshold": 3, "failureThreshold": 1 }));
    let mut run = pod(clause, json!({ "readinessProbe": probe }));
    answers(&mut run, 2, statuses);
    run.running(2.0 + f64::from(u32::try_from(statuses.len()).unwrap_or_default()) - 0.5, true, true, 0);
    run
}

#[test]
fn readiness_takes_so_many_successes_in_a_row() {
    let judged = |clause, statuses: &[u16]| verdict(&ready_after(clause, statuses).done(), clause);
    assert_eq!(judged(AFTER, &[503, 200, 200, 503, 200, 200, 200]), "holds");
    assert_eq!(judged(AFTER, &[503, 200, 200, 503, 200]), "violated");
    assert_eq!(judged(AFTER, &[200, 200, 200]), "inconclusive");
    assert_eq!(judged(FIRST, &[200, 200, 200]), "holds");
    assert_eq!(judged(FIRST, &[200]), "violated");
}

fn next_life(before: &[u16], here: &[u16]) -> &'static str {
    let mut run = ready_after(RESTART, before);
    run.left(8.0);
    begin(&mut run, 10.0, 1);
    answers(&mut run, 11, here);
    run.running(14.5, true, true, 1);
    verdict(&run.done(), RESTART)
}

#[test]
fn the_count_of_the_life_before_is_told() {
    assert_eq!(next_life(&[200, 200, 200], &[200, 200, 200]), "holds");
    assert_eq!(next_life(&[200, 200, 200], &[200]), "diverges");
    assert_eq!(next_life(&[200, 200, 200, 503], &[200]), "violated");
    // What goes on counting still takes one success of the new life.
    assert_eq!(next_life(&[200, 200, 200], &[]), "violated");
}

/// A liveness probe with the threshold three, these answers, and maybe a stop signal.
fn live(clause: &str, statuses: &[u16], stop: Option<f64>) -> &'static str {
    let mut run = pod(clause, json!({ "livenessProbe": http(json!({ "failureThreshold": 3 })) }));
    let stop = stop.unwrap_or(f64::MAX);
    let mut stopped = false;
    for (second, status) in (2_u32..).zip(statuses) {
        if f64::from(second) > stop && !stopped {
            run.signal(stop, "SIGTERM");
            stopped = true;
        }
        run.probe(f64::from(second), "/p", *status);
    }
    if stop < 1000.0 && !stopped {
        run.signal(stop, "SIGTERM");
    }
    verdict(&run.done(), clause)
}

#[test]
fn one_success_makes_the_count_begin_anew() {
    assert_eq!(live(RESETS, &[200, 500, 500, 200, 500, 500, 200], None), "holds");
    assert_eq!(live(RESETS, &[200, 500, 500, 200, 500, 500, 200], Some(7.5)), "violated");
    assert_eq!(live(RESETS, &[200, 500, 200], None), "inconclusive");
}

#[test]
fn a_short_fault_does_nothing() {
    assert_eq!(live(SHORT, &[200, 500, 500, 200], None), "holds");
    assert_eq!(live(SHORT, &[200, 500, 500, 200], Some(4.5)), "violated");
    assert_eq!(live(SHORT, &[200, 200], None), "inconclusive");
}

#[test]
fn a_short_fault_of_readiness_does_nothing() {
    let shown = |down: bool| {
        let mut run = pod(SHORT, json!({ "readinessProbe": http(json!({})) }));
        run.probe(2.0, "/p", 200);
        run.running(2.5, true, true, 0);
        run.probe(3.0, "/p", 503);
        run.running(3.5, !down, true, 0);
        run.probe(4.0, "/p", 200);
        verdict(&run.done(), SHORT)
    };
    assert_eq!(shown(false), "holds");
    assert_eq!(shown(true), "violated");
}

#[test]
fn the_stop_signal_comes_with_the_last_failure() {
    assert_eq!(live(EXACT, &[200, 500, 500, 500], Some(5.1)), "holds");
    assert_eq!(live(EXACT, &[200, 500, 500, 500, 500], Some(6.1)), "violated");
    assert_eq!(live(EXACT, &[200, 500], Some(3.1)), "violated");
    assert_eq!(live(EXACT, &[200, 200], None), "inconclusive");
}

#[test]
fn a_stop_signal_after_fewer_failures_is_a_violation_even_at_one_second() {
    assert_eq!(live(EXACT, &[200, 200, 500, 500], Some(5.1)), "violated");
    assert_eq!(live(EXACT, &[200, 200, 500, 500, 500], Some(6.1)), "holds");
}

fn unready(statuses: &[u16], until: f64) -> &'static str {
    let mut run = pod(GOES_ON, json!({ "readinessProbe": http(json!({ "failureThreshold": 1 })) }));
    answers(&mut run, 2, statuses);
    run.running(until, false, true, 0);
    verdict(&run.done(), GOES_ON)
}

#[test]
fn a_container_that_is_not_ready_is_asked_again() {
    assert_eq!(unready(&[503, 503, 503], 6.0), "holds");
    assert_eq!(unready(&[503], 20.0), "violated");
    assert_eq!(unready(&[503], 3.0), "inconclusive");
}

fn window(fault: f64, failures: &[f64]) -> &'static str {
    let probe: Value = http(json!({ "periodSeconds": 3, "failureThreshold": 3 }));
    let mut run = pod(WINDOW, json!({ "livenessProbe": probe }));
    run.probe(2.0, "/p", 200);
    run.fact(fault, Fact::Change(ChangeSeen { endpoints: Vec::new(), change: "{}".to_owned() }));
    for at in failures {
        run.probe(*at, "/p", 500);
    }
    verdict(&run.done(), WINDOW)
}

#[test]
fn a_fault_is_seen_within_its_window() {
    assert_eq!(window(3.0, &[5.0, 8.0, 11.0]), "holds");
    assert_eq!(window(3.0, &[4.0, 5.0, 6.0]), "violated");
    assert_eq!(window(3.0, &[8.0, 11.0, 15.0]), "violated");
    assert_eq!(window(3.0, &[5.0]), "inconclusive");
}
