//! Budgets of pods that have controllers.

use probity_composer::{Composer, NODE};
use probity_model::history::{Change, Did};
use serde_json::json;

use super::{Story, running};
use crate::tests::verdict;

const SHARE: &str = "pdb.intended-count-from-controller";
const UPDATE: &str = "pdb.rolling-update-not-limited";
const STATEFUL: &str = "pdb.statefulset-replacement";

fn workload(run: &mut Composer, kind: &str, name: &str, replicas: u64) {
    let manifest = json!({ "metadata": { "name": name }, "spec": { "replicas": replicas } });
    let (kind, name) = (kind.to_owned(), name.to_owned());
    run.deed(0.2, Did::Created { kind, name, manifest });
}

/// Judges a budget with a share. Its status shows `steady` while there are four pods, and `more` while there are five.
fn counted(budget: (&str, &str), steady: (u64, u64), more: (u64, u64)) -> &'static str {
    counted_at(budget, (10.0, steady), (12.0, more))
}

/// Judges a budget with a share, whose status is shown at these times: first with four pods, and then with five.
fn counted_at(
    (field, share): (&str, &str),
    (steady_at, steady): (f64, (u64, u64)),
    (more_at, more): (f64, (u64, u64)),
) -> &'static str {
    let mut story = Story { run: Composer::new(&[SHARE]), names: Vec::new() };
    let (kind, name) = ("PodDisruptionBudget".to_owned(), "half".to_owned());
    let spec = json!({ field: share, "selector": { "matchLabels": { "app": "web" } } });
    let manifest = json!({ "metadata": { "name": "half" }, "spec": spec });
    story.run.deed(0.1, Did::Created { kind, name, manifest });
    workload(&mut story.run, "Deployment", "web", 4);
    for name in ["web-a", "web-b", "web-c", "web-d"] {
        story.pod(1.0, name, &running(true), false);
    }
    let says = |story: &mut Story, at: f64, (expected, desired): (u64, u64)| {
        let status = json!({ "expectedPods": expected, "desiredHealthy": desired });
        let budget = json!({ "metadata": { "name": "half" }, "status": status });
        story.run.sighting(at, "PodDisruptionBudget", "half", Change::Modified, budget);
    };
    says(&mut story, steady_at, steady);
    story.pod(more_at - 0.5, "web-e", &running(true), false);
    says(&mut story, more_at, more);
    story.verdict(20.0, SHARE)
}

#[test]
fn a_status_counts_until_the_next_one() {
    let early = |more: (u64, u64)| counted_at(("minAvailable", "50%"), (2.0, (4, 2)), (3.0, more));
    assert_eq!(early((4, 2)), "holds");
    assert_eq!(early((5, 3)), "violated");
}

#[test]
fn shares_are_taken_of_what_controllers_want() {
    let half = ("minAvailable", "50%");
    assert_eq!(counted(half, (4, 2), (4, 2)), "holds");
    assert_eq!(counted(half, (4, 2), (5, 3)), "violated");
    assert_eq!(counted(half, (0, 0), (4, 2)), "violated");
}

#[test]
fn shares_are_rounded_up() {
    let (least, most) = (("minAvailable", "61%"), ("maxUnavailable", "20%"));
    assert_eq!(counted(least, (4, 3), (4, 3)), "holds");
    assert_eq!(counted(least, (4, 2), (4, 2)), "violated", "rounded down");
    assert_eq!(counted(most, (4, 3), (4, 3)), "holds");
    assert_eq!(counted(most, (4, 4), (4, 4)), "violated", "rounded down");
    assert_eq!(counted(most, (4, 1), (4, 1)), "violated", "maxUnavailable was treated as minAvailable");
}

/// A budget with `maxUnavailable: 20%` and four pods. Two evictions are requested, one after the other, and each is
/// granted or not.
fn evicted(first: bool, second: bool) -> &'static str {
    let limits = "pdb.limits-voluntary";
    let mut story = Story { run: Composer::new(&[limits]), names: Vec::new() };
    let (kind, name) = ("PodDisruptionBudget".to_owned(), "few".to_owned());
    let spec = json!({ "maxUnavailable": "20%", "selector": { "matchLabels": { "app": "web" } } });
    let manifest = json!({ "metadata": { "name": "few" }, "spec": spec });
    story.run.deed(0.1, Did::Created { kind, name, manifest });
    workload(&mut story.run, "Deployment", "web", 4);
    for name in ["web-a", "web-b", "web-c", "web-d"] {
        story.pod(1.0, name, &running(true), false);
    }
    for (at, name, granted) in [(20.0, "web-a", first), (20.2, "web-b", second)] {
        if granted {
            story.granted(at, name);
        } else {
            story.refused(at, name, 429);
        }
    }
    story.verdict(40.0, limits)
}

#[test]
fn evictions_count_against_a_share_of_what_controllers_want() {
    assert_ne!(evicted(true, false), "violated", "one pod can be spared");
    assert_eq!(evicted(true, true), "violated", "three pods are needed");
    assert_eq!(evicted(false, false), "violated", "one pod could be spared");
}

/// A Deployment whose three pods are all needed is updated at 10 s. An old pod terminates, and the eviction of another
/// pod is requested.
fn updated(gone: Option<f64>, granted: bool) -> &'static str {
    let mut story = Story::of(UPDATE, 3, &["web-a", "web-b", "web-c"]);
    workload(&mut story.run, "Deployment", "web", 3);
    let (kind, name, patch) = ("Deployment".to_owned(), "web".to_owned(), json!({ "spec": {} }));
    story.run.deed(10.0, Did::Patched { kind, name, patch, subresource: String::new() });
    if let Some(at) = gone {
        story.pod(at, "web-a", &running(true), true);
    }
    if granted {
        story.granted(30.0, "web-b")
    } else {
        story.refused(30.0, "web-b", 429)
    }
    story.verdict(40.0, UPDATE)
}

#[test]
fn updates_are_not_limited() {
    assert_eq!(updated(Some(10.5), false), "holds");
    assert_eq!(updated(Some(25.0), false), "violated");
    assert_eq!(updated(None, false), "violated");
    assert_eq!(updated(Some(10.5), true), "violated");
}

/// A revision of the pod of a StatefulSet.
fn shown(run: &mut Composer, at: f64, uid: &str, change: Change) {
    let object = json!({
        "metadata": { "name": "db-0", "uid": uid, "labels": {} },
        "spec": { "nodeName": NODE, "containers": [{ "name": "target" }] }, "status": running(true),
    });
    run.sighting(at, "Pod", "db-0", change, object);
}

/// The pod of a StatefulSet is evicted at 5 s and is removed at 11 s; a new pod is created at the given time, or not at
/// all.
fn replaced(next: Option<f64>) -> &'static str {
    let mut run = Composer::new(&[STATEFUL]);
    workload(&mut run, "StatefulSet", "db", 1);
    shown(&mut run, 1.0, "old", Change::Added);
    run.deed(5.0, Did::Evicted { pod: "db-0".to_owned(), refused: None, code: None, cause: None });
    if let Some(at) = next.filter(|at| *at < 11.0) {
        shown(&mut run, at, "new", Change::Added);
    }
    shown(&mut run, 11.0, "old", Change::Deleted);
    if let Some(at) = next.filter(|at| *at > 11.0) {
        shown(&mut run, at, "new", Change::Added);
    }
    run.reading(60.0);
    verdict(&run.done(), STATEFUL)
}

#[test]
fn a_pod_of_a_stateful_set_comes_after_its_predecessor() {
    assert_eq!(replaced(Some(11.2)), "holds");
    assert_eq!(replaced(Some(8.0)), "violated");
    assert_eq!(replaced(Some(40.0)), "violated");
    assert_eq!(replaced(None), "violated");
}
