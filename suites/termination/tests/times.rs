//! Signals and grace periods.

use probity_model::history::Change;
use probity_script::witness::{ChildSeen, Fact, SignalSeen};
use serde_json::{Value, json};

use super::{ASKED, at, delete, exits, gone, killed, one, pod, shown, told};

const KILL: &str = "termination.kill-after-grace";
const DEFAULT: &str = "termination.default-grace-30";
const OVERRIDE: &str = "termination.grace-override";
const MINIMUM: &str = "termination.minimum-2s";
const FORCED: &str = "termination.forced.small-grace-on-node";
const PROMPT: &str = "termination.starts-promptly";
const FIRST: &str = "termination.term-to-pid1";
const AGAIN: &str = "termination.no-restart-while-terminating";

/// A pod that ignores its signal is deleted, and killed this long after the signal.
fn kill(clause: &str, own: Option<u64>, asked: Option<u64>, after: Option<f64>) -> &'static str {
    let mut run = one(clause, own);
    delete(&mut run, ASKED, asked);
    let grace = asked.or(own).unwrap_or(30);
    shown(&mut run, ASKED, (ASKED, i64::try_from(grace).unwrap_or(0)), Change::Modified);
    told(&mut run, "target", ASKED + 0.1);
    if let Some(after) = after {
        killed(&mut run, "target", ASKED + 0.1 + after);
        gone(&mut run, ASKED + after + 1.5);
    }
    at(run, 90.0, clause)
}

#[test]
fn the_kill_comes_when_the_grace_period_is_over() {
    assert_eq!(kill(KILL, Some(6), None, Some(6.05)), "holds");
    assert_eq!(kill(KILL, Some(6), None, Some(4.0)), "violated");
    assert_eq!(kill(KILL, Some(6), None, Some(7.5)), "violated");
    assert_eq!(kill(KILL, Some(6), None, None), "violated", "it goes on");
    let mut ended = one(KILL, Some(6));
    delete(&mut ended, ASKED, None);
    told(&mut ended, "target", ASKED + 0.1);
    exits(&mut ended, "target", ASKED + 1.0, 0);
    assert_eq!(at(ended, 30.0, KILL), "inconclusive", "it ended by itself");
}

#[test]
fn a_kill_without_a_signal_is_none_after_the_grace_period() {
    let judged = |clause: &str| {
        let mut run = one(clause, Some(6));
        delete(&mut run, ASKED, None);
        killed(&mut run, "target", ASKED + 0.2);
        at(run, 30.0, clause)
    };
    assert_eq!(judged(KILL), "violated");
    assert_eq!(judged(FIRST), "violated");
}

#[test]
fn a_late_kill_while_the_node_was_held_up_is_a_doubt() {
    let mut run = one(KILL, Some(6));
    delete(&mut run, ASKED, None);
    told(&mut run, "target", ASKED + 0.1);
    run.noise(ASKED + 5.0, ASKED + 8.0);
    killed(&mut run, "target", ASKED + 8.5);
    assert_eq!(at(run, 30.0, KILL), "inconclusive");
}

#[test]
fn what_is_shown_of_a_kill_is_a_kill() {
    let judged = |code: i64, reason: &str| {
        let mut run = one(KILL, Some(6));
        delete(&mut run, ASKED, None);
        told(&mut run, "target", ASKED + 0.1);
        killed(&mut run, "target", ASKED + 6.2);
        let ended = json!({ "terminated": { "exitCode": code, "reason": reason } });
        let status = json!({ "name": "target", "restartCount": 0, "state": ended, "lastState": {} });
        run.status(ASKED + 7.0, &json!({ "phase": "Failed", "containerStatuses": [status] }));
        at(run, 30.0, KILL)
    };
    assert_eq!(judged(137, "Error"), "holds");
    assert_eq!(judged(0, "Completed"), "violated");
    assert_eq!(judged(137, "Completed"), "violated");
}

#[test]
fn thirty_seconds_are_the_default() {
    assert_eq!(kill(DEFAULT, None, None, Some(30.1)), "holds");
    assert_eq!(kill(DEFAULT, None, None, Some(10.0)), "violated");
    assert_eq!(kill(DEFAULT, None, None, Some(60.0)), "violated");
    assert_eq!(kill(DEFAULT, Some(6), None, Some(6.1)), "inconclusive", "it says something");
}

#[test]
fn the_request_decides() {
    assert_eq!(kill(OVERRIDE, Some(60), Some(4), Some(4.1)), "holds");
    assert_eq!(kill(OVERRIDE, Some(3), Some(7), Some(7.1)), "holds");
    assert_eq!(kill(OVERRIDE, Some(60), Some(4), Some(60.0)), "violated");
    assert_eq!(kill(OVERRIDE, Some(3), Some(7), Some(3.0)), "violated");
    assert_eq!(kill(OVERRIDE, Some(6), None, Some(6.1)), "inconclusive");
}

#[test]
fn two_seconds_are_the_least() {
    assert_eq!(kill(MINIMUM, Some(30), Some(1), Some(2.05)), "holds");
    assert_eq!(kill(MINIMUM, Some(30), Some(1), Some(1.0)), "violated");
    assert_eq!(kill(MINIMUM, Some(30), Some(1), Some(30.0)), "violated");
    assert_eq!(kill(MINIMUM, Some(30), Some(5), Some(5.0)), "inconclusive");
}

/// A pod ends with this reason. Its container got its stop signal at 10 s, before which the node was stalled or not, and was
/// killed this much later.
fn killed_at_deadline(reason: &str, after: f64, stalled: bool) -> &'static str {
    let spec = json!({ "activeDeadlineSeconds": 8, "containers": [{ "name": "target" }] });
    let mut run = pod(MINIMUM, &spec);
    if stalled {
        run.noise(ASKED - 1.8, ASKED - 0.01);
    }
    told(&mut run, "target", ASKED);
    killed(&mut run, "target", ASKED + after);
    let ended = json!({ "terminated": { "exitCode": 137, "reason": "Error" } });
    let status = json!({ "name": "target", "restartCount": 0, "state": ended, "lastState": {} });
    let shown = json!({ "phase": "Failed", "reason": reason, "containerStatuses": [status] });
    run.status(ASKED + after + 0.5, &shown);
    at(run, 30.0, MINIMUM)
}

#[test]
fn two_seconds_are_the_least_at_a_deadline_too() {
    let judged = |after: f64| killed_at_deadline("DeadlineExceeded", after, false);
    assert_eq!(judged(2.05), "holds");
    assert_eq!(judged(0.5), "violated");
    assert_eq!(judged(8.0), "inconclusive", "more was left of the grace period");
    assert_ne!(
        killed_at_deadline("DeadlineExceeded", 0.5, true),
        "violated",
        "the signal may have come earlier"
    );
    assert_eq!(killed_at_deadline("Evicted", 0.5, false), "inconclusive");
}

#[test]
fn a_pod_that_is_deleted_at_once_has_two_seconds() {
    assert_eq!(kill(FORCED, Some(60), Some(0), Some(2.05)), "holds");
    assert_eq!(kill(FORCED, Some(60), Some(0), Some(60.0)), "violated");
    assert_eq!(kill(FORCED, Some(60), Some(0), Some(0.1)), "violated");
    assert_eq!(kill(FORCED, Some(60), Some(0), None), "violated");
    assert_eq!(kill(FORCED, Some(60), Some(9), Some(9.0)), "inconclusive");
    let mut silent = one(FORCED, Some(60));
    delete(&mut silent, ASKED, Some(0));
    killed(&mut silent, "target", ASKED + 0.2);
    assert_eq!(at(silent, 30.0, FORCED), "violated", "no signal came");
}

#[test]
fn the_signal_comes_promptly() {
    let judged = |after: Option<f64>, end: f64| {
        let mut run = one(PROMPT, Some(20));
        delete(&mut run, ASKED, None);
        if let Some(after) = after {
            told(&mut run, "target", ASKED + after);
        }
        at(run, end, PROMPT)
    };
    assert_eq!(judged(Some(0.2), 20.0), "holds");
    assert_eq!(judged(Some(4.0), 20.0), "violated");
    assert_eq!(judged(None, 20.0), "violated");
    assert_eq!(judged(None, ASKED + 1.0), "inconclusive");
}

#[test]
fn the_signal_is_for_the_first_process() {
    let judged = |child: bool| {
        let mut run = one(FIRST, Some(20));
        let (name, event) = ("worker".to_owned(), "started".to_owned());
        run.fact(1.1, Fact::Child(ChildSeen { name: name.clone(), pid: 9, event, status: None }));
        delete(&mut run, ASKED, None);
        told(&mut run, "target", ASKED + 0.1);
        if child {
            let (signal, answer) = ("SIGTERM".to_owned(), "noted".to_owned());
            run.fact(ASKED + 0.11, Fact::Signal(SignalSeen { signal, child: Some(name), answer }));
        }
        at(run, 20.0, FIRST)
    };
    assert_eq!(judged(false), "holds");
    assert_eq!(judged(true), "violated");
}

/// The container of a deleted pod is a target, or not, with this image, and records this stop signal. Perhaps an ephemeral
/// container shares its processes.
fn stopped_with(signal: &str, target: bool, image: &str, shared: bool) -> &'static str {
    let env = if target { json!([{ "name": "AGNHOST_PLAN", "value": "{}" }]) } else { json!([]) };
    let mut spec = json!({ "containers": [{ "name": "target", "image": image, "env": env }] });
    if shared {
        spec["ephemeralContainers"] = json!([{ "name": "debug", "targetContainerName": "target" }]);
    }
    let mut run = pod(FIRST, &spec);
    run.noise(ASKED - 2.0, ASKED);
    delete(&mut run, ASKED, None);
    run.of("pod", "target").signal(ASKED + 0.1, signal);
    exits(&mut run, "target", ASKED + 1.0, 0);
    at(run, 20.0, FIRST)
}

#[test]
fn the_signal_is_the_default_one_unless_something_names_another() {
    let (plain, variant) = ("registry/agnhost-rs:dev", "registry/agnhost-rs:dev-sigint");
    assert_eq!(stopped_with("SIGTERM", true, plain, false), "holds");
    assert_eq!(stopped_with("SIGINT", true, plain, false), "violated", "however busy the node is");
    assert_eq!(stopped_with("SIGINT", true, variant, false), "holds", "another clause is about images");
    assert_ne!(stopped_with("SIGINT", false, "another:1", false), "violated", "its image may name a signal");
    assert_ne!(stopped_with("SIGINT", true, plain, true), "violated", "its neighbor may have sent it");
}

#[test]
fn nothing_comes_back_while_its_pod_goes() {
    let judged = |again: bool, until: f64| {
        let spec = json!({ "containers": [{ "name": "short" }, { "name": "long" }] });
        let mut run = pod(AGAIN, &spec);
        delete(&mut run, ASKED, None);
        told(&mut run, "short", ASKED + 0.1);
        told(&mut run, "long", ASKED + 0.1);
        exits(&mut run, "short", ASKED + 1.0, 3);
        if again {
            run.of("pod", "short").start(ASKED + 2.0, 1);
        }
        exits(&mut run, "long", until, 0);
        at(run, until + 1.0, AGAIN)
    };
    assert_eq!(judged(false, ASKED + 8.0), "holds");
    assert_eq!(judged(true, ASKED + 8.0), "violated");
    assert_eq!(judged(false, ASKED + 2.0), "inconclusive", "nobody would have seen it");
}

#[test]
fn a_sidecar_does_not_start_again_either() {
    let judged = |again: bool, probes: &Value| {
        let helper = json!({ "name": "helper", "restartPolicy": "Always", "livenessProbe": probes });
        let spec = json!({ "initContainers": [helper], "containers": [{ "name": "long" }] });
        let mut run = pod(AGAIN, &spec);
        run.of("pod", "helper").start(1.0, 0);
        delete(&mut run, ASKED, None);
        told(&mut run, "long", ASKED + 0.1);
        told(&mut run, "helper", ASKED + 0.2);
        exits(&mut run, "helper", ASKED + 1.0, 3);
        if again {
            run.of("pod", "helper").start(ASKED + 2.0, 1);
        }
        exits(&mut run, "long", ASKED + 8.0, 0);
        at(run, ASKED + 9.0, AGAIN)
    };
    let probe = json!({ "httpGet": { "path": "/", "port": 8080 } });
    assert_eq!(judged(true, &Value::Null), "violated");
    assert_ne!(judged(false, &Value::Null), "violated");
    assert_ne!(judged(true, &probe), "violated", "its probe may have stopped it before its kubelet knew");
}
