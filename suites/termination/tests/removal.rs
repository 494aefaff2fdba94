//! When pods are removed.

use probity_composer::{Composer, NODE};
use probity_model::history::{Change, Did};
use probity_script::witness::{Exiting, Fact};
use serde_json::json;

use super::{ASKED, at, delete, exits, gone, killed, one, shown, told};

const EARLY: &str = "termination.exit-early-ends-early";
const FINAL: &str = "termination.final-delete-zero";
const IDLE: &str = "termination.unscheduled-immediate";
const AT_ONCE: &str = "termination.forced.immediate-api-removal";
const NAME: &str = "termination.forced.name-reusable";

/// A pod ends a second after its signal, and is removed at this time.
fn removed(clause: &str, grace: u64, when: Option<f64>) -> &'static str {
    let mut run = one(clause, Some(grace));
    delete(&mut run, ASKED, None);
    shown(&mut run, ASKED, (ASKED + 60.0, 60), Change::Modified);
    told(&mut run, "target", ASKED + 0.1);
    exits(&mut run, "target", ASKED + 1.0, 0);
    if let Some(when) = when {
        gone(&mut run, when);
    }
    at(run, 90.0, clause)
}

#[test]
fn early_ends_are_followed_by_early_removals() {
    assert_eq!(removed(EARLY, 60, Some(13.0)), "holds");
    assert_eq!(removed(EARLY, 60, Some(70.0)), "violated");
    assert_eq!(removed(EARLY, 60, None), "violated");
    assert_eq!(removed(EARLY, 8, Some(13.0)), "inconclusive", "little was left");
}

/// A pod with an init container waits for a volume whose content was created or not. It is deleted, and removed at this
/// time.
fn unmounted(made: bool, when: Option<f64>) -> &'static str {
    let mut run = Composer::new(&[EARLY]);
    if made {
        let (kind, name, manifest) = ("ConfigMap".to_owned(), "words".to_owned(), json!({}));
        run.deed(0.0, Did::Created { kind, name, manifest });
    }
    let spec = json!({
        "terminationGracePeriodSeconds": 60, "initContainers": [{ "name": "prepare" }],
        "containers": [{ "name": "target" }], "volumes": [{ "name": "words", "configMap": { "name": "words" } }],
    });
    run.create(0.1, &spec);
    let waits = |name: &str| {
        let state = json!({ "waiting": { "reason": "PodInitializing" } });
        json!([{ "name": name, "restartCount": 0, "ready": false, "state": state }])
    };
    let (inits, mains) = (waits("prepare"), waits("target"));
    let status = json!({ "phase": "Pending", "initContainerStatuses": inits, "containerStatuses": mains });
    run.status(2.0, &status);
    delete(&mut run, ASKED, None);
    shown(&mut run, ASKED, (ASKED + 60.0, 60), Change::Modified);
    if let Some(when) = when {
        gone(&mut run, when);
    }
    at(run, 90.0, EARLY)
}

#[test]
fn a_pod_that_waits_for_a_volume_is_removed_at_once() {
    assert_eq!(unmounted(false, Some(ASKED + 1.0)), "holds");
    assert_eq!(unmounted(false, Some(ASKED + 40.0)), "violated");
    assert_eq!(unmounted(false, None), "violated");
    assert_eq!(unmounted(true, None), "inconclusive", "a container may run");
}

#[test]
fn a_pod_is_removed_after_its_last_end() {
    assert_eq!(removed(FINAL, 60, Some(13.0)), "holds");
    assert_eq!(removed(FINAL, 60, Some(34.0)), "violated");
    assert_eq!(removed(FINAL, 60, Some(ASKED + 0.5)), "violated", "its process went on");
}

/// The processes of two pods end a second after their signals. Each pod is removed at its time.
fn both_removed(clause: &str, removals: [f64; 2]) -> &'static str {
    let mut run = Composer::new(&[clause]);
    let containers = json!([{ "name": "target" }]);
    let spec = json!({ "terminationGracePeriodSeconds": 60, "nodeName": NODE, "containers": containers });
    let pods = ["one", "two"];
    for pod in pods {
        run.of(pod, "target").create(0.0, &spec).start(1.0, 0);
    }
    for pod in pods {
        run.deed(ASKED, Did::Deleted { kind: "Pod".to_owned(), name: pod.to_owned(), grace: None });
    }
    for pod in pods {
        run.of(pod, "target").signal(ASKED + 0.1, "SIGTERM");
    }
    for pod in pods {
        run.of(pod, "target").fact(ASKED + 1.0, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
    }
    for pod in pods {
        run.of(pod, "target").left(ASKED + 1.01);
    }
    for (pod, removal) in pods.into_iter().zip(removals) {
        run.of(pod, "target").pod_seen(removal, &spec, &json!({ "phase": "Running" }), Change::Deleted);
    }
    at(run, 90.0, clause)
}

#[test]
fn one_removal_may_be_late_by_one_attempt() {
    for clause in [EARLY, FINAL] {
        assert_eq!(removed(clause, 60, Some(25.0)), "inconclusive", "a part of the cleanup may have failed");
        assert_eq!(both_removed(clause, [13.0, 13.5]), "holds");
        assert_eq!(both_removed(clause, [13.0, 25.0]), "inconclusive");
        assert_eq!(both_removed(clause, [25.0, 26.0]), "violated", "that is too often");
        assert_eq!(both_removed(clause, [13.0, 34.0]), "violated", "that is too late");
    }
}

#[test]
fn a_pod_that_is_not_removed_soon_may_wait_for_another_attempt() {
    let judged = |end: f64| {
        let mut run = one(FINAL, Some(60));
        delete(&mut run, ASKED, None);
        told(&mut run, "target", ASKED + 0.1);
        exits(&mut run, "target", ASKED + 1.0, 0);
        at(run, end, FINAL)
    };
    assert_eq!(judged(25.0), "inconclusive");
    assert_eq!(judged(40.0), "violated");
}

#[test]
fn a_pod_with_a_finalizer_waits_for_whoever_set_it() {
    let mut run = one(FINAL, Some(60));
    delete(&mut run, ASKED, None);
    let object = json!({
        "metadata": {
            "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod" }, "finalizers": ["some.io/lock"],
        },
        "spec": { "nodeName": probity_composer::NODE }, "status": { "phase": "Running" },
    });
    run.sighting(ASKED, "Pod", "pod", Change::Modified, object);
    told(&mut run, "target", ASKED + 0.1);
    exits(&mut run, "target", ASKED + 1.0, 0);
    assert_eq!(at(run, 90.0, FINAL), "inconclusive");
}

#[test]
fn a_pod_that_is_over_is_removed_at_once() {
    let judged = |after: Option<f64>| {
        let mut run = one(IDLE, Some(60));
        exits(&mut run, "target", 2.0, 0);
        run.status(3.0, &json!({ "phase": "Succeeded" }));
        delete(&mut run, ASKED, None);
        if let Some(after) = after {
            gone(&mut run, ASKED + after);
        }
        at(run, 90.0, IDLE)
    };
    assert_eq!(judged(Some(0.1)), "holds");
    assert_eq!(judged(Some(60.0)), "violated");
    assert_eq!(judged(None), "violated");
    assert_eq!(removed(IDLE, 60, Some(13.0)), "inconclusive", "it ran");
}

/// A pod is deleted with a grace period of zero, and removed at this time; its process ends at 12.2 s.
fn forced(when: Option<f64>) -> &'static str {
    let mut run = one(AT_ONCE, Some(60));
    delete(&mut run, ASKED, Some(0));
    told(&mut run, "target", ASKED + 0.1);
    if let Some(when) = when.filter(|when| *when < 12.2) {
        gone(&mut run, when);
    }
    killed(&mut run, "target", 12.2);
    if let Some(when) = when.filter(|when| *when > 12.2) {
        gone(&mut run, when);
    }
    at(run, 30.0, AT_ONCE)
}

#[test]
fn a_pod_that_is_deleted_at_once_is_removed_at_once() {
    assert_eq!(forced(Some(10.1)), "holds");
    assert_eq!(forced(Some(13.5)), "violated");
    assert_eq!(forced(None), "violated");
    assert_eq!(removed(AT_ONCE, 60, Some(13.0)), "inconclusive");
}

/// Another pod with the same name begins at this time; the old process ends at 30 s.
fn renamed(began: Option<f64>, refused: bool) -> &'static str {
    let mut run = one(NAME, Some(60));
    delete(&mut run, ASKED, Some(0));
    told(&mut run, "target", ASKED + 0.1);
    gone(&mut run, ASKED + 0.2);
    if refused {
        let (what, why) = ("create pod pod".to_owned(), "409 AlreadyExists".to_owned());
        run.deed(ASKED + 0.3, Did::Failed { what, why });
        return at(run, 40.0, NAME);
    }
    let manifest = json!({ "metadata": { "name": "pod" }, "spec": { "containers": [{ "name": "target" }] } });
    run.deed(ASKED + 0.3, Did::Created { kind: "Pod".to_owned(), name: "pod".to_owned(), manifest });
    let object = json!({
        "metadata": { "name": "pod", "uid": "uid-new", "labels": { "probity.dev/pod": "pod" } },
        "spec": { "containers": [{ "name": "target" }], "nodeName": "node1" }, "status": { "phase": "Pending" },
    });
    run.sighting(ASKED + 0.4, "Pod", "pod", Change::Added, object);
    if let Some(began) = began.filter(|began| *began < 30.0) {
        begin_new(&mut run, began);
    }
    killed(&mut run, "target", 30.0);
    at(run, 50.0, NAME)
}

/// The first line of the process of the new pod.
fn begin_new(run: &mut probity_composer::Composer, began: f64) {
    use probity_model::history::{Happening, Heard, Way};
    use probity_script::WitnessLine;
    use probity_script::witness::{Entry, Fact, Started};
    let mono_us = u64::try_from(probity_composer::us(began) + probity_composer::AHEAD_US).unwrap_or(0);
    let started = Started {
        version: "0.1.0".to_owned(),
        pid: 1,
        args: Vec::new(),
        host: "pod".to_owned(),
        plan: String::new(),
        seed: 0,
        attempt_known: true,
        began_mono_us: mono_us,
        identity: std::collections::BTreeMap::new(),
    };
    let line = WitnessLine {
        v: 1,
        boot: "new".to_owned(),
        attempt: 0,
        seq: 0,
        mono_us,
        wall_us: 0,
        fact: Fact::Started(started),
    };
    let heard = Heard {
        pod: "pod".to_owned(),
        uid: "uid-new".to_owned(),
        container: "target".to_owned(),
        node: probity_composer::NODE.to_owned(),
        by: Way::Recorder,
        received_us: Some(mono_us),
        entry: Entry::Line(Box::new(line)),
    };
    run.push(began, Happening::Witness(heard));
}

#[test]
fn the_name_of_a_pod_that_was_deleted_at_once_is_free() {
    assert_eq!(renamed(Some(12.0), false), "holds");
    assert_eq!(renamed(None, false), "violated");
    assert_eq!(renamed(None, true), "violated");
    assert_eq!(removed(NAME, 60, Some(13.0)), "inconclusive");
}
