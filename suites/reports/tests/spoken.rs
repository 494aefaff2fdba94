//! Messages of containers that write nothing to their file, and events about containers that never start.

use super::*;

/// The statuses of the only container, which has this state after these restarts.
fn shown(state: &Value, restarts: u64) -> Value {
    let of = json!({ "name": "target", "restartCount": restarts, "image": "agnhost-rs", "state": state });
    json!({ "phase": "Running", "startTime": timestamp(0.0), "containerStatuses": [of] })
}

/// The state of a container that failed with this message.
fn failed(message: &str) -> Value {
    json!({ "terminated": { "exitCode": 1, "message": message, "containerID": "containerd://a" } })
}

#[test]
fn an_instance_that_wrote_nothing_has_no_message() {
    let clause = "report.status.termination-message";
    let judged = |exit: f64, message: &str| {
        let file = json!({ "path": "/dev/termination-log", "bytes": 10, "after": "5s" });
        let plan = json!({ "process": { "consume": [{ "disk": file }] } });
        let env = json!([{ "name": "AGNHOST_PLAN", "value": plan.to_string() }]);
        let mut run = pod(clause, &one(json!({ "name": "target", "env": env })));
        run.start(8.0, 1);
        exits(&mut run, 8.0 + exit, 1);
        run.status(15.0, &shown(&failed(message), 1));
        concluded(run, clause)
    };
    assert_eq!(judged(1.0, ""), "holds");
    assert_eq!(judged(1.0, ".........."), "violated", "the previous instance wrote this");
    assert_eq!(judged(4.5, ".........."), "inconclusive", "it may have written before it was gone");
}

#[test]
fn standard_error_is_a_part_of_the_log() {
    let clause = "report.status.termination-message-log";
    let why = "not set in the environment: NOWHERE_SET";
    let judged = |message: String| {
        let env = json!([{ "name": "AGNHOST_PLAN", "value": "{}" }]);
        let policy = "FallbackToLogsOnError";
        let target = json!({ "name": "target", "terminationMessagePolicy": policy, "env": env });
        let mut run = pod(clause, &one(target));
        run.start(1.0, 0).fact(1.1, Fact::Exiting(Exiting { code: 1, why: why.to_owned() }));
        run.left(1.2).status(3.0, &shown(&failed(&message), 0));
        concluded(run, clause)
    };
    let record = format!(r#"{{"why":"{why}"}}"#);
    assert_eq!(judged(format!("agnhost-rs: {why}\n{record}\n")), "holds");
    assert_eq!(judged(format!("{record}\nagnhost-rs: {why}\n")), "holds", "either stream may be first");
    assert_eq!(judged(format!("{record}\n")), "violated");
    assert_ne!(judged(".".repeat(2048)), "violated", "it may have been cut off");
}

#[test]
fn a_container_that_never_starts_is_not_reported_as_started() {
    let clause = "report.event.started-each-time";
    let judged = |reason: &str, again: &str| {
        let mut run = pod(clause, &one(json!({ "name": "target", "command": ["/not-there"] })));
        let ended = |reason: &str| json!({ "terminated": { "exitCode": 128, "reason": reason } });
        told(&mut run, 1.0, &event(1.0, "target", "Normal", reason, "Container"));
        run.status(2.0, &shown(&ended("StartError"), 0)).status(3.0, &shown(&ended(again), 1));
        concluded(run, clause)
    };
    assert_eq!(judged("Created", "StartError"), "holds");
    assert_eq!(judged("Started", "StartError"), "violated");
    assert_ne!(judged("Started", "Error"), "violated", "it started later");
}
