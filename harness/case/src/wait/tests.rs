#![expect(clippy::unwrap_used, reason = "tests")]

use probity_composer::{Composer, running_status};
use probity_model::history::{Change, Did, EventId, History};
use serde_json::{Value, json};

use super::{met, oldest_of, pods_of};
use crate::manifest::{CASE, POD};
use crate::{Case, Step, Wait};

fn case() -> Case {
    let text = "\
case: a/b
story: because
workloads:
  web: { workload: { spec: { replicas: 2, template: { spec: { containers: [{ name: target }] } } } }, target: { target: {} } }
";
    Case::read("a.yaml", text).unwrap().remove(0)
}

fn holds(wait: Value, history: &History) -> bool {
    let mut wait = wait;
    wait["workload"] = json!("web");
    let Ok(Step::Wait(wait)) = serde_json::from_value(json!({ "wait": wait })) else { panic!("no wait") };
    met(&wait, &case(), history, EventId(0))
}

fn pod(run: &mut Composer, at: f64, name: &str, key: &str, ready: bool, change: Change) {
    let status = running_status("target", at, ready, true, 0);
    let object =
        json!({ "metadata": { "name": name, "labels": { CASE: "a-b", POD: key } }, "status": status });
    run.sighting(at, "Pod", name, change, object);
}

fn deployment(run: &mut Composer, at: f64, generation: u64, observed: u64, available: u64) {
    let object = json!({
        "metadata": { "name": "a-b-web", "generation": generation },
        "status": { "observedGeneration": observed, "availableReplicas": available, "updatedReplicas": 1, "conditions": [
            { "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded" },
        ] },
    });
    run.sighting(at, "Deployment", "a-b-web", Change::Modified, object);
}

fn patched(run: &mut Composer, at: f64) {
    let (kind, name) = ("Deployment".to_owned(), "a-b-web".to_owned());
    run.deed(at, Did::Patched { kind, name, patch: Value::Null, subresource: String::new() });
}

#[test]
fn one_pod_is_enough_unless_all_are_meant() {
    let mut run = Composer::new(&[]);
    pod(&mut run, 1.0, "one", "web", true, Change::Added);
    pod(&mut run, 1.0, "two", "web", false, Change::Added);
    pod(&mut run, 1.0, "stranger", "other", false, Change::Added);
    let mut history = run;
    let ready = json!({ "ready": true });
    let all = json!({ "ready": true, "all": true });
    pod(&mut history, 2.0, "three", "web", true, Change::Added);
    let done = history.done();
    assert!(holds(ready, &done) && !holds(all.clone(), &done));
    assert_eq!(pods_of(&case(), "web", &done), ["one", "two", "three"]);
    let mut run = Composer::new(&[]);
    assert!(!holds(all.clone(), &Composer::new(&[]).done()), "where there is none, all is nothing");
    pod(&mut run, 1.0, "one", "web", true, Change::Added);
    pod(&mut run, 1.0, "two", "web", false, Change::Added);
    pod(&mut run, 2.0, "two", "web", false, Change::Deleted);
    let done = run.done();
    assert!(holds(all, &done), "one that is gone does not count");
    assert!(holds(json!({ "gone": true }), &done) && !holds(json!({ "gone": true, "all": true }), &done));
}

#[test]
fn the_oldest_pod_is_one_that_is_not_being_deleted() {
    let mut run = Composer::new(&[]);
    pod(&mut run, 1.0, "one", "web", true, Change::Added);
    pod(&mut run, 2.0, "two", "web", true, Change::Added);
    let before = run.done();
    assert_eq!(oldest_of(&case(), "web", &before), Some("one"));
    let mut run = Composer::new(&[]);
    pod(&mut run, 1.0, "one", "web", true, Change::Added);
    pod(&mut run, 2.0, "two", "web", true, Change::Added);
    let labels = json!({ CASE: "a-b", POD: "web" });
    let going = json!({ "name": "one", "labels": labels, "deletionTimestamp": "2026-01-01T00:00:00Z" });
    run.sighting(3.0, "Pod", "one", Change::Modified, json!({ "metadata": going }));
    let during = run.done();
    assert_eq!(oldest_of(&case(), "web", &during), Some("two"));
    assert_eq!(oldest_of(&case(), "other", &during), None);
}

#[test]
fn new_are_those_that_came_with_the_last_update() {
    let mut run = Composer::new(&[]);
    pod(&mut run, 1.0, "old", "web", true, Change::Added);
    patched(&mut run, 2.0);
    pod(&mut run, 3.0, "old", "web", true, Change::Modified);
    pod(&mut run, 3.0, "fresh", "web", false, Change::Added);
    let done = run.done();
    assert!(!holds(json!({ "new": true, "ready": true }), &done));
    assert!(holds(json!({ "new": false, "all": true, "ready": true }), &done));
    assert!(holds(json!({ "new": true, "all": true, "ready": false }), &done));
}

#[test]
fn what_the_controller_said_before_the_update_is_of_the_past() {
    let mut run = Composer::new(&[]);
    deployment(&mut run, 1.0, 1, 1, 2);
    let wait = || json!({ "available": 2, "stalled": true });
    let before = run.done();
    assert!(holds(wait(), &before) && holds(json!({ "updated": 1 }), &before));
    assert!(!holds(json!({ "available": 1 }), &before));
    let mut run = Composer::new(&[]);
    deployment(&mut run, 1.0, 1, 1, 2);
    patched(&mut run, 2.0);
    assert!(!holds(wait(), &run.done()));
    let mut run = Composer::new(&[]);
    patched(&mut run, 2.0);
    deployment(&mut run, 2.1, 2, 1, 2);
    assert!(!holds(wait(), &run.done()), "it has not looked at it yet");
    let mut run = Composer::new(&[]);
    patched(&mut run, 2.0);
    deployment(&mut run, 2.1, 2, 2, 2);
    assert!(holds(wait(), &run.done()));
}

#[test]
fn a_wait_without_conditions_of_pods_asks_for_none() {
    let mut run = Composer::new(&[]);
    deployment(&mut run, 1.0, 1, 1, 0);
    assert!(holds(json!({ "available": 0 }), &run.done()));
    assert!(!Wait::default().is_of_pods());
}

#[test]
fn a_condition_is_what_the_last_status_says_with_its_reason() {
    let mut run = Composer::new(&[]);
    let mut status = running_status("target", 1.0, false, true, 0);
    status["conditions"][2]["reason"] = json!("ReadinessGatesNotReady");
    let object =
        json!({ "metadata": { "name": "one", "labels": { CASE: "a-b", POD: "web" } }, "status": status });
    run.sighting(1.0, "Pod", "one", Change::Added, object);
    let history = run.done();
    let condition = |kind: &str, status: &str, reason: Value| {
        let mut condition = json!({ "type": kind, "status": status });
        if reason.is_string() {
            condition["reason"] = reason;
        }
        holds(json!({ "condition": condition }), &history)
    };
    assert!(condition("Ready", "False", Value::Null));
    assert!(condition("Ready", "False", json!("ReadinessGatesNotReady")));
    assert!(!condition("Ready", "False", json!("ContainersNotReady")));
    assert!(!condition("Ready", "True", Value::Null));
    assert!(!condition("example.com/none", "False", Value::Null), "a condition that is absent has no status");
}

#[test]
fn a_container_waits_for_the_reason_that_its_status_gives() {
    let mut run = Composer::new(&[]);
    let mut status = running_status("target", 1.0, false, false, 0);
    status["containerStatuses"][0]["state"] = json!({ "waiting": { "reason": "ErrImagePull" } });
    let object =
        json!({ "metadata": { "name": "one", "labels": { CASE: "a-b", POD: "web" } }, "status": status });
    run.sighting(1.0, "Pod", "one", Change::Added, object);
    let history = run.done();
    assert!(holds(json!({ "waiting": "ErrImagePull" }), &history));
    assert!(!holds(json!({ "waiting": "CrashLoopBackOff" }), &history));
}

#[test]
fn a_job_has_finished_when_its_status_says_so() {
    let text = "\
case: a/b
story: because
workloads:
  web: { workload: { kind: Job, spec: { template: { spec: { restartPolicy: Never, containers: [{ name: target }] } } } } }
";
    let case = Case::read("a.yaml", text).unwrap().remove(0);
    let shown = |status: Value| {
        let mut run = Composer::new(&[]);
        let object = json!({ "metadata": { "name": "a-b-web", "generation": 1 }, "status": status });
        run.sighting(1.0, "Job", "a-b-web", Change::Modified, object);
        run.done()
    };
    let met = |wait: Value, history: &History| {
        let Ok(Step::Wait(wait)) = serde_json::from_value(json!({ "wait": wait })) else { panic!("no wait") };
        met(&wait, &case, history, EventId(0))
    };
    let failed = || json!({ "workload": "web", "finished": "Failed" });
    assert!(!met(failed(), &shown(json!({ "ready": 1 }))));
    assert!(met(json!({ "workload": "web", "available": 1 }), &shown(json!({ "ready": 1 }))));
    let ended =
        |kind: &str, status: &str| shown(json!({ "conditions": [{ "type": kind, "status": status }] }));
    assert!(met(failed(), &ended("Failed", "True")) && !met(failed(), &ended("Failed", "False")));
    assert!(!met(failed(), &ended("Complete", "True")));
    for (wait, why) in
        [("finished: Failde", "did you mean `Failed`?"), ("stalled: true", "can never be true for the Job")]
    {
        let said = Case::read("a.yaml", &format!("{text}steps: [{{ wait: {{ workload: web, {wait} }} }}]\n"));
        assert!(said.is_err_and(|said| said.line().contains(why)), "{wait}");
    }
}

/// A revision of a slice of the Service `a-b-web`, with these pods and their readiness.
fn slice(run: &mut Composer, at: f64, name: &str, pods: &[(&str, bool)], change: Change) {
    let entry = |(pod, ready): &(&str, bool)| json!({ "targetRef": { "name": pod }, "conditions": { "ready": ready } });
    let object = json!({
        "metadata": { "name": name, "labels": { "kubernetes.io/service-name": "a-b-web" } },
        "endpoints": pods.iter().map(entry).collect::<Vec<_>>(),
    });
    run.sighting(at, "EndpointSlice", name, change, object);
}

#[test]
fn a_pod_that_no_slice_lists_any_more_does_not_serve() {
    let serves = |history: &History| {
        let serving = |ready: bool| json!({ "serving": { "service": "web", "ready": ready } });
        (holds(serving(true), history), holds(serving(false), history))
    };
    let begun = || {
        let mut run = Composer::new(&[]);
        pod(&mut run, 1.0, "one", "web", true, Change::Added);
        slice(&mut run, 2.0, "first", &[("one", true)], Change::Added);
        slice(&mut run, 3.0, "second", &[("two", true)], Change::Added);
        run
    };
    assert_eq!(serves(&begun().done()), (true, false), "another slice lists it");
    let mut run = begun();
    slice(&mut run, 4.0, "first", &[], Change::Modified);
    assert_eq!(serves(&run.done()), (false, true), "it was taken out of its slice");
    let mut run = begun();
    slice(&mut run, 4.0, "first", &[("one", true)], Change::Deleted);
    assert_eq!(serves(&run.done()), (false, true), "its slice is gone");
}
