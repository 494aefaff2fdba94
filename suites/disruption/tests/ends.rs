//! Histories of evicted pods that terminate, and of pods that nobody disturbs.

use probity_composer::{Composer, running_status};
use probity_model::history::{Change, Did};
use serde_json::{Value, json};

use crate::tests::verdict;

const EXPLAINED: &str = "disruptiontarget.eviction-api";
const GRACEFUL: &str = "eviction.graceful";
const STAY: &str = "disruption.pods-stay";

fn evicted(run: &mut Composer, at: f64) {
    run.deed(at, Did::Evicted { pod: "pod".to_owned(), refused: None, code: None, cause: None });
}

/// Adds a revision of a terminating pod with this condition.
fn going(run: &mut Composer, at: f64, target: &Value) {
    let object = json!({
        "metadata": {
            "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod" },
            "deletionTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": { "containers": [{ "name": "target" }] },
        "status": { "phase": "Running", "conditions": [target] },
    });
    run.sighting(at, "Pod", "pod", Change::Modified, object);
}

fn target(status: &str, reason: &str) -> Value {
    json!({ "type": "DisruptionTarget", "status": status, "reason": reason })
}

#[test]
fn an_evicted_pod_says_why_it_goes() {
    let judged = |conditions: &[Value]| {
        let mut run = Composer::new(&[EXPLAINED]);
        run.create(0.0, &json!({ "containers": [{ "name": "target" }] })).running(1.0, true, true, 0);
        evicted(&mut run, 5.0);
        for (at, condition) in [5.1, 9.0].into_iter().zip(conditions) {
            going(&mut run, at, condition);
        }
        verdict(&run.done(), EXPLAINED)
    };
    let none = json!({ "type": "Ready", "status": "True" });
    let right = target("True", "EvictionByEvictionAPI");
    assert_eq!(judged(std::slice::from_ref(&right)), "holds");
    assert_eq!(judged(std::slice::from_ref(&none)), "violated");
    assert_eq!(judged(&[none, right]), "violated", "too late");
    assert_eq!(judged(&[target("True", "DeletionByTaintManager")]), "violated");
    assert_eq!(judged(&[target("False", "EvictionByEvictionAPI")]), "violated");
    assert_eq!(judged(&[]), "inconclusive");
}

#[test]
fn a_deleted_pod_does_not_say_that_it_was_evicted() {
    let judged = |reason: &str| {
        let mut run = Composer::new(&[EXPLAINED]);
        run.create(0.0, &json!({ "containers": [{ "name": "target" }] })).running(1.0, true, true, 0);
        run.deed(5.0, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace: None });
        going(&mut run, 5.1, &target("True", reason));
        verdict(&run.done(), EXPLAINED)
    };
    assert_eq!(judged("EvictionByEvictionAPI"), "violated");
    assert_eq!(judged("DeletionByTaintManager"), "inconclusive");
}

#[test]
fn a_refused_eviction_does_not_explain_a_deletion() {
    let judged = |code: Option<u16>, ready: bool| {
        let mut run = Composer::new(&[EXPLAINED]);
        run.create(0.0, &json!({ "containers": [{ "name": "target" }] }));
        let mut status = running_status("target", 1.0, true, true, 0);
        status["conditions"] = json!([{ "type": "Ready", "status": if ready { "True" } else { "False" } }]);
        run.status(1.0, &status);
        let refused = Some("the API server answered".to_owned());
        run.deed(4.0, Did::Evicted { pod: "pod".to_owned(), refused, code, cause: None });
        run.deed(5.0, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace: None });
        going(&mut run, 5.1, &target("True", "EvictionByEvictionAPI"));
        verdict(&run.done(), EXPLAINED)
    };
    assert_eq!(judged(Some(429), true), "violated");
    assert_ne!(judged(None, true), "violated", "the eviction may have been accepted");
    assert_ne!(judged(Some(429), false), "violated", "the pod may have changed while it was evicted");
}

/// A pod with a grace period of six seconds is evicted at 5 s, and gets its signal and its kill at these times.
fn killed(signal: Option<f64>, kill: f64, hook: &Value) -> &'static str {
    let mut run = Composer::new(&[GRACEFUL]);
    let lifecycle = json!({ "preStop": hook });
    let container = json!({ "name": "target", "lifecycle": lifecycle });
    run.create(0.0, &json!({ "terminationGracePeriodSeconds": 6, "containers": [container] }));
    run.start(1.0, 0).running(1.2, true, true, 0);
    evicted(&mut run, 5.0);
    if let Some(at) = signal {
        run.signal(at, "SIGTERM");
    }
    run.left(kill);
    run.reading(30.0);
    verdict(&run.done(), GRACEFUL)
}

#[test]
fn an_evicted_pod_has_its_grace_period() {
    let none = json!(null);
    assert_eq!(killed(Some(5.1), 11.2, &none), "holds");
    assert_eq!(killed(Some(5.1), 8.2, &none), "violated");
    assert_eq!(killed(Some(5.1), 25.2, &none), "violated");
    assert_eq!(killed(None, 5.2, &none), "violated");
    let hook = json!({ "exec": { "command": ["/agnhost-rs", "exec", "bye"] } });
    assert_eq!(killed(Some(5.1), 11.2, &hook), "violated", "the hook never ran");
}

#[test]
fn pods_that_nobody_touches_stay() {
    let judged = |container: &Value, after: &Value, deleted: bool, until: f64| {
        let mut run = Composer::new(&[STAY]);
        run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0).running(1.2, true, true, 0);
        if deleted {
            run.deed(5.0, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace: None });
        }
        run.status(10.0, after);
        run.reading(until);
        verdict(&run.done(), STAY)
    };
    let idle = json!({ "name": "target" });
    let same = running_status("target", 1.2, true, true, 0);
    assert_eq!(judged(&idle, &same, false, 30.0), "holds");
    assert_eq!(judged(&idle, &same, false, 10.5), "inconclusive", "the pod was not watched for long enough");
    let again = running_status("target", 10.0, true, true, 1);
    assert_eq!(judged(&idle, &again, false, 30.0), "violated");
    let failed = json!({ "phase": "Failed" });
    assert_eq!(judged(&idle, &failed, false, 30.0), "violated");
    assert_eq!(judged(&idle, &failed, true, 30.0), "inconclusive", "somebody deleted it");
    let probed = json!({ "name": "target", "livenessProbe": { "httpGet": { "path": "/", "port": 80 } } });
    assert_eq!(judged(&probed, &again, false, 30.0), "inconclusive", "its probe may have failed");
}

#[test]
fn a_pod_that_ran_does_not_go_without_a_cause() {
    let judged = |last: Value, deleted: bool, policy: &str| {
        let mut run = Composer::new(&[STAY]);
        let probe = json!({ "httpGet": { "path": "/", "port": 8080 }, "periodSeconds": 1 });
        let spec =
            json!({ "restartPolicy": policy, "containers": [{ "name": "target", "livenessProbe": probe }] });
        run.create(0.0, &spec).start(1.0, 0).running(1.5, true, true, 0);
        if deleted {
            run.deed(5.0, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace: None });
        }
        run.status(6.0, &last).reading(30.0);
        verdict(&run.done(), STAY)
    };
    let failed = |reason: Option<&str>| json!({ "phase": "Failed", "reason": reason });
    assert_eq!(judged(failed(None), false, "Always"), "violated", "its container restarts");
    assert_ne!(judged(failed(None), true, "Always"), "violated", "it was deleted");
    assert_ne!(judged(failed(None), false, "Never"), "violated", "its container does not restart");
    assert_ne!(
        judged(failed(Some("Evicted")), false, "Always"),
        "violated",
        "another clause judges the reason"
    );
}
