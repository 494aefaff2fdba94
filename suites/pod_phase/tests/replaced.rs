//! Hand-written histories of deleted pods: with a controller, and without.

use probity_composer::{Composer, NODE};
use probity_model::history::{Change, Did};
use serde_json::{Value, json};

use crate::tests::verdict;

const REPLACES: &str = "pod.lifecycle.controller-replaces";

fn object(name: &str, uid: &str, kind: Option<&str>) -> Value {
    let owners: Vec<Value> = kind
        .iter()
        .map(|kind| json!({ "kind": kind, "name": "web-1", "uid": "uid-of-web", "controller": true }))
        .collect();
    json!({
        "metadata": { "name": name, "uid": uid, "labels": { "probity.dev/pod": "web" }, "ownerReferences": owners },
        "spec": { "nodeName": NODE, "containers": [{ "name": "target" }] }, "status": { "phase": "Running" },
    })
}

fn delete(run: &mut Composer, at: f64, name: &str) {
    run.deed(at, Did::Deleted { kind: "Pod".to_owned(), name: name.to_owned(), grace: None });
}

/// A pod with a controller of this kind is deleted at 5 s. A replacement may be created at this time, and then the
/// history ends.
fn controlled(kind: &str, next: Option<f64>, uid: &str, end: f64) -> Composer {
    let mut run = Composer::new(&[REPLACES]);
    run.sighting(1.0, "Pod", "web-1-a", Change::Added, object("web-1-a", "uid-a", Some(kind)));
    delete(&mut run, 5.0, "web-1-a");
    if let Some(at) = next {
        run.sighting(at, "Pod", "web-1-b", Change::Added, object("web-1-b", uid, Some(kind)));
    }
    run.sighting(7.5, "Pod", "web-1-a", Change::Deleted, object("web-1-a", "uid-a", Some(kind)));
    run.reading(end);
    run
}

#[test]
fn a_controller_replaces_a_deleted_pod() {
    let judged = |next, end| verdict(&controlled("ReplicaSet", next, "uid-b", end).done(), REPLACES);
    assert_eq!(judged(Some(5.2), 30.0), "holds");
    assert_eq!(judged(Some(25.0), 30.0), "violated", "it came late");
    assert_eq!(judged(None, 30.0), "violated");
    assert_eq!(judged(None, 8.0), "inconclusive", "the case ended too early");
}

#[test]
fn a_replacement_has_another_uid_and_the_same_owner() {
    let mut run = controlled("ReplicaSet", None, "", 6.0);
    let mut other = object("web-2-a", "uid-c", Some("ReplicaSet"));
    other["metadata"]["ownerReferences"][0]["uid"] = json!("uid-of-another");
    run.sighting(8.0, "Pod", "web-2-a", Change::Added, other);
    run.reading(30.0);
    assert_eq!(verdict(&run.done(), REPLACES), "violated");
    let again = controlled("ReplicaSet", Some(5.2), "uid-a", 30.0);
    assert_eq!(verdict(&again.done(), REPLACES), "violated", "it is the same pod");
}

#[test]
fn where_other_pods_are_wanted_a_replacement_may_be_missing() {
    let mut run = controlled("ReplicaSet", None, "", 6.0);
    run.deed(4.0, Did::Scaled { kind: "Deployment".to_owned(), name: "web".to_owned(), replicas: 0 });
    run.reading(30.0);
    assert_eq!(verdict(&run.done(), REPLACES), "inconclusive");
    let of_a_job = controlled("Job", None, "", 30.0);
    assert_eq!(verdict(&of_a_job.done(), REPLACES), "inconclusive");
}

#[test]
fn a_missed_revision_may_have_been_the_replacement() {
    let mut run = controlled("ReplicaSet", None, "", 6.0);
    run.gap(10.0, 12.0, "Pod");
    run.reading(30.0);
    assert_eq!(verdict(&run.done(), REPLACES), "inconclusive");
}

/// A pod without a controller is deleted and gone at 6 s.
fn bare() -> Composer {
    let mut run = Composer::new(&[REPLACES]);
    let manifest = object("web", "", None);
    run.deed(0.5, Did::Created { kind: "Pod".to_owned(), name: "web".to_owned(), manifest });
    run.sighting(1.0, "Pod", "web", Change::Added, object("web", "uid-a", None));
    delete(&mut run, 5.0, "web");
    run.sighting(6.0, "Pod", "web", Change::Deleted, object("web", "uid-a", None));
    run
}

#[test]
fn nobody_creates_a_bare_pod_again() {
    let mut gone = bare();
    gone.reading(30.0);
    assert_eq!(verdict(&gone.done(), REPLACES), "holds");
    let mut short = bare();
    short.reading(7.0);
    assert_eq!(verdict(&short.done(), REPLACES), "inconclusive");
    let mut back = bare();
    back.sighting(8.0, "Pod", "web", Change::Added, object("web", "uid-b", None));
    back.reading(30.0);
    assert_eq!(verdict(&back.done(), REPLACES), "violated");
}

#[test]
fn a_case_may_create_a_bare_pod_again() {
    let judged = |at: f64| {
        let mut run = bare();
        let manifest = object("web", "", None);
        run.deed(at, Did::Created { kind: "Pod".to_owned(), name: "web".to_owned(), manifest });
        run.sighting(at + 0.1, "Pod", "web", Change::Added, object("web", "uid-b", None));
        run.reading(30.0);
        verdict(&run.done(), REPLACES)
    };
    assert_eq!(judged(20.0), "holds");
    assert_eq!(judged(6.5), "inconclusive", "nobody else had time for it");
}
