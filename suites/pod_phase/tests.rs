//! Hand-written histories for the judges of phases and of what a pod keeps.

mod early;
mod gates;
mod held;
mod pressure;
mod rejected;
mod replaced;

use probity_composer::{Composer, timestamp};
use probity_model::history::{Change, Did};
use probity_script::witness::{Exiting, Fact, VolumeSeen};
use serde_json::{Value, json};

use crate::tests::verdict;

const VALUES: &str = "pod.phase.values";
const PENDING: &str = "pod.phase.starts-pending";
const RUNNING: &str = "pod.phase.running";
const MOVES: &str = "pod.phase.moves-to-running";
const SUCCEEDED: &str = "pod.phase.succeeded";
const FAILED: &str = "pod.phase.failed";
const BESIDE: &str = "pod.phase.not-kubectl-status";
const STICKY: &str = "pod.phase.terminal-sticky";
const REMOVAL: &str = "pod.phase.terminal-before-removal";
const UID: &str = "pod.lifecycle.unique-uid";
const NODE: &str = "pod.lifecycle.scheduled-once";
const VOLUME: &str = "pod.lifecycle.volume-tied-to-uid";

fn spec(policy: &str) -> Value {
    json!({ "restartPolicy": policy, "containers": [{ "name": "target" }] })
}

/// A pod with one container, whose process starts at 1 s.
fn pod(clause: &str, policy: &str) -> Composer {
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &spec(policy)).start(1.0, 0);
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

fn runs() -> Value {
    json!({ "running": { "startedAt": timestamp(1.0) } })
}

fn ended(code: i64) -> Value {
    json!({ "terminated": { "exitCode": code, "reason": "Error" } })
}

fn waits(reason: &str) -> Value {
    json!({ "waiting": { "reason": reason } })
}

fn exits(run: &mut Composer, at: f64, code: u8) {
    run.fact(at, Fact::Exiting(Exiting { code, why: "plan".to_owned() }));
    run.left(at + 0.01);
}

#[test]
fn a_phase_is_one_of_five() {
    let judged = |phase: &str| {
        let mut run = pod(VALUES, "Always");
        run.status(1.5, &status(phase, 0, runs(), json!({})));
        verdict(&run.done(), VALUES)
    };
    assert_eq!(judged("Running"), "holds");
    assert_eq!(judged("CrashLoopBackOff"), "violated");
    assert_eq!(judged(""), "violated");
}

#[test]
fn a_pod_is_pending_until_a_process_begins() {
    let judged = |phase: &str| {
        let mut run = Composer::new(&[PENDING]);
        run.create(0.0, &spec("Always"))
            .status(0.5, &status(phase, 0, waits("ContainerCreating"), json!({})));
        run.start(1.0, 0);
        verdict(&run.done(), PENDING)
    };
    assert_eq!(judged("Pending"), "holds");
    assert_eq!(judged("Running"), "violated");
    let mut unheard = Composer::new(&[PENDING]);
    unheard.create(0.0, &spec("Always"));
    assert_eq!(verdict(&unheard.done(), PENDING), "inconclusive", "no record shows when a process began");
}

#[test]
fn a_running_pod_has_a_node_and_made_containers() {
    let judged = |bound: bool, state: Value, last: Value| {
        let mut run = pod(RUNNING, "Always");
        let mut spec = spec("Always");
        if bound {
            spec["nodeName"] = json!("node1");
        }
        run.pod_seen(1.5, &spec, &status("Running", 0, state, last), Change::Modified);
        verdict(&run.done(), RUNNING)
    };
    assert_eq!(judged(true, runs(), json!({})), "holds");
    assert_eq!(judged(false, runs(), json!({})), "violated");
    assert_eq!(judged(true, waits("ContainerCreating"), json!({})), "violated");
    assert_eq!(judged(true, waits("CrashLoopBackOff"), ended(1)), "holds");
}

#[test]
fn a_container_that_comes_back_leaves_its_pod_running() {
    let mut run = pod(RUNNING, "Always");
    run.status(1.5, &status("Running", 0, runs(), json!({})));
    exits(&mut run, 3.0, 1);
    run.status(3.5, &status("Failed", 0, ended(1), json!({}))).start(6.0, 1);
    assert_eq!(verdict(&run.done(), RUNNING), "violated");
}

#[test]
fn pending_ends_soon_after_the_start_and_for_good() {
    let judged = |at: f64, back: bool| {
        let mut run = pod(MOVES, "Always");
        run.status(at, &status("Running", 0, runs(), json!({})));
        if back {
            run.status(at + 1.0, &status("Pending", 0, runs(), json!({})));
        }
        verdict(&run.done(), MOVES)
    };
    assert_eq!(judged(2.0, false), "holds");
    assert_eq!(judged(9.0, false), "violated");
    assert_eq!(judged(2.0, true), "violated");
    let mut never = pod(MOVES, "Always");
    never.reading(30.0);
    assert_eq!(verdict(&never.done(), MOVES), "violated");
    let mut short = pod(MOVES, "Always");
    short.reading(3.0);
    assert_eq!(verdict(&short.done(), MOVES), "inconclusive");
}

/// The process exits with a status at 3 s, and the pod has a phase from 4 s on.
fn over(clause: &str, policy: &str, code: u8, phase: &str, at: f64) -> &'static str {
    let mut run = pod(clause, policy);
    run.status(1.5, &status("Running", 0, runs(), json!({})));
    exits(&mut run, 3.0, code);
    run.status(at, &status(phase, 0, ended(code.into()), json!({}))).reading(30.0);
    verdict(&run.done(), clause)
}

#[test]
fn the_way_of_the_end_decides_the_phase() {
    assert_eq!(over(SUCCEEDED, "Never", 0, "Succeeded", 4.0), "holds");
    assert_eq!(over(SUCCEEDED, "OnFailure", 0, "Succeeded", 4.0), "holds");
    assert_eq!(over(SUCCEEDED, "Never", 0, "Succeeded", 15.0), "violated", "it came late");
    assert_eq!(over(SUCCEEDED, "Never", 0, "Failed", 4.0), "violated");
    assert_eq!(over(SUCCEEDED, "Never", 0, "Running", 4.0), "violated");
    assert_eq!(over(FAILED, "Never", 3, "Failed", 4.0), "holds");
    assert_eq!(over(FAILED, "Never", 3, "Succeeded", 4.0), "violated");
    assert_eq!(over(FAILED, "OnFailure", 3, "Running", 4.0), "inconclusive", "the container must restart");
}

#[test]
fn a_pod_whose_process_goes_on_is_not_over() {
    let mut run = pod(SUCCEEDED, "Never");
    run.status(2.0, &status("Succeeded", 0, ended(0), json!({}))).probe(5.0, "/", 200);
    assert_eq!(verdict(&run.done(), SUCCEEDED), "violated");
}

#[test]
fn a_pod_that_is_over_stays_so() {
    let judged = |phase: &str, again: bool, until: f64| {
        let mut run = pod(STICKY, "Never");
        exits(&mut run, 3.0, 0);
        run.status(4.0, &status("Succeeded", 0, ended(0), json!({})));
        if !phase.is_empty() {
            run.status(6.0, &status(phase, 0, ended(0), json!({})));
        }
        if again {
            run.start(7.0, 1);
        }
        run.reading(until);
        verdict(&run.done(), STICKY)
    };
    assert_eq!(judged("Succeeded", false, 8.0), "holds");
    assert_eq!(judged("", false, 30.0), "holds");
    assert_eq!(judged("", false, 4.5), "inconclusive");
    assert_eq!(judged("Running", false, 8.0), "violated");
    assert_eq!(judged("Succeeded", true, 8.0), "violated");
}

#[test]
fn what_kubectl_shows_is_no_phase() {
    let judged = |phase: &str| {
        let mut run = pod(BESIDE, "Always");
        run.status(1.5, &status("Running", 0, runs(), json!({})));
        run.status(4.0, &status(phase, 1, waits("CrashLoopBackOff"), ended(1)));
        verdict(&run.done(), BESIDE)
    };
    assert_eq!(judged("Running"), "holds");
    assert_eq!(judged("Pending"), "violated");
    assert_eq!(judged("CrashLoopBackOff"), "violated");
}

/// A pod is deleted, its process exits with a status, and it is removed in a phase.
fn removed(code: Option<u8>, phase: &str, grace: Option<u64>) -> &'static str {
    let mut run = pod(REMOVAL, "Always");
    run.status(1.5, &status("Running", 0, runs(), json!({})));
    run.deed(3.0, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace });
    run.signal(3.1, "SIGTERM");
    match code {
        Some(code) => {
            run.fact(3.2, Fact::Exiting(Exiting { code, why: "stop".to_owned() }));
            run.left(3.3);
        }
        None => {
            run.left(5.0);
        }
    }
    let mut bound = spec("Always");
    bound["nodeName"] = json!("node1");
    run.pod_seen(6.0, &bound, &status(phase, 0, ended(1), json!({})), Change::Deleted);
    verdict(&run.done(), REMOVAL)
}

#[test]
fn a_deleted_pod_is_over_before_it_is_gone() {
    assert_eq!(removed(Some(0), "Succeeded", None), "holds");
    assert_eq!(removed(Some(3), "Failed", None), "holds");
    assert_eq!(removed(None, "Failed", None), "holds");
    assert_eq!(removed(Some(0), "Running", None), "violated");
    assert_eq!(removed(Some(0), "Failed", None), "violated");
    assert_eq!(removed(None, "Succeeded", None), "violated");
    assert_eq!(removed(Some(0), "Running", Some(0)), "inconclusive", "it was deleted at once");
}

/// A pod is removed, and a new one with the same name and this UID is created; its process has this attempt number.
fn replaced(clause: &str, uid: &str, attempt: u64) -> &'static str {
    let mut run = pod(clause, "Always");
    run.status(1.5, &status("Running", 0, runs(), json!({})));
    let mut bound = spec("Always");
    bound["nodeName"] = json!("node1");
    run.left(3.0).pod_seen(4.0, &bound, &status("Succeeded", 0, ended(0), json!({})), Change::Deleted);
    let object = json!({
        "metadata": { "name": "pod", "uid": uid, "labels": { "probity.dev/pod": "pod" } },
        "spec": bound, "status": { "phase": "Pending" },
    });
    run.sighting(5.0, "Pod", "pod", Change::Added, object);
    let history = with_uid(run, uid, attempt);
    verdict(&history, clause)
}

/// Adds a process of the pod with this UID.
fn with_uid(mut run: Composer, uid: &str, attempt: u64) -> probity_model::History {
    use probity_model::history::Happening;
    run.start(6.0, attempt);
    let old = run.done();
    let mut history = probity_model::History::new(old.header.clone());
    let last = old.events().filter(|(_, event)| event.us >= 6_000_000).map(|(id, _)| id).collect::<Vec<_>>();
    for (id, event) in old.events() {
        let mut what = event.what.clone();
        if let (Happening::Witness(heard), true) = (&mut what, last.contains(&id)) {
            uid.clone_into(&mut heard.uid);
            rename(heard);
        }
        history.push(event.us, what);
    }
    history
}

fn rename(heard: &mut probity_model::history::Heard) {
    use probity_script::witness::Entry;
    match &mut heard.entry {
        Entry::Joined { hello, .. } => hello.boot = "another".to_owned(),
        Entry::Line(line) => line.boot = "another".to_owned(),
        _ => {}
    }
}

#[test]
fn a_pod_that_takes_a_name_has_another_uid() {
    assert_eq!(replaced(UID, "uid-other", 0), "holds");
    assert_eq!(replaced(UID, "uid-pod", 0), "violated");
    assert_eq!(verdict(&pod(UID, "Always").done(), UID), "inconclusive", "one pod alone");
}

#[test]
fn a_volume_goes_with_its_pod() {
    assert_eq!(replaced(VOLUME, "uid-other", 0), "holds");
    assert_eq!(replaced(VOLUME, "uid-other", 1), "violated");
}

#[test]
fn a_volume_is_kept_until_the_containers_have_ended() {
    let judged = |kept: bool| {
        let mut run = pod(VOLUME, "Always");
        run.signal(3.0, "SIGTERM");
        run.fact(5.0, Fact::Volume(VolumeSeen { kept }));
        exits(&mut run, 5.0, 0);
        verdict(&run.done(), VOLUME)
    };
    assert_eq!(judged(true), "holds");
    assert_eq!(judged(false), "violated");
}

#[test]
fn a_volume_survives_a_restart() {
    let judged = |attempt: u64| {
        let mut run = pod(VOLUME, "Always");
        exits(&mut run, 3.0, 1);
        // If the file is lost, the process cannot distinguish its instances, but their names still differ.
        run.of("pod", "target").start(4.0, attempt);
        verdict(&run.done(), VOLUME)
    };
    assert_eq!(judged(1), "holds");
    assert_eq!(verdict(&pod(VOLUME, "Always").done(), VOLUME), "inconclusive");
}

#[test]
fn a_pod_stays_on_its_node() {
    let judged = |node: &str| {
        let mut run = pod(NODE, "Always");
        let mut spec = spec("Always");
        spec["nodeName"] = json!(node);
        run.pod_seen(5.0, &spec, &status("Running", 0, runs(), json!({})), Change::Modified);
        verdict(&run.done(), NODE)
    };
    assert_eq!(judged("node1"), "holds");
    assert_eq!(judged("node2"), "violated");
}

#[test]
fn the_phase_is_not_unknown_while_the_node_responds() {
    let judged = |phase: &str| {
        let mut run = pod(MOVES, "Always");
        run.status(1.5, &status("Running", 0, runs(), json!({})));
        run.status(5.0, &status(phase, 0, runs(), json!({}))).reading(30.0);
        verdict(&run.done(), MOVES)
    };
    assert_eq!(judged("Running"), "holds");
    assert_eq!(judged("Unknown"), "violated");
}
