//! Hand-written histories of a node whose network is cut.

use probity_composer::{Composer, NODE, timestamp};
use probity_model::history::{Change, Did};
use serde_json::{Value, json};

use crate::tests::verdict;

const UNKNOWN: &str = "pod.phase.unknown";
const FAILED: &str = "pod.phase.node-loss-failed";
const DELETED: &str = "pod.lifecycle.node-failure-deletes";
const NEVER: &str = "pod.lifecycle.never-started-on-dead-node";

/// When the network is cut, when the cluster notices it, and when the network is back.
const CUT: f64 = 10.0;
const NOTICED: f64 = 56.0;
const BACK: f64 = 90.0;

/// A revision of a pod that tolerates the loss of its node for twelve seconds.
fn shown(run: &mut Composer, at: f64, name: &str, (phase, ready): (&str, bool), deleted: bool) {
    let mut metadata = json!({ "name": name, "uid": format!("uid-{name}") });
    if deleted {
        metadata["deletionTimestamp"] = json!(timestamp(at + 4.0));
    }
    let toleration = json!({ "key": super::UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 12 });
    let condition = json!({ "type": "Ready", "status": if ready { "True" } else { "False" } });
    let pod = json!({
        "metadata": metadata,
        "spec": { "nodeName": NODE, "tolerations": [toleration], "containers": [{ "name": "target" }] },
        "status": { "phase": phase, "conditions": [condition] },
    });
    run.sighting(at, "Pod", name, Change::Modified, pod);
}

fn verb(run: &mut Composer, at: f64, verb: &str) {
    run.deed(at, Did::verb(NODE, verb, Some(0), None));
}

/// A pod runs on a node, and the network of the node is cut.
fn cut(clause: &str) -> Composer {
    let mut run = Composer::new(&[clause]);
    shown(&mut run, 1.0, "lost", ("Running", true), false);
    run.of("lost", "target").start(2.0, 0);
    verb(&mut run, CUT, "cut");
    run
}

fn back(mut run: Composer, clause: &str) -> &'static str {
    verb(&mut run, BACK, "heal");
    run.of("lost", "target").reading(BACK + 5.0);
    verdict(&run.done(), clause)
}

/// The verdict if the pod has this phase from the moment when the loss is noticed.
fn phase(clause: &str, phase: &str) -> &'static str {
    let mut run = cut(clause);
    shown(&mut run, NOTICED, "lost", (phase, false), false);
    back(run, clause)
}

#[test]
fn the_phase_of_a_pod_on_a_lost_node() {
    assert_eq!([phase(UNKNOWN, "Unknown"), phase(FAILED, "Failed")], ["holds", "holds"]);
    assert_eq!([phase(UNKNOWN, "Running"), phase(FAILED, "Running")], ["diverges", "diverges"]);
    assert_eq!([phase(UNKNOWN, "Pending"), phase(FAILED, "Succeeded")], ["violated", "violated"]);
    assert_eq!(back(cut(UNKNOWN), UNKNOWN), "inconclusive", "nobody noticed it");
    let mut heard = cut(UNKNOWN);
    shown(&mut heard, NOTICED, "lost", ("Running", false), false);
    heard.of("lost", "target").start(NOTICED + 5.0, 1);
    assert_eq!(back(heard, UNKNOWN), "inconclusive", "the node was not cut off");
}

/// The loss is noticed, and the pod is deleted at this time.
fn deleted(at: Option<f64>) -> &'static str {
    let mut run = cut(DELETED);
    shown(&mut run, NOTICED, "lost", ("Running", false), false);
    at.into_iter().for_each(|at| shown(&mut run, at, "lost", ("Running", false), true));
    back(run, DELETED)
}

#[test]
fn a_pod_on_a_lost_node_is_deleted_when_it_no_longer_tolerates_that() {
    assert_eq!(deleted(Some(NOTICED + 12.3)), "holds");
    assert_eq!(deleted(Some(NOTICED + 3.0)), "violated", "too early");
    assert_eq!(deleted(Some(NOTICED + 29.0)), "violated", "too late");
    assert_eq!(deleted(None), "violated");
}

#[test]
fn a_lost_node_must_be_noticed() {
    let mut run = cut(DELETED);
    shown(&mut run, 40.0, "lost", ("Running", true), false);
    assert_eq!(back(run, DELETED), "inconclusive", "too short to tell");
    let mut run = cut(DELETED);
    run.reading(130.0);
    assert_eq!(verdict(&run.done(), DELETED), "violated");
}

/// Another pod is bound to the node while the node is lost; `more` adds what the pod then shows and does.
fn late(more: impl FnOnce(&mut Composer)) -> &'static str {
    let mut run = cut(NEVER);
    shown(&mut run, NOTICED, "lost", ("Running", false), false);
    shown(&mut run, NOTICED + 2.0, "late", ("Pending", false), false);
    more(&mut run);
    back(run, NEVER)
}

#[test]
fn a_pod_that_was_bound_to_a_lost_node_never_starts() {
    let goes = |run: &mut Composer, phase: &str| shown(run, 75.0, "late", (phase, false), true);
    assert_eq!(late(|run| goes(run, "Pending")), "holds");
    assert_eq!(late(|run| goes(run, "Running")), "violated");
    assert_eq!(late(|_| ()), "inconclusive", "it may start when the node is back");
    let started = late(|run| {
        goes(run, "Pending");
        verb(run, BACK - 1.0, "heal");
        run.of("late", "target").start(BACK, 0);
    });
    assert_eq!(started, "violated", "it was deleted before");
}

#[test]
fn without_a_toleration_of_its_own_a_pod_stays_for_five_minutes() {
    let pod = |tolerations: Value| {
        let mut run = Composer::new(&[DELETED]);
        let spec = json!({ "nodeName": NODE, "tolerations": tolerations });
        let object = json!({ "metadata": { "name": "one", "uid": "uid" }, "spec": spec, "status": {} });
        run.sighting(1.0, "Pod", "one", Change::Added, object);
        let history = run.done();
        let timeline = probity_model::Timeline::of(&history);
        timeline.pods.first().and_then(super::tolerated)
    };
    assert_eq!(pod(json!([])), Some(300));
    assert_eq!(pod(json!([{ "key": super::UNREACHABLE, "operator": "Exists" }])), None);
}
