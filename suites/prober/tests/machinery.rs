//! Histories of workers, of instances and of terminating pods.

use probity_composer::Told;
use probity_model::history::{Change, Listener};
use probity_script::Endpoint;
use probity_script::witness::{Command, ExecEnded, ExecSeen, Exiting, Fact};

use super::*;

const ALONE: &str = "prober.worker.one-per-kind";
const JITTER: &str = "prober.worker.restart-jitter";
const TRIGGER: &str = "prober.worker.manual-trigger";
const WAITS: &str = "prober.worker.waits-for-container";
const ANEW: &str = "prober.worker.new-container-resets-result";
const HALT: &str = "prober.worker.onhold-after-liveness-failure";
const NOT_RUNNING: &str = "prober.worker.non-running-sets-failure";
const STOPS: &str = "prober.termination.liveness-startup-stop";
const SIDECAR: &str = "prober.termination.sidecar-liveness";

/// The liveness probe hangs from 3 s to 8 s; readiness probes arrive at these seconds.
fn hanging(readiness: &[u16]) -> Composer {
    let mut live = http("/live", 8080, 1);
    live["timeoutSeconds"] = json!(5);
    let mut run = one(ALONE, &json!({ "livenessProbe": live, "readinessProbe": http("/ready", 8080, 1) }));
    let mut probes: Vec<(u16, bool)> = readiness.iter().map(|second| (*second, false)).collect();
    probes.push((3, true));
    probes.sort_unstable();
    for (second, hangs) in probes {
        let at = f64::from(second);
        if hangs {
            run.http(
                at + 0.1,
                &Told { took: 5.2, answer: "hang".to_owned(), written: 0, ..Told::get("/live", 200) },
            );
        } else {
            run.probe(at, "/ready", 200);
        }
    }
    run
}

#[test]
fn a_probe_that_hangs_delays_no_other() {
    assert_eq!(verdict(&hanging(&[2, 3, 4, 5, 6, 7, 8, 9]).done(), ALONE), "holds");
    assert_eq!(verdict(&hanging(&[2, 3, 8, 9, 10]).done(), ALONE), "violated");
}

#[test]
fn a_delay_that_the_node_shares_is_a_doubt() {
    let mut run = hanging(&[2, 3, 8, 9, 10]);
    run.noise(3.0, 8.0);
    assert_eq!(verdict(&run.done(), ALONE), "inconclusive");
}

/// Ten containers with a readiness probe every 20 s; the kubelet is restarted at 30 s and probes them again at these
/// times.
fn restarted(firsts: impl Fn(f64) -> f64) -> Composer {
    let mut run = Composer::new(&[JITTER]);
    let names: Vec<String> = (0..10).map(|n| format!("c{n}")).collect();
    let containers: Vec<Value> = (0_u16..)
        .zip(&names)
        .map(|(n, name)| json!({ "name": name, "readinessProbe": http("/r", 9000 + n, 20) }))
        .collect();
    run.create(0.0, &json!({ "containers": containers }));
    for name in &names {
        run.of("pod", name).start(1.0, 0);
    }
    run.deed(30.0, Did::verb(probity_composer::NODE, "restart-kubelet", Some(0), proof(31.0, 2)));
    for (n, name) in (0_u16..).zip(&names) {
        run.of("pod", name);
        run.http(firsts(f64::from(n)), &Told { port: 9000 + n, ..Told::get("/r", 200) });
    }
    run
}

#[test]
fn first_probes_after_a_restart_of_the_kubelet_are_spread() {
    assert_eq!(verdict(&restarted(|n| 32.0 + 1.9 * n).done(), JITTER), "holds");
    assert_eq!(verdict(&restarted(|n| 32.0 + 0.1 * n).done(), JITTER), "violated");
    assert_eq!(verdict(&one(JITTER, &json!({})).done(), JITTER), "inconclusive");
}

/// The startup probe succeeds at 4 s. A readiness probe (every six seconds) follows at once, and the next one at
/// `next`.
fn triggered(next: f64) -> Composer {
    let container =
        json!({ "startupProbe": http("/start", 8080, 1), "readinessProbe": http("/ready", 8080, 6) });
    let mut run = one(TRIGGER, &container);
    run.probe(2.0, "/start", 503);
    run.probe(4.0, "/start", 200);
    run.probe(4.2, "/ready", 200);
    run.probe(next, "/ready", 200);
    run
}

#[test]
fn a_readiness_probe_out_of_turn_starts_its_period_anew() {
    assert_eq!(verdict(&triggered(10.2).done(), TRIGGER), "holds");
    assert_eq!(verdict(&triggered(7.5).done(), TRIGGER), "violated");
    let mut held_up = triggered(7.5);
    held_up.noise(4.3, 7.4);
    assert_eq!(verdict(&held_up.done(), TRIGGER), "inconclusive");
}

/// The postStart hook sleeps for five seconds, and the first probe comes at `first`.
fn hooked(first: f64) -> Composer {
    let container = json!({
        "lifecycle": { "postStart": { "sleep": { "seconds": 5 } } }, "livenessProbe": http("/live", 8080, 1),
    });
    let mut run = one(WAITS, &container);
    run.probe(first, "/live", 200);
    run
}

#[test]
fn a_container_is_not_probed_before_its_hook_is_done() {
    assert_eq!(verdict(&hooked(6.5).done(), WAITS), "holds");
    assert_eq!(verdict(&hooked(2.5).done(), WAITS), "violated");
    assert_eq!(verdict(&hooked(4.5).done(), WAITS), "inconclusive");
}

/// The postStart hook is a command that ends at 6 s, and the first probe comes at `first`. The target is stalled between these
/// two times.
fn hooked_by_command(first: f64, stalled: (f64, f64)) -> &'static str {
    let container = json!({
        "lifecycle": { "postStart": { "exec": { "command": ["/agnhost-rs", "exec", "prepare"] } } },
        "livenessProbe": http("/live", 8080, 1),
    });
    let mut run = one(WAITS, &container);
    let args = ["/agnhost-rs", "exec", "prepare"].map(str::to_owned).to_vec();
    let command = Command { args, ..Command::default() };
    let (endpoint, answer) = (Endpoint::Exec("prepare".to_owned()), "0".to_owned());
    run.fact(1.5, Fact::Exec(ExecSeen { exec: 0, endpoint, probe: 1, step: 0, answer, command }));
    let ended = ExecEnded { exec: 0, exit: Some(0), signals: Vec::new(), lived_us: 4_500_000 };
    if first < 6.0 {
        run.probe(first, "/live", 200);
    }
    run.fact(6.0, Fact::ExecEnded(ended));
    if first > 6.0 {
        run.probe(first, "/live", 200);
    }
    run.noise(stalled.0, stalled.1);
    verdict(&run.done(), WAITS)
}

#[test]
fn no_probe_arrives_before_a_recorded_hook_has_ended() {
    assert_eq!(hooked_by_command(6.5, (3.0, 3.1)), "holds");
    assert_eq!(
        hooked_by_command(5.0, (2.0, 4.9)),
        "violated",
        "the node was busy, but the hook was still running"
    );
    assert_ne!(
        hooked_by_command(5.9, (5.0, 6.0)),
        "violated",
        "the end of the hook may have been recorded late"
    );
}

#[test]
fn no_failure_is_recorded_before_a_container_begins() {
    let mut run = Composer::new(&[WAITS]);
    let container = json!({ "name": "target", "livenessProbe": http("/live", 8080, 1) });
    run.create(0.0, &json!({ "containers": [container] }));
    run.event(1.0, "Warning", "Unhealthy", "Liveness probe failed: connection refused");
    run.start(6.0, 0);
    run.probe(7.0, "/live", 200);
    assert_eq!(verdict(&run.done(), WAITS), "violated");
}

/// A ready container crashes at 5 s and runs again from 6 s on; its readiness probe then succeeds at 10 s.
fn lived_twice(ready_at_once: bool) -> Composer {
    let container =
        json!({ "livenessProbe": http("/live", 8080, 1), "readinessProbe": http("/ready", 8080, 1) });
    let mut run = one(ANEW, &container);
    run.running(1.3, false, true, 0);
    run.probe(2.0, "/ready", 200);
    run.running(2.3, true, true, 0);
    run.fact(5.0, Fact::Exiting(Exiting { code: 1, why: "exit".to_owned() }));
    run.left(5.01).start(6.0, 1);
    run.running(6.5, ready_at_once, true, 1);
    run.probe(7.5, "/live", 200);
    run.probe(8.0, "/ready", 503);
    run.probe(10.0, "/ready", 200);
    run.running(10.2, true, true, 1);
    over(&mut run, 13.0);
    run
}

#[test]
fn a_new_life_is_not_ready_by_the_old_one() {
    assert_eq!(verdict(&lived_twice(false).done(), ANEW), "holds");
    assert_eq!(verdict(&lived_twice(true).done(), ANEW), "violated");
}

#[test]
fn a_liveness_probe_that_never_comes_again_is_noticed() {
    let mut run = one(
        ANEW,
        &json!({ "livenessProbe": http("/live", 8080, 1), "readinessProbe": http("/ready", 8080, 1) }),
    );
    run.running(1.3, false, true, 0);
    run.probe(2.0, "/live", 500);
    run.probe(3.0, "/live", 500);
    run.signal(3.1, "SIGTERM");
    run.left(3.2).start(5.0, 1).running(5.5, false, true, 1);
    answers(&mut run, "/ready", 503, 6..20);
    over(&mut run, 21.0);
    assert_eq!(verdict(&run.done(), ANEW), "violated");
}

/// The liveness probe reaches its threshold at 4 s; the container ignores the stop signal for a while.
fn spent() -> Composer {
    let container =
        json!({ "livenessProbe": http("/live", 8080, 1), "readinessProbe": http("/ready", 8080, 1) });
    let mut run = one(HALT, &container);
    answers(&mut run, "/live", 500, 3..5);
    run.signal(4.1, "SIGTERM");
    run
}

#[test]
fn what_failed_for_good_is_not_asked_again_in_this_life() {
    let mut quiet = spent();
    answers(&mut quiet, "/ready", 200, 5..12);
    assert_eq!(verdict(&quiet.done(), HALT), "holds");
    let mut again = spent();
    answers(&mut again, "/live", 500, 6..8);
    assert_eq!(verdict(&again.done(), HALT), "violated");
    let mut held_up = spent();
    held_up.noise(3.9, 5.9);
    held_up.probe(6.0, "/live", 500);
    assert_eq!(verdict(&held_up.done(), HALT), "inconclusive");
}

/// A container that was ready ends, and is shown as terminated.
fn ended(ready: bool) -> Composer {
    let mut run = one(NOT_RUNNING, &json!({ "readinessProbe": http("/ready", 8080, 1) }));
    run.running(2.0, true, true, 0);
    shown_ended(&mut run, 4.0, ready);
    run
}

fn shown_ended(run: &mut Composer, at: f64, ready: bool) {
    run.status(
        at,
        &json!({ "phase": "Running", "containerStatuses": [{
        "name": "target", "ready": ready, "restartCount": 0, "containerID": "containerd://target-0",
        "state": { "terminated": { "exitCode": 1, "reason": "Error" } }, "lastState": {},
    }] }),
    );
}

#[test]
fn a_container_that_does_not_run_is_not_ready() {
    assert_eq!(verdict(&ended(false).done(), NOT_RUNNING), "holds");
    assert_eq!(verdict(&ended(true).done(), NOT_RUNNING), "violated");
    let corrected = |times: u32| {
        let mut run = ended(true);
        shown_ended(&mut run, 4.5, false);
        for nth in 1..times {
            shown_ended(&mut run, 5.0 + f64::from(nth), true);
            shown_ended(&mut run, 5.5 + f64::from(nth), false);
        }
        run.reading(20.0);
        verdict(&run.done(), NOT_RUNNING)
    };
    assert_eq!(corrected(1), "inconclusive", "the result of the last probe may have arrived late");
    assert_eq!(corrected(2), "violated");
    let mut running = one(NOT_RUNNING, &json!({ "readinessProbe": http("/ready", 8080, 1) }));
    running.running(2.0, true, true, 0);
    assert_eq!(verdict(&running.done(), NOT_RUNNING), "inconclusive");
}

/// A pod is deleted at 5 s and serves until 15 s.
fn deleted() -> Composer {
    let container =
        json!({ "livenessProbe": http("/live", 8080, 1), "readinessProbe": http("/ready", 8080, 1) });
    let mut run = one(STOPS, &container);
    answers(&mut run, "/live", 200, 2..5);
    delete(&mut run, 5.0);
    run.signal(5.3, "SIGTERM");
    run
}

#[test]
fn liveness_ends_with_the_deletion_of_the_pod() {
    let mut quiet = deleted();
    answers(&mut quiet, "/ready", 200, 6..15);
    assert_eq!(verdict(&quiet.done(), STOPS), "holds");
    let mut goes_on = deleted();
    answers(&mut goes_on, "/live", 500, 6..15);
    assert_eq!(verdict(&goes_on.done(), STOPS), "violated");
    let mut short = deleted();
    short.left(5.4);
    assert_eq!(verdict(&short.done(), STOPS), "inconclusive");
}

/// A pod with a TCP liveness probe is deleted at 5 s, on an overloaded node. Connections arrive at these times after that.
/// The target may be stalled for half a second before each.
fn connected_after_the_stop(connections: &[f64], stalls: bool) -> &'static str {
    let probe = json!({ "tcpSocket": { "port": 8080 }, "periodSeconds": 1 });
    let mut run = one(STOPS, &json!({ "livenessProbe": probe }));
    for second in 2..5_u16 {
        run.connection(f64::from(second), "web", 8080);
    }
    delete(&mut run, 5.0);
    run.signal(5.3, "SIGTERM");
    for at in connections {
        if stalls {
            run.noise(at - 0.5, at - 0.01);
        }
        run.connection(*at, "web", 8080);
    }
    run.noise_by(Listener::Overload, 4.0, 14.0);
    verdict(&run.done(), STOPS)
}

#[test]
fn liveness_that_goes_on_at_its_pace_is_noticed_on_a_busy_node() {
    assert_eq!(connected_after_the_stop(&[6.8, 7.8, 8.8], false), "violated");
    assert_ne!(connected_after_the_stop(&[6.8, 7.8], false), "violated", "there are too few");
    assert_ne!(connected_after_the_stop(&[6.8, 6.81, 6.82, 6.83], false), "violated", "they had to wait");
    assert_ne!(connected_after_the_stop(&[6.8, 7.8, 8.8], true), "violated", "each may have had to wait");
}

#[test]
fn what_was_under_way_and_erred_is_still_tried_again() {
    let mut live = http("/live", 8080, 1);
    live["timeoutSeconds"] = json!(1);
    let mut run = one(STOPS, &json!({ "livenessProbe": live }));
    let error = Some("the plan closes the connection here".to_owned());
    run.http(4.9, &Told { took: 1.0, error, ..Told::get("/live", 200) });
    delete(&mut run, 5.0);
    run.signal(5.3, "SIGTERM");
    run.probe(6.9, "/live", 200);
    assert_ne!(verdict(&run.done(), STOPS), "violated");
}

#[test]
fn nothing_starts_again_in_a_deleted_pod() {
    let mut run = deleted();
    run.left(6.0).start(7.0, 1);
    assert_eq!(verdict(&run.done(), STOPS), "violated");
    // A probe whose connection broke off may have timed out if the node was held up.
    let judged = |noisy: bool| {
        let mut run = one(STOPS, &json!({ "livenessProbe": http("/live", 8080, 1) }));
        run.probe(2.0, "/live", 200);
        if noisy {
            run.noise(3.5, 4.7);
        }
        run.connection(4.0, "web", 8080);
        delete(&mut run, 5.0);
        run.signal(5.2, "SIGTERM");
        run.left(6.0).start(7.0, 1);
        verdict(&run.done(), STOPS)
    };
    assert_eq!(judged(false), "violated");
    assert_ne!(judged(true), "violated");
}

/// A pod with a sidecar is deleted at 5 s; the liveness probe of the sidecar fails from then on.
fn sidecar() -> Composer {
    let mut run = Composer::new(&[SIDECAR]);
    let side = json!({ "name": "side", "restartPolicy": "Always", "livenessProbe": http("/live", 8081, 1) });
    let spec = json!({ "initContainers": [side], "containers": [{ "name": "target" }] });
    run.of("pod", "side").create(0.0, &spec).start(1.0, 0);
    delete(&mut run, 5.0);
    for second in 6..12_u16 {
        run.http(f64::from(second), &Told { port: 8081, ..Told::get("/live", 500) });
    }
    run
}

#[test]
fn a_sidecar_is_not_started_again_in_a_deleted_pod() {
    assert_eq!(verdict(&sidecar().done(), SIDECAR), "holds");
    let mut again = sidecar();
    again.left(12.0).start(13.0, 1);
    assert_eq!(verdict(&again.done(), SIDECAR), "violated");
    let mut kept = Composer::new(&[SIDECAR]);
    kept.pod_seen(0.0, &json!({ "containers": [{ "name": "target" }] }), &json!({}), Change::Added);
    assert_eq!(verdict(&kept.done(), SIDECAR), "inconclusive");
}
