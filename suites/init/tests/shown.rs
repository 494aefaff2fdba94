//! Histories of the status of an initializing pod, and of what its init containers see.

use std::collections::BTreeMap;

use probity_composer::Composer;
use probity_script::witness::{Dump, Fact};
use serde_json::{Value, json};

use super::{begins, ended, pod, running, runs, spec, statuses, waiting};
use crate::tests::verdict;

const READY: &str = "init.pod-not-ready";
const PENDING: &str = "init.pending-phase";
const INITIALIZED: &str = "init.initialized-condition-false";
const LISTS: &str = "init.status-array";
const NETWORK: &str = "init.after-network-and-volumes";
const VIEW: &str = "init.separate-image-and-fs";
const START_ERROR: &str = "init.start-error-retried";

fn with_conditions(phase: &str, init: Value, conditions: &[(&str, bool)]) -> Value {
    let mut status = statuses(phase, &[("one", 0, init)], &[("main", 0, waiting("PodInitializing"))]);
    let word = |holds: bool| if holds { "True" } else { "False" };
    let all: Vec<Value> =
        conditions.iter().map(|(kind, holds)| json!({ "type": kind, "status": word(*holds) })).collect();
    status["conditions"] = json!(all);
    status
}

/// An init container runs from 1 s to 9 s; `during` is shown at 2 s, and `after` at 10 s.
fn while_it_runs(clause: &str, during: Option<&Value>, after: &Value) -> &'static str {
    let mut run = pod(clause, "Always", &["one"], &["main"]);
    run.of("pod", "one").start(1.0, 0);
    if let Some(during) = during {
        run.status(2.0, during);
    }
    run.fact(9.0, Fact::Exiting(probity_script::witness::Exiting { code: 0, why: "plan".to_owned() }));
    run.left(9.01).status(10.0, after);
    begins(&mut run, "main", 10.5);
    run.reading(30.0);
    verdict(&run.done(), clause)
}

#[test]
fn a_pod_is_neither_ready_nor_running_nor_initialized_meanwhile() {
    let all = |holds| [("Ready", holds), ("ContainersReady", holds), ("Initialized", holds)];
    let (before, after) = (
        with_conditions("Pending", running(), &all(false)),
        with_conditions("Running", ended(0), &all(true)),
    );
    let early = with_conditions("Running", running(), &all(true));
    for clause in [READY, PENDING, INITIALIZED] {
        assert_eq!(while_it_runs(clause, Some(&before), &after), "holds", "{clause}");
        assert_eq!(while_it_runs(clause, Some(&early), &after), "violated", "{clause}");
        assert_eq!(while_it_runs(clause, None, &after), "violated", "{clause}: eight seconds without a word");
    }
    assert_eq!(while_it_runs(INITIALIZED, Some(&before), &before), "violated", "never initialized");
}

#[test]
fn statuses_of_init_containers_are_in_their_own_list() {
    let judged = |inits: &[&str], mains: &[&str], state: &Value| {
        let mut run = pod(LISTS, "Always", &["one", "two"], &["main"]);
        let all = |names: &[&str]| -> Vec<_> {
            names
                .iter()
                .map(|name| {
                    json!({
                        "name": name, "image": "i", "ready": false, "started": true, "restartCount": 0, "state": state,
                    })
                })
                .collect()
        };
        run.status(1.0, &json!({ "initContainerStatuses": all(inits), "containerStatuses": all(mains) }));
        verdict(&run.done(), LISTS)
    };
    assert_eq!(judged(&["one", "two"], &["main"], &running()), "holds");
    assert_eq!(judged(&["two", "one"], &["main"], &running()), "violated");
    assert_eq!(judged(&[], &["one", "two", "main"], &running()), "violated");
    assert_eq!(judged(&["one", "two"], &["main"], &json!({})), "violated", "no state");
}

#[test]
fn an_init_container_that_runs_has_started() {
    let judged = |state: Value, started: Value| {
        let mut run = pod(LISTS, "Always", &["one"], &["main"]);
        let mut shown = statuses("Pending", &[("one", 0, state)], &[("main", 0, waiting("PodInitializing"))]);
        shown["initContainerStatuses"][0]["started"] = started;
        run.status(1.0, &shown);
        verdict(&run.done(), LISTS)
    };
    assert_ne!(judged(running(), json!(true)), "violated");
    assert_eq!(judged(running(), json!(false)), "violated");
    assert_eq!(judged(running(), Value::Null), "violated");
    assert_ne!(judged(waiting("PodInitializing"), json!(false)), "violated", "it does not run");
    assert_ne!(judged(ended(1), json!(false)), "violated", "it has ended");
}

/// A pod has a volume that only its init container mounts; a container of the pod records what it sees.
fn looks(clause: &str, container: &str, address: &str, mount: &str) -> &'static str {
    let mut of = spec("Always", &["one"], &["main"]);
    of["initContainers"][0]["volumeMounts"] = json!([{ "name": "v", "mountPath": "/v" }]);
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &of);
    let interfaces = BTreeMap::from([("eth0".to_owned(), vec![address.to_owned()])]);
    let files =
        BTreeMap::from([("/proc/self/mountinfo".to_owned(), format!("1 1 0:1 / {mount} rw - t t rw"))]);
    run.of("pod", container).start(1.0, 0);
    run.fact(1.1, Fact::Dump(Dump { interfaces, files, ..Dump::default() }));
    run.status(2.0, &json!({ "phase": "Pending", "podIP": "10.0.0.7" }));
    verdict(&run.done(), clause)
}

#[test]
fn an_init_container_sees_its_network_and_its_volumes() {
    assert_eq!(looks(NETWORK, "one", "10.0.0.7", "/v"), "holds");
    assert_eq!(looks(NETWORK, "one", "127.0.0.1", "/v"), "violated");
    assert_eq!(looks(NETWORK, "one", "10.0.0.7", "/w"), "violated");
    assert_eq!(looks(NETWORK, "main", "10.0.0.7", "/v"), "inconclusive", "no init container");
}

#[test]
fn a_volume_is_seen_only_where_it_is_mounted() {
    assert_eq!(looks(VIEW, "one", "10.0.0.7", "/v"), "holds");
    assert_eq!(looks(VIEW, "one", "10.0.0.7", "/w"), "violated");
    assert_eq!(looks(VIEW, "main", "10.0.0.7", "/w"), "holds");
    assert_eq!(looks(VIEW, "main", "10.0.0.7", "/v"), "violated");
}

#[test]
fn what_cannot_be_started_is_tried_again_as_the_policy_says() {
    let judged = |policy: &str, restarts: u64, phase: &str| {
        let mut run = pod(START_ERROR, policy, &["one"], &["main"]);
        let error = json!({ "terminated": { "exitCode": 128, "reason": "StartError" } });
        let mains = [("main", 0, waiting("PodInitializing"))];
        run.status(2.0, &statuses("Pending", &[("one", 0, error.clone())], &mains));
        run.status(4.0, &statuses(phase, &[("one", restarts, error)], &mains)).reading(30.0);
        verdict(&run.done(), START_ERROR)
    };
    assert_eq!(judged("OnFailure", 1, "Pending"), "holds");
    assert_eq!(judged("OnFailure", 0, "Pending"), "violated");
    assert_eq!(judged("OnFailure", 0, "Failed"), "violated");
    assert_eq!(judged("Never", 0, "Failed"), "holds");
    assert_eq!(judged("Never", 1, "Pending"), "violated");
    assert_eq!(judged("Never", 0, "Pending"), "violated");
}

#[test]
fn an_end_before_the_word_of_an_init_container_is_no_initialization() {
    let mut run = pod(PENDING, "Always", &["one"], &["main"]);
    runs(&mut run, "one", 0, (1.0, 2.0), 0);
    run.status(3.0, &statuses("Running", &[("one", 0, ended(0))], &[("main", 0, running())]));
    assert_eq!(verdict(&run.done(), PENDING), "inconclusive", "nothing was shown meanwhile");
}
