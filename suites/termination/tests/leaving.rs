//! Sidecars with and without hooks, init containers and restarts in a terminating pod.

use probity_composer::Composer;
use probity_model::history::Did;
use probity_script::witness::{Exiting, Fact};
use serde_json::{Value, json};

use super::{ASKED, at, exits, hook, killed, told, with_hook};

const KILL: &str = "termination.kill-after-grace";
const FIRST: &str = "termination.prestop-runs-first";
const PROMPT: &str = "termination.starts-promptly";
const AGAIN: &str = "termination.no-restart-while-terminating";
const COUNTS: &str = "termination.prestop-counts-in-grace";
const EXTENSION: &str = "termination.prestop-2s-extension";
/// The name of the sidecar or init container in these histories.
const HELPER: &str = "helper";

fn target(mut of: Value) -> Value {
    of["env"] = json!([{ "name": "AGNHOST_PLAN", "value": "{}" }]);
    of
}

/// A pod with these containers is deleted; the named ones begin before that.
fn going(clause: &str, grace: u64, (inits, mains): (Value, Value), begun: &[&str]) -> Composer {
    let mut run = Composer::new(&[clause]);
    let all = |list: Value| list.as_array().into_iter().flatten().cloned().map(target).collect::<Vec<_>>();
    let spec = json!({
        "terminationGracePeriodSeconds": grace, "initContainers": all(inits), "containers": all(mains),
    });
    run.create(0.0, &spec);
    for name in begun {
        run.of("pod", name).start(1.0, 0);
    }
    run.deed(ASKED, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace: None });
    run
}

fn sidecar(mut of: Value) -> Value {
    of["restartPolicy"] = json!("Always");
    json!([of])
}

#[test]
fn a_sidecar_has_the_rest_of_the_grace_period() {
    let judged = |end: Option<f64>| {
        let of = (sidecar(json!({ "name": HELPER })), json!([{ "name": "main" }]));
        let mut run = going(KILL, 10, of, &[HELPER, "main"]);
        told(&mut run, "main", ASKED + 0.1);
        exits(&mut run, "main", ASKED + 3.1, 0);
        told(&mut run, HELPER, ASKED + 3.2);
        if let Some(end) = end {
            killed(&mut run, HELPER, ASKED + end);
        }
        at(run, 60.0, KILL)
    };
    assert_eq!(judged(Some(10.3)), "holds");
    assert_eq!(judged(Some(11.2)), "holds", "only whole seconds are taken off");
    assert_eq!(judged(Some(5.2)), "violated", "two seconds");
    assert_eq!(judged(Some(13.3)), "violated", "the grace period once more");
    assert_eq!(judged(None), "violated", "it is never killed");
}

#[test]
fn the_signal_of_a_sidecar_comes_after_its_hook() {
    let judged = |stop: Option<f64>| {
        let of = (sidecar(with_hook(HELPER)), json!([{ "name": "main" }]));
        let mut run = going(FIRST, 30, of, &[HELPER, "main"]);
        told(&mut run, "main", ASKED + 0.1);
        exits(&mut run, "main", ASKED + 1.0, 0);
        hook(&mut run, HELPER, ASKED + 0.2, Some(ASKED + 4.2));
        if let Some(stop) = stop {
            told(&mut run, HELPER, ASKED + stop);
            exits(&mut run, HELPER, ASKED + stop + 0.1, 0);
        }
        at(run, 60.0, FIRST)
    };
    assert_eq!(judged(Some(4.3)), "holds");
    assert_eq!(judged(Some(1.1)), "violated", "when its turn came");
    assert_eq!(judged(Some(8.0)), "violated", "late");
    assert_eq!(judged(None), "violated", "never");
}

#[test]
fn a_hook_of_a_sidecar_that_is_done_waits_for_its_turn() {
    let of = (sidecar(with_hook(HELPER)), json!([{ "name": "main" }]));
    let mut run = going(FIRST, 30, of, &[HELPER, "main"]);
    hook(&mut run, HELPER, ASKED + 0.2, Some(ASKED + 1.2));
    told(&mut run, "main", ASKED + 0.1);
    exits(&mut run, "main", ASKED + 9.0, 0);
    told(&mut run, HELPER, ASKED + 9.1);
    assert_eq!(at(run, 60.0, FIRST), "holds");
}

#[test]
fn a_sidecar_waits_for_no_container_that_does_not_run() {
    let judged = |stop: f64, prepares: bool| {
        let mut inits = sidecar(json!({ "name": HELPER }));
        if prepares && let Some(inits) = inits.as_array_mut() {
            inits.push(json!({ "name": "prepare" }));
        }
        let begun = if prepares { vec![HELPER, "prepare"] } else { vec![HELPER] };
        let mut run = going(PROMPT, 30, (inits, json!([{ "name": "main" }])), &begun);
        if prepares {
            told(&mut run, "prepare", ASKED + 0.2);
            exits(&mut run, "prepare", ASKED + 4.0, 0);
        }
        told(&mut run, HELPER, ASKED + stop);
        at(run, 60.0, PROMPT)
    };
    assert_eq!(judged(0.3, false), "holds");
    assert_eq!(judged(30.0, false), "violated");
    assert_eq!(judged(4.1, true), "violated", "nor for an init container");
}

#[test]
fn an_init_container_is_told_to_stop_at_once() {
    let judged = |stop: Option<f64>| {
        let of = (json!([{ "name": "prepare" }]), json!([{ "name": "main" }]));
        let mut run = going(PROMPT, 30, of, &["prepare"]);
        if let Some(stop) = stop {
            told(&mut run, "prepare", ASKED + stop);
        }
        at(run, 60.0, PROMPT)
    };
    assert_eq!(judged(Some(0.2)), "holds");
    assert_eq!(judged(Some(5.0)), "violated");
    assert_eq!(judged(None), "violated");
}

#[test]
fn a_refused_hook_takes_no_time() {
    let judged = |stop: Option<f64>| {
        let refused = json!({ "preStop": { "httpGet": { "path": "/", "port": 81 } } });
        let of = (Value::Null, json!([{ "name": "main", "lifecycle": refused }]));
        let mut run = going(PROMPT, 30, of, &["main"]);
        if let Some(stop) = stop {
            told(&mut run, "main", ASKED + stop);
        }
        at(run, 60.0, PROMPT)
    };
    assert_eq!(judged(Some(0.2)), "holds");
    assert_eq!(judged(None), "violated");
}

#[test]
fn nothing_begins_in_a_pod_that_goes() {
    let judged = |again: Option<f64>| {
        let of = (Value::Null, json!([{ "name": "main" }, { "name": "slow" }]));
        let mut run = going(AGAIN, 40, of, &["slow"]);
        told(&mut run, "slow", ASKED + 0.1);
        if let Some(again) = again {
            run.of("pod", "main").start(ASKED + again, 2);
        }
        exits(&mut run, "slow", ASKED + 15.0, 0);
        at(run, 60.0, AGAIN)
    };
    assert_ne!(judged(None), "violated");
    assert_ne!(judged(Some(2.0)), "violated", "it was under way");
    assert_eq!(judged(Some(9.0)), "violated");
}

#[test]
fn an_init_container_that_is_stopped_has_not_succeeded() {
    let of = (json!([{ "name": "prepare" }]), json!([{ "name": "main" }]));
    let mut run = going(AGAIN, 40, of, &["prepare"]);
    told(&mut run, "prepare", ASKED + 0.1);
    exits(&mut run, "prepare", ASKED + 1.0, 0);
    run.of("pod", "main").start(ASKED + 1.5, 0);
    assert_eq!(at(run, 60.0, AGAIN), "violated");
}

/// A container that sleeps this long before its stop signal, and the times of its signal and its end after the request to
/// delete its pod.
fn sleeps(clause: &str, (grace, sleep): (u64, u64), (stop, end): (f64, f64)) -> &'static str {
    let sleep = json!({ "preStop": { "sleep": { "seconds": sleep } } });
    let of = (Value::Null, json!([{ "name": "main", "lifecycle": sleep }]));
    let mut run = going(clause, grace, of, &["main"]);
    told(&mut run, "main", ASKED + stop);
    killed(&mut run, "main", ASKED + end);
    at(run, 60.0, clause)
}

#[test]
fn a_long_sleep_ends_with_the_grace_period() {
    let judged = |clause: &str, stop: f64, end: f64| sleeps(clause, (4, 20), (stop, end));
    assert_eq!(judged(FIRST, 4.2, 6.3), "holds");
    assert_eq!(judged(FIRST, 20.1, 22.2), "violated");
    assert_eq!(judged(FIRST, 0.1, 2.2), "violated");
    assert_eq!(judged(EXTENSION, 4.2, 6.3), "holds");
    assert_eq!(judged(EXTENSION, 4.2, 10.0), "violated");
}

#[test]
fn a_short_sleep_takes_its_time_from_the_grace_period() {
    let judged = |stop: f64, end: f64| sleeps(COUNTS, (8, 3), (stop, end));
    assert_eq!(judged(3.3, 8.4), "holds");
    assert_eq!(judged(3.3, 7.4), "violated", "the sleep took more than its time");
    assert_eq!(judged(3.9, 8.1), "violated", "it began late, and was killed too early all the same");
    assert_eq!(judged(3.3, 10.0), "violated", "the sleep did not count");
    assert_eq!(judged(4.5, 8.6), "holds", "it is not known how many seconds the sleep took");
}

#[test]
fn a_sidecar_of_a_pod_that_is_removed_at_once_gets_a_signal() {
    let judged = |stop: Option<f64>| {
        let clause = "termination.forced.small-grace-on-node";
        let mut run = Composer::new(&[clause]);
        let helper = sidecar(json!({ "name": HELPER }));
        run.create(0.0, &json!({ "initContainers": helper, "containers": [{ "name": "main" }] }));
        run.of("pod", HELPER).start(1.0, 0);
        run.of("pod", "main").start(1.5, 0);
        let (kind, name) = ("Pod".to_owned(), "pod".to_owned());
        run.deed(ASKED, Did::Deleted { kind, name, grace: Some(0) });
        told(&mut run, "main", ASKED + 0.1);
        if let Some(stop) = stop {
            told(&mut run, HELPER, ASKED + stop);
        }
        killed(&mut run, "main", ASKED + 2.15);
        killed(&mut run, HELPER, ASKED + stop.map_or(2.3, |stop| stop + 2.05));
        at(run, 60.0, clause)
    };
    assert_eq!(judged(Some(1.1)), "holds");
    assert_eq!(judged(None), "violated", "it ran until the sandbox was stopped");
}

#[test]
fn an_ephemeral_container_of_a_pod_that_completes_gets_a_signal() {
    let judged = |stop: bool| {
        let clause = "termination.term-to-pid1";
        let mut run = Composer::new(&[clause]);
        let spec = json!({
            "restartPolicy": "Never", "containers": [target(json!({ "name": "main" }))],
            "ephemeralContainers": [target(json!({ "name": "debug" }))],
        });
        run.create(0.0, &spec);
        run.of("pod", "main").start(1.0, 0);
        run.of("pod", "debug").start(2.0, 0);
        run.of("pod", "main").fact(5.0, Fact::Exiting(Exiting { code: 0, why: "plan".to_owned() }));
        run.left(5.01);
        if stop {
            told(&mut run, "debug", 6.0);
            exits(&mut run, "debug", 6.1, 0);
        } else {
            killed(&mut run, "debug", 6.1);
        }
        at(run, 30.0, clause)
    };
    assert_ne!(judged(true), "violated");
    assert_eq!(judged(false), "violated");
}
