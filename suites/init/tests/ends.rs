//! Sidecars at a deadline and when an init container fails, and init containers that are stopped at a deadline.

use probity_composer::{Composer, timestamp};
use probity_script::witness::{Exiting, Fact};
use serde_json::{Value, json};

use super::{COVERS, KILLS, NEVER, begins, ended, running, runs, spec, statuses, waiting};
use crate::tests::verdict;

fn with_sidecar(policy: &str, inits: &[&str]) -> Value {
    let mut of = spec(policy, inits, &["main"]);
    of["initContainers"][0]["restartPolicy"] = json!("Always");
    of["terminationGracePeriodSeconds"] = json!(6);
    of
}

/// A sidecar gets its stop signal and is killed at these times. Its pod exceeds its deadline at 9 s, and the main container
/// takes two seconds to end.
fn expired(stop: f64, end: f64) -> &'static str {
    let mut run = Composer::new(&[KILLS]);
    let mut of = with_sidecar("Always", &["helper"]);
    of["activeDeadlineSeconds"] = json!(8);
    run.create(0.0, &of);
    begins(&mut run, "helper", 2.0);
    begins(&mut run, "main", 3.0);
    let mut status = statuses("Running", &[("helper", 0, running())], &[("main", 0, running())]);
    status["startTime"] = json!(timestamp(1.0));
    run.status(3.5, &status);
    run.of("pod", "main").signal(9.5, "SIGTERM");
    if stop < 11.5 {
        run.of("pod", "helper").signal(stop, "SIGTERM");
    }
    run.of("pod", "main").fact(11.5, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
    run.left(11.51);
    if stop > 11.5 {
        run.of("pod", "helper").signal(stop, "SIGTERM");
    }
    run.of("pod", "helper").left(end);
    status["phase"] = json!("Failed");
    (status["reason"], status["message"]) = (json!("DeadlineExceeded"), json!("Its deadline is over"));
    status["containerStatuses"][0]["state"] = ended(0);
    status["initContainerStatuses"][0]["state"] = ended(137);
    run.status(end + 0.5, &status);
    run.reading(60.0);
    verdict(&run.done(), KILLS)
}

#[test]
fn at_the_deadline_sidecars_stop_last() {
    assert_eq!(expired(11.6, 15.6), "holds");
    assert_eq!(expired(11.6, 19.6), "violated", "its wait is part of the grace period");
    assert_eq!(expired(9.6, 15.6), "violated", "with the main container");
    assert_eq!(expired(11.6, 13.6), "violated", "two seconds");
}

/// A pod with two sidecars exceeds its deadline at 9 s. The main container ends at 11.5 s, and the second sidecar at 13.6 s. The
/// first sidecar gets its stop signal at this time. The second one has a preStop hook, which runs or does not run.
fn expired_with_two(first: f64, hook: bool) -> &'static str {
    let mut run = Composer::new(&[KILLS]);
    let mut of = with_sidecar("Always", &["helper", "aide"]);
    of["initContainers"][1]["restartPolicy"] = json!("Always");
    let bye = json!({ "exec": { "command": ["/agnhost-rs", "exec", "bye"] } });
    of["initContainers"][1]["lifecycle"] = json!({ "preStop": bye });
    of["activeDeadlineSeconds"] = json!(8);
    run.create(0.0, &of);
    for (name, at) in [("helper", 1.5), ("aide", 2.0), ("main", 3.0)] {
        begins(&mut run, name, at);
    }
    let inits = [("helper", 0, running()), ("aide", 0, running())];
    let mut status = statuses("Running", &inits, &[("main", 0, running())]);
    status["startTime"] = json!(timestamp(1.0));
    run.status(3.5, &status);
    let stops = |run: &mut Composer, name: &str, at: f64| {
        run.of("pod", name).fact(at, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
        run.left(at + 0.01);
    };
    run.of("pod", "main").signal(9.5, "SIGTERM");
    if hook {
        run.of("pod", "aide").exec(9.6, "bye", Some(0));
    }
    stops(&mut run, "main", 11.5);
    run.of("pod", "aide").signal(11.6, "SIGTERM");
    if first < 13.6 {
        run.of("pod", "helper").signal(first, "SIGTERM");
    }
    stops(&mut run, "aide", 13.6);
    if first > 13.6 {
        run.of("pod", "helper").signal(first, "SIGTERM");
    }
    stops(&mut run, "helper", 14.0);
    status["phase"] = json!("Failed");
    (status["reason"], status["message"]) = (json!("DeadlineExceeded"), json!("Its deadline is over"));
    status["containerStatuses"][0]["state"] = ended(0);
    for place in [0, 1] {
        status["initContainerStatuses"][place]["state"] = ended(0);
    }
    run.status(14.5, &status);
    run.reading(60.0);
    verdict(&run.done(), KILLS)
}

#[test]
fn at_the_deadline_sidecars_stop_one_after_the_other() {
    assert_eq!(expired_with_two(13.7, true), "holds");
    assert_eq!(expired_with_two(11.7, true), "violated", "together with the second");
    assert_eq!(expired_with_two(13.7, false), "violated", "the hook did not run");
}

#[test]
fn an_init_container_that_is_stopped_at_the_deadline_has_not_succeeded() {
    let judged = |goes_on: bool| {
        let mut run = Composer::new(&[COVERS]);
        let mut of = spec("Never", &["one"], &["main"]);
        of["activeDeadlineSeconds"] = json!(8);
        run.create(0.0, &of);
        run.of("pod", "one").start(1.5, 0);
        let mut status =
            statuses("Pending", &[("one", 0, running())], &[("main", 0, waiting("PodInitializing"))]);
        status["startTime"] = json!(timestamp(1.0));
        run.status(3.0, &status);
        run.signal(9.5, "SIGTERM");
        run.fact(10.5, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
        run.left(10.51);
        if goes_on {
            run.of("pod", "main").start(11.0, 0);
        }
        status["phase"] = json!("Failed");
        (status["reason"], status["message"]) = (json!("DeadlineExceeded"), json!("Its deadline is over"));
        status["initContainerStatuses"][0]["state"] = ended(0);
        run.status(11.5, &status);
        run.reading(40.0);
        verdict(&run.done(), COVERS)
    };
    assert_eq!(judged(false), "holds");
    assert_eq!(judged(true), "violated");
}

#[test]
fn the_signal_at_the_deadline_is_the_default_one() {
    let judged = |signal: &str| {
        let mut run = Composer::new(&[KILLS]);
        let mut of = spec("Always", &["one"], &["main"]);
        of["containers"][0]["env"] = json!([{ "name": "AGNHOST_PLAN", "value": "{}" }]);
        of["activeDeadlineSeconds"] = json!(8);
        run.create(0.0, &of);
        runs(&mut run, "one", 0, (1.5, 2.5), 0);
        begins(&mut run, "main", 3.0);
        let mut status = statuses("Running", &[("one", 0, ended(0))], &[("main", 0, running())]);
        status["startTime"] = json!(timestamp(1.0));
        run.status(3.5, &status);
        run.signal(9.5, signal);
        run.fact(10.5, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
        run.left(10.51);
        status["phase"] = json!("Failed");
        (status["reason"], status["message"]) = (json!("DeadlineExceeded"), json!("Its deadline is over"));
        status["containerStatuses"][0]["state"] = ended(0);
        run.status(11.0, &status);
        run.reading(40.0);
        verdict(&run.done(), KILLS)
    };
    assert_eq!(judged("SIGTERM"), "holds");
    assert_eq!(judged("SIGINT"), "violated");
}

#[test]
fn the_sidecar_of_a_pod_that_fails_is_stopped_with_a_signal() {
    let judged = |stop: Option<f64>, end: f64| {
        let mut run = Composer::new(&[NEVER]);
        let mut of = with_sidecar("Never", &["helper", "one"]);
        of["terminationGracePeriodSeconds"] = json!(3);
        run.create(0.0, &of);
        begins(&mut run, "helper", 1.0);
        runs(&mut run, "one", 0, (2.0, 3.0), 1);
        if let Some(stop) = stop {
            run.of("pod", "helper").signal(stop, "SIGTERM");
        }
        run.of("pod", "helper").left(end);
        let inits = [("helper", 0, ended(137)), ("one", 0, ended(1))];
        run.status(7.5, &statuses("Failed", &inits, &[("main", 0, waiting("PodInitializing"))]));
        run.reading(30.0);
        verdict(&run.done(), NEVER)
    };
    assert_eq!(judged(Some(3.5), 6.6), "holds");
    assert_eq!(judged(Some(3.5), 5.0), "violated", "half of the grace period");
    assert_eq!(judged(None, 3.5), "violated", "no signal");
}

#[test]
fn the_sidecars_of_a_pod_that_fails_stop_one_after_the_other() {
    let judged = |first: f64| {
        let mut run = Composer::new(&[NEVER]);
        let mut of = with_sidecar("Never", &["helper", "aide", "one"]);
        of["initContainers"][1]["restartPolicy"] = json!("Always");
        run.create(0.0, &of);
        begins(&mut run, "helper", 1.0);
        begins(&mut run, "aide", 1.5);
        runs(&mut run, "one", 0, (2.0, 3.0), 1);
        let stopped = |run: &mut Composer, name: &str, at: f64| {
            run.of("pod", name).fact(at, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
            run.left(at + 0.01);
        };
        run.of("pod", "aide").signal(3.5, "SIGTERM");
        if first < 6.5 {
            run.of("pod", "helper").signal(first, "SIGTERM");
        }
        stopped(&mut run, "aide", 6.5);
        if first > 6.5 {
            run.of("pod", "helper").signal(first, "SIGTERM");
        }
        stopped(&mut run, "helper", 6.8);
        let inits = [("helper", 0, ended(0)), ("aide", 0, ended(0)), ("one", 0, ended(1))];
        run.status(7.5, &statuses("Failed", &inits, &[("main", 0, waiting("PodInitializing"))]));
        run.reading(30.0);
        verdict(&run.done(), NEVER)
    };
    assert_eq!(judged(6.6), "holds");
    assert_eq!(judged(3.6), "violated", "together with the second");
}
