//! Hand-written histories for the judges of sidecars.

use probity_composer::{Composer, timestamp};
use probity_script::witness::{Exiting, Fact};
use serde_json::{Value, json};

use crate::tests::verdict;

const DEFINITION: &str = "sidecar.definition";
const ORDER: &str = "sidecar.order-and-started";
const STARTED: &str = "sidecar.started-with-startup-probe";
const RESTARTED: &str = "sidecar.always-restarted";
const PROBES: &str = "sidecar.probes-allowed";
const READINESS: &str = "sidecar.readiness-counts";
const COMPLETES: &str = "sidecar.job-completes";
const POLICIES: &str = "sidecar.policy-values";

fn target(name: &str) -> Value {
    json!({ "name": name, "env": [{ "name": "AGNHOST_PLAN", "value": "{}" }] })
}

/// A pod with an init container, a sidecar with these probes, and a main container.
fn pod(clause: &str, policy: &str, probes: &[&str]) -> Composer {
    let mut helper = target("helper");
    helper["restartPolicy"] = json!("Always");
    for probe in probes {
        let path = format!("/{probe}");
        helper[*probe] =
            json!({ "httpGet": { "path": path, "port": 8080 }, "periodSeconds": 1, "failureThreshold": 1 });
    }
    let mut run = Composer::new(&[clause]);
    let inits = json!([target("one"), helper]);
    run.create(
        0.0,
        &json!({ "restartPolicy": policy, "initContainers": inits, "containers": [target("main")] }),
    );
    run
}

fn exits(run: &mut Composer, container: &str, at: f64, code: u8, why: &str) {
    run.of("pod", container);
    run.fact(at, Fact::Exiting(Exiting { code, why: why.to_owned() }));
    run.left(at + 0.01);
}

fn begins(run: &mut Composer, container: &str, at: f64, attempt: u64) {
    run.of("pod", container).start(at, attempt);
}

fn runs() -> Value {
    json!({ "running": { "startedAt": timestamp(1.0) } })
}

fn status(phase: &str, conditions: &[(&str, bool)], started: bool, ready: bool) -> Value {
    let word = |holds: bool| if holds { "True" } else { "False" };
    let conditions: Vec<Value> =
        conditions.iter().map(|(kind, holds)| json!({ "type": kind, "status": word(*holds) })).collect();
    let over = matches!(phase, "Succeeded" | "Failed");
    let state = || if over { json!({ "terminated": { "exitCode": 0 } }) } else { runs() };
    let of = |name: &str, ready: bool| json!({ "name": name, "ready": ready, "started": started, "restartCount": 0, "state": state() });
    json!({
        "phase": phase, "conditions": conditions,
        "initContainerStatuses": [of("helper", ready)], "containerStatuses": [of("main", true)],
    })
}

/// The init container runs from 1 s to 2 s. The sidecar begins at `helper`, the main container begins at `main`, and
/// the sidecar gets its stop signal at `stop`.
fn staged(clause: &str, helper: f64, main: Option<f64>, stop: Option<f64>) -> &'static str {
    let mut run = pod(clause, "Always", &[]);
    begins(&mut run, "one", 1.0, 0);
    let mut starts = vec![(helper, "helper"), (2.0, "")];
    starts.extend(main.map(|main| (main, "main")));
    starts.sort_by(|one, other| one.0.total_cmp(&other.0));
    for (at, name) in starts {
        match name {
            "" => exits(&mut run, "one", at, 0, "plan"),
            name => begins(&mut run, name, at, 0),
        }
    }
    if let Some(stop) = stop {
        run.of("pod", "helper").signal(stop, "SIGTERM");
        exits(&mut run, "helper", stop + 0.1, 0, "stop");
    }
    run.reading(30.0);
    verdict(&run.done(), clause)
}

#[test]
fn a_sidecar_begins_before_the_main_containers_and_stays() {
    assert_eq!(staged(DEFINITION, 3.0, Some(4.0), None), "holds");
    assert_eq!(staged(DEFINITION, 4.6, Some(4.0), None), "violated", "after the main container");
    assert_eq!(staged(DEFINITION, 4.1, Some(4.0), None), "inconclusive", "its process may have been held up");
    assert_eq!(staged(DEFINITION, 3.0, Some(4.0), Some(6.0)), "violated", "told to stop");
}

#[test]
fn a_main_container_is_over_when_it_has_recorded_its_exit() {
    let judged = |exit: Option<f64>| {
        let mut run = working(DEFINITION);
        run.of("pod", "main");
        if let Some(at) = exit {
            run.fact(at, Fact::Exiting(Exiting { code: 0, why: "plan".to_owned() }));
        }
        // The end of its connection is recorded after the stop signal of the sidecar.
        run.of("pod", "helper").signal(10.5, "SIGTERM");
        run.of("pod", "main").left(11.0);
        run.reading(30.0);
        verdict(&run.done(), DEFINITION)
    };
    assert_eq!(judged(Some(10.0)), "holds");
    assert_eq!(judged(Some(10.8)), "violated");
}

#[test]
fn a_sidecar_has_its_place_among_the_init_containers() {
    assert_eq!(staged(ORDER, 3.0, Some(4.0), None), "holds");
    assert_eq!(staged(ORDER, 1.5, Some(4.0), None), "violated", "beside the init container before it");
    assert_eq!(staged(ORDER, 4.6, Some(4.0), None), "violated", "after the next one");
    assert_eq!(staged(ORDER, 4.1, Some(4.0), None), "inconclusive", "its process may have been held up");
    assert_eq!(two_sidecars([4.1, 4.2], 4.0), "violated", "but not two of them");
    assert_eq!(staged(ORDER, 3.0, None, None), "violated", "the next one never comes");
    assert_eq!(staged(ORDER, 3.0, Some(14.0), None), "violated", "the next one is late");
}

/// Two sidecars begin at these times, and the main container begins at `main`.
fn two_sidecars(sidecars: [f64; 2], main: f64) -> &'static str {
    let mut run = Composer::new(&[ORDER]);
    let [first, second] = ["first", "second"].map(|name| {
        let mut sidecar = target(name);
        sidecar["restartPolicy"] = json!("Always");
        sidecar
    });
    run.create(0.0, &json!({ "initContainers": [first, second], "containers": [target("main")] }));
    begins(&mut run, "main", main, 0);
    for (name, at) in ["second", "first"].into_iter().zip(sidecars) {
        begins(&mut run, name, at, 0);
    }
    run.reading(30.0);
    verdict(&run.done(), ORDER)
}

/// The startup probe of a sidecar succeeds at 8 s; the main container begins at `main`. `early` says whether the status
/// at 5.5 s already shows the pod as initialized and the sidecar as started.
fn gated(main: Option<f64>, early: bool) -> &'static str {
    let mut run = pod(STARTED, "Always", &["startupProbe"]);
    begins(&mut run, "one", 1.0, 0);
    exits(&mut run, "one", 2.0, 0, "plan");
    begins(&mut run, "helper", 3.0, 0);
    run.probe(4.0, "/startupProbe", 503);
    if let Some(main) = main.filter(|main| *main < 8.0) {
        begins(&mut run, "main", main, 0);
    }
    run.status(5.5, &status("Pending", &[("Initialized", early)], early, false));
    run.of("pod", "helper").probe(8.0, "/startupProbe", 200);
    if let Some(main) = main.filter(|main| *main > 8.0) {
        begins(&mut run, "main", main, 0);
    }
    run.reading(30.0);
    verdict(&run.done(), STARTED)
}

/// A sidecar crashes before its startup probe succeeds; its next instance succeeds at 9 s. The main container begins at
/// this time.
fn crashed(main: f64) -> &'static str {
    let mut run = pod(STARTED, "Always", &["startupProbe"]);
    begins(&mut run, "one", 1.0, 0);
    exits(&mut run, "one", 2.0, 0, "plan");
    begins(&mut run, "helper", 3.0, 0);
    run.probe(4.0, "/startupProbe", 503);
    exits(&mut run, "helper", 5.0, 1, "plan");
    begins(&mut run, "helper", 6.0, 1);
    if main < 9.0 {
        begins(&mut run, "main", main, 0);
    }
    run.of("pod", "helper").probe(9.0, "/startupProbe", 200);
    if main > 9.0 {
        begins(&mut run, "main", main, 0);
    }
    run.reading(30.0);
    verdict(&run.done(), STARTED)
}

#[test]
fn a_sidecar_that_crashed_has_not_started_before_its_next_life_has() {
    assert_eq!(crashed(10.0), "holds");
    assert_eq!(crashed(7.0), "violated", "too early");
    assert_eq!(crashed(18.0), "violated", "too late");
}

#[test]
fn a_startup_probe_says_when_a_sidecar_has_started() {
    assert_eq!(gated(Some(9.0), false), "holds");
    assert_eq!(gated(Some(5.0), false), "violated", "too early");
    assert_eq!(gated(Some(18.0), false), "violated", "too late");
    assert_eq!(gated(None, false), "violated", "never");
    assert_eq!(gated(Some(9.0), true), "violated", "shown as started before");
}

/// A pod with restartPolicy Never: its init container has ended, its sidecar has been running since 3 s, and its main
/// container since 4 s.
fn working(clause: &str) -> Composer {
    let mut run = pod(clause, "Never", &[]);
    begins(&mut run, "one", 1.0, 0);
    exits(&mut run, "one", 2.0, 0, "plan");
    begins(&mut run, "helper", 3.0, 0);
    begins(&mut run, "main", 4.0, 0);
    run
}

#[test]
fn a_sidecar_that_ends_comes_back_alone() {
    let judged = |again: bool, stopped: bool| ended(again, stopped, None);
    assert_eq!(judged(true, false), "holds");
    assert_eq!(judged(false, false), "violated");
    assert_eq!(judged(true, true), "violated");
    assert_eq!(ended(true, false, Some(8.0)), "violated", "a main container was killed just after it");
    assert_eq!(ended(true, false, Some(20.0)), "holds", "a main container ended long after it");
}

/// A sidecar ends at 6 s, and a main container may be stopped, or end without a record.
fn ended(again: bool, stopped: bool, gone: Option<f64>) -> &'static str {
    let mut run = working(RESTARTED);
    exits(&mut run, "helper", 6.0, 1, "plan");
    if stopped {
        run.of("pod", "main").signal(6.5, "SIGTERM");
    }
    if again {
        begins(&mut run, "helper", 7.0, 1);
    }
    if let Some(at) = gone {
        run.of("pod", "main").left(at);
    }
    run.reading(30.0);
    verdict(&run.done(), RESTARTED)
}

#[test]
fn a_sidecar_may_have_probes_and_is_killed_alone() {
    let judged = |other: bool| {
        let mut run = pod(PROBES, "Always", &["livenessProbe"]);
        begins(&mut run, "one", 1.0, 0);
        exits(&mut run, "one", 2.0, 0, "plan");
        begins(&mut run, "helper", 3.0, 0);
        begins(&mut run, "main", 4.0, 0);
        run.of("pod", "helper").probe(4.0, "/livenessProbe", 200);
        run.probe(5.0, "/livenessProbe", 500);
        run.signal(5.1, "SIGTERM");
        if other {
            run.of("pod", "main").signal(5.2, "SIGTERM");
        }
        exits(&mut run, "helper", 5.3, 0, "stop");
        begins(&mut run, "helper", 6.0, 1);
        run.reading(7.0);
        verdict(&run.done(), PROBES)
    };
    assert_eq!(judged(false), "holds");
    assert_eq!(judged(true), "violated");
    let tried = |code: u16, message: &str| {
        let mut run = Composer::new(&[PROBES]);
        let sidecar = json!({ "name": "i", "restartPolicy": "Always", "livenessProbe": { "tcpSocket": { "port": 80 } } });
        let manifest = json!({ "kind": "Pod", "spec": { "initContainers": [sidecar], "containers": [{ "name": "c" }] } });
        run.tried(1.0, "trial", manifest, code, message, json!({}));
        verdict(&run.done(), PROBES)
    };
    assert_eq!(tried(201, ""), "holds");
    assert_eq!(tried(422, "initContainers[i].livenessProbe: Forbidden"), "violated");
}

/// The readiness probe of a sidecar fails until 8 s; the pod is shown as ready at 5 s or not, and is ready from this
/// time on, or never.
fn readiness(early: bool, ready: Option<f64>) -> &'static str {
    let mut run = pod(READINESS, "Always", &["readinessProbe"]);
    begins(&mut run, "one", 1.0, 0);
    exits(&mut run, "one", 2.0, 0, "plan");
    begins(&mut run, "helper", 3.0, 0);
    begins(&mut run, "main", 4.0, 0);
    run.of("pod", "helper").probe(4.5, "/readinessProbe", 503);
    run.status(5.0, &status("Running", &[("Ready", early)], true, false));
    run.probe(8.0, "/readinessProbe", 200);
    if let Some(ready) = ready {
        run.status(ready, &status("Running", &[("Ready", true)], true, true));
    }
    run.reading(30.0);
    verdict(&run.done(), READINESS)
}

#[test]
fn the_readiness_of_a_sidecar_counts() {
    assert_eq!(readiness(false, Some(8.5)), "holds");
    assert_eq!(readiness(true, Some(8.5)), "violated", "ready before");
    assert_eq!(readiness(false, Some(18.0)), "violated", "late");
    assert_eq!(readiness(false, None), "violated", "never");
}

/// The main container exits with 0 at 6 s. The sidecar gets its stop signal at this time and exits with a status, and
/// the pod is shown with this phase.
fn work_done(stop: Option<f64>, code: Option<u8>, phase: &str) -> &'static str {
    work_done_with(stop, (code, 30.0), phase)
}

/// Like [`work_done`]; a sidecar without an exit status is killed this long after its stop signal.
fn work_done_with(stop: Option<f64>, (code, killed_after): (Option<u8>, f64), phase: &str) -> &'static str {
    let mut run = working(COMPLETES);
    exits(&mut run, "main", 6.0, 0, "plan");
    if let Some(stop) = stop {
        run.of("pod", "helper").signal(stop, "SIGTERM");
        match code {
            Some(code) => exits(&mut run, "helper", stop + 0.5, code, "stop"),
            None => {
                run.left(stop + killed_after);
            }
        }
        let shown = if code.is_some() { 4.0 } else { killed_after + 0.5 };
        run.status(stop + shown, &status(phase, &[], true, false));
    }
    run.reading(60.0);
    verdict(&run.done(), COMPLETES)
}

#[test]
fn a_sidecar_does_not_keep_its_pod_from_succeeding() {
    assert_eq!(work_done(Some(6.5), Some(3), "Succeeded"), "holds");
    assert_eq!(work_done(Some(6.5), None, "Succeeded"), "holds", "killed");
    assert_eq!(work_done_with(Some(6.5), (None, 2.0), "Succeeded"), "violated", "killed after two seconds");
    assert_eq!(work_done(Some(6.5), Some(3), "Failed"), "violated");
    assert_eq!(work_done(Some(6.5), Some(3), "Running"), "violated");
    assert_eq!(work_done(Some(16.0), Some(3), "Succeeded"), "violated", "told late");
    assert_eq!(work_done(None, None, ""), "violated", "never told");
}

/// In a pod with restartPolicy Always, the main container with this policy of its own exits with 1. The sidecar gets its
/// stop signal at this time.
fn own_policy(own: &str, stop: Option<f64>) -> &'static str {
    let (mut helper, mut main) = (target("helper"), target("main"));
    helper["restartPolicy"] = json!("Always");
    main["restartPolicy"] = json!(own);
    let mut run = Composer::new(&[COMPLETES]);
    run.create(0.0, &json!({ "initContainers": [helper], "containers": [main] }));
    begins(&mut run, "helper", 3.0, 0);
    begins(&mut run, "main", 4.0, 0);
    exits(&mut run, "main", 6.0, 1, "plan");
    if let Some(stop) = stop {
        run.of("pod", "helper").signal(stop, "SIGTERM");
        exits(&mut run, "helper", stop + 0.5, 0, "stop");
        run.status(stop + 2.0, &status("Failed", &[], true, false));
    }
    run.reading(60.0);
    verdict(&run.done(), COMPLETES)
}

#[test]
fn the_policy_of_a_main_container_says_when_the_work_is_done() {
    assert_ne!(own_policy("Never", Some(6.5)), "violated");
    assert_eq!(own_policy("Never", None), "violated", "the sidecar keeps its pod");
    assert_ne!(own_policy("OnFailure", None), "violated", "the main container restarts");
}

/// A sidecar ends at 5 s, the main container exits with 0 at 6 s, and the sidecar restarts at this time.
fn waited(again: Option<f64>) -> &'static str {
    let mut run = working(COMPLETES);
    exits(&mut run, "helper", 5.0, 1, "plan");
    exits(&mut run, "main", 6.0, 0, "plan");
    if let Some(at) = again {
        begins(&mut run, "helper", at, 1);
        exits(&mut run, "helper", at + 1.0, 1, "plan");
    }
    run.status(again.unwrap_or(6.0) + 2.0, &status("Succeeded", &[], false, false)).reading(40.0);
    verdict(&run.done(), COMPLETES)
}

#[test]
fn a_sidecar_does_not_start_again_once_the_work_is_done() {
    assert_ne!(waited(None), "violated");
    assert_eq!(waited(Some(15.0)), "violated");
}

#[test]
fn a_sidecar_restarts_also_while_its_pod_initializes() {
    let mut run = Composer::new(&[RESTARTED]);
    let mut helper = target("helper");
    helper["restartPolicy"] = json!("Always");
    let inits = json!([helper, target("one")]);
    run.create(
        0.0,
        &json!({ "restartPolicy": "Never", "initContainers": inits, "containers": [target("main")] }),
    );
    begins(&mut run, "helper", 1.0, 0);
    begins(&mut run, "one", 2.0, 0);
    exits(&mut run, "helper", 3.0, 0, "plan");
    run.reading(40.0);
    assert_eq!(verdict(&run.done(), RESTARTED), "violated");
}

#[test]
fn three_words_are_policies_of_init_containers() {
    let tried = |policy: &str, code: u16| {
        let mut run = Composer::new(&[POLICIES]);
        let spec = json!({ "initContainers": [{ "name": "i", "restartPolicy": policy }], "containers": [{ "name": "c" }] });
        let message = "spec.initContainers[0].restartPolicy: Unsupported value";
        run.tried(1.0, "trial", json!({ "kind": "Pod", "spec": spec }), code, message, json!({}));
        verdict(&run.done(), POLICIES)
    };
    assert_eq!(tried("OnFailure", 201), "holds");
    assert_eq!(tried("Sometimes", 422), "holds");
    assert_eq!(tried("Sometimes", 201), "violated");
    assert_eq!(tried("OnFailure", 422), "violated");
}

#[test]
fn a_sidecar_that_was_stopped_after_the_work_does_not_start_again_at_once() {
    let judged = |again: bool| {
        let mut run = working(COMPLETES);
        exits(&mut run, "main", 6.0, 0, "plan");
        run.of("pod", "helper").signal(6.5, "SIGTERM");
        exits(&mut run, "helper", 7.0, 3, "stop");
        if again {
            begins(&mut run, "helper", 7.5, 1);
            run.of("pod", "helper").signal(8.0, "SIGTERM");
            exits(&mut run, "helper", 8.5, 3, "stop");
        }
        run.status(9.5, &status("Succeeded", &[], false, false)).reading(40.0);
        verdict(&run.done(), COMPLETES)
    };
    assert_ne!(judged(false), "violated");
    assert_eq!(judged(true), "violated");
}

#[test]
fn a_sidecar_is_not_killed_without_a_cause() {
    let judged = |kills: u64| {
        let mut run = working(DEFINITION);
        let mut at = 8.0;
        for attempt in 0..kills {
            run.of("pod", "helper").left(at);
            begins(&mut run, "helper", at + 1.0, attempt + 1);
            at += 5.0;
        }
        run.reading(60.0);
        verdict(&run.done(), DEFINITION)
    };
    assert_ne!(judged(0), "violated");
    assert_eq!(judged(1), "inconclusive", "its node may lack memory");
    assert_eq!(judged(2), "violated");
}
