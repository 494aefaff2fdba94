//! Hand-written histories of containers that are killed because of their probes.

use probity_composer::Composer;
use serde_json::json;

use super::{KILLS, ended, exits, status};
use crate::tests::verdict;

const CAUSES: &str = "restart.backoff.probe-causes";

/// Creates a pod whose container restarts when its liveness probe fails once.
fn create(run: &mut Composer) {
    let probe =
        json!({ "httpGet": { "path": "/live", "port": 8080 }, "periodSeconds": 1, "failureThreshold": 1 });
    run.create(0.0, &json!({ "containers": [{ "name": "target", "livenessProbe": probe }] }));
}

/// An instance is killed at this time, because its liveness probe has failed.
fn kill(run: &mut Composer, at: f64) {
    run.probe(at - 0.15, "/live", 500);
    run.signal(at - 0.05, "SIGTERM");
    exits(run, at, 0, "stop");
}

/// Instances that fail their first liveness probe and are stopped after one second each.
fn killed(clause: &str, lives: &[f64], shown: Option<f64>) -> &'static str {
    killed_after(1.8, clause, lives, shown)
}

/// Like [`killed`], with instances that last this long.
fn killed_after(lasts: f64, clause: &str, lives: &[f64], shown: Option<f64>) -> &'static str {
    let mut run = Composer::new(&[clause]);
    create(&mut run);
    for (number, at) in lives.iter().enumerate() {
        run.start(*at, number as u64);
        if number + 1 < lives.len() {
            kill(&mut run, at + lasts);
            if let Some(shown) = shown.filter(|shown| *shown > *at && *shown < lives[number + 1]) {
                let status = status(
                    "Running",
                    number as u64,
                    json!({ "waiting": { "reason": "CrashLoopBackOff" } }),
                    ended(0),
                );
                run.status(shown, &status);
            }
        }
    }
    run.reading(lives.last().copied().unwrap_or(0.0) + 5.0);
    verdict(&run.done(), clause)
}

#[test]
fn two_kills_by_a_probe_wait_for_nothing_and_the_third_does() {
    assert_eq!(killed(KILLS, &[1.0, 3.0, 5.0, 17.0], None), "holds");
    assert_eq!(killed(KILLS, &[1.0, 14.0, 16.0], None), "violated", "the first waited");
    assert_eq!(killed(KILLS, &[1.0, 3.0, 5.0, 7.0], None), "inconclusive", "a single delay is missing");
    assert_eq!(killed(KILLS, &[1.0, 3.0, 5.0, 7.0, 9.0], None), "violated", "two delays are missing");
    assert_eq!(killed(KILLS, &[1.0, 3.0, 5.0, 17.0, 39.0], None), "holds");
    assert_eq!(
        killed(KILLS, &[1.0, 3.0, 5.0, 17.0, 22.0], None),
        "inconclusive",
        "the fourth waited too briefly"
    );
    assert_eq!(
        killed(KILLS, &[1.0, 3.0, 5.0, 7.0, 19.0], None),
        "inconclusive",
        "a delay that was skipped does not double"
    );
    assert_eq!(
        killed(KILLS, &[1.0, 3.0, 5.0, 17.0, 39.0, 55.0], None),
        "inconclusive",
        "the fifth waited too briefly"
    );
    assert_eq!(
        killed(KILLS, &[1.0, 3.0, 5.0, 7.0, 19.0, 30.0], None),
        "violated",
        "after the skipped delay, the next did not double"
    );
    assert_eq!(killed(KILLS, &[1.0], None), "inconclusive");
    let quick = killed_after(0.9, KILLS, &[1.0, 3.0, 5.0, 7.0], None);
    assert_ne!(quick, "violated", "the kubelet may not have listed the second instance");
}

/// Two pods whose third restart comes at this time; the third kill comes at 6.8 s. The instances of the second pod begin
/// this much later. After the third kill, the node is stalled or not.
fn killed_beside(third: f64, later: f64, stalled: bool) -> &'static str {
    let mut run = Composer::new(&[KILLS]);
    for (pod, since) in [("one", 0.0), ("two", later)] {
        create(run.of(pod, "target"));
        for (number, at) in [1.0, 3.0, 5.0, third].map(|at| at + since).into_iter().enumerate() {
            run.start(at, number as u64);
            if number < 3 {
                kill(&mut run, at + 1.8);
            }
        }
        if stalled {
            run.noise(since + 6.9, since + third - 0.1);
        }
    }
    run.reading(30.0);
    verdict(&run.done(), KILLS)
}

#[test]
fn one_clean_up_explains_what_two_pods_skip_together() {
    assert_eq!(killed_beside(7.0, 0.1, false), "inconclusive");
    assert_eq!(killed_beside(7.0, 3.1, false), "violated", "no single cleanup explains both");
}

#[test]
fn a_delay_counts_from_the_kill() {
    assert_eq!(killed_beside(17.0, 3.1, false), "holds");
    assert_eq!(
        killed_beside(15.0, 3.1, false),
        "violated",
        "10.2 s after the end before, 8.2 s after the kill"
    );
    assert_ne!(killed_beside(15.0, 3.1, true), "violated", "the kubelet may have decided late");
    assert_eq!(killed(KILLS, &[1.0, 3.0, 5.0, 17.0, 33.0], None), "inconclusive", "14 s of 20 s");
    let late = killed_after(8.0, KILLS, &[1.0, 9.5, 18.0, 28.0], None);
    assert_eq!(late, "holds", "the delay may have been over when the kubelet decided");
}

#[test]
fn kills_by_a_probe_lead_to_a_wait() {
    assert_eq!(killed(CAUSES, &[1.0, 3.0, 5.0, 17.0], Some(7.0)), "holds");
    assert_eq!(killed(CAUSES, &[1.0, 3.0, 5.0, 7.0, 9.0], None), "violated");
    assert_eq!(killed(CAUSES, &[1.0, 3.0], None), "inconclusive");
}
