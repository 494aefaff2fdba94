//! The order in which sidecars stop.

use probity_composer::Composer;
use probity_script::witness::{Exiting, Fact};
use serde_json::{Value, json};

use super::{ASKED, at, delete, exits, hook, killed, pod, told, with_hook};

const AFTER: &str = "termination.sidecar.after-main";
const SLOW: &str = "termination.sidecar.slow-main-delays";
const REVERSE: &str = "termination.sidecar.reverse-order";
const EXPIRY: &str = "termination.sidecar.grace-expiry-simultaneous";
const OVERRUN: &str = "termination.sidecar.prestop-overrun";
const HOOKS: &str = "termination.sidecar.prestop-not-ordered";
const FIRST: &str = "termination.prestop-runs-first";
const COUNTS: &str = "termination.prestop-counts-in-grace";

/// A pod with two sidecars and a main container is deleted.
fn group(clause: &str, grace: u64, sidecar: impl Fn(&str) -> Value) -> Composer {
    let side = |name: &str| {
        let mut container = sidecar(name);
        container["restartPolicy"] = json!("Always");
        container
    };
    let spec = json!({
        "terminationGracePeriodSeconds": grace,
        "initContainers": [side("first"), side("second")], "containers": [{ "name": "main" }],
    });
    let mut run = pod(clause, &spec);
    delete(&mut run, ASKED, None);
    run
}

fn plain(name: &str) -> Value {
    json!({ "name": name })
}

/// The main container ends at `main`. The sidecars get their stop signals at `first` and `second`, and each ends a
/// second later.
fn stopped(clause: &str, main: f64, (first, second): (f64, f64)) -> &'static str {
    let mut run = group(clause, 40, plain);
    told(&mut run, "main", ASKED + 0.1);
    let mut ends = [("main", main), ("first", first + 1.0), ("second", second + 1.0)];
    let mut tells = [("first", first), ("second", second)];
    tells.sort_by(|a, b| a.1.total_cmp(&b.1));
    ends.sort_by(|a, b| a.1.total_cmp(&b.1));
    for (name, when) in tells {
        told(&mut run, name, ASKED + when);
    }
    for (name, when) in ends {
        exits(&mut run, name, ASKED + when, 0);
    }
    at(run, 60.0, clause)
}

#[test]
fn sidecars_wait_for_the_main_containers() {
    assert_eq!(stopped(AFTER, 3.0, (4.2, 3.1)), "holds");
    assert_eq!(stopped(AFTER, 3.0, (0.1, 0.1)), "violated");
    assert_eq!(stopped(AFTER, 3.0, (9.2, 8.1)), "violated", "late");
    assert_eq!(stopped(SLOW, 12.0, (13.2, 12.1)), "holds");
    assert_eq!(stopped(SLOW, 12.0, (5.0, 4.0)), "violated");
    assert_eq!(stopped(SLOW, 3.0, (4.2, 3.1)), "inconclusive", "it was quick");
}

#[test]
fn whose_turn_it_is_does_not_wait_for_the_end_of_the_grace_period() {
    assert_eq!(stopped(AFTER, 3.0, (40.1, 40.1)), "violated");
    assert_eq!(stopped(REVERSE, 3.0, (40.1, 3.1)), "violated");
    assert_ne!(stopped(AFTER, 39.5, (40.1, 40.1)), "violated", "it was over");
    assert_ne!(stopped(REVERSE, 38.5, (40.1, 38.6)), "violated", "it was over");
}

#[test]
fn a_sidecar_that_ended_before_its_turn_is_not_waited_for_alone() {
    let mut run = group(REVERSE, 40, plain);
    told(&mut run, "main", ASKED + 0.1);
    let exits_by_itself = Fact::Exiting(Exiting { code: 0, why: "plan".to_owned() });
    run.of("pod", "second").fact(ASKED + 1.0, exits_by_itself);
    run.left(ASKED + 1.01);
    exits(&mut run, "main", ASKED + 12.0, 0);
    told(&mut run, "first", ASKED + 12.1);
    assert_ne!(at(run, 60.0, REVERSE), "violated");
}

/// The second sidecar crashed at 5 s and waits for its restart. The first one gets its stop signal this long after the request,
/// and the main container ends a second after it.
fn beside_a_crash(first: f64) -> &'static str {
    let side = |name: &str| json!({ "name": name, "restartPolicy": "Always" });
    let spec = json!({
        "terminationGracePeriodSeconds": 30,
        "initContainers": [side("first"), side("second")], "containers": [{ "name": "main" }],
    });
    let mut run = pod(AFTER, &spec);
    run.of("pod", "second").fact(5.0, Fact::Exiting(Exiting { code: 1, why: "plan".to_owned() }));
    run.left(5.01);
    delete(&mut run, ASKED, None);
    told(&mut run, "main", ASKED + 0.1);
    exits(&mut run, "main", ASKED + 1.0, 0);
    told(&mut run, "first", ASKED + first);
    exits(&mut run, "first", ASKED + first + 0.5, 0);
    at(run, 60.0, AFTER)
}

#[test]
fn a_sidecar_that_waits_for_its_restart_is_not_waited_for() {
    assert_eq!(beside_a_crash(1.1), "holds");
    assert_eq!(beside_a_crash(30.1), "violated");
}

/// Two main containers that the status shows as running; the slower one, which ends twelve seconds after the request, wrote its
/// first line at this time.
fn with_a_late_start(began: f64) -> &'static str {
    let sidecar = json!({ "name": "second", "restartPolicy": "Always" });
    let mut run = Composer::new(&[AFTER]);
    run.create(
        0.0,
        &json!({
            "terminationGracePeriodSeconds": 40,
            "initContainers": [sidecar], "containers": [{ "name": "main" }, { "name": "slow" }],
        }),
    );
    run.of("pod", "second").start(1.0, 0);
    run.of("pod", "main").start(1.0, 0);
    run.of("pod", "slow").running(2.0, true, true, 0);
    if began < ASKED {
        run.of("pod", "slow").start(began, 0);
    }
    delete(&mut run, ASKED, None);
    if began >= ASKED {
        run.of("pod", "slow").start(began, 0);
    }
    told(&mut run, "main", ASKED + 0.5);
    told(&mut run, "slow", ASKED + 0.5);
    exits(&mut run, "main", ASKED + 3.0, 0);
    exits(&mut run, "slow", ASKED + 12.0, 0);
    told(&mut run, "second", ASKED + 12.1);
    at(run, 60.0, AFTER)
}

#[test]
fn a_container_whose_process_began_late_is_not_forgotten() {
    assert_eq!(with_a_late_start(3.0), "holds");
    assert_eq!(with_a_late_start(ASKED + 0.2), "inconclusive", "it may have run since before the request");
}

#[test]
fn a_sidecar_that_is_never_told_is_found() {
    let mut run = group(AFTER, 40, plain);
    told(&mut run, "main", ASKED + 0.1);
    exits(&mut run, "main", ASKED + 1.0, 0);
    assert_eq!(at(run, 30.0, AFTER), "violated");
}

#[test]
fn sidecars_stop_in_reverse_order() {
    assert_eq!(stopped(REVERSE, 1.0, (2.2, 1.1)), "holds");
    assert_eq!(stopped(REVERSE, 1.0, (1.1, 1.1)), "violated", "together");
    assert_eq!(stopped(REVERSE, 1.0, (1.1, 2.2)), "violated", "in order");
    assert_eq!(stopped(REVERSE, 1.0, (9.0, 1.1)), "violated", "late");
}

/// The main container ignores its signal for six seconds; the sidecars get their stop signal and are killed at these
/// times.
fn expired(stop: f64, end: f64) -> &'static str {
    let mut run = group(EXPIRY, 6, plain);
    told(&mut run, "main", ASKED + 0.1);
    killed(&mut run, "main", ASKED + 6.2);
    for name in ["first", "second"] {
        told(&mut run, name, ASKED + stop);
    }
    for name in ["first", "second"] {
        killed(&mut run, name, ASKED + end);
    }
    at(run, 40.0, EXPIRY)
}

#[test]
fn all_go_when_the_grace_period_is_over() {
    assert_eq!(expired(6.2, 8.3), "holds");
    assert_eq!(
        expired(5.99, 8.1),
        "holds",
        "the time of a sidecar does not begin with the signal of another container"
    );
    assert_eq!(expired(0.1, 2.2), "violated", "with the main container");
    assert_eq!(expired(6.2, 12.3), "violated", "the grace period once more");
    assert_eq!(expired(6.2, 6.4), "violated", "no time at all");
}

#[test]
fn endless_hooks_end_with_the_grace_period() {
    let judged = |end: Option<f64>| {
        let mut run = group(OVERRUN, 6, with_hook);
        for name in ["first", "second"] {
            hook(&mut run, name, ASKED + 0.1, None);
        }
        told(&mut run, "main", ASKED + 0.1);
        exits(&mut run, "main", ASKED + 0.2, 0);
        if let Some(end) = end {
            for name in ["first", "second"] {
                told(&mut run, name, ASKED + end - 2.0);
            }
            for name in ["first", "second"] {
                killed(&mut run, name, ASKED + end);
            }
        }
        at(run, 40.0, OVERRUN)
    };
    assert_eq!(judged(Some(8.2)), "holds");
    assert_eq!(judged(Some(6.2)), "violated");
    assert_eq!(judged(Some(12.0)), "violated");
    assert_eq!(judged(None), "violated");
}

#[test]
fn hooks_of_sidecars_wait_for_nobody() {
    let judged = |first: f64, second: f64| {
        let mut run = group(HOOKS, 40, with_hook);
        told(&mut run, "main", ASKED + 0.1);
        hook(&mut run, "second", ASKED + second, Some(ASKED + second + 0.1));
        hook(&mut run, "first", ASKED + first, Some(ASKED + first + 0.1));
        exits(&mut run, "main", ASKED + 12.0, 0);
        at(run, 40.0, HOOKS)
    };
    assert_eq!(judged(0.2, 0.2), "holds");
    assert_eq!(judged(2.7, 0.2), "holds");
    assert_eq!(judged(6.0, 0.2), "violated");
    let mut none = group(HOOKS, 40, with_hook);
    told(&mut none, "main", ASKED + 0.1);
    exits(&mut none, "main", ASKED + 12.0, 0);
    assert_eq!(at(none, 40.0, HOOKS), "violated");
}

#[test]
fn the_sleep_of_a_sidecar_comes_before_its_signal() {
    let judged = |stop: f64| {
        let sleeping = |name: &str| match name {
            "second" => json!({ "name": name, "lifecycle": { "preStop": { "sleep": { "seconds": 4 } } } }),
            _ => plain(name),
        };
        let mut run = group(FIRST, 40, sleeping);
        told(&mut run, "main", ASKED + 0.1);
        exits(&mut run, "main", ASKED + 0.2, 0);
        told(&mut run, "second", ASKED + stop);
        exits(&mut run, "second", ASKED + stop + 0.1, 0);
        at(run, 60.0, FIRST)
    };
    assert_eq!(judged(4.2), "holds");
    assert_eq!(judged(0.3), "violated", "no sleep");
    assert_eq!(judged(12.0), "violated", "too long a sleep");
}

#[test]
fn the_time_of_a_sidecar_s_hook_counts() {
    let judged = |end: Option<f64>| {
        let hooked = |name: &str| if name == "first" { with_hook(name) } else { plain(name) };
        let mut run = group(COUNTS, 12, hooked);
        told(&mut run, "main", ASKED + 0.1);
        exits(&mut run, "main", ASKED + 0.2, 0);
        told(&mut run, "second", ASKED + 0.3);
        exits(&mut run, "second", ASKED + 0.4, 0);
        hook(&mut run, "first", ASKED + 0.1, Some(ASKED + 5.1));
        told(&mut run, "first", ASKED + 5.2);
        if let Some(end) = end {
            killed(&mut run, "first", ASKED + end);
        }
        at(run, 60.0, COUNTS)
    };
    assert_eq!(judged(Some(12.3)), "holds");
    assert_eq!(judged(Some(17.3)), "violated", "the grace period anew");
    assert_eq!(judged(Some(7.2)), "violated", "killed early");
    assert_eq!(judged(None), "violated", "never killed");
}
