//! Pods that end too early, or for a reason that nothing explains.

use super::*;

/// A pod whose container exits at 3 s, by itself or after a stop signal, and whose last status has this reason.
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
    assert_eq!(
        explained("Never", stale(), true, &json!({})),
        "violated",
        "it was stopped, but nothing evicts it"
    );
    let deadline = json!({ "activeDeadlineSeconds": 2 });
    assert_ne!(explained("Never", json!("DeadlineExceeded"), false, &deadline), "violated");
    assert_eq!(
        explained("Never", stale(), false, &deadline),
        "violated",
        "a deadline is not a reason to evict"
    );
    let limited = json!({ "volumes": [{ "name": "v", "emptyDir": { "sizeLimit": "1Mi" } }] });
    assert_ne!(explained("Never", stale(), false, &limited), "violated", "the pod may have written too much");
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

#[test]
fn a_pod_whose_container_never_ran_has_not_succeeded() {
    let judged = |state: Value| {
        let mut run = Composer::new(&[SUCCEEDED]);
        run.create(0.0, &spec("Always")).status(1.0, &status("Pending", 0, waits("ErrImagePull"), json!({})));
        run.deed(2.0, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace: None });
        run.status(3.0, &status("Succeeded", 0, state, json!({}))).reading(30.0);
        verdict(&run.done(), SUCCEEDED)
    };
    assert_eq!(judged(ended(137)), "violated");
    assert_eq!(judged(waits("PodInitializing")), "violated");
    assert_ne!(judged(ended(0)), "violated");
}

/// A pod that fails for this reason, with this condition. If its container ran, it gets a stop signal at 8 s.
fn failed_for(reason: &str, condition: &str, ran: bool, more: &Value) -> &'static str {
    let mut run = Composer::new(&[FAILED]);
    let mut spec = spec("Always");
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    run.create(0.0, &spec);
    let mut over = json!({ "phase": "Failed" });
    if ran {
        run.start(1.0, 0).signal(8.0, "SIGTERM");
        exits(&mut run, 8.1, 0);
        over = status("Failed", 0, ended(0), json!({}));
    }
    over["reason"] = json!(reason);
    over["conditions"] = json!([{ "type": "DisruptionTarget", "status": "True", "reason": condition }]);
    run.status(9.0, &over).reading(30.0);
    verdict(&run.done(), FAILED)
}

#[test]
fn a_pod_that_ran_does_not_fail_for_a_reason_that_is_not_true_of_it() {
    let plain = json!({});
    assert_eq!(failed_for("DeadlineExceeded", "", true, &plain), "violated", "it has no deadline");
    let deadline = json!({ "activeDeadlineSeconds": 7 });
    assert_ne!(failed_for("DeadlineExceeded", "", true, &deadline), "violated");
    assert_eq!(failed_for("OutOfcpu", "", true, &plain), "violated", "only a new pod is refused");
    assert_ne!(failed_for("OutOfcpu", "", false, &plain), "violated", "it never ran");
    assert_eq!(
        failed_for("Evicted", "", true, &plain),
        "violated",
        "it has no limit, and its node has no pressure"
    );
    assert_eq!(failed_for("Evicted", "TerminationByKubelet", true, &plain), "inconclusive");
    assert_ne!(failed_for("Preempting", "", true, &plain), "violated");
}
