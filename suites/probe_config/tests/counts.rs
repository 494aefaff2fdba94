//! How many consecutive answers are needed.

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

/// A readiness probe with `successThreshold: 3` and `failureThreshold: 1`; the container is shown as ready after these
/// answers.
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

/// A readiness probe every five seconds with `successThreshold: 3`. It succeeds from the start, or after a failure, and
/// the container is shown as ready at this time.
fn slowly(clause: &str, first: u16, shown: f64) -> &'static str {
    let probe = http(json!({ "successThreshold": 3, "failureThreshold": 1, "periodSeconds": 5 }));
    let mut run = pod(clause, json!({ "readinessProbe": probe }));
    for (at, status) in [(2.0, first), (7.0, 200), (12.0, 200), (17.0, 200), (22.0, 200)] {
        if shown < at && shown > at - 5.0 {
            run.running(shown, true, true, 0);
        }
        run.probe(at, "/p", status);
    }
    verdict(&run.done(), clause)
}

#[test]
fn the_last_of_so_many_successes_is_enough() {
    assert_eq!(slowly(AFTER, 503, 17.2), "holds");
    assert_eq!(slowly(AFTER, 503, 21.9), "violated", "a kubelet must not wait for the fourth success");
    assert_eq!(slowly(AFTER, 503, 13.0), "violated");
    assert_eq!(slowly(FIRST, 200, 12.2), "holds");
    assert_eq!(slowly(FIRST, 200, 16.9), "violated", "a kubelet must not wait for the fourth success");
    assert_eq!(slowly(FIRST, 200, 8.0), "violated");
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
    // A count that continues still needs one success of the new instance.
    assert_eq!(next_life(&[200, 200, 200], &[]), "violated");
}

#[test]
fn after_a_restart_no_more_successes_are_needed_either() {
    let judged = |ready: f64| {
        let mut run = ready_after(RESTART, &[503, 503, 503]);
        run.left(8.0);
        begin(&mut run, 10.0, 1);
        run.running(10.2, false, true, 1);
        answers(&mut run, 14, &[200, 200, 200]);
        if ready < 17.0 {
            run.running(ready, true, true, 1);
        }
        answers(&mut run, 17, &[200, 200, 200]);
        if ready > 19.0 {
            run.running(ready, true, true, 1);
        }
        verdict(&run.done(), RESTART)
    };
    assert_eq!(judged(16.3), "holds");
    assert_eq!(judged(19.3), "violated");
}

/// A container with a startup and a liveness probe. Its first instance has started when its liveness probe stops it;
/// the next instance is stopped after these failures of its startup probe.
fn stopped_while_starting(threshold: u32, failures: &[f64]) -> &'static str {
    let startup = json!({
        "httpGet": { "path": "/start", "port": 8080 }, "periodSeconds": 2, "failureThreshold": threshold,
    });
    let liveness =
        json!({ "httpGet": { "path": "/live", "port": 8080 }, "periodSeconds": 1, "failureThreshold": 2 });
    let mut run = pod(EXACT, json!({ "startupProbe": startup, "livenessProbe": liveness }));
    run.probe(2.0, "/start", 200);
    run.running(2.2, true, true, 0);
    run.probe(3.0, "/live", 500);
    run.probe(4.0, "/live", 500);
    run.signal(4.1, "SIGTERM");
    run.left(4.5);
    begin(&mut run, 6.0, 1);
    run.running(6.5, false, false, 1);
    for at in failures {
        run.probe(*at, "/start", 500);
    }
    let last = failures.last().copied().unwrap_or(6.0);
    run.signal(last + 0.1, "SIGTERM");
    run.left(last + 0.5).reading(40.0);
    verdict(&run.done(), EXACT)
}

#[test]
fn a_second_instance_has_all_the_failures_of_its_startup_probe() {
    assert_ne!(stopped_while_starting(3, &[8.0, 10.0, 12.0]), "violated");
    assert_eq!(stopped_while_starting(30, &[8.0, 10.0, 12.0]), "violated");
    assert_ne!(stopped_while_starting(4, &[8.0, 10.0, 12.0]), "violated", "one probe may have been refused");
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
fn a_stall_of_milliseconds_is_no_reason_to_count_a_short_fault() {
    let judged = |from: f64, to: f64| {
        let mut run = pod(SHORT, json!({ "livenessProbe": http(json!({ "failureThreshold": 3 })) }));
        answers(&mut run, 2, &[200, 500, 500]);
        run.signal(4.5, "SIGTERM");
        run.probe(5.0, "/p", 200);
        run.noise(from, to);
        verdict(&run.done(), SHORT)
    };
    assert_eq!(judged(1.95, 2.0), "violated");
    assert_eq!(judged(1.0, 2.0), "inconclusive", "the kubelet may have missed the first answer");
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

/// A readiness probe with `failureThreshold: 3`. The container is shown as ready at 2.5 s and as not ready at this time,
/// perhaps with a stall.
fn readiness(statuses: &[u16], down: f64, stall: Option<(f64, f64)>) -> &'static str {
    let mut run = pod(EXACT, json!({ "readinessProbe": http(json!({ "failureThreshold": 3 })) }));
    for (second, status) in (2_u32..).zip(statuses) {
        run.probe(f64::from(second), "/p", *status);
        if second == 2 {
            run.running(2.5, true, true, 0);
        }
        if down > f64::from(second) && down < f64::from(second + 1) {
            run.running(down, false, true, 0);
        }
    }
    if let Some((from, to)) = stall {
        run.noise(from, to);
    }
    verdict(&run.done(), EXACT)
}

/// A readiness probe that never fails. The container is shown as not ready at the first time of each pair, and as ready
/// again at the second.
fn flickers(times: &[(f64, f64)]) -> &'static str {
    let mut run = pod(EXACT, json!({ "readinessProbe": http(json!({ "failureThreshold": 2 })) }));
    run.probe(2.0, "/p", 200);
    run.running(2.01, true, true, 0);
    for (down, up) in times {
        run.running(*down, false, true, 0);
        run.running(*up, true, true, 0);
    }
    answers(&mut run, 5, &[200, 200, 200]);
    verdict(&run.done(), EXACT)
}

#[test]
fn an_older_status_that_arrives_last_and_is_soon_corrected_is_a_race_once() {
    assert_eq!(flickers(&[(2.02, 2.3)]), "inconclusive");
    assert_eq!(flickers(&[(2.02, 4.9)]), "violated", "the status is corrected too late");
    assert_eq!(flickers(&[(2.02, 2.3), (2.4, 2.6)]), "violated", "two such races are too many");
}

#[test]
fn a_status_may_be_under_way_while_the_next_probe_succeeds() {
    assert_eq!(readiness(&[200, 200, 500, 500, 500, 200, 200], 7.4, None), "holds");
    assert_eq!(readiness(&[200, 200, 500, 500, 200, 200, 200], 6.4, None), "violated");
}

#[test]
fn not_ready_after_fewer_failures_is_a_violation_whatever_stalls_there_were() {
    let failing = [200, 200, 500, 500, 500, 500, 500];
    assert_eq!(readiness(&failing, 6.2, None), "holds");
    assert_eq!(readiness(&failing, 5.2, None), "violated");
    assert_eq!(
        readiness(&failing, 5.2, Some((2.98, 3.0))),
        "violated",
        "a stall of milliseconds hides no answer"
    );
    assert_ne!(
        readiness(&failing, 5.2, Some((2.0, 3.0))),
        "violated",
        "a stall as long as the timeout may have"
    );
}

#[test]
fn a_status_two_seconds_late_is_a_violation() {
    let failing = [200, 200, 500, 500, 500, 500, 500, 500, 500, 500, 500];
    assert_eq!(readiness(&failing, 8.5, None), "violated");
}

fn unready(statuses: &[u16], until: f64) -> &'static str {
    let mut run = pod(GOES_ON, json!({ "readinessProbe": http(json!({ "failureThreshold": 1 })) }));
    answers(&mut run, 2, statuses);
    run.running(until, false, true, 0);
    verdict(&run.done(), GOES_ON)
}

/// A probe fails from 3 s to 9 s, and the container is shown as ready or not ready from 3.2 s on.
fn shown_while_failing(ready: bool) -> &'static str {
    let mut run = pod(GOES_ON, json!({ "readinessProbe": http(json!({ "failureThreshold": 1 })) }));
    run.probe(2.0, "/p", 200);
    run.running(2.1, true, true, 0).probe(3.0, "/p", 503);
    run.running(3.2, ready, true, 0);
    answers(&mut run, 4, &[503, 503, 503, 503, 503]);
    verdict(&run.done(), GOES_ON)
}

#[test]
fn a_pod_that_goes_on_failing_is_not_ready_meanwhile() {
    assert_eq!(shown_while_failing(false), "holds");
    assert_eq!(shown_while_failing(true), "violated");
}

#[test]
fn a_container_that_is_not_ready_is_not_stopped() {
    let mut run = pod(GOES_ON, json!({ "readinessProbe": http(json!({ "failureThreshold": 1 })) }));
    run.probe(2.0, "/p", 200);
    run.running(2.1, true, true, 0).probe(3.0, "/p", 503);
    run.running(3.2, false, true, 0).signal(3.4, "SIGTERM");
    assert_eq!(verdict(&run.done(), GOES_ON), "violated");
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

/// A container that is stopped although no probe reached it.
fn stopped_unasked(stop: f64) -> &'static str {
    let mut run = pod(EXACT, json!({ "livenessProbe": http(json!({ "failureThreshold": 3 })) }));
    run.signal(stop, "SIGTERM");
    run.left(stop + 0.5);
    verdict(&run.done(), EXACT)
}

#[test]
fn a_container_that_nothing_reached_is_stopped_for_no_reason_or_its_network_failed() {
    assert_eq!(stopped_unasked(2.0), "violated", "three probes cannot have failed by then");
    assert_eq!(stopped_unasked(6.0), "inconclusive", "all probes may have been lost on the way");
}

/// A readiness probe every three seconds with `failureThreshold: 2`. The container is ready long before the fault at 12
/// s; then probes fail, and it is shown as not ready.
fn window_of_readiness(failures: &[f64], down: f64) -> &'static str {
    let probe: Value = http(json!({ "periodSeconds": 3, "failureThreshold": 2 }));
    let mut run = pod(WINDOW, json!({ "readinessProbe": probe }));
    run.probe(2.0, "/p", 200);
    run.running(2.1, true, true, 0);
    for at in [5.0, 8.0, 11.0] {
        run.probe(at, "/p", 200);
    }
    run.fact(12.0, Fact::Change(ChangeSeen { endpoints: Vec::new(), change: "{}".to_owned() }));
    for at in failures.iter().chain(&[40.0]).copied() {
        if down < at {
            run.running(down, false, true, 0);
            break;
        }
        run.probe(at, "/p", 500);
    }
    run.probe(41.0, "/p", 500);
    verdict(&run.done(), WINDOW)
}

#[test]
fn the_action_follows_the_last_failure_of_the_window() {
    assert_eq!(window_of_readiness(&[14.0, 17.0], 17.2), "holds");
    assert_eq!(
        window_of_readiness(&[14.0, 17.0, 20.0], 20.2),
        "violated",
        "the kubelet waited for one more failure"
    );
    assert_eq!(
        window_of_readiness(&[12.5, 13.0], 13.2),
        "violated",
        "a container that is ready is not asked out of turn"
    );
}

#[test]
fn a_stop_signal_that_is_late_is_outside_of_the_window() {
    let judged = |stop: f64| {
        let probe: Value = http(json!({ "periodSeconds": 3, "failureThreshold": 3 }));
        let mut run = pod(WINDOW, json!({ "livenessProbe": probe }));
        run.probe(2.0, "/p", 200);
        run.fact(3.0, Fact::Change(ChangeSeen { endpoints: Vec::new(), change: "{}".to_owned() }));
        for at in [5.0, 8.0, 11.0] {
            run.probe(at, "/p", 500);
        }
        run.signal(stop, "SIGTERM");
        verdict(&run.done(), WINDOW)
    };
    assert_eq!(judged(11.1), "holds");
    assert_eq!(judged(13.5), "violated");
}

#[test]
fn a_fault_is_seen_within_its_window() {
    assert_eq!(window(3.0, &[5.0, 8.0, 11.0]), "holds");
    assert_eq!(window(3.0, &[4.0, 5.0, 6.0]), "violated");
    assert_eq!(window(3.0, &[8.0, 11.0, 15.0]), "violated");
    assert_eq!(window(3.0, &[5.0]), "inconclusive");
}

/// A liveness probe with `failureThreshold: 2`: it gets these answers, one second apart, and the stop signal comes
/// right after the last of them.
fn stopped_after(statuses: &[u16], stalled: bool) -> &'static str {
    let probe = http(json!({ "failureThreshold": 2 }));
    let mut run = pod(EXACT, json!({ "livenessProbe": probe }));
    answers(&mut run, 2, statuses);
    let stop = 1.1 + f64::from(u32::try_from(statuses.len()).unwrap_or_default());
    if stalled {
        run.noise(2.0, stop);
    }
    run.signal(stop, "SIGTERM");
    verdict(&run.done(), EXACT)
}

#[test]
fn another_failure_before_the_stop_is_one_too_many_also_on_a_busy_node() {
    for stalled in [false, true] {
        assert_eq!(stopped_after(&[200, 500, 500, 500], stalled), "violated");
        assert_ne!(stopped_after(&[200, 500, 500], stalled), "violated");
    }
}

/// The readiness and the liveness probe use one endpoint, which fails from 5 s on; ten failures stop the container.
fn shared(stop: f64) -> &'static str {
    let probe = |failures: u64| http(json!({ "failureThreshold": failures }));
    let mut run = pod(EXACT, json!({ "readinessProbe": probe(2), "livenessProbe": probe(10) }));
    for second in 2..40_u16 {
        let status = if second < 5 { 200 } else { 503 };
        for part in [0.0, 0.4] {
            let at = f64::from(second) + part;
            if at < stop {
                run.probe(at, "/p", status);
            }
        }
    }
    run.signal(stop, "SIGTERM");
    verdict(&run.done(), EXACT)
}

#[test]
fn failures_at_a_shared_endpoint_take_their_time() {
    assert_eq!(shared(14.5), "holds");
    assert_eq!(shared(9.0), "violated", "only four seconds went by");
    assert_eq!(shared(24.5), "violated", "ten more periods went by");
}
