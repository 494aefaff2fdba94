//! Events that were recorded more often than the things that they report happened, and waits that no event reports.

use super::*;

/// A container that runs once, and an event about it that has occurred `count` times.
fn judged(clause: &str, reason: &str, message: &str, count: u64, lost: bool) -> &'static str {
    let mut run = pod(clause, &one(json!({ "name": "target" })));
    run.start(1.0, if lost { 1 } else { 0 }).running(1.5, true, true, 0);
    told(&mut run, 2.0, &with(event(2.0, "target", "Normal", reason, message), "/count", json!(count)));
    concluded(run, clause)
}

#[test]
fn no_more_starts_are_reported_than_there_were() {
    let (pulled, created) = ("report.event.pulled-each-time", "report.event.started-each-time");
    let of_image = |count, lost| judged(pulled, "Pulled", "it is there", count, lost);
    assert_eq!(of_image(1, false), "holds");
    assert_eq!(of_image(2, false), "holds", "the runtime may have failed once");
    assert_eq!(of_image(3, false), "violated");
    assert_ne!(of_image(3, true), "violated", "an instance was not heard");
    assert_eq!(judged(created, "Created", "Container created", 3, false), "violated");
}

#[test]
fn no_more_stops_are_reported_than_requests() {
    let clause = "report.event.killing-cause";
    let judged = |count: u64, again: bool| {
        let mut run = pod(clause, &one(json!({ "name": "target" })));
        run.start(1.0, 0).running(1.5, true, true, 0);
        deletes(&mut run, 3.0);
        if again {
            deletes(&mut run, 3.5);
        }
        stops(&mut run, 4.0);
        let says = event(4.0, "target", "Normal", "Killing", "Stopping container target");
        told(&mut run, 4.2, &with(says, "/count", json!(count)));
        concluded(run, clause)
    };
    assert_eq!(judged(1, false), "holds");
    assert_eq!(judged(3, false), "violated");
    assert_eq!(judged(3, true), "holds", "the pod was deleted twice");
}

#[test]
fn no_more_failed_hooks_are_reported_than_can_have_failed() {
    let clause = "report.event.failed-hook";
    let judged = |count: u64| {
        let hook = json!({ "exec": { "command": ["/agnhost-rs", "exec", "bye"] } });
        let mut run = pod(clause, &one(json!({ "name": "target", "lifecycle": { "preStop": hook } })));
        run.start(1.0, 0).running(1.5, true, true, 0);
        deletes(&mut run, 3.0);
        run.exec(3.5, "bye", Some(1));
        stops(&mut run, 4.0);
        let says = event(4.0, "target", "Warning", "FailedPreStopHook", "PreStopHook failed");
        told(&mut run, 4.2, &with(says, "/count", json!(count)));
        concluded(run, clause)
    };
    assert_eq!(judged(1), "holds");
    assert_eq!(judged(3), "violated");
}

/// A container whose first instance ends at 3 s and whose second instance ends at 6 s. The third instance begins at
/// `third`.
fn pauses(clause: &str, third: Option<f64>, reported: bool) -> &'static str {
    let mut run = pod(clause, &one(json!({ "name": "target" })));
    run.start(1.0, 0);
    exits(&mut run, 3.0, 1);
    run.start(4.0, 1);
    exits(&mut run, 6.0, 1);
    if reported {
        let says = "Back-off restarting failed container target in pod pod";
        told(&mut run, 7.0, &event(7.0, "target", "Warning", "BackOff", says));
    }
    if let Some(at) = third {
        run.start(at, 2);
    }
    concluded(run, clause)
}

#[test]
fn a_pause_before_a_restart_is_reported() {
    let clause = "report.event.back-off";
    assert_eq!(pauses(clause, Some(16.0), true), "holds");
    assert_eq!(pauses(clause, Some(16.0), false), "violated");
    assert_eq!(pauses(clause, None, false), "violated", "it still waits");
    assert_eq!(pauses(clause, Some(7.0), false), "inconclusive", "it did not wait");
}
