//! Hand-written histories of containers that cannot be started, and of kills under the policy OnFailure.

use probity_composer::{Composer, timestamp};
use serde_json::{Value, json};

use super::{KILLS, OTHERS, SEQUENCE, crashes, exits, status};
use crate::tests::verdict;

fn unstarted(at: f64) -> Value {
    json!({ "terminated": { "exitCode": 128, "reason": "StartError", "finishedAt": timestamp(at) } })
}

/// A container cannot be started at 1 s and at 2 s, and the kubelet tries a third time at this time.
fn tried_again(at: f64) -> &'static str {
    let mut run = Composer::new(&[SEQUENCE]);
    run.create(0.0, &json!({ "containers": [{ "name": "target", "command": ["/not-there"] }] }));
    for (restarts, at) in [(0, 1.0), (1, 2.0), (2, at)] {
        run.status(at + 0.3, &status("Running", restarts, unstarted(at), json!({})));
    }
    run.reading(60.0);
    verdict(&run.done(), SEQUENCE)
}

#[test]
fn a_container_that_cannot_be_started_waits_before_its_second_retry() {
    assert_ne!(tried_again(13.5), "violated");
    assert_ne!(tried_again(12.0), "violated", "the status shows whole seconds");
    assert_eq!(tried_again(3.0), "violated");
    assert_eq!(tried_again(11.0), "violated");
}

/// In a pod with OnFailure, instances begin at these times. Each fails its liveness probe and is stopped, and exits with this
/// status.
fn killed_on_failure(code: u8, lives: &[f64]) -> &'static str {
    let probe =
        json!({ "httpGet": { "path": "/live", "port": 8080 }, "periodSeconds": 1, "failureThreshold": 1 });
    let mut run = Composer::new(&[KILLS]);
    let target = json!({ "name": "target", "livenessProbe": probe });
    run.create(0.0, &json!({ "restartPolicy": "OnFailure", "containers": [target] }));
    for (number, at) in (0..).zip(lives) {
        run.start(*at, number);
        run.probe(at + 1.65, "/live", 500);
        run.signal(at + 1.75, "SIGTERM");
        exits(&mut run, at + 1.8, code, "stop");
    }
    run.reading(60.0);
    verdict(&run.done(), KILLS)
}

#[test]
fn kills_wait_under_on_failure_too() {
    assert_eq!(killed_on_failure(1, &[1.0, 3.0, 5.0, 17.0, 39.0]), "holds");
    assert_eq!(killed_on_failure(1, &[1.0, 3.0, 5.0, 7.0, 9.0]), "violated");
    assert_ne!(
        killed_on_failure(0, &[1.0, 3.0, 5.0, 7.0, 9.0]),
        "violated",
        "the policy does not restart it"
    );
}

/// A container exits at 2 s. The postStart hook of the next instance fails and this instance is stopped, and a third instance
/// begins at this time.
fn fails_its_hook(failed: bool, third: f64) -> &'static str {
    let hook = json!({ "exec": { "command": ["/agnhost-rs", "exec", "prepare"] } });
    let mut run = Composer::new(&[OTHERS]);
    run.create(0.0, &json!({ "containers": [{ "name": "target", "lifecycle": { "postStart": hook } }] }));
    run.start(1.0, 0);
    run.exec(1.1, "prepare", Some(0));
    exits(&mut run, 2.0, 1, "plan");
    run.start(3.0, 1);
    run.exec(3.1, "prepare", Some(u8::from(failed)));
    run.signal(3.5, "SIGTERM");
    exits(&mut run, 3.6, 0, "stop");
    run.start(third, 2);
    run.reading(60.0);
    verdict(&run.done(), OTHERS)
}

#[test]
fn a_container_whose_hook_fails_waits_like_one_that_crashes() {
    assert_ne!(fails_its_hook(true, 14.0), "violated");
    assert_eq!(fails_its_hook(true, 4.5), "violated");
    assert_ne!(fails_its_hook(false, 4.5), "violated", "something else stopped it");
}

/// The first two delays take this long on a kubelet of this version, which is perhaps stalled at the end of the first one.
fn waits_on(kubelet: &str, (first, second): (f64, f64), stalled: bool) -> &'static str {
    let third = 4.0 + first;
    let mut run = crashes(SEQUENCE, &[1.0, 3.0, third, third + 1.0 + second], "plan");
    if stalled {
        run.noise(10.0, third);
    }
    let mut history = run.done();
    for facts in history.header.nodes.values_mut() {
        kubelet.clone_into(&mut facts.kubelet);
    }
    verdict(&history, SEQUENCE)
}

#[test]
fn newer_kubelets_wake_up_at_the_end_of_a_delay() {
    assert_eq!(waits_on("v1.36.3", (10.5, 20.5), false), "holds");
    assert_eq!(waits_on("v1.35.0", (18.0, 33.0), false), "holds", "half of the delay, and a start");
    assert_eq!(waits_on("v1.35.0", (22.0, 20.5), false), "violated", "22 s of 10 s");
    assert_eq!(waits_on("v1.36.3", (10.5, 38.0), false), "violated", "38 s of 20 s");
    assert_ne!(waits_on("v1.36.3", (22.0, 20.5), true), "violated", "the node was stalled");
    for older in ["v1.34.4", "v1.33.9", ""] {
        assert_eq!(waits_on(older, (22.0, 38.0), false), "holds", "{older} retries every ten seconds");
        assert_eq!(waits_on(older, (31.0, 20.5), false), "violated", "{older}");
    }
}
