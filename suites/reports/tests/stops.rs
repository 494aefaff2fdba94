//! Events about stops and hooks.

use super::*;

const CAUSE: &str = "report.event.killing-cause";
const ONLY: &str = "report.event.killing-only-stopped";
const HOOK: &str = "report.event.failed-hook";

fn killing(message: &str) -> Value {
    event(6.0, "target", "Normal", "Killing", message)
}

/// A liveness probe passes at 2 s and then has this result three times; the container is stopped at 6 s.
fn probed(clause: &str, exit: u8) -> Composer {
    let probe = json!({
        "exec": { "command": ["/agnhost-rs", "exec", "live"] }, "periodSeconds": 1, "timeoutSeconds": 5, "failureThreshold": 3,
    });
    let mut run = pod(clause, &one(json!({ "name": "target", "livenessProbe": probe })));
    run.start(1.0, 0);
    run.exec(2.0, "live", Some(0));
    for at in [3.0, 4.0, 5.0] {
        run.exec(at, "live", Some(exit));
    }
    run
}

#[test]
fn a_kill_by_a_probe_is_reported_with_its_cause() {
    let judged = |message: Option<&str>, again: bool| {
        let mut run = probed(CAUSE, 1);
        if let Some(message) = message {
            told(&mut run, 5.9, &killing(message));
        }
        stops(&mut run, 6.0);
        if again {
            run.start(8.0, 1);
        }
        concluded(run, CAUSE)
    };
    assert_eq!(judged(Some("Container target failed liveness probe, will be restarted"), true), "holds");
    assert_eq!(judged(Some("Stopping container target"), true), "violated");
    assert_eq!(judged(None, true), "violated");
    assert_eq!(judged(Some("Stopping container target"), false), "inconclusive", "the pod is over");
    assert_eq!(concluded(probed(CAUSE, 1), CAUSE), "inconclusive", "it was not stopped");
}

#[test]
fn a_stop_by_a_deletion_is_reported_without_a_probe() {
    let judged = |exit: u8, message: Option<&str>| {
        let mut run = probed(CAUSE, exit);
        deletes(&mut run, 5.5);
        if let Some(message) = message {
            told(&mut run, 5.9, &killing(message));
        }
        stops(&mut run, 6.0);
        concluded(run, CAUSE)
    };
    assert_eq!(judged(0, Some("Stopping container target")), "holds");
    assert_eq!(judged(0, None), "violated");
    assert_eq!(judged(0, Some("Container target failed liveness probe")), "violated", "it passed");
    assert_eq!(
        judged(1, Some("Container target failed liveness probe")),
        "inconclusive",
        "both are possible"
    );
    let mut run = pod(CAUSE, &one(json!({ "name": "target" })));
    run.start(1.0, 0);
    told(&mut run, 2.0, &killing("Container target failed startup probe"));
    assert_eq!(concluded(run, CAUSE), "violated", "it has no such probe");
}

#[test]
fn a_message_names_the_container_that_is_stopped() {
    let judged = |message: &str| {
        let mut run = pod(CAUSE, &json!({ "containers": [{ "name": "first" }, { "name": "target" }] }));
        run.start(1.0, 0);
        deletes(&mut run, 5.5);
        told(&mut run, 5.9, &killing(message));
        stops(&mut run, 6.0);
        concluded(run, CAUSE)
    };
    assert_eq!(judged("Stopping container target"), "holds");
    assert_eq!(judged("Stopping container first"), "violated");
    assert_eq!(judged("Stopping container"), "holds", "it names none");
}

#[test]
fn a_container_that_ends_by_itself_is_not_reported_as_stopped() {
    let judged = |reported: bool, deleted: bool| {
        let mut run = pod(ONLY, &one(json!({ "name": "target" })));
        run.start(1.0, 0);
        exits(&mut run, 4.0, 1);
        if deleted {
            deletes(&mut run, 4.5);
        }
        if reported {
            told(&mut run, 5.0, &killing("Stopping container target"));
        }
        concluded(run, ONLY)
    };
    assert_eq!(judged(false, false), "holds");
    assert_eq!(judged(true, false), "violated");
    assert_eq!(judged(true, true), "inconclusive", "its pod was deleted");
}

/// A container with or without a postStart hook; the hook may run and exit with this status.
fn hooked(has: bool, exit: Option<u8>, reported: bool) -> &'static str {
    let mut container = json!({ "name": "target" });
    if has {
        container["lifecycle"] =
            json!({ "postStart": { "exec": { "command": ["/agnhost-rs", "exec", "prepare"] } } });
    }
    let mut run = pod(HOOK, &one(container));
    run.start(1.0, 0);
    if has && exit.is_some() {
        run.exec(2.0, "prepare", exit);
    }
    if reported {
        told(&mut run, 3.0, &event(3.0, "target", "Warning", "FailedPostStartHook", "PostStartHook failed"));
    }
    concluded(run, HOOK)
}

#[test]
fn a_failed_hook_is_reported_and_no_other() {
    assert_eq!(hooked(true, Some(1), true), "holds");
    assert_eq!(hooked(true, Some(0), false), "holds");
    assert_eq!(hooked(true, Some(1), false), "violated");
    assert_eq!(hooked(true, Some(0), true), "violated");
    assert_eq!(hooked(false, None, true), "violated", "there is no hook");
    assert_eq!(hooked(true, None, true), "inconclusive", "nobody saw it run");
}

#[test]
fn an_event_about_a_hook_may_wait_in_the_queue_of_its_kubelet() {
    let judged = |reason: &str, recorded: f64, arrives: f64| {
        let hook = json!({ "postStart": { "exec": { "command": ["/agnhost-rs", "exec", "prepare"] } } });
        let mut run = pod(HOOK, &one(json!({ "name": "target", "lifecycle": hook })));
        run.start(1.0, 0).exec(2.0, "prepare", Some(1));
        told(&mut run, arrives, &event(recorded, "target", "Warning", reason, "failed"));
        concluded(run, HOOK)
    };
    assert_eq!(judged("FailedPostStartHook", 3.0, 20.0), "inconclusive", "it was recorded in time");
    assert_eq!(judged("FailedPostStartHook", 15.0, 20.0), "violated", "it was recorded too late");
    assert_eq!(judged("Unhealthy", 4.0, 25.0), "inconclusive", "the queue is long");
    assert_eq!(judged("Unhealthy", 4.0, 6.0), "violated", "the queue is short");
}

/// A container whose hook is a request to this port is stopped. Only port 8080 is open.
fn refused(hook: &str, port: u16, reported: bool) -> &'static str {
    let mut container = json!({ "name": "target" });
    container["lifecycle"][hook] = json!({ "httpGet": { "path": "/", "port": port } });
    let plan = json!({ "listeners": { "web": { "port": 8080, "paths": { "/": 200 } } } });
    container["env"] = json!([{ "name": "AGNHOST_PLAN", "value": plan.to_string() }]);
    let mut run = pod(HOOK, &one(container));
    run.start(1.0, 0);
    run.signal(2.0, "SIGTERM");
    run.left(2.1);
    if reported {
        let reason = if hook == "preStop" { "FailedPreStopHook" } else { "FailedPostStartHook" };
        told(&mut run, 2.2, &event(2.2, "target", "Warning", reason, "failed"));
    }
    concluded(run, HOOK)
}

#[test]
fn a_request_that_was_refused_is_a_failed_hook() {
    for hook in ["preStop", "postStart"] {
        assert_ne!(refused(hook, 8081, true), "violated");
        assert_eq!(refused(hook, 8081, false), "violated");
        assert_ne!(refused(hook, 8080, false), "violated", "something listens there");
    }
}

#[test]
fn no_more_kills_by_probes_are_reported_than_instances_ended() {
    let judged = |times: u64| {
        let mut run = probed(CAUSE, 1);
        let message = "Container target failed liveness probe, will be restarted";
        told(&mut run, 5.9, &with(killing(message), "/count", json!(times)));
        stops(&mut run, 6.0);
        run.start(8.0, 1);
        concluded(run, CAUSE)
    };
    assert_eq!(judged(1), "holds");
    assert_eq!(judged(2), "holds", "a stop may be tried again");
    assert_eq!(judged(3), "violated");
}
