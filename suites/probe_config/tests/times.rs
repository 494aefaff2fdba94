//! Histories about the times at which probes arrive.

use probity_composer::{Composer, Told, running_status};
use probity_script::witness::{Call, Fact, Listening};
use serde_json::json;

use super::{answers, begin, http, pod, spec, verdict};

const DELAY: &str = "probe.timing.initial-delay-honoured";
const LARGER: &str = "probe.timing.initial-delay-with-larger-period";
const AGAIN: &str = "probe.timing.initial-delay-per-restart";
const ORIGIN: &str = "probe.timing.initial-delay-after-startup";
const PHASE: &str = "probe.timing.first-probe-phase";
const EARLY: &str = "probe.timing.readiness-out-of-period";
const PERIOD: &str = "probe.timing.period";
const BOUND: &str = "probe.timing.readiness-period-is-upper-bound";
const TIMEOUT: &str = "probe.timeout.http";
const CONNECT: &str = "probe.timeout.tcp-grpc";
const SLOW: &str = "probe.timeout.longer-than-period";

fn first(clause: &str, period: u64, at: f64) -> &'static str {
    let probe = http(json!({ "initialDelaySeconds": 4, "periodSeconds": period }));
    let mut run = pod(clause, json!({ "livenessProbe": probe }));
    run.probe(at, "/p", 200);
    verdict(&run.done(), clause)
}

#[test]
fn the_first_probe_keeps_its_delay() {
    assert_eq!(first(DELAY, 1, 5.5), "holds");
    assert_eq!(first(DELAY, 1, 4.5), "violated");
    assert_eq!(first(DELAY, 1, 11.0), "violated");
    assert_eq!(first(LARGER, 8, 12.0), "holds");
    assert_eq!(first(LARGER, 8, 3.0), "violated");
    assert_eq!(first(LARGER, 1, 3.0), "inconclusive");
}

#[test]
fn lateness_in_noise_is_doubt() {
    let mut run = pod(DELAY, json!({ "livenessProbe": http(json!({ "initialDelaySeconds": 4 })) }));
    run.noise(5.0, 10.5).probe(11.0, "/p", 200);
    assert_eq!(verdict(&run.done(), DELAY), "inconclusive");
}

fn second_life(at: f64) -> &'static str {
    let mut run = pod(AGAIN, json!({ "livenessProbe": http(json!({ "initialDelaySeconds": 4 })) }));
    run.probe(5.5, "/p", 200);
    run.left(7.0);
    begin(&mut run, 9.0, 1);
    run.probe(at, "/p", 200);
    verdict(&run.done(), AGAIN)
}

#[test]
fn each_life_has_the_delay_again() {
    assert_eq!(second_life(13.5), "holds");
    assert_eq!(second_life(10.0), "violated");
    assert_eq!(first(AGAIN, 1, 5.5), "inconclusive");
}

/// A readiness probe with a delay of four seconds, restarted at 10 s after a kill; the API shows the new instance at
/// this time.
fn restarted(clause: &str, shown: f64, at: &[f64]) -> &'static str {
    after(true, clause, shown, at)
}

fn after(kill: bool, clause: &str, shown: f64, at: &[f64]) -> &'static str {
    let mut run = pod(clause, json!({ "readinessProbe": http(json!({ "initialDelaySeconds": 4 })) }));
    run.probe(5.5, "/p", 200);
    if kill {
        run.signal(7.9, "SIGTERM");
    }
    run.left(8.0);
    run.start(10.0, 1);
    let (listener, address) = ("web".to_owned(), "[::]:8080".to_owned());
    run.fact(10.01, Fact::Listening(Listening { listener, address, state: "open".to_owned() }));
    for at in at.iter().filter(|at| **at < shown) {
        run.probe(*at, "/p", 200);
    }
    run.running(shown, false, true, 1);
    for at in at.iter().filter(|at| **at >= shown) {
        run.probe(*at, "/p", 200);
    }
    verdict(&run.done(), clause)
}

#[test]
fn what_comes_before_a_new_life_is_shown_belongs_to_the_life_before() {
    assert_eq!(restarted(AGAIN, 10.5, &[14.5]), "holds");
    assert_eq!(restarted(AGAIN, 11.5, &[10.6, 15.5]), "diverges");
    assert_eq!(
        after(false, AGAIN, 11.5, &[10.6, 15.5]),
        "violated",
        "this is a known deviation only after a kill"
    );
    assert_eq!(restarted(DELAY, 11.5, &[10.6, 15.5]), "holds");
    assert_eq!(restarted(AGAIN, 10.5, &[11.6, 14.5]), "violated");
    assert_eq!(restarted(DELAY, 10.5, &[11.6, 14.5]), "violated");
}

#[test]
fn the_life_before_is_no_excuse_for_longer_than_it_takes_to_look() {
    assert_eq!(restarted(AGAIN, 13.9, &[12.6, 17.5]), "diverges");
    assert_eq!(restarted(AGAIN, 13.9, &[13.6, 17.5]), "violated");
    assert_eq!(restarted(DELAY, 13.9, &[13.6, 17.5]), "violated");
}

fn origin(at: f64) -> &'static str {
    let start =
        json!({ "httpGet": { "path": "/start", "port": 8080 }, "periodSeconds": 1, "failureThreshold": 30 });
    let live = http(json!({ "initialDelaySeconds": 4 }));
    let mut run = pod(ORIGIN, json!({ "startupProbe": start, "livenessProbe": live }));
    run.probe(2.0, "/start", 503);
    run.probe(9.0, "/start", 200);
    run.probe(at, "/p", 200);
    verdict(&run.done(), ORIGIN)
}

#[test]
fn the_origin_of_a_delay_beside_a_startup_probe_is_told() {
    assert_eq!(origin(13.2), "holds");
    assert_eq!(origin(9.8), "diverges");
    assert_eq!(origin(11.0), "diverges");
    assert_eq!(origin(30.0), "violated", "neither way of counting explains so long a wait");
}

#[test]
fn readiness_does_not_wait_for_its_period() {
    let at = |at: f64, period: u64| {
        let mut run = pod(EARLY, json!({ "readinessProbe": http(json!({ "periodSeconds": period })) }));
        run.probe(at, "/p", 200);
        verdict(&run.done(), EARLY)
    };
    assert_eq!(at(2.5, 30), "holds");
    assert_eq!(at(20.0, 30), "violated");
    assert_eq!(at(2.5, 2), "inconclusive");
}

fn live_at(times: &[f64]) -> Composer {
    let mut run = pod(PERIOD, json!({ "livenessProbe": http(json!({ "periodSeconds": 2 })) }));
    for at in times {
        run.probe(*at, "/p", 200);
    }
    run
}

#[test]
fn the_period_is_kept_without_drift() {
    let judged = |times: &[f64]| verdict(&live_at(times).done(), PERIOD);
    assert_eq!(judged(&[2.0, 4.0, 6.1, 8.0, 10.0]), "holds");
    assert_eq!(judged(&[2.0, 4.0, 8.0, 10.0]), "violated");
    assert_eq!(judged(&[2.0, 4.0, 4.5, 6.0]), "violated");
    assert_eq!(judged(&[2.0, 4.4, 6.8, 9.2, 11.6]), "violated");
    assert_eq!(judged(&[2.0]), "inconclusive");
}

#[test]
fn the_period_of_readiness_probes_is_kept_once_the_container_is_ready() {
    let judged = |times: &[f64]| {
        let mut run = pod(PERIOD, json!({ "readinessProbe": http(json!({ "periodSeconds": 2 })) }));
        for at in times {
            run.probe(*at, "/p", 200);
        }
        verdict(&run.done(), PERIOD)
    };
    assert_eq!(
        judged(&[2.0, 2.3, 4.3, 6.3, 8.3, 10.4]),
        "holds",
        "one was asked for before the first success"
    );
    assert_eq!(judged(&[2.0, 4.0, 6.0, 8.0, 9.0, 10.0]), "violated");
    assert_eq!(judged(&[2.0, 4.0, 6.0, 8.1, 10.2, 12.3, 14.4, 16.5]), "violated", "it drifts by 5%");
    assert_eq!(judged(&[2.0, 4.0]), "inconclusive");
}

/// A liveness probe every second for twenty seconds, each shifted by the time that `off` returns.
fn off_beat(off: impl Fn(u32) -> f64) -> &'static str {
    let mut run = pod(PERIOD, json!({ "livenessProbe": http(json!({})) }));
    for turn in 0..=20 {
        run.probe(2.0 + f64::from(turn) + off(turn), "/p", 200);
    }
    verdict(&run.done(), PERIOD)
}

#[test]
fn turns_that_are_short_and_long_by_turns_are_no_period() {
    assert_eq!(off_beat(|_| 0.0), "holds");
    assert_eq!(off_beat(|turn| if turn % 2 == 1 { 0.1 } else { 0.0 }), "holds");
    assert_eq!(off_beat(|turn| if turn % 2 == 1 { 0.75 } else { 0.0 }), "violated");
}

#[test]
fn a_drift_of_three_in_a_hundred_is_noticed_though_no_turn_is_late() {
    assert_eq!(off_beat(|turn| 0.03 * f64::from(turn)), "violated");
    assert_eq!(off_beat(|turn| -0.03 * f64::from(turn)), "violated");
}

/// A probe that runs a command every second; the commands are recorded at these times.
fn commands(times: &[f64]) -> &'static str {
    let probe = json!({ "exec": { "command": ["/agnhost-rs", "exec", "live"] }, "periodSeconds": 1 });
    let mut run = pod(PERIOD, json!({ "livenessProbe": probe }));
    for at in times {
        run.exec(*at, "live", Some(0));
    }
    verdict(&run.done(), PERIOD)
}

#[test]
fn commands_keep_their_period_though_each_takes_its_time_to_start() {
    assert_eq!(commands(&[2.1, 3.4, 4.1, 5.6, 6.1, 7.3]), "holds");
    assert_eq!(commands(&[2.1, 3.1, 5.1, 6.1, 8.1, 9.1]), "violated", "a third of them is missing");
    assert_eq!(commands(&[2.0, 2.2, 3.0, 3.2, 4.0, 4.2, 5.0]), "violated", "each comes twice");
}

#[test]
fn a_start_that_is_shown_too_early_shortens_no_delay() {
    let mut run = Composer::new(&[DELAY]);
    let probe = http(json!({ "initialDelaySeconds": 10 }));
    run.create(0.0, &spec(json!({ "livenessProbe": probe })));
    run.start(20.0, 0);
    let (listener, address) = ("web".to_owned(), "[::]:8080".to_owned());
    run.fact(20.01, Fact::Listening(Listening { listener, address, state: "open".to_owned() }));
    run.status(20.5, &running_status("target", 1.0, false, true, 0)).probe(22.0, "/p", 200);
    assert_eq!(verdict(&run.done(), DELAY), "violated");
}

#[test]
fn stalls_on_the_way_do_not_excuse_a_drift() {
    let mut run = pod(PERIOD, json!({ "livenessProbe": http(json!({})) }));
    for turn in 0..=20 {
        let at = 2.0 + 1.03 * f64::from(turn);
        if turn == 8 {
            run.noise(at + 0.1, at + 0.9);
        }
        run.probe(at, "/p", 200);
    }
    assert_eq!(verdict(&run.done(), PERIOD), "violated");
}

#[test]
fn a_first_probe_that_was_late_does_not_accuse_the_second() {
    let judged = |times: &[f64]| verdict(&live_at(times).done(), PERIOD);
    assert_eq!(judged(&[5.9, 6.0, 8.0, 10.0, 12.0]), "holds", "the schedule began at 4");
    assert_eq!(judged(&[2.0, 3.0, 5.0, 6.0, 8.0]), "violated", "a later one came early");
    assert_eq!(
        judged(&[2.0, 3.9, 5.7, 7.6, 9.4, 11.3, 13.1]),
        "violated",
        "it drifts, whenever the first one was due"
    );
}

#[test]
fn a_probe_that_was_held_up_makes_the_next_one_seem_early() {
    let mut run = live_at(&[2.0, 5.8, 6.0, 8.0]);
    run.noise(3.9, 5.8);
    assert_ne!(verdict(&run.done(), PERIOD), "violated");
}

#[test]
fn a_failed_container_is_asked_every_period_at_least() {
    let judged = |times: &[f64]| {
        let mut run = pod(BOUND, json!({ "readinessProbe": http(json!({ "periodSeconds": 3 })) }));
        for at in times {
            run.probe(*at, "/p", 503);
        }
        verdict(&run.done(), BOUND)
    };
    assert_eq!(judged(&[2.0, 3.0, 6.0]), "holds");
    assert_eq!(judged(&[2.0, 3.0, 9.0]), "violated");
    assert_eq!(judged(&[2.0]), "inconclusive");
}

#[test]
fn the_wait_of_a_new_life_for_its_startup_probe_is_no_wait_between_probes() {
    let start = json!({ "httpGet": { "path": "/start", "port": 8080 }, "periodSeconds": 1 });
    let ready = http(json!({ "failureThreshold": 1 }));
    let mut run = pod(BOUND, json!({ "startupProbe": start, "readinessProbe": ready }));
    for (at, path, status) in [(2.0, "/start", 200), (2.1, "/p", 503), (3.1, "/p", 503)] {
        run.probe(at, path, status);
    }
    run.left(4.0).start(5.0, 1);
    run.probe(5.2, "/p", 503);
    run.running(5.5, false, false, 1);
    for (at, path, status) in [(9.0, "/start", 200), (9.1, "/p", 503), (10.1, "/p", 503)] {
        run.probe(at, path, status);
    }
    assert_eq!(verdict(&run.done(), BOUND), "holds");
}

fn slow(took: f64, given_up: bool) -> &'static str {
    let mut run = pod(TIMEOUT, json!({ "readinessProbe": http(json!({ "timeoutSeconds": 2 })) }));
    let mut told = Told { took, ..Told::get("/p", 200) };
    if given_up {
        (told.error, told.written) = (Some("the peer gave up".to_owned()), 0);
    }
    run.http(2.0, &told);
    verdict(&run.done(), TIMEOUT)
}

#[test]
fn an_answer_is_waited_for_as_long_as_the_timeout() {
    assert_eq!(slow(1.0, false), "holds");
    assert_eq!(slow(2.0, true), "holds");
    assert_eq!(slow(1.0, true), "violated");
    assert_eq!(slow(3.0, true), "violated");
    assert_eq!(slow(3.0, false), "violated");
    assert_eq!(slow(0.01, false), "inconclusive");
}

#[test]
fn an_answer_that_waited_for_another_service_says_nothing_of_who_asked() {
    let mut run = pod(TIMEOUT, json!({ "readinessProbe": http(json!({ "timeoutSeconds": 2 })) }));
    run.http(2.0, &Told { took: 3.0, ..Told::get("/p", 200) });
    let (by, url) = ("web:/p".to_owned(), "http://10.0.0.9/".to_owned());
    let call = Call { by, url, status: Some(200), answered_by: None, error: None, took_us: 2_900_000 };
    run.fact(4.9, Fact::Call(call));
    assert_eq!(verdict(&run.done(), TIMEOUT), "inconclusive");
}

#[test]
fn who_waits_in_the_queue_of_the_target_is_answered_in_his_turn() {
    let plan = json!({ "listeners": { "web": { "port": 8080, "workers": { "count": 1 } } } });
    let env = json!([{ "name": "AGNHOST_PLAN", "value": plan.to_string() }]);
    let mut run = pod(TIMEOUT, json!({ "env": env, "readinessProbe": http(json!({})) }));
    run.http(2.0, &Told { took: 3.0, ..Told::get("/p", 200) });
    assert_eq!(verdict(&run.done(), TIMEOUT), "inconclusive");
}

#[test]
fn a_gate_that_shuts_again_interrupts_the_schedule() {
    let start = json!({ "httpGet": { "path": "/start", "port": 8080 }, "periodSeconds": 1 });
    let mut run = pod(PERIOD, json!({ "startupProbe": start, "livenessProbe": http(json!({})) }));
    run.probe(1.5, "/p", 200);
    run.probe(4.0, "/start", 200);
    for at in [5.5, 6.5, 7.5] {
        run.probe(at, "/p", 200);
    }
    assert_eq!(verdict(&run.done(), PERIOD), "holds");
}

#[test]
fn a_hook_after_the_start_excuses_a_late_first_probe() {
    let hook = json!({ "postStart": { "sleep": { "seconds": 5 } } });
    let mut run = pod(PHASE, json!({ "livenessProbe": http(json!({})), "lifecycle": hook }));
    run.probe(8.0, "/p", 200);
    assert_eq!(verdict(&run.done(), PHASE), "inconclusive");
}

#[test]
fn a_life_that_was_taken_for_a_started_one_has_its_startup_probe_late() {
    let start = json!({ "httpGet": { "path": "/start", "port": 8080 }, "periodSeconds": 2 });
    let judged = |others: bool| {
        let mut run = pod(PHASE, json!({ "startupProbe": start, "readinessProbe": http(json!({})) }));
        if others {
            run.probe(1.5, "/p", 200);
        }
        run.probe(12.0, "/start", 200);
        verdict(&run.done(), PHASE)
    };
    assert_eq!(judged(false), "violated");
    assert_eq!(judged(true), "inconclusive");
}

#[test]
fn a_slow_probe_is_followed_and_not_overtaken() {
    let judged = |next: f64| {
        let mut run = pod(SLOW, json!({ "readinessProbe": http(json!({ "timeoutSeconds": 6 })) }));
        run.http(2.0, &Told { took: 2.5, ..Told::get("/p", 200) });
        run.probe(next, "/p", 200);
        verdict(&run.done(), SLOW)
    };
    assert_eq!(judged(4.51), "holds");
    assert_eq!(judged(3.0), "violated");
    assert_eq!(judged(7.0), "violated");
}

#[test]
fn quick_probes_say_nothing_of_slow_ones() {
    let mut run = pod(SLOW, json!({ "readinessProbe": http(json!({})) }));
    answers(&mut run, 2, &[200, 200, 200]);
    assert_eq!(verdict(&run.done(), SLOW), "inconclusive");
}

/// A TCP probe every two seconds with a timeout of two seconds; its port accepts no connections from 4 s on.
fn full(stop: f64) -> &'static str {
    let probe = json!({ "tcpSocket": { "port": 8080 }, "periodSeconds": 2, "timeoutSeconds": 2, "failureThreshold": 1 });
    let mut run = pod(CONNECT, json!({ "livenessProbe": probe }));
    run.connection(3.0, "web", 8080);
    let (listener, address) = ("web".to_owned(), "[::]:8080".to_owned());
    run.fact(4.0, Fact::Listening(Listening { listener, address, state: "full".to_owned() }));
    run.signal(stop, "SIGTERM");
    verdict(&run.done(), CONNECT)
}

#[test]
fn a_connection_that_nobody_takes_is_waited_for_as_long_as_the_timeout() {
    assert_eq!(full(7.1), "holds");
    assert_eq!(full(4.5), "violated");
    assert_eq!(full(14.0), "violated");
}

#[test]
fn a_port_that_nobody_can_connect_to_and_no_stop_signal_is_a_violation() {
    let judged = |until: f64| {
        let probe = json!({ "tcpSocket": { "port": 8080 }, "periodSeconds": 2, "timeoutSeconds": 2, "failureThreshold": 1 });
        let mut run = pod(CONNECT, json!({ "livenessProbe": probe }));
        run.connection(3.0, "web", 8080);
        let (listener, address) = ("web".to_owned(), "[::]:8080".to_owned());
        run.fact(4.0, Fact::Listening(Listening { listener, address, state: "full".to_owned() }));
        run.reading(until);
        verdict(&run.done(), CONNECT)
    };
    assert_eq!(judged(30.0), "violated");
    assert_eq!(judged(8.0), "inconclusive", "the case ends too early");
}
