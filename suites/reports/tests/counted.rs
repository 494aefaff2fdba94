//! The restart counts of init containers in pods whose containers all restart together.

use super::*;

const CLAUSE: &str = "report.status.restart-count";

/// Statuses of an init container and two main containers, all with their restart counts.
fn counts(init: u64, mains: u64) -> Value {
    let of = |name: &str, restarts: u64, state: Value| json!({ "name": name, "restartCount": restarts, "image": "agnhost-rs", "state": state });
    let done = json!({ "terminated": { "exitCode": 0, "reason": "Completed" } });
    let runs = json!({ "running": { "startedAt": timestamp(6.0) } });
    json!({
        "phase": "Running", "startTime": timestamp(0.0),
        "initContainerStatuses": [of("first", init, done)],
        "containerStatuses": [of("target", mains, runs.clone()), of("other", mains, runs)],
    })
}

/// A container exits at 4 s with a status for which a rule has this action. The init container and the main containers run
/// again, and a status then has these counts.
fn again(action: &str, (init, mains): (u64, u64), stalled: bool) -> &'static str {
    let rules = json!([{ "action": action, "exitCodes": { "operator": "In", "values": [88] } }]);
    let target = json!({ "name": "target", "restartPolicy": "Never", "restartPolicyRules": rules });
    let spec =
        json!({ "initContainers": [{ "name": "first" }], "containers": [target, { "name": "other" }] });
    let mut run = pod(CLAUSE, &spec);
    for (number, at) in [(0, 1.0), (1, 5.0)] {
        run.of("pod", "first").start(at, number);
        exits(&mut run, at + 0.5, 0);
        for (name, at) in [("target", at + 1.0), ("other", at + 1.1)] {
            run.of("pod", name).start(at, number);
        }
        if number == 0 {
            run.status(3.0, &counts(0, 0));
            run.of("pod", "target");
            exits(&mut run, 4.0, 88);
            run.of("pod", "other").signal(4.1, "SIGTERM");
            run.left(4.2);
        }
    }
    if stalled {
        run.noise(4.5, 6.5);
    }
    run.status(7.0, &counts(init, mains));
    concluded(run, CLAUSE)
}

#[test]
fn an_init_container_is_counted_when_the_container_after_it_is_shown() {
    let all = |counts: (u64, u64)| again("RestartAllContainers", counts, false);
    assert_eq!(all((1, 1)), "holds");
    assert_eq!(all((0, 1)), "violated");
    assert_eq!(again("RestartAllContainers", (0, 1), true), "violated", "however busy the node is");
    assert_ne!(again("Restart", (0, 1), false), "violated", "only one container restarts");
}
