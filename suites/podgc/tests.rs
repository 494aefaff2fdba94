//! Hand-written histories for the judges of pods that are garbage collected, and of pods that stay.

mod outage;
mod threshold;

use probity_composer::{Composer, NODE};
use probity_model::history::{Change, Did};
use serde_json::{Value, json};

use crate::tests::verdict;

fn failed() -> Value {
    json!({ "phase": "Failed" })
}

#[test]
fn a_pod_that_failed_stays_until_it_is_deleted() {
    let clause = "podgc.failed-pods-kept";
    let judged = |removed: Option<f64>, asked: bool, until: f64| {
        let mut run = Composer::new(&[clause]);
        let spec = json!({ "nodeName": NODE, "containers": [{ "name": "target" }] });
        run.create(0.0, &spec).status(2.0, &failed());
        if asked {
            run.deed(5.0, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace: None });
        }
        if let Some(at) = removed {
            run.pod_seen(at, &spec, &failed(), Change::Deleted);
        }
        run.reading(until);
        verdict(&run.done(), clause)
    };
    assert_eq!(judged(None, false, 60.0), "holds");
    assert_eq!(judged(Some(9.0), false, 60.0), "violated");
    assert_eq!(judged(Some(9.0), true, 60.0), "inconclusive", "somebody deleted it");
    assert_eq!(judged(None, false, 9.0), "inconclusive", "the pod was not watched for long enough");
}

#[test]
fn a_failed_pod_that_a_controller_may_have_removed_is_a_doubt() {
    let clause = "podgc.failed-pods-kept";
    let judged = |intended: &[&str], status: &Value| {
        let mut run = Composer::new(intended);
        let spec = json!({ "nodeName": NODE, "containers": [{ "name": "target" }] });
        run.create(0.0, &spec).status(2.0, status).pod_seen(9.0, &spec, status, Change::Deleted);
        run.reading(60.0);
        verdict(&run.done(), clause)
    };
    assert_eq!(judged(&[clause], &failed()), "violated");
    assert_eq!(judged(&[], &failed()), "inconclusive", "the case is about something else");
    assert_eq!(judged(&[clause], &json!({ "phase": "Failed", "reason": "Evicted" })), "inconclusive");
}

/// The spec of a pod on a node that the cluster does not have.
fn lost() -> Value {
    json!({ "nodeName": "none", "containers": [{ "name": "target" }] })
}

/// Such a pod is created.
fn with_lost_pod(clause: &str) -> Composer {
    let mut run = Composer::new(&[clause]);
    let manifest = json!({ "metadata": { "name": "pod" }, "spec": lost() });
    run.deed(0.0, Did::Created { kind: "Pod".to_owned(), name: "pod".to_owned(), manifest });
    run.pod_seen(0.1, &lost(), &json!({ "phase": "Pending" }), Change::Added);
    run
}

/// Judges such a pod, which is removed at this time and with this status.
fn orphan(clause: &str, removed: Option<f64>, status: &Value) -> &'static str {
    let mut run = with_lost_pod(clause);
    if let Some(at) = removed {
        run.pod_seen(at, &lost(), status, Change::Deleted);
    }
    run.reading(300.0);
    verdict(&run.done(), clause)
}

fn explained(phase: &str, reason: &str) -> Value {
    json!({ "phase": phase, "conditions": [{ "type": "DisruptionTarget", "status": "True", "reason": reason }] })
}

#[test]
fn a_pod_on_a_node_that_does_not_exist_is_removed() {
    let clause = "podgc.orphaned";
    assert_eq!(orphan(clause, Some(62.0), &failed()), "holds");
    assert_eq!(orphan(clause, Some(200.0), &failed()), "violated");
    assert_eq!(orphan(clause, None, &failed()), "violated");
    assert_eq!(verdict(&Composer::new(&[clause]).done(), clause), "inconclusive");
}

#[test]
fn a_pod_that_was_deleted_there_is_also_removed() {
    let clause = "podgc.orphaned";
    let judged = |grace: Option<u64>, recorded: u64, removed: Option<f64>| {
        let mut run = with_lost_pod(clause);
        run.deed(1.0, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace });
        let object = json!({
            "metadata": {
                "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod" },
                "deletionTimestamp": "2026-01-01T00:00:31Z", "deletionGracePeriodSeconds": recorded,
            },
            "spec": lost(), "status": failed(),
        });
        run.sighting(1.1, "Pod", "pod", Change::Modified, object.clone());
        if let Some(at) = removed {
            run.sighting(at, "Pod", "pod", Change::Deleted, object);
        }
        run.reading(300.0);
        verdict(&run.done(), clause)
    };
    assert_eq!(judged(None, 30, Some(62.0)), "holds");
    assert_eq!(judged(None, 30, Some(200.0)), "violated");
    assert_eq!(judged(None, 30, None), "violated", "no kubelet removes it");
    assert_eq!(judged(Some(0), 0, Some(1.2)), "inconclusive", "its deletion removed it");
    assert_eq!(judged(None, 0, Some(1.2)), "inconclusive", "its own grace period is zero");
}

/// A pod without a node and with these finalizers is deleted at 2 s, and is Failed or removed later.
fn unscheduled(finalizers: &[&str], failed: Option<f64>, gone: Option<f64>, until: f64) -> &'static str {
    let clause = "podgc.unscheduled-terminating";
    let shown = |phase: &str, going: bool| {
        let mut object = json!({
            "metadata": { "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod" }, "finalizers": finalizers },
            "spec": { "containers": [{ "name": "target" }] }, "status": { "phase": phase },
        });
        if going {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        object
    };
    let mut run = Composer::new(&[clause]);
    run.sighting(0.1, "Pod", "pod", Change::Added, shown("Pending", false));
    run.sighting(2.0, "Pod", "pod", Change::Modified, shown("Pending", true));
    if let Some(at) = failed {
        run.sighting(at, "Pod", "pod", Change::Modified, shown("Failed", true));
    }
    if let Some(at) = gone {
        run.sighting(at, "Pod", "pod", Change::Deleted, shown("Pending", true));
    }
    run.reading(until);
    verdict(&run.done(), clause)
}

#[test]
fn a_pod_that_goes_and_never_had_a_node_fails() {
    let held = ["probity.dev/held"];
    assert_eq!(unscheduled(&held, Some(20.0), None, 100.0), "holds");
    assert_eq!(unscheduled(&held, Some(70.0), None, 100.0), "violated");
    assert_eq!(unscheduled(&held, None, None, 100.0), "violated");
    assert_eq!(unscheduled(&held, None, None, 20.0), "inconclusive", "the collector may not have looked yet");
    assert_eq!(
        unscheduled(&held, None, Some(9.0), 100.0),
        "inconclusive",
        "somebody else removed the finalizer"
    );
    assert_eq!(unscheduled(&[], Some(20.0), None, 100.0), "inconclusive", "no finalizer keeps the pod");
}

#[test]
fn it_has_failed_by_then_and_says_why() {
    let clause = "podgc.orphaned-condition";
    assert_eq!(orphan(clause, Some(62.0), &explained("Failed", "DeletionByPodGC")), "holds");
    assert_eq!(orphan(clause, Some(62.0), &explained("Pending", "DeletionByPodGC")), "violated");
    assert_eq!(orphan(clause, Some(62.0), &explained("Failed", "DeletionByTaintManager")), "violated");
    assert_eq!(orphan(clause, Some(62.0), &failed()), "violated");
    assert_eq!(orphan(clause, None, &failed()), "inconclusive");
}

#[test]
fn a_pod_that_had_finished_keeps_its_phase() {
    let clause = "podgc.orphaned-condition";
    let judged = |patched: &str, shown: &str, last: &Value| {
        let mut run = with_lost_pod(clause);
        let patch = json!({ "status": { "phase": patched } });
        let (kind, name, subresource) = ("Pod".to_owned(), "pod".to_owned(), "status".to_owned());
        run.deed(1.0, Did::Patched { kind, name, patch, subresource });
        run.status(1.1, &json!({ "phase": shown })).pod_seen(62.0, &lost(), last, Change::Deleted);
        run.reading(300.0);
        verdict(&run.done(), clause)
    };
    let collected = explained("Failed", "DeletionByPodGC");
    assert_eq!(judged("Succeeded", "Succeeded", &json!({ "phase": "Succeeded" })), "holds");
    assert_eq!(judged("Failed", "Failed", &failed()), "holds");
    assert_eq!(judged("Succeeded", "Succeeded", &collected), "violated");
    assert_eq!(judged("Succeeded", "Pending", &collected), "holds", "the patch had no effect");
    assert_eq!(judged("Running", "Running", &failed()), "violated", "nothing gives the reason");
}
