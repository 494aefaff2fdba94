//! Hand-written histories for the judges of restarts.

mod all;
mod anew;
mod configured;
mod for_good;
mod probe_kills;
mod rules;
mod waits;

use probity_composer::{Composer, timestamp};
use probity_model::history::Change;
use probity_script::witness::{Exiting, Fact};
use serde_json::{Value, json};

use crate::tests::verdict;

const ALWAYS: &str = "restart.policy.always";
const ON_FAILURE: &str = "restart.policy.onfailure";
const NEVER: &str = "restart.policy.never";
const SCOPE: &str = "restart.policy.scope";
const SAME: &str = "restart.same-pod-same-node";
const FIRST: &str = "restart.first-crash-immediate";
const SEQUENCE: &str = "restart.backoff.sequence";
const CAP: &str = "restart.backoff.cap";
const SHOWN: &str = "restart.backoff.waiting-reason";
const RESET: &str = "restart.backoff.reset-after-10min";
const OTHERS: &str = "restart.backoff.other-causes";
const KILLS: &str = "restart.backoff.liveness-kills";

fn pod(clause: &str, policy: &str) -> Composer {
    let mut run = Composer::new(&[clause]);
    let spec = json!({ "restartPolicy": policy, "containers": [{ "name": "target" }] });
    run.create(0.0, &spec).start(1.0, 0);
    run.status(1.5, &status("Running", 0, runs(1.0), json!({})));
    run
}

fn status(phase: &str, restarts: u64, state: Value, last: Value) -> Value {
    json!({
        "phase": phase, "podIP": "10.0.0.7",
        "containerStatuses": [{
            "name": "target", "restartCount": restarts, "ready": false, "started": true,
            "containerID": format!("containerd://target-{restarts}"), "state": state, "lastState": last,
        }],
    })
}

fn runs(at: f64) -> Value {
    json!({ "running": { "startedAt": timestamp(at) } })
}

fn ended(code: i64) -> Value {
    json!({ "terminated": { "exitCode": code, "reason": "Error" } })
}

fn exits(run: &mut Composer, at: f64, code: u8, why: &str) {
    run.fact(at, Fact::Exiting(Exiting { code, why: why.to_owned() }));
    run.left(at + 0.01);
}

/// The container exits at 3 s with a status, and is started again or not.
fn after(clause: &str, policy: &str, code: u8, again: Option<f64>) -> &'static str {
    let mut run = pod(clause, policy);
    exits(&mut run, 3.0, code, "plan");
    let phase = match again {
        Some(_) => "Running",
        None if code == 0 => "Succeeded",
        None => "Failed",
    };
    run.status(3.5, &status(phase, 0, ended(code.into()), json!({})));
    if let Some(at) = again {
        run.start(at, 1).status(at + 0.5, &status("Running", 1, runs(at), ended(code.into())));
    }
    run.reading(90.0);
    verdict(&run.done(), clause)
}

/// A container with a liveness probe exits with 0, and restarts one and a half seconds later.
fn succeeds_with_a_probe(policy: &str, period: u32) -> &'static str {
    let probe = json!({ "tcpSocket": { "port": 8080 }, "periodSeconds": period, "failureThreshold": 2 });
    let mut run = Composer::new(&[ON_FAILURE, NEVER]);
    let spec =
        json!({ "restartPolicy": policy, "containers": [{ "name": "target", "livenessProbe": probe }] });
    run.create(0.0, &spec).start(1.0, 0);
    run.status(1.5, &status("Running", 0, runs(1.0), json!({})));
    exits(&mut run, 3.0, 0, "plan");
    run.start(4.5, 1).status(5.0, &status("Running", 1, runs(4.5), ended(0))).reading(90.0);
    verdict(&run.done(), if policy == "Never" { NEVER } else { ON_FAILURE })
}

#[test]
fn a_probe_may_notice_an_end_before_the_runtime_reports_it() {
    assert_ne!(succeeds_with_a_probe("OnFailure", 1), "violated");
    assert_eq!(succeeds_with_a_probe("OnFailure", 5), "violated", "there was no time for two failures");
    assert_eq!(succeeds_with_a_probe("Never", 1), "violated");
}

#[test]
fn the_policy_decides_what_comes_back() {
    assert_eq!(after(ALWAYS, "Always", 0, Some(4.0)), "holds");
    assert_eq!(after(ALWAYS, "Always", 1, Some(4.0)), "holds");
    assert_eq!(after(ALWAYS, "Always", 0, None), "violated");
    assert_eq!(after(ON_FAILURE, "OnFailure", 2, Some(4.0)), "holds");
    assert_eq!(after(ON_FAILURE, "OnFailure", 2, None), "violated");
    assert_eq!(after(ON_FAILURE, "OnFailure", 0, None), "holds");
    assert_eq!(after(ON_FAILURE, "OnFailure", 0, Some(4.0)), "violated");
    assert_eq!(after(NEVER, "Never", 1, None), "holds");
    assert_eq!(after(NEVER, "Never", 1, Some(4.0)), "violated");
    assert_eq!(after(NEVER, "Always", 1, Some(4.0)), "inconclusive", "another policy");
}

#[test]
fn the_policy_counts_for_main_containers_and_not_for_sidecars() {
    assert_eq!(after(SCOPE, "Never", 1, None), "holds");
    assert_eq!(after(SCOPE, "Never", 1, Some(4.0)), "violated");
    let judged = |again: bool| {
        let mut run = Composer::new(&[SCOPE]);
        let sidecar = json!({ "name": "target", "restartPolicy": "Always" });
        let spec = json!({ "restartPolicy": "Never", "initContainers": [sidecar], "containers": [{ "name": "main" }] });
        run.create(0.0, &spec).start(1.0, 0);
        exits(&mut run, 3.0, 1, "plan");
        if again {
            run.start(4.0, 1);
        }
        run.reading(90.0);
        verdict(&run.done(), SCOPE)
    };
    assert_eq!(judged(true), "holds");
    assert_eq!(judged(false), "violated");
}

#[test]
fn a_restart_leaves_the_pod_where_it_is() {
    let judged = |address: &str, id: &str, node: &str| {
        let mut run = pod(SAME, "Always");
        exits(&mut run, 3.0, 1, "plan");
        run.start(4.0, 1);
        let mut after = status("Running", 1, runs(4.0), ended(1));
        after["podIP"] = json!(address);
        after["containerStatuses"][0]["containerID"] = json!(id);
        let spec =
            json!({ "restartPolicy": "Always", "containers": [{ "name": "target" }], "nodeName": node });
        run.pod_seen(4.5, &spec, &after, Change::Modified);
        verdict(&run.done(), SAME)
    };
    assert_eq!(judged("10.0.0.7", "containerd://target-1", "node1"), "holds");
    assert_eq!(judged("10.0.0.8", "containerd://target-1", "node1"), "violated");
    assert_eq!(judged("10.0.0.7", "containerd://target-0", "node1"), "violated");
    assert_eq!(judged("10.0.0.7", "containerd://target-1", "node2"), "violated");
}

#[test]
fn a_restart_that_nobody_counts_is_a_violation() {
    let mut run = pod(SAME, "Always");
    exits(&mut run, 3.0, 1, "plan");
    run.start(4.0, 1).status(12.0, &status("Running", 0, runs(4.0), json!({}))).reading(20.0);
    assert_eq!(verdict(&run.done(), SAME), "violated");
}

/// Instances of one second each, which start at these times; the last keeps running.
fn crashes(clause: &str, lives: &[f64], why: &str) -> Composer {
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &json!({ "containers": [{ "name": "target" }] }));
    for (number, at) in lives.iter().enumerate() {
        run.start(*at, number as u64);
        if number + 1 < lives.len() {
            exits(&mut run, at + 1.0, 1, why);
        }
    }
    run.reading(lives.last().copied().unwrap_or(0.0) + 1.0);
    run
}

fn delays(clause: &str, lives: &[f64]) -> &'static str {
    verdict(&crashes(clause, lives, "plan").done(), clause)
}

#[test]
fn the_first_restart_waits_for_nothing() {
    assert_eq!(delays(FIRST, &[1.0, 3.0]), "holds");
    assert_eq!(delays(FIRST, &[1.0, 12.0]), "violated");
    let mut missing = crashes(FIRST, &[1.0], "plan");
    exits(&mut missing, 2.0, 1, "plan");
    missing.reading(30.0);
    assert_eq!(verdict(&missing.done(), FIRST), "violated");
    assert_eq!(delays(FIRST, &[1.0]), "inconclusive");
}

#[test]
fn a_late_first_restart_while_the_node_was_held_up_is_a_doubt() {
    let mut run = crashes(FIRST, &[1.0], "plan");
    exits(&mut run, 2.0, 1, "plan");
    run.noise(2.0, 9.0).start(10.0, 1);
    assert_eq!(verdict(&run.done(), FIRST), "inconclusive");
}

#[test]
fn delays_double_and_are_no_shorter() {
    assert_eq!(delays(SEQUENCE, &[1.0, 3.0, 14.5, 36.0]), "holds");
    assert_eq!(delays(SEQUENCE, &[1.0, 3.0, 13.9]), "violated", "9.9 s of 10 s");
    assert_eq!(delays(SEQUENCE, &[1.0, 3.0, 14.5, 26.0]), "violated", "10 s once more");
    assert_eq!(delays(SEQUENCE, &[1.0, 3.0, 14.5, 60.0]), "violated", "44 s of 20 s");
    assert_eq!(delays(SEQUENCE, &[1.0, 3.0]), "inconclusive");
}

#[test]
fn containers_of_a_pod_that_crash_together_are_started_one_after_the_other() {
    let judged = |between: f64, second: f64| {
        let mut run = Composer::new(&[FIRST]);
        run.create(0.0, &json!({ "containers": [{ "name": "one" }, { "name": "two" }] }));
        for name in ["one", "two"] {
            run.of("pod", name).start(1.0, 0);
            exits(&mut run, 2.0, 1, "plan");
        }
        run.of("pod", "one").start(between, 1).of("pod", "two").start(second, 1).reading(second + 10.0);
        verdict(&run.done(), FIRST)
    };
    assert_eq!(judged(6.0, 9.0), "holds");
    assert_eq!(judged(6.0, 12.0), "violated");
    assert_eq!(judged(13.0, 13.2), "violated", "both waited");
}

/// A sidecar crashes at 2 s and at 4 s; the main container of its pod ends at `done`, or does not end.
fn sidecar_waits(clause: &str, done: Option<f64>) -> &'static str {
    let target = |name: &str| json!({ "name": name, "env": [{ "name": "AGNHOST_PLAN", "value": "{}" }] });
    let mut helper = target("helper");
    helper["restartPolicy"] = "Always".into();
    let mut run = Composer::new(&[clause]);
    let spec =
        json!({ "restartPolicy": "Never", "initContainers": [helper], "containers": [target("main")] });
    run.create(0.0, &spec).of("pod", "main").start(1.2, 0).of("pod", "helper").start(1.0, 0);
    exits(&mut run, 2.0, 1, "plan");
    run.start(3.0, 1);
    exits(&mut run, 4.0, 1, "plan");
    if let Some(done) = done {
        run.of("pod", "main");
        exits(&mut run, done, 0, "plan");
    }
    run.reading(60.0);
    verdict(&run.done(), clause)
}

#[test]
fn a_sidecar_whose_pod_is_done_does_not_restart() {
    assert_eq!(sidecar_waits(SEQUENCE, None), "violated");
    assert_eq!(sidecar_waits(SEQUENCE, Some(10.0)), "inconclusive", "while it waited");
    assert_eq!(sidecar_waits(SEQUENCE, Some(45.0)), "violated", "long after its wait was over");
}

/// A container ends, an event reports that it was stopped because of its liveness probe, and it starts at this time. It
/// ends again and starts 2 s later.
fn stopped_again(probe: &Value, at: f64) -> &'static str {
    let mut run = Composer::new(&[SEQUENCE]);
    run.create(0.0, &json!({ "containers": [{ "name": "target", "livenessProbe": probe }] })).start(1.0, 0);
    exits(&mut run, 2.0, 1, "plan");
    run.event(at - 0.1, "Normal", "Killing", "Container target failed liveness probe, will be restarted");
    run.start(at, 1);
    exits(&mut run, at + 1.0, 1, "plan");
    run.start(at + 3.0, 2).reading(at + 4.0);
    verdict(&run.done(), SEQUENCE)
}

#[test]
fn a_restart_that_a_probe_brought_about_is_not_counted_if_there_was_time_for_its_failures() {
    let probe = json!({ "tcpSocket": { "port": 80 }, "periodSeconds": 1, "failureThreshold": 2 });
    assert_eq!(stopped_again(&probe, 4.0), "inconclusive");
    assert_eq!(stopped_again(&probe, 2.5), "violated", "half a second is too short for two failures");
    assert_eq!(stopped_again(&Value::Null, 4.0), "violated", "it has no such probe");
}

/// Delays of 10, 20, 40, 80 and 160 s, and then this one.
fn capped(last: f64) -> &'static str {
    let (mut lives, mut at) = (vec![1.0, 3.0], 3.0);
    for delay in [10.5, 20.5, 40.5, 80.5, 160.5, last] {
        at += 1.0 + delay;
        lives.push(at);
    }
    delays(CAP, &lives)
}

#[test]
fn no_delay_is_longer_than_five_minutes() {
    assert_eq!(capped(310.0), "holds");
    assert_eq!(capped(380.0), "violated");
    assert_eq!(capped(290.0), "violated");
}

/// The fourth instance runs for `lasted` seconds. The next two instances begin `next` and `after` seconds after the end
/// of the previous instance.
fn reset(lasted: f64, next: f64, after: f64) -> &'static str {
    let mut run = crashes(RESET, &[1.0, 3.0, 14.5, 36.0], "plan");
    let end = 36.0 + lasted;
    exits(&mut run, end, 1, "plan");
    run.start(end + next, 4);
    exits(&mut run, end + next + 1.0, 1, "plan");
    run.start(end + next + 1.0 + after, 5).reading(end + next + after + 3.0);
    verdict(&run.done(), RESET)
}

#[test]
fn ten_good_minutes_begin_the_count_anew() {
    assert_eq!(reset(660.0, 1.0, 11.0), "holds");
    assert_eq!(reset(660.0, 45.0, 90.0), "violated", "the count went on");
    assert_eq!(reset(660.0, 1.0, 2.0), "violated", "no delay at all");
    assert_eq!(reset(300.0, 45.0, 90.0), "inconclusive", "five minutes are not enough");
}

/// The verdict if the status shows this reason at this time, after the second end. The next instance begins after at
/// least twenty seconds.
fn looping(clause: &str, why: &str, reason: &str, at: f64) -> &'static str {
    let next = at.max(25.0) + 1.0;
    let mut run = crashes(clause, &[1.0, 3.0], why);
    exits(&mut run, 4.5, 1, why);
    run.status(at, &status("Running", 1, json!({ "waiting": { "reason": reason } }), ended(1)));
    run.start(next, 2).status(next + 0.5, &status("Running", 2, runs(next), ended(1))).reading(next + 5.0);
    verdict(&run.done(), clause)
}

#[test]
fn a_wait_is_shown_as_such() {
    assert_eq!(looping(SHOWN, "plan", "CrashLoopBackOff", 5.0), "holds");
    assert_eq!(looping(SHOWN, "plan", "CrashLoopBackOff", 19.0), "holds", "at the second look");
    assert_eq!(looping(SHOWN, "plan", "CrashLoopBackOff", 36.0), "violated", "longer than the wait");
    assert_eq!(looping(SHOWN, "plan", "ContainerCreating", 5.0), "violated");
    assert_eq!(verdict(&crashes(SHOWN, &[1.0, 3.0], "plan").done(), SHOWN), "inconclusive");
}

#[test]
fn a_pod_that_is_over_before_the_next_sync_need_not_show_a_wait() {
    let judged = |over: f64| {
        let mut run = crashes(SHOWN, &[1.0, 3.0], "plan");
        exits(&mut run, 4.5, 1, "plan");
        run.status(over, &status("Failed", 1, ended(1), ended(1))).reading(60.0);
        verdict(&run.done(), SHOWN)
    };
    assert_eq!(judged(12.0), "inconclusive");
    assert_eq!(judged(30.0), "diverges", "the wait may have lasted until then");
    assert_eq!(judged(45.0), "violated", "it had to be shown before that");
}

/// The third instance ends at 17 s, and its restart waits for 20 s. The wait may be shown at this time; the next
/// instance follows half a second after the wait.
fn second_wait(shown: Option<f64>) -> &'static str {
    let mut run = pod(SHOWN, "Always");
    let waits = [(1.0, None), (4.0, Some(5.0)), (16.0, shown)];
    for (number, (at, shown)) in (0..).zip(waits) {
        run.start(at, number).status(at + 0.5, &status("Running", number, runs(at), json!({})));
        exits(&mut run, at + 1.0, 1, "plan");
        if let Some(shown) = shown {
            let waiting = json!({ "waiting": { "reason": "CrashLoopBackOff" } });
            run.status(shown, &status("Running", number, waiting, ended(1)));
        }
    }
    let next = shown.unwrap_or(44.0).max(38.0) + 0.5;
    run.start(next, 3).status(next + 0.5, &status("Running", 3, runs(next), ended(1))).reading(next + 5.0);
    verdict(&run.done(), SHOWN)
}

/// The second instance ends at 5 s, and its restart waits for 10 s. Nothing follows until the case ends.
fn cut_off_at(end: f64) -> &'static str {
    let mut run = pod(SHOWN, "Always");
    for (number, at) in [(0, 1.0), (1, 4.0), (2, 16.0)] {
        run.start(at, number).status(at + 0.5, &status("Running", number, runs(at), json!({})));
        exits(&mut run, at + 1.0, 1, "plan");
        run.status(at + 1.5, &status("Running", number, ended(1), json!({})));
    }
    run.reading(end);
    verdict(&run.done(), SHOWN)
}

#[test]
fn a_case_that_ends_before_a_wait_does_shows_only_what_kubelets_are_known_to_do() {
    assert_eq!(cut_off_at(30.0), "inconclusive", "the documentation's kubelet may show it soon");
    assert_eq!(cut_off_at(42.0), "diverges", "the wait of 20 s may last for 10 s more");
    assert_eq!(cut_off_at(70.0), "violated", "the wait is over");
}

#[test]
fn a_wait_that_is_shown_at_its_end_is_what_kubelets_are_known_to_do() {
    assert_eq!(second_wait(Some(20.0)), "holds");
    assert_eq!(second_wait(Some(44.0)), "diverges");
    assert_eq!(second_wait(Some(60.0)), "violated", "longer than any wait");
    assert_eq!(second_wait(None), "diverges", "the first wait was shown");
}

#[test]
fn what_lacks_its_configuration_waits_too() {
    assert_eq!(looping(OTHERS, "no variable", "CrashLoopBackOff", 5.0), "holds");
    let early = crashes(OTHERS, &[1.0, 3.0, 5.0], "no variable");
    assert_eq!(verdict(&early.done(), OTHERS), "violated");
}
