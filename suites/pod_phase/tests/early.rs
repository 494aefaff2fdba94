//! Pods that are over too early, or for a reason that nothing explains.

use super::*;

/// A pod whose container exits by itself at 3 s, or is told to stop, and whose last status has this reason.
fn explained(policy: &str, reason: Value, stopped: bool, more: &Value) -> &'static str {
    let mut run = Composer::new(&[SUCCEEDED]);
    let mut spec = spec(policy);
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    run.create(0.0, &spec).start(1.0, 0);
    if stopped {
        run.signal(2.9, "SIGTERM");
    }
    exits(&mut run, 3.0, 0);
    let mut status = status("Succeeded", 0, ended(0), json!({}));
    status["reason"] = reason;
    run.status(4.0, &status).reading(30.0);
    verdict(&run.done(), SUCCEEDED)
}

#[test]
fn a_pod_that_ends_by_itself_has_no_reason() {
    let stale = || json!("Evicted");
    assert_eq!(explained("Never", Value::Null, false, &json!({})), "holds");
    assert_eq!(explained("Never", stale(), false, &json!({})), "violated");
    assert_ne!(explained("Never", stale(), true, &json!({})), "violated", "something stopped it");
    assert_ne!(explained("Never", stale(), false, &json!({ "activeDeadlineSeconds": 2 })), "violated");
    let limited = json!({ "volumes": [{ "name": "v", "emptyDir": { "sizeLimit": "1Mi" } }] });
    assert_ne!(explained("Never", stale(), false, &limited), "violated", "it may have written too much");
    assert_ne!(explained("Always", stale(), false, &json!({})), "holds", "its policy does not let it end");
}

#[test]
fn a_pod_with_a_container_that_runs_is_not_over() {
    let judged = |state: Value, again: bool, grace: Option<u64>| {
        let mut run = pod(FAILED, "Never");
        run.deed(2.0, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace });
        run.signal(2.5, "SIGTERM");
        run.status(3.0, &status("Failed", 0, state, json!({})));
        if again {
            run.signal(5.0, "SIGTERM");
        }
        run.reading(30.0);
        verdict(&run.done(), FAILED)
    };
    assert_eq!(judged(runs(), false, Some(5)), "violated", "the status itself says so");
    assert_eq!(judged(ended(1), true, Some(5)), "violated", "its process says so");
    assert_ne!(judged(ended(1), false, Some(5)), "violated");
    assert_ne!(judged(runs(), true, Some(0)), "violated", "it was deleted by force");
}
