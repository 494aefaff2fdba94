//! Hooks before the stop.

use probity_composer::{Composer, Told};
use probity_model::history::Listener;
use serde_json::json;

use super::{ASKED, at, delete, exits, hook, killed, pod, told, with_hook};

const FIRST: &str = "termination.prestop-runs-first";
const COUNTS: &str = "termination.prestop-counts-in-grace";
const EXTENSION: &str = "termination.prestop-2s-extension";
const LONGER: &str = "termination.prestop-needs-longer-grace";
const ZERO: &str = "termination.prestop-not-with-zero-grace";
const KILLS: &str = "termination.prestop-on-liveness-kill";
const EXITS: &str = "termination.prestop-not-on-self-exit";

fn hooked(clause: &str, grace: Option<u64>) -> Composer {
    let mut spec = json!({ "containers": [with_hook("target")] });
    if let Some(grace) = grace {
        spec["terminationGracePeriodSeconds"] = json!(grace);
    }
    let mut run = pod(clause, &spec);
    delete(&mut run, ASKED, None);
    run
}

#[test]
fn the_hook_comes_before_the_signal() {
    let judged = |began: Option<f64>, done: f64, stop: Option<f64>| {
        let mut run = hooked(FIRST, Some(20));
        if let Some(began) = began {
            hook(&mut run, "target", ASKED + began, Some(ASKED + done));
        }
        if let Some(stop) = stop {
            told(&mut run, "target", ASKED + stop);
        }
        at(run, 30.0, FIRST)
    };
    assert_eq!(judged(Some(0.2), 3.2, Some(3.3)), "holds");
    assert_eq!(judged(Some(0.2), 3.2, Some(0.3)), "violated", "both at once");
    assert_eq!(judged(Some(0.2), 3.2, Some(6.0)), "violated", "the signal is late");
    assert_eq!(
        judged(Some(2.7), 5.0, Some(5.1)),
        "holds",
        "the kubelet waits for its next list of containers"
    );
    assert_eq!(judged(Some(4.0), 5.0, Some(5.1)), "violated", "the hook is late");
    assert_eq!(judged(None, 0.0, Some(0.2)), "violated", "no hook");
    assert_eq!(judged(Some(0.2), 3.2, None), "violated", "no signal");
    assert_eq!(judged(None, 0.0, None), "inconclusive");
}

#[test]
fn a_command_may_start_late_on_a_saturated_node() {
    let judged = |saturated: bool| {
        let mut run = hooked(FIRST, Some(20));
        if saturated {
            run.noise_by(Listener::Node, ASKED + 2.0, ASKED + 2.2);
        }
        hook(&mut run, "target", ASKED + 4.0, Some(ASKED + 5.0));
        told(&mut run, "target", ASKED + 5.1);
        at(run, 30.0, FIRST)
    };
    assert_eq!(judged(true), "holds");
    assert_eq!(judged(false), "violated");
}

#[test]
fn a_sleep_comes_before_the_signal() {
    let judged = |stop: f64| {
        let sleep = json!({ "name": "target", "lifecycle": { "preStop": { "sleep": { "seconds": 3 } } } });
        let mut run = pod(FIRST, &json!({ "containers": [sleep] }));
        delete(&mut run, ASKED, None);
        told(&mut run, "target", ASKED + stop);
        at(run, 30.0, FIRST)
    };
    assert_eq!(judged(3.1), "holds");
    assert_eq!(judged(0.1), "violated");
    assert_eq!(judged(9.0), "violated");
}

#[test]
fn the_time_of_the_hook_counts() {
    let judged = |end: Option<f64>| {
        let mut run = hooked(COUNTS, Some(8));
        hook(&mut run, "target", ASKED + 0.1, Some(ASKED + 3.1));
        told(&mut run, "target", ASKED + 3.2);
        if let Some(end) = end {
            killed(&mut run, "target", ASKED + end);
        }
        at(run, 40.0, COUNTS)
    };
    assert_eq!(judged(Some(8.3)), "holds");
    assert_eq!(judged(Some(11.2)), "violated", "the grace period anew");
    assert_eq!(judged(Some(5.2)), "violated");
    assert_eq!(judged(None), "violated");
}

#[test]
fn a_busy_node_does_not_stop_the_clock_of_a_grace_period() {
    let judged = |end: f64, saturated: (f64, f64)| {
        let mut run = hooked(COUNTS, Some(12));
        hook(&mut run, "target", ASKED + 0.1, Some(ASKED + 7.1));
        told(&mut run, "target", ASKED + 7.2);
        run.noise_by(Listener::Node, ASKED + saturated.0, ASKED + saturated.1);
        killed(&mut run, "target", ASKED + end);
        at(run, 40.0, COUNTS)
    };
    assert_eq!(judged(12.3, (0.0, 12.3)), "holds");
    assert_eq!(judged(19.2, (0.0, 19.2)), "violated", "the hook was not counted");
    assert_eq!(judged(16.0, (0.0, 16.0)), "inconclusive", "the runtime had no processor for the kill");
    assert_eq!(judged(16.0, (8.5, 12.0)), "violated", "it had one again when the time was over");
}

#[test]
fn an_endless_hook_is_followed_by_two_seconds() {
    let judged = |stop: Option<f64>, end: f64| {
        let mut run = hooked(EXTENSION, Some(5));
        hook(&mut run, "target", ASKED + 0.1, None);
        if let Some(stop) = stop {
            told(&mut run, "target", ASKED + stop);
            killed(&mut run, "target", ASKED + end);
        }
        at(run, 40.0, EXTENSION)
    };
    assert_eq!(judged(Some(5.2), 7.3), "holds");
    assert_eq!(judged(Some(5.2), 5.3), "violated", "no extension");
    assert_eq!(judged(Some(5.2), 10.4), "violated", "too much of it");
    assert_eq!(judged(Some(2.0), 4.0), "violated", "cut off early");
    assert_eq!(judged(None, 0.0), "violated");
}

#[test]
fn a_long_hook_needs_a_long_grace_period() {
    let judged = |grace: Option<u64>, done: Option<f64>, stop: f64| {
        let mut run = hooked(LONGER, grace);
        hook(&mut run, "target", ASKED + 0.1, done.map(|done| ASKED + done));
        told(&mut run, "target", ASKED + stop);
        exits(&mut run, "target", ASKED + stop + 0.1, 0);
        at(run, 70.0, LONGER)
    };
    assert_eq!(judged(None, None, 30.2), "holds");
    assert_eq!(judged(Some(40), Some(33.1), 33.2), "holds");
    assert_eq!(judged(None, None, 20.0), "violated");
    assert_eq!(judged(Some(40), None, 30.2), "violated", "cut off though there was time");
    assert_eq!(judged(None, Some(38.0), 38.1), "violated", "not cut off");
    assert_eq!(judged(Some(40), Some(3.0), 3.1), "inconclusive", "it took no time");
}

/// A container fails its liveness probe at 3 s. If `comes` is set, its hook runs for a second. The stop signal comes at
/// `stop`.
fn failing(clause: &str, grace: u64, comes: bool, stop: f64) -> Composer {
    failing_of(clause, "livenessProbe", grace, comes, stop)
}

fn failing_of(clause: &str, probe: &str, grace: u64, comes: bool, stop: f64) -> Composer {
    let mut container = with_hook("target");
    container[probe] =
        json!({ "httpGet": { "path": "/live", "port": 8080 }, "periodSeconds": 1, "failureThreshold": 1 });
    let mut run = pod(clause, &json!({ "terminationGracePeriodSeconds": grace, "containers": [container] }));
    run.probe(3.0, "/live", 500);
    if comes {
        hook(&mut run, "target", 3.3, Some(4.3));
    }
    told(&mut run, "target", stop);
    exits(&mut run, "target", stop + 0.1, 0);
    run
}

#[test]
fn a_kill_by_a_probe_runs_the_hook() {
    for probe in ["livenessProbe", "startupProbe"] {
        let judged = |comes: bool, stop: f64| at(failing_of(KILLS, probe, 8, comes, stop), 20.0, KILLS);
        assert_eq!(judged(true, 4.4), "holds");
        assert_eq!(judged(true, 3.4), "violated", "the signal came first");
        assert_eq!(judged(false, 3.4), "violated");
    }
    let mut fine = pod(KILLS, &json!({ "containers": [with_hook("target")] }));
    delete(&mut fine, ASKED, None);
    assert_eq!(at(fine, 20.0, KILLS), "inconclusive");
}

#[test]
fn without_grace_there_is_no_hook() {
    assert_eq!(at(failing(ZERO, 0, false, 3.4), 20.0, ZERO), "holds");
    assert_eq!(at(failing(ZERO, 0, true, 4.4), 20.0, ZERO), "violated");
    assert_eq!(at(failing_of(ZERO, "startupProbe", 0, true, 4.4), 20.0, ZERO), "violated");
    let deleted = |comes: bool| {
        let mut run =
            pod(ZERO, &json!({ "terminationGracePeriodSeconds": 0, "containers": [with_hook("target")] }));
        delete(&mut run, ASKED, None);
        if comes {
            hook(&mut run, "target", ASKED + 0.1, Some(ASKED + 0.2));
        }
        told(&mut run, "target", ASKED + 0.3);
        exits(&mut run, "target", ASKED + 0.4, 0);
        at(run, 20.0, ZERO)
    };
    assert_eq!(deleted(false), "holds");
    assert_eq!(deleted(true), "diverges");
}

#[test]
fn an_end_of_its_own_runs_no_hook() {
    let judged = |early: bool, late: bool| {
        let hook = json!({ "preStop": { "httpGet": { "path": "/bye", "port": 9090 } } });
        let containers = json!([{ "name": "leaver", "lifecycle": hook }, { "name": "listener" }]);
        let mut run = pod(EXITS, &json!({ "containers": containers }));
        let (code, why) = (0, "plan".to_owned());
        run.of("pod", "leaver").fact(
            3.0,
            probity_script::witness::Fact::Exiting(probity_script::witness::Exiting { code, why }),
        );
        run.left(3.01);
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let headers = vec![header("Host", "10.0.0.7:9090"), header("User-Agent", "kube-lifecycle/1.36")];
        let asks = Told { headers, port: 9090, ..Told::get("/bye", 200) };
        run.of("pod", "listener");
        if early {
            run.http(3.5, &asks);
        }
        delete(&mut run, ASKED, None);
        if late {
            run.http(ASKED + 0.2, &asks);
        }
        at(run, 20.0, EXITS)
    };
    assert_eq!(judged(false, true), "holds");
    assert_eq!(judged(true, true), "violated");
    assert_eq!(judged(false, false), "inconclusive", "nobody knows whether it would be seen");
}
