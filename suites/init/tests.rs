//! Hand-written histories for the judges of init containers.

mod again;
mod api;
mod blocking;
mod cgroups;
mod ends;
mod rerun;
mod restarted;
mod scheduling;
mod shown;

use probity_composer::{Composer, timestamp};
use probity_script::witness::{Exiting, Fact};
use serde_json::{Value, json};

use crate::tests::verdict;

const COMPLETE: &str = "init.run-to-completion";
const SEQUENTIAL: &str = "init.sequential";
const PARALLEL: &str = "init.app-containers-start-parallel";
const RETRY: &str = "init.retry-until-success";
const NEVER: &str = "init.never-fails-pod";
const DONE: &str = "init.always-means-onfailure";
const NO_RERUN: &str = "init.container-restart-no-rerun";
const FILES: &str = "init.idempotent-advice";
const COVERS: &str = "init.activedeadline-includes-init";
const KILLS: &str = "init.activedeadline-kills-running";
const IMAGE: &str = "init.image-change-no-restart";

fn target(name: &str) -> Value {
    json!({ "name": name, "env": [{ "name": "AGNHOST_PLAN", "value": "{}" }] })
}

fn spec(policy: &str, inits: &[&str], mains: &[&str]) -> Value {
    let all = |names: &[&str]| names.iter().map(|name| target(name)).collect::<Vec<_>>();
    json!({ "restartPolicy": policy, "initContainers": all(inits), "containers": all(mains) })
}

fn pod(clause: &str, policy: &str, inits: &[&str], mains: &[&str]) -> Composer {
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &spec(policy, inits, mains));
    run
}

/// An instance of a container, until it ends with a status.
fn runs(run: &mut Composer, container: &str, attempt: u64, span: (f64, f64), code: u8) {
    run.of("pod", container).start(span.0, attempt);
    run.fact(span.1, Fact::Exiting(Exiting { code, why: "plan".to_owned() }));
    run.left(span.1 + 0.01);
}

/// A container that keeps running.
fn begins(run: &mut Composer, container: &str, at: f64) {
    run.of("pod", container).start(at, 0);
}

fn statuses(phase: &str, inits: &[(&str, u64, Value)], mains: &[(&str, u64, Value)]) -> Value {
    let all = |list: &[(&str, u64, Value)]| -> Vec<Value> {
        list.iter()
            .map(|(name, restarts, state)| {
                json!({ "name": name, "image": "i", "ready": false, "restartCount": restarts, "state": state })
            })
            .collect()
    };
    json!({ "phase": phase, "initContainerStatuses": all(inits), "containerStatuses": all(mains) })
}

fn running() -> Value {
    json!({ "running": { "startedAt": timestamp(1.0) } })
}

fn waiting(reason: &str) -> Value {
    json!({ "waiting": { "reason": reason } })
}

fn ended(code: i64) -> Value {
    json!({ "terminated": { "exitCode": code, "reason": "Error" } })
}

/// Two init containers: the first ends at 3 s with a status, and the second begins at this time.
fn two(code: u8, second: f64) -> &'static str {
    let mut run = pod(SEQUENTIAL, "Always", &["one", "two"], &["main"]);
    if second < 3.0 {
        run.of("pod", "one").start(1.0, 0);
        run.of("pod", "two").start(second, 0);
        run.of("pod", "one").fact(3.0, Fact::Exiting(Exiting { code, why: "plan".to_owned() }));
        run.left(3.01);
    } else {
        runs(&mut run, "one", 0, (1.0, 3.0), code);
        begins(&mut run, "two", second);
    }
    run.reading(second + 20.0);
    verdict(&run.done(), SEQUENTIAL)
}

#[test]
fn one_init_container_follows_the_success_of_the_one_before() {
    assert_eq!(two(0, 4.0), "holds");
    assert_eq!(two(0, 2.0), "violated", "beside the first");
    assert_eq!(two(1, 4.0), "violated", "after a failure");
    assert_eq!(two(0, 12.0), "violated", "nine seconds late");
}

#[test]
fn the_next_init_container_must_come() {
    let mut run = pod(SEQUENTIAL, "Always", &["one", "two"], &["main"]);
    runs(&mut run, "one", 0, (1.0, 3.0), 0);
    run.reading(30.0);
    assert_eq!(verdict(&run.done(), SEQUENTIAL), "violated");
}

#[test]
fn an_order_with_missing_lines_is_a_doubt() {
    let mut run = pod(SEQUENTIAL, "Always", &["one", "two"], &["main"]);
    run.of("pod", "one").start(1.0, 0).lose_line().left(3.0);
    begins(&mut run, "two", 4.0);
    run.reading(20.0);
    assert_eq!(verdict(&run.done(), SEQUENTIAL), "inconclusive");
}

#[test]
fn main_containers_follow_the_last_success() {
    let judged = |main: Option<f64>| {
        let mut run = pod(COMPLETE, "Never", &["one"], &["main"]);
        if let Some(main) = main.filter(|main| *main < 3.0) {
            begins(&mut run, "main", main);
        }
        runs(&mut run, "one", 0, (1.0, 3.0), 0);
        if let Some(main) = main.filter(|main| *main > 3.0) {
            begins(&mut run, "main", main);
        }
        run.reading(30.0);
        verdict(&run.done(), COMPLETE)
    };
    assert_eq!(judged(Some(4.0)), "holds");
    assert_eq!(judged(Some(0.5)), "violated");
    assert_eq!(judged(None), "violated");
}

#[test]
fn main_containers_do_not_wait_for_each_other() {
    let judged = |second: Option<f64>| {
        let mut run = Composer::new(&[PARALLEL]);
        let mut of = spec("Always", &["one"], &["slow", "other"]);
        of["containers"][0]["startupProbe"] = json!({ "httpGet": { "path": "/", "port": 8080 } });
        run.create(0.0, &of);
        runs(&mut run, "one", 0, (1.0, 2.0), 0);
        begins(&mut run, "slow", 3.0);
        if let Some(second) = second {
            begins(&mut run, "other", second);
        }
        run.reading(30.0);
        verdict(&run.done(), PARALLEL)
    };
    assert_eq!(judged(Some(3.4)), "holds");
    assert_eq!(judged(Some(12.0)), "violated");
    assert_eq!(judged(None), "violated");
}

#[test]
fn main_containers_are_started_one_after_the_other() {
    let judged = |clause: &str, fourth: f64| {
        let mut run = pod(clause, "Always", &["one"], &["a", "b", "c", "d"]);
        runs(&mut run, "one", 0, (1.0, 2.0), 0);
        for (name, at) in [("a", 5.0), ("b", 8.0), ("c", 11.0), ("d", fourth)] {
            begins(&mut run, name, at);
        }
        run.reading(40.0);
        verdict(&run.done(), clause)
    };
    assert_eq!(judged(COMPLETE, 14.0), "holds", "the runtime takes three seconds for each");
    assert_eq!(judged(COMPLETE, 20.0), "violated");
    assert_ne!(judged(PARALLEL, 14.0), "violated");
    assert_eq!(judged(PARALLEL, 20.0), "violated");
}

#[test]
fn a_failed_init_container_runs_again_until_it_succeeds() {
    let judged = |again: bool| {
        let mut run = pod(RETRY, "Always", &["one"], &["main"]);
        runs(&mut run, "one", 0, (1.0, 2.0), 1);
        if again {
            runs(&mut run, "one", 1, (3.0, 5.0), 0);
            begins(&mut run, "main", 6.0);
        }
        run.reading(120.0);
        verdict(&run.done(), RETRY)
    };
    assert_eq!(judged(true), "holds");
    assert_eq!(judged(false), "violated");
    let mut over = pod(RETRY, "Always", &["one"], &["main"]);
    runs(&mut over, "one", 0, (1.0, 2.0), 1);
    over.status(
        3.0,
        &statuses("Failed", &[("one", 0, ended(1))], &[("main", 0, waiting("PodInitializing"))]),
    );
    over.reading(20.0);
    assert_eq!(verdict(&over.done(), RETRY), "violated");
}

/// With restartPolicy Never, an init container exits with 1 at 2 s. This phase is shown at 3 s, and a container may
/// begin then.
fn fails(phase: &str, again: Option<&str>) -> &'static str {
    let mut run = pod(NEVER, "Never", &["one"], &["main"]);
    runs(&mut run, "one", 0, (1.0, 2.0), 1);
    run.status(3.0, &statuses(phase, &[("one", 0, ended(1))], &[("main", 0, waiting("PodInitializing"))]));
    if let Some(container) = again {
        run.of("pod", container).start(4.0, u64::from(container == "one"));
    }
    run.reading(30.0);
    verdict(&run.done(), NEVER)
}

#[test]
fn under_never_a_failed_init_container_fails_its_pod() {
    assert_eq!(fails("Failed", None), "holds");
    assert_eq!(fails("Pending", None), "violated");
    assert_eq!(fails("Succeeded", None), "violated");
    assert_eq!(fails("Pending", Some("one")), "violated");
    assert_eq!(fails("Pending", Some("main")), "violated");
}

#[test]
fn an_init_container_that_is_done_stays_so() {
    let judged = |clause: &str, again: bool, crash: bool| {
        let mut run = pod(clause, "Always", &["one"], &["main"]);
        runs(&mut run, "one", 0, (1.0, 2.0), 0);
        runs(&mut run, "main", 0, (3.0, if crash { 6.0 } else { 90.0 }), 1);
        if again {
            run.of("pod", "one").start(7.0, 1);
        }
        if crash {
            run.of("pod", "main").start(8.0, 1);
        }
        run.reading(30.0);
        verdict(&run.done(), clause)
    };
    assert_eq!(judged(DONE, false, true), "holds");
    assert_eq!(judged(DONE, true, true), "violated");
    assert_eq!(judged(NO_RERUN, false, true), "holds");
    assert_eq!(judged(NO_RERUN, true, true), "violated");
    let mut calm = pod(NO_RERUN, "Always", &["one"], &["main"]);
    runs(&mut calm, "one", 0, (1.0, 2.0), 0);
    begins(&mut calm, "main", 3.0);
    calm.reading(30.0);
    assert_eq!(verdict(&calm.done(), NO_RERUN), "inconclusive", "nothing was restarted");
}

#[test]
fn a_second_run_finds_the_files_of_the_first() {
    let mut run = pod(FILES, "Always", &["one"], &["main"]);
    runs(&mut run, "one", 0, (1.0, 2.0), 1);
    assert_eq!(verdict(&run.done(), FILES), "inconclusive", "it ran once");
    let mut again = pod(FILES, "Always", &["one"], &["main"]);
    runs(&mut again, "one", 0, (1.0, 2.0), 1);
    runs(&mut again, "one", 1, (3.0, 4.0), 0);
    assert_eq!(verdict(&again.done(), FILES), "holds");
}

/// A pod starts at 1 s with a deadline of 8 s. Its init container fails again and again, and the pod ends at this time.
fn endless(over: Option<(f64, &str)>) -> &'static str {
    endless_with(over, "Its deadline is over")
}

/// The same, if the status of the pod has this message at its end.
fn endless_with(over: Option<(f64, &str)>, message: &str) -> &'static str {
    let mut run = Composer::new(&[COVERS]);
    let mut of = spec("Always", &["one"], &["main"]);
    of["activeDeadlineSeconds"] = json!(8);
    run.create(0.0, &of);
    runs(&mut run, "one", 0, (1.5, 2.5), 1);
    let shown = |phase: &str| {
        let mut status = statuses(phase, &[("one", 0, ended(1))], &[("main", 0, waiting("PodInitializing"))]);
        status["startTime"] = json!(timestamp(1.0));
        status
    };
    run.status(3.0, &shown("Pending"));
    if let Some((at, reason)) = over {
        let mut status = shown("Failed");
        (status["reason"], status["message"]) = (json!(reason), json!(message));
        run.status(at, &status);
    }
    run.reading(40.0);
    verdict(&run.done(), COVERS)
}

#[test]
fn a_deadline_covers_the_initialization() {
    assert_eq!(endless(Some((9.8, "DeadlineExceeded"))), "holds");
    assert_eq!(endless(Some((7.0, "DeadlineExceeded"))), "violated", "too early");
    assert_eq!(endless(Some((18.0, "DeadlineExceeded"))), "violated", "too late");
    assert_eq!(endless(Some((9.8, "Evicted"))), "violated");
    assert_eq!(endless_with(Some((9.8, "DeadlineExceeded")), ""), "violated", "no message");
    assert_eq!(endless(None), "violated");
}

/// A pod starts at 1 s with a deadline of 8 s. Its main container gets its stop signal at this time.
fn limited(stop: Option<f64>, end: f64) -> &'static str {
    let mut run = Composer::new(&[KILLS]);
    let mut of = spec("Always", &["one"], &["main"]);
    of["activeDeadlineSeconds"] = json!(8);
    of["terminationGracePeriodSeconds"] = json!(6);
    run.create(0.0, &of);
    runs(&mut run, "one", 0, (1.5, 2.5), 0);
    begins(&mut run, "main", 3.0);
    let mut status = statuses("Running", &[("one", 0, ended(0))], &[("main", 0, running())]);
    status["startTime"] = json!(timestamp(1.0));
    run.status(3.5, &status);
    if let Some(stop) = stop {
        run.signal(stop, "SIGTERM");
    }
    if end < 45.0 {
        run.left(end);
        status["phase"] = json!("Failed");
        (status["reason"], status["message"]) = (json!("DeadlineExceeded"), json!("Its deadline is over"));
        status["containerStatuses"][0]["state"] = ended(143);
        run.status(end + 0.5, &status);
    }
    run.reading(60.0);
    verdict(&run.done(), KILLS)
}

#[test]
fn a_deadline_ends_what_runs_with_a_stop_signal() {
    assert_eq!(limited(Some(9.5), 15.6), "holds");
    assert_eq!(limited(Some(6.0), 12.1), "violated", "too early");
    assert_eq!(limited(Some(9.5), 11.6), "violated", "not the grace period of the pod");
    assert_eq!(limited(Some(9.5), 19.0), "violated", "more than that");
    assert_eq!(limited(None, 10.0), "violated", "without a signal");
    assert_eq!(limited(None, 50.0), "violated", "it goes on");
}

/// A pod starts at 1 s with a deadline of 8 s. Its main container begins at this time and is killed, without a stop signal, when
/// the grace period has passed since the deadline.
fn killed_at_deadline(begins_at: f64) -> &'static str {
    let mut run = Composer::new(&[KILLS]);
    let mut of = spec("Always", &["one"], &["main"]);
    (of["activeDeadlineSeconds"], of["terminationGracePeriodSeconds"]) = (json!(8), json!(6));
    run.create(0.0, &of);
    runs(&mut run, "one", 0, (1.5, 2.5), 0);
    let mut status = statuses("Running", &[("one", 0, ended(0))], &[("main", 0, running())]);
    status["startTime"] = json!(timestamp(1.0));
    run.status(2.9, &status);
    begins(&mut run, "main", begins_at);
    run.left(15.1);
    status["phase"] = json!("Failed");
    (status["reason"], status["message"]) = (json!("DeadlineExceeded"), json!("Its deadline is over"));
    status["containerStatuses"][0]["state"] = ended(137);
    run.status(15.6, &status).reading(60.0);
    verdict(&run.done(), KILLS)
}

#[test]
fn a_container_that_begins_after_the_deadline_cannot_record_its_stop_signal() {
    assert_ne!(killed_at_deadline(9.4), "violated");
    assert_eq!(killed_at_deadline(5.0), "violated");
}

#[test]
fn another_image_of_an_init_container_starts_nothing() {
    let judged = |again: Option<f64>, until: f64| {
        let mut run = pod(IMAGE, "Always", &["one"], &["main"]);
        runs(&mut run, "one", 0, (1.0, 2.0), 0);
        begins(&mut run, "main", 3.0);
        api::patch(&mut run, 5.0, &json!({ "name": "one", "image": "other" }));
        if let Some(again) = again {
            run.of("pod", "one").start(again, 1);
        }
        run.reading(until);
        verdict(&run.done(), IMAGE)
    };
    assert_eq!(judged(None, 20.0), "holds");
    assert_eq!(judged(Some(7.0), 20.0), "violated");
    assert_eq!(judged(None, 8.0), "inconclusive", "not watched for long enough");
}

#[test]
fn an_init_container_that_failed_runs_again_with_another_image() {
    let mut run = pod(IMAGE, "Always", &["one"], &["main"]);
    runs(&mut run, "one", 0, (1.0, 2.0), 1);
    api::patch(&mut run, 5.0, &json!({ "name": "one", "image": "other" }));
    runs(&mut run, "one", 1, (6.0, 7.0), 0);
    begins(&mut run, "main", 8.0);
    run.reading(30.0);
    assert_ne!(verdict(&run.done(), IMAGE), "violated");
}

#[test]
fn a_restart_of_the_kubelet_runs_no_init_container_again() {
    let judged = |again: bool| {
        let mut run = pod(DONE, "Always", &["one"], &["main"]);
        runs(&mut run, "one", 0, (1.0, 2.0), 0);
        begins(&mut run, "main", 3.0);
        let restarted =
            probity_model::history::Did::verb(probity_composer::NODE, "restart-kubelet", Some(0), None);
        run.deed(10.0, restarted);
        if again {
            runs(&mut run, "one", 1, (12.0, 13.0), 0);
        }
        run.reading(30.0);
        verdict(&run.done(), DONE)
    };
    assert_eq!(judged(false), "holds");
    assert_eq!(judged(true), "violated");
}

#[test]
fn a_deadline_ends_a_pod_whose_container_waits() {
    let judged = |over: f64, policy: &str| {
        let mut run = Composer::new(&[KILLS]);
        let mut of = spec(policy, &[], &["main"]);
        of["activeDeadlineSeconds"] = json!(8);
        run.create(0.0, &of);
        runs(&mut run, "main", 0, (1.5, 2.5), 1);
        let mut status = statuses("Running", &[], &[("main", 0, waiting("CrashLoopBackOff"))]);
        status["startTime"] = json!(timestamp(1.0));
        run.status(3.5, &status);
        if over < 45.0 {
            status["phase"] = json!("Failed");
            (status["reason"], status["message"]) =
                (json!("DeadlineExceeded"), json!("Its deadline is over"));
            status["containerStatuses"][0]["state"] = ended(1);
            run.status(over, &status);
        }
        run.reading(60.0);
        verdict(&run.done(), KILLS)
    };
    assert_ne!(judged(10.0, "Always"), "violated");
    assert_eq!(judged(6.0, "Always"), "violated", "too early");
    assert_eq!(judged(20.0, "Always"), "violated", "too late");
    assert_eq!(judged(50.0, "Always"), "violated", "it goes on");
    assert_ne!(judged(50.0, "Never"), "violated", "its container does not restart");
}
