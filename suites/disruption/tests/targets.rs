//! Pods that terminate because of a taint or of a pod with a higher priority, and pods of a Job.

use probity_composer::{Composer, NODE};
use probity_model::history::{Change, Did};
use probity_script::witness::{Exiting, Fact};
use serde_json::{Value, json};

use crate::tests::verdict;

const TAINT: &str = "disruptiontarget.taint-manager";
const PREEMPTION: &str = "disruptiontarget.preemption";
const POLICY: &str = "disruptiontarget.job-policy";

/// A revision of a pod with this spec and phase; if the pod is terminating, `going` is the reason in its condition.
fn pod(name: &str, spec: &Value, phase: &str, going: Option<&str>) -> Value {
    let mut conditions = vec![json!({ "type": "Ready", "status": "True" })];
    let mut metadata = json!({ "name": name, "uid": format!("uid-{name}"), "labels": { "probity.dev/pod": name, "place": "only" } });
    if let Some(reason) = going {
        metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        metadata["deletionGracePeriodSeconds"] = json!(4);
        if !reason.is_empty() {
            conditions.push(json!({ "type": "DisruptionTarget", "status": "True", "reason": reason }));
        }
    }
    json!({ "metadata": metadata, "spec": spec, "status": { "phase": phase, "conditions": conditions } })
}

fn spec(more: &Value) -> Value {
    let mut spec =
        json!({ "nodeName": NODE, "terminationGracePeriodSeconds": 4, "containers": [{ "name": "target" }] });
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    spec
}

fn create(run: &mut Composer, at: f64, name: &str, spec: &Value) {
    let (kind, manifest) = ("Pod".to_owned(), json!({ "metadata": { "name": name }, "spec": spec }));
    run.deed(at, Did::Created { kind, name: name.to_owned(), manifest });
    run.sighting(at + 0.5, "Pod", name, Change::Added, pod(name, spec, "Running", None));
}

fn taint(run: &mut Composer, at: f64) {
    let text = |text: &str| text.to_owned();
    let (node, key, value) = (text(NODE), text("probity.dev/away"), text("v"));
    run.deed(at, Did::Tainted { node, key, value, effect: text("NoExecute") });
}

fn tolerating(seconds: &Value) -> Value {
    json!({ "tolerations": [{ "key": "probity.dev/away", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds }] })
}

fn untaint(run: &mut Composer, at: f64) {
    let text = |text: &str| text.to_owned();
    let (node, key) = (text(NODE), text("probity.dev/away"));
    run.deed(at, Did::Untainted { node, key, effect: text("NoExecute") });
}

/// Judges a pod that tolerates the taint of 10 s for 20 s, and one that is bound at 12.5 s and tolerates it for 5 s.
/// The taint is removed at `removed`, and the pods terminate at these times. Nothing else is on the node.
fn relieved(removed: f64, first: Option<f64>, newcomer: Option<f64>) -> &'static str {
    let mut run = Composer::new(&[TAINT]);
    let (patient, late) = (spec(&tolerating(&json!(20))), spec(&tolerating(&json!(5))));
    create(&mut run, 1.0, "a", &patient);
    taint(&mut run, 10.0);
    create(&mut run, 12.0, "b", &late);
    let mut ends = vec![(removed, None)];
    ends.extend(
        [(first, ("a", &patient)), (newcomer, ("b", &late))].map(|(at, of)| (at.unwrap_or(99.0), Some(of))),
    );
    ends.sort_by(|one, other| one.0.total_cmp(&other.0));
    for (at, of) in ends.into_iter().filter(|(at, _)| *at < 99.0) {
        match of {
            None => untaint(&mut run, at),
            Some((name, spec)) => {
                let object = pod(name, spec, "Running", Some("DeletionByTaintManager"));
                run.sighting(at, "Pod", name, Change::Modified, object);
            }
        }
    }
    run.reading(50.0);
    verdict(&run.done(), TAINT)
}

#[test]
fn a_pod_stays_if_the_taint_is_removed_in_time() {
    assert_eq!(relieved(18.0, None, Some(17.6)), "holds");
    assert_eq!(relieved(18.0, Some(30.2), Some(17.6)), "violated", "the taint was gone for 12 s");
    assert_eq!(relieved(29.0, Some(30.2), Some(17.6)), "holds", "the taint was removed too late to tell");
    assert_eq!(relieved(29.0, None, Some(17.6)), "holds", "the taint was removed too late to tell");
    assert_eq!(relieved(40.0, None, Some(17.6)), "violated", "it was removed long after the time had passed");
}

#[test]
fn a_pod_that_comes_after_the_taint_goes_as_well() {
    assert_eq!(relieved(28.0, None, None), "violated", "it was bound 15 s before the taint was removed");
    assert_eq!(relieved(28.0, None, Some(25.0)), "violated", "too late");
    assert_eq!(relieved(14.0, None, None), "holds", "the taint was removed before its time had passed");
}

/// Judges three pods on a node that is tainted at 10 s. The first two terminate at these times and for this reason, and
/// the third terminates or stays. A fourth one tolerates the taint until it is removed, and a fifth one comes later.
fn tainted(at_once: Option<f64>, later: Option<f64>, reason: &str, third: bool) -> &'static str {
    let mut run = Composer::new(&[TAINT]);
    let (none, limited, unlimited) =
        (spec(&json!({})), spec(&tolerating(&json!(6))), spec(&tolerating(&json!(null))));
    for (name, spec) in [("a", &none), ("b", &limited), ("c", &unlimited)] {
        create(&mut run, 1.0, name, spec);
    }
    let (relieved, newcomer) = (spec(&tolerating(&json!(30))), spec(&tolerating(&json!(5))));
    create(&mut run, 2.0, "d", &relieved);
    taint(&mut run, 10.0);
    create(&mut run, 10.1, "e", &newcomer);
    for (at, name, spec) in [
        (at_once, "a", &none),
        (Some(15.8), "e", &newcomer),
        (later, "b", &limited),
        (third.then_some(17.0), "c", &unlimited),
    ] {
        if let Some(at) = at {
            run.sighting(at, "Pod", name, Change::Modified, pod(name, spec, "Running", Some(reason)));
        }
    }
    untaint(&mut run, 22.0);
    run.reading(50.0);
    verdict(&run.done(), TAINT)
}

#[test]
fn pods_that_do_not_tolerate_a_taint_go_and_say_why() {
    let reason = "DeletionByTaintManager";
    assert_eq!(tainted(Some(10.2), Some(16.2), reason, false), "holds");
    assert_eq!(tainted(Some(10.2), Some(16.2), "", false), "violated", "no condition");
    assert_eq!(tainted(Some(10.2), Some(16.2), "EvictionByEvictionAPI", false), "violated");
    assert_eq!(tainted(Some(10.2), Some(13.0), reason, false), "violated", "too early");
    assert_eq!(tainted(Some(19.0), Some(16.2), reason, false), "violated", "too late");
    assert_eq!(tainted(None, Some(16.2), reason, false), "violated", "never");
    assert_eq!(tainted(Some(10.2), None, reason, false), "violated", "never");
    assert_eq!(tainted(Some(10.2), Some(16.2), reason, true), "violated", "the third one tolerates it");
    assert_eq!(verdict(&Composer::new(&[TAINT]).done(), TAINT), "inconclusive");
}

#[test]
fn a_pod_that_the_harness_deleted_says_nothing_about_taints() {
    let mut run = Composer::new(&[TAINT]);
    create(&mut run, 1.0, "a", &spec(&json!({})));
    run.deed(9.9, Did::Deleted { kind: "Pod".to_owned(), name: "a".to_owned(), grace: None });
    taint(&mut run, 10.0);
    run.reading(50.0);
    assert_eq!(verdict(&run.done(), TAINT), "inconclusive");
}

/// A pod with a low priority occupies the only place when a pod with a higher priority is created at 10 s. The first
/// pod is then preempted, or not.
fn preempted(going: Option<(f64, &str)>, grace: i64, stopped: bool) -> &'static str {
    let mut run = Composer::new(&[PREEMPTION]);
    for (name, value) in [("low", -2), ("high", -1)] {
        let manifest = json!({ "metadata": { "name": name }, "value": value });
        run.deed(0.1, Did::Created { kind: "PriorityClass".to_owned(), name: name.to_owned(), manifest });
    }
    let low = spec(&json!({ "priorityClassName": "low" }));
    create(&mut run, 1.0, "first", &low);
    run.of("first", "target").start(1.6, 0);
    let constraint = json!([{
        "topologyKey": "kubernetes.io/os", "maxSkew": 1, "minDomains": 2, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": { "matchLabels": { "place": "only" } },
    }]);
    let mut high = spec(&json!({ "priorityClassName": "high", "topologySpreadConstraints": constraint }));
    high["nodeName"] = json!(null);
    let manifest = json!({ "metadata": { "name": "second" }, "spec": high });
    run.deed(10.0, Did::Created { kind: "Pod".to_owned(), name: "second".to_owned(), manifest });
    run.sighting(10.1, "Pod", "second", Change::Added, pod("second", &high, "Pending", None));
    if let Some((at, reason)) = going {
        let mut object = pod("first", &low, "Running", Some(reason));
        object["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
        run.sighting(at, "Pod", "first", Change::Modified, object);
        run.of("first", "target");
        if stopped {
            run.signal(at + 0.1, "SIGTERM");
            run.fact(at + 2.0, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
        }
        run.left(at + 2.1);
    }
    run.reading(60.0);
    verdict(&run.done(), PREEMPTION)
}

#[test]
fn a_preempted_pod_says_why_and_ends_gracefully() {
    let right = Some((10.4, "PreemptionByScheduler"));
    assert_eq!(preempted(right, 4, true), "holds");
    assert_eq!(preempted(right, 4, false), "violated", "killed without a signal");
    assert_eq!(preempted(right, 1, true), "violated", "another grace period");
    assert_eq!(preempted(Some((10.4, "")), 4, true), "violated", "no condition");
    assert_eq!(preempted(Some((10.4, "DeletionByTaintManager")), 4, true), "violated");
    assert_eq!(preempted(Some((40.0, "PreemptionByScheduler")), 4, true), "violated", "late");
    assert_eq!(preempted(None, 4, true), "violated", "nobody was preempted");
    assert_eq!(verdict(&Composer::new(&[PREEMPTION]).done(), PREEMPTION), "inconclusive");
}

struct JobStory {
    run: Composer,
}

impl JobStory {
    /// A Job whose rules about disruptions have these actions. Its pod is evicted at 10 s and fails at 12 s.
    fn of(actions: &[&str]) -> Self {
        let mut run = Composer::new(&[POLICY]);
        for action in actions {
            let rule = json!({ "action": action, "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] });
            let manifest = json!({ "metadata": { "name": action }, "spec": { "podFailurePolicy": { "rules": [rule] } } });
            run.deed(0.1, Did::Created { kind: "Job".to_owned(), name: (*action).to_owned(), manifest });
            let name = format!("{action}-1");
            run.sighting(1.0, "Pod", &name, Change::Added, Self::pod(&name, action, "Running", None));
            run.deed(10.0, Did::Evicted { pod: name.clone(), refused: None, code: None, cause: None });
            let over = Self::pod(&name, action, "Failed", Some("EvictionByEvictionAPI"));
            run.sighting(12.0, "Pod", &name, Change::Modified, over);
        }
        Self { run }
    }

    fn pod(name: &str, job: &str, phase: &str, going: Option<&str>) -> Value {
        let mut object = pod(name, &spec(&json!({})), phase, going);
        object["metadata"]["ownerReferences"] = json!([{ "kind": "Job", "name": job }]);
        object
    }

    fn replaced(mut self, at: f64) -> Self {
        let name = "Ignore-2";
        self.run.sighting(at, "Pod", name, Change::Added, Self::pod(name, "Ignore", "Pending", None));
        self
    }

    fn failed(mut self, at: f64, job: &str, reason: &str) -> Self {
        let failed = json!({ "type": "Failed", "status": "True", "reason": reason });
        let object = json!({ "metadata": { "name": job }, "status": { "conditions": [failed] } });
        self.run.sighting(at, "Job", job, Change::Modified, object);
        self
    }

    fn verdict(mut self) -> &'static str {
        self.run.reading(90.0);
        verdict(&self.run.done(), POLICY)
    }
}

#[test]
fn a_job_does_what_its_policy_says_of_disruptions() {
    let both = || JobStory::of(&["Ignore", "FailJob"]);
    let policy = "PodFailurePolicy";
    assert_eq!(both().replaced(13.0).failed(14.0, "FailJob", policy).verdict(), "holds");
    assert_eq!(
        both().failed(14.0, "FailJob", policy).verdict(),
        "violated",
        "the first one has no other pod"
    );
    assert_eq!(both().replaced(13.0).verdict(), "violated", "the second one did not fail");
    assert_eq!(both().replaced(13.0).failed(14.0, "FailJob", "BackoffLimitExceeded").verdict(), "violated");
    let failed = both().replaced(13.0).failed(13.5, "Ignore", "BackoffLimitExceeded");
    assert_eq!(failed.failed(14.0, "FailJob", policy).verdict(), "violated", "it counted the disruption");
    assert_eq!(JobStory::of(&["Ignore"]).replaced(60.0).verdict(), "violated", "too late");
    assert_eq!(JobStory::of(&["Count"]).verdict(), "inconclusive", "a rule that promises nothing special");
    assert_eq!(JobStory::of(&[]).verdict(), "inconclusive");
}
