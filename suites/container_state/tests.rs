//! Hand-written histories for the judges of the states of containers.

mod bounds;
mod hook_hosts;
mod hook_requests;
mod last_states;
mod lost;
mod unborn;

use probity_composer::{Composer, Told, running_status, timestamp};
use probity_script::witness::{Exiting, Fact};
use serde_json::{Value, json};

use crate::tests::verdict;

const STATES: &str = "container.state.three-states";
const REASON: &str = "container.state.waiting-reason";
const STARTED: &str = "container.state.running-startedat";
const ENDED: &str = "container.state.terminated-fields";
const HOOK: &str = "container.state.poststart-before-running";
const FAILED: &str = "container.state.poststart-failure-kills";

/// A container that takes 64 MiB of memory, which is more than its limit.
fn hungry() -> Value {
    let plan = r#"{"process":{"consume":[{"memory":{"bytes":"64MiB"}}]}}"#;
    json!({
        "name": "target", "resources": { "limits": { "memory": "32Mi" } },
        "env": [{ "name": "AGNHOST_PLAN", "value": plan }],
    })
}

/// A pod with one container, whose process starts at 1 s.
fn pod(clause: &str, container: Value) -> Composer {
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0);
    run
}

fn plain(clause: &str) -> Composer {
    pod(clause, json!({ "name": "target" }))
}

fn status(restarts: u64, state: Value, last: Value) -> Value {
    json!({
        "phase": "Running", "podIP": "10.0.0.7",
        "containerStatuses": [{
            "name": "target", "restartCount": restarts, "ready": false, "started": true,
            "containerID": format!("containerd://target-{restarts}"), "state": state, "lastState": last,
        }],
    })
}

fn running(at: f64) -> Value {
    json!({ "running": { "startedAt": timestamp(at) } })
}

fn ended(code: i64, reason: &str, from: f64, to: f64) -> Value {
    json!({ "terminated": {
        "exitCode": code, "reason": reason, "startedAt": timestamp(from), "finishedAt": timestamp(to),
    } })
}

fn exits(run: &mut Composer, at: f64, code: u8) {
    run.fact(at, Fact::Exiting(Exiting { code, why: "plan".to_owned() }));
    run.left(at + 0.01);
}

#[test]
fn one_state_at_a_time_holds_and_two_or_none_do_not() {
    let judged = |state: Value| {
        let mut run = plain(STATES);
        run.status(1.5, &status(0, state, json!({})));
        verdict(&run.done(), STATES)
    };
    assert_eq!(judged(running(1.0)), "holds");
    assert_eq!(judged(json!({ "running": {}, "waiting": {} })), "violated");
    assert_eq!(judged(json!({})), "violated");
}

#[test]
fn a_process_that_goes_on_is_not_over() {
    let judged = |last_line: f64| {
        let mut run = plain(STATES);
        run.status(1.5, &status(0, running(1.0), json!({})));
        run.status(5.0, &status(0, ended(0, "Completed", 1.0, 4.0), json!({})));
        run.probe(last_line, "/", 200);
        verdict(&run.done(), STATES)
    };
    assert_eq!(judged(4.0), "holds");
    assert_eq!(judged(6.0), "violated");
}

#[test]
fn a_process_that_is_over_does_not_run_for_long() {
    let judged = |shown: f64| {
        let mut run = plain(STATES);
        run.status(1.5, &status(0, running(1.0), json!({})));
        exits(&mut run, 3.0, 1);
        run.status(shown, &status(0, running(1.0), json!({})));
        run.reading(shown + 1.0);
        verdict(&run.done(), STATES)
    };
    assert_eq!(judged(4.0), "holds");
    assert_eq!(judged(10.0), "violated");
}

#[test]
fn a_waiting_container_says_for_what() {
    let judged = |state: Value, until: f64| {
        let mut run = plain(REASON);
        run.status(0.5, &status(0, state, json!({})));
        run.status(until, &status(0, running(1.0), json!({})));
        verdict(&run.done(), REASON)
    };
    assert_eq!(judged(json!({ "waiting": { "reason": "ContainerCreating" } }), 1.5), "holds");
    assert_eq!(judged(json!({ "waiting": {} }), 8.0), "violated");
    assert_eq!(
        judged(json!({ "waiting": {} }), 1.5),
        "inconclusive",
        "the container may be between creation and start"
    );
    assert_eq!(judged(json!({ "waiting": { "reason": "CrashLoopBackOff" } }), 1.5), "violated");
}

#[test]
fn a_pod_without_init_containers_does_not_wait_for_them() {
    let judged = |inits: bool, reason: &str| {
        let mut spec = json!({ "containers": [{ "name": "target" }] });
        if inits {
            spec["initContainers"] = json!([{ "name": "prepare" }]);
        }
        let mut run = Composer::new(&[REASON]);
        run.create(0.0, &spec).start(1.0, 0);
        run.status(0.5, &status(0, json!({ "waiting": { "reason": reason } }), json!({})));
        run.status(1.5, &status(0, running(1.0), json!({})));
        verdict(&run.done(), REASON)
    };
    assert_eq!(judged(true, "PodInitializing"), "holds");
    assert_eq!(judged(false, "ContainerCreating"), "holds");
    assert_eq!(judged(true, "ContainerCreating"), "violated");
    assert_eq!(judged(false, "PodInitializing"), "violated");
    assert_ne!(judged(false, "ErrImagePull"), "violated", "it is another reason");
}

#[test]
fn an_end_for_want_of_memory_needs_a_limit() {
    let judged = |container: Value| {
        let mut run = pod(ENDED, container);
        run.status(1.5, &status(0, running(1.0), json!({})));
        run.signal(2.0, "SIGTERM");
        run.left(4.0).status(4.5, &status(0, ended(137, "OOMKilled", 1.0, 4.0), json!({}))).reading(5.0);
        verdict(&run.done(), ENDED)
    };
    assert_eq!(judged(json!({ "name": "target" })), "violated");
    let limited = json!({ "name": "target", "resources": { "limits": { "memory": "64Mi" } } });
    assert_eq!(judged(limited.clone()), "holds");
    let planned = |plan: &str| {
        let mut container = limited.clone();
        container["env"] = json!([{ "name": "AGNHOST_PLAN", "value": plan }]);
        container
    };
    assert_eq!(
        judged(planned(r#"{"process":{"on-stop":"ignore"}}"#)),
        "violated",
        "it was killed because it ignored its stop signal"
    );
    let hungry = r#"{"process":{"on-stop":"ignore","consume":[{"memory":{"bytes":"64MiB"}}]}}"#;
    assert_eq!(judged(planned(hungry)), "holds");
}

#[test]
fn a_hook_elsewhere_in_the_pod_may_hide_an_end_for_its_length() {
    let judged = |hook: bool| {
        let mut other = json!({ "name": "other" });
        if hook {
            other["lifecycle"] = json!({ "postStart": { "sleep": { "seconds": 30 } } });
        }
        let mut run = Composer::new(&[ENDED]);
        run.create(0.0, &json!({ "containers": [{ "name": "target" }, other] }));
        run.of("pod", "target").start(1.0, 0);
        run.status(1.5, &status(0, running(1.0), json!({})));
        exits(&mut run, 3.0, 3);
        run.reading(20.0);
        verdict(&run.done(), ENDED)
    };
    assert_eq!(judged(false), "violated");
    assert_ne!(judged(true), "violated");
}

#[test]
fn started_at_is_when_the_process_began() {
    let judged = |started: f64| {
        let mut run = plain(STARTED);
        run.status(1.5, &status(0, running(started), json!({})));
        verdict(&run.done(), STARTED)
    };
    assert_eq!(judged(1.0), "holds");
    assert_eq!(judged(6.0), "violated");
    assert_ne!(judged(-2.0), "violated", "the process may have waited for a CPU");
    assert_eq!(judged(-6.0), "violated");
}

#[test]
fn a_start_that_comes_late_while_the_node_was_held_up_is_a_doubt() {
    let mut run = plain(STARTED);
    run.noise_by(probity_model::history::Listener::Node, 1.0, 6.0);
    run.status(7.0, &status(0, running(6.0), json!({})));
    assert_eq!(verdict(&run.done(), STARTED), "inconclusive");
}

/// The process exits with 3 at 3 s, and this status is shown.
fn shown(state: Value) -> &'static str {
    let mut run = plain(ENDED);
    run.status(1.5, &status(0, running(1.0), json!({})));
    exits(&mut run, 3.0, 3);
    run.status(3.5, &status(0, state, json!({}))).reading(4.0);
    verdict(&run.done(), ENDED)
}

#[test]
fn an_end_is_shown_as_the_process_told_it() {
    assert_eq!(shown(ended(3, "Error", 1.0, 3.0)), "holds");
    assert_eq!(shown(ended(1, "Error", 1.0, 3.0)), "violated", "another status");
    assert_eq!(shown(ended(3, "Completed", 1.0, 3.0)), "violated", "a reason that contradicts the exit code");
    assert_eq!(shown(ended(3, "", 1.0, 3.0)), "violated", "no reason");
    assert_eq!(shown(ended(3, "OOMKilled", 1.0, 3.0)), "violated", "it exited");
    assert_eq!(shown(ended(3, "Error", 1.0, 13.0)), "violated", "another end");
    assert_eq!(shown(ended(3, "Error", -9.0, 3.0)), "violated", "another start");
    assert_eq!(shown(json!({ "terminated": { "exitCode": 3, "reason": "Error" } })), "violated", "no times");
}

#[test]
fn an_end_that_is_never_shown_is_a_violation_unless_the_case_ends() {
    let judged = |until: f64| {
        let mut run = plain(ENDED);
        run.status(1.5, &status(0, running(1.0), json!({})));
        exits(&mut run, 3.0, 3);
        run.reading(until);
        verdict(&run.done(), ENDED)
    };
    assert_eq!(judged(20.0), "violated");
    assert_eq!(judged(4.0), "inconclusive");
}

#[test]
fn whoever_ends_without_a_word_was_killed() {
    let judged = |code: i64, lost: bool| {
        let mut run = plain(ENDED);
        run.signal(2.0, "SIGTERM");
        if lost {
            run.lose_line();
        }
        run.left(4.0).status(4.5, &status(0, ended(code, "Error", 1.0, 4.0), json!({}))).reading(5.0);
        verdict(&run.done(), ENDED)
    };
    assert_eq!(judged(137, false), "holds");
    assert_eq!(judged(1, false), "violated");
    assert_ne!(judged(1, true), "violated", "the last record of the process may be lost");
}

fn with_hook(clause: &str, hook: Value) -> Composer {
    pod(clause, json!({ "name": "target", "lifecycle": { "postStart": hook } }))
}

fn command() -> Value {
    json!({ "exec": { "command": ["/agnhost-rs", "exec", "prepare"] } })
}

#[test]
fn a_container_is_shown_to_run_after_its_hook() {
    let judged = |shown: f64| {
        let mut run = with_hook(HOOK, command());
        run.status(1.1, &status(0, json!({ "waiting": { "reason": "ContainerCreating" } }), json!({})));
        if shown < 3.0 {
            run.status(shown, &running_status("target", 1.1, true, true, 0));
        }
        run.exec(3.0, "prepare", Some(0));
        if shown > 3.0 {
            run.status(shown, &running_status("target", 1.1, true, true, 0));
        }
        run.reading(shown + 9.0);
        verdict(&run.done(), HOOK)
    };
    assert_eq!(judged(3.5), "holds");
    assert_eq!(judged(2.0), "violated");
    assert_eq!(judged(12.0), "violated", "long after it");
}

#[test]
fn a_hook_that_sleeps_lasts_as_long_as_it_says() {
    let judged = |shown: f64| {
        let mut run = with_hook(HOOK, json!({ "sleep": { "seconds": 4 } }));
        run.running(shown, true, true, 0);
        verdict(&run.done(), HOOK)
    };
    assert_eq!(judged(5.2), "holds");
    assert_eq!(judged(2.0), "violated");
    assert_eq!(judged(13.5), "violated", "the hook is still sleeping");
}

#[test]
fn a_container_without_its_hook_is_a_violation_unless_lines_are_missing() {
    let judged = |lost: bool| {
        let mut run = with_hook(HOOK, command());
        if lost {
            run.lose_line();
        }
        run.running(2.0, true, true, 0).probe(9.0, "/", 200);
        run.reading(20.0);
        verdict(&run.done(), HOOK)
    };
    assert_eq!(judged(false), "violated");
    assert_eq!(judged(true), "inconclusive");
}

#[test]
fn a_failed_hook_stops_its_container() {
    let judged = |stop: Option<f64>, until: f64| {
        let mut run = with_hook(FAILED, command());
        run.exec(2.0, "prepare", Some(1));
        if let Some(stop) = stop {
            run.event(stop, "Warning", "FailedPostStartHook", "PostStartHook failed");
            run.signal(stop, "SIGTERM");
            run.fact(stop + 0.1, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
            run.left(stop + 0.1).start(stop + 1.0, 1).running(stop + 1.5, true, true, 1);
        }
        run.reading(until);
        verdict(&run.done(), FAILED)
    };
    assert_eq!(judged(Some(2.2), 5.0), "holds");
    assert_eq!(judged(Some(9.0), 12.0), "violated");
    assert_eq!(judged(None, 20.0), "violated");
    assert_eq!(judged(None, 3.0), "inconclusive");
}

#[test]
fn a_stop_signal_may_be_lost_if_a_busy_node_starts_a_process_late() {
    let judged = |killed: f64, noise: Option<(f64, f64)>| {
        let hook = json!({ "httpGet": { "path": "/prepare", "port": 1 } });
        let plan = json!([{ "name": "AGNHOST_PLAN", "value": "{}" }]);
        let container = json!({ "name": "target", "env": plan, "lifecycle": { "postStart": hook } });
        let mut run = Composer::new(&[FAILED]);
        run.create(0.0, &json!({ "containers": [container], "terminationGracePeriodSeconds": 2 }));
        run.start(1.0, 0);
        if let Some((from, to)) = noise {
            run.noise(from, to);
        }
        run.left(killed).reading(20.0);
        verdict(&run.done(), FAILED)
    };
    assert_eq!(judged(1.2, None), "violated", "it was killed at once");
    assert_eq!(judged(2.6, None), "violated");
    assert_eq!(judged(2.6, Some((0.5, 1.0))), "inconclusive", "the grace period began before the process");
    assert_eq!(judged(1.2, Some((0.5, 1.0))), "violated");
}

#[test]
fn an_answer_of_any_status_is_no_failure() {
    let judged = |stopped: bool| {
        let hook = json!({ "httpGet": { "path": "/prepare", "port": 8080 } });
        let mut run = with_hook(FAILED, hook);
        let mut told = Told::get("/prepare", 500);
        told.headers = vec![("User-Agent".to_owned(), "kube-lifecycle/1.36".to_owned())];
        run.http(2.0, &told);
        if stopped {
            run.signal(3.0, "SIGTERM");
        }
        run.reading(20.0);
        verdict(&run.done(), FAILED)
    };
    assert_eq!(judged(false), "holds");
    assert_eq!(judged(true), "violated");
}

/// The process exits with 3 and is started again; the next instance is shown with this last state.
fn again(last: Value, signaled: bool) -> &'static str {
    let mut run = plain(ENDED);
    run.status(1.5, &status(0, running(1.0), json!({})));
    if signaled {
        run.signal(3.0, "SIGTERM");
        run.left(3.1);
    } else {
        exits(&mut run, 3.0, 3);
    }
    run.start(4.0, 1);
    run.status(4.5, &status(1, running(4.0), last)).reading(30.0);
    verdict(&run.done(), ENDED)
}

#[test]
fn what_exited_is_the_last_state_of_what_was_started_again() {
    assert_eq!(again(ended(3, "Error", 1.0, 3.0), false), "holds");
    assert_eq!(again(json!({}), false), "violated");
    assert_ne!(
        again(json!({}), true),
        "violated",
        "a kubelet may not know how a container that it killed has ended"
    );
}

#[test]
fn what_was_shown_as_the_last_state_stays() {
    let judged = |later: Value| {
        let mut run = plain(ENDED);
        run.status(1.5, &status(0, running(1.0), json!({})));
        exits(&mut run, 3.0, 3);
        run.start(4.0, 1);
        run.status(4.5, &status(1, running(4.0), ended(3, "Error", 1.0, 3.0)));
        run.status(9.0, &status(1, running(4.0), later)).reading(30.0);
        verdict(&run.done(), ENDED)
    };
    assert_eq!(judged(ended(3, "Error", 1.0, 3.0)), "holds");
    assert_eq!(judged(json!({})), "violated");
}

/// A sidecar exits with 1 and waits for its restart when its pod ends; the pod then shows this last state of the
/// sidecar.
fn waited(last: &Value) -> &'static str {
    let sidecar = json!({ "name": "target", "restartPolicy": "Always" });
    let mut run = Composer::new(&[ENDED]);
    run.create(
        0.0,
        &json!({ "restartPolicy": "Never", "initContainers": [sidecar], "containers": [{ "name": "main" }] }),
    );
    run.start(1.0, 0);
    exits(&mut run, 3.0, 1);
    let lost = json!({ "terminated": { "exitCode": 137, "reason": "ContainerStatusUnknown" } });
    let mut over = status(0, lost, last.clone());
    over["phase"] = "Succeeded".into();
    over["initContainerStatuses"] = over["containerStatuses"].take();
    run.status(5.0, &over).reading(20.0);
    verdict(&run.done(), ENDED)
}

#[test]
fn a_wait_may_be_shown_as_lost_when_the_pod_is_over() {
    assert_eq!(waited(&ended(1, "Error", 1.0, 3.0)), "diverges");
    assert_eq!(waited(&ended(7, "Error", 1.0, 3.0)), "violated", "the container had ended with another code");
    assert_eq!(waited(&json!({})), "violated", "nothing shows how the container had ended");
}
