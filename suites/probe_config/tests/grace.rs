//! Histories that show which grace period applies.

use probity_composer::Composer;
use probity_model::history::Did;
use serde_json::{Value, json};

use super::{begin, http, pod, spec_of_sidecar, verdict};

const LIVENESS: &str = "probe.tgps.liveness-override";
const STARTUP: &str = "probe.tgps.startup-override";
const INHERITS: &str = "probe.tgps.default-inherits";
const DELETION: &str = "probe.tgps.not-used-on-deletion";
const EXAMPLE: &str = "probe.config.doc-example";
const LEAST: &str = "termination.minimum-2s";

/// A failure at 3 s, the stop signal 0.1 s later, and the kill this long after the signal. The pod's grace period is
/// ten seconds.
fn killed(clause: &str, kind: &str, own: Option<u64>, after: f64) -> &'static str {
    let mut probe = http(json!({ "failureThreshold": 1 }));
    if let Some(own) = own {
        probe["terminationGracePeriodSeconds"] = json!(own);
    }
    let mut run = pod(clause, json!({ kind: probe }));
    run.probe(3.0, "/p", 500);
    run.signal(3.1, "SIGTERM");
    run.left(3.1 + after);
    verdict(&run.done(), clause)
}

#[test]
fn a_probes_own_grace_period_counts() {
    for (clause, kind) in [(LIVENESS, "livenessProbe"), (STARTUP, "startupProbe")] {
        assert_eq!(killed(clause, kind, Some(4), 4.1), "holds");
        assert_eq!(killed(clause, kind, Some(4), 10.0), "violated");
        assert_eq!(killed(clause, kind, Some(20), 20.1), "holds");
        assert_eq!(killed(clause, kind, Some(20), 10.0), "violated");
        assert_eq!(killed(clause, kind, None, 10.0), "inconclusive");
    }
}

#[test]
fn a_grace_period_of_two_seconds_is_two_seconds() {
    for (clause, kind) in [(LIVENESS, "livenessProbe"), (STARTUP, "startupProbe")] {
        assert_eq!(killed(clause, kind, Some(2), 2.15), "holds");
        assert_eq!(killed(clause, kind, Some(2), 1.2), "violated");
        assert_eq!(killed(clause, kind, Some(2), 4.5), "violated");
    }
    assert_eq!(killed(LIVENESS, "livenessProbe", Some(1), 2.1), "holds", "less than two seconds are two");
}

#[test]
fn a_shorter_grace_period_is_two_seconds() {
    for kind in ["livenessProbe", "startupProbe"] {
        assert_eq!(killed(LEAST, kind, Some(1), 2.1), "holds");
        assert_eq!(killed(LEAST, kind, Some(1), 1.1), "violated");
        assert_eq!(killed(LEAST, kind, Some(1), 10.1), "holds", "other clauses limit it");
        assert_eq!(killed(LEAST, kind, Some(4), 1.1), "inconclusive", "it has more than two seconds");
    }
}

#[test]
fn without_one_the_pods_counts() {
    assert_eq!(killed(INHERITS, "livenessProbe", None, 10.1), "holds");
    assert_eq!(killed(INHERITS, "livenessProbe", None, 2.0), "violated");
    assert_eq!(killed(INHERITS, "livenessProbe", Some(4), 4.0), "inconclusive");
}

fn deleted(after: f64) -> &'static str {
    let probe: Value = http(json!({ "terminationGracePeriodSeconds": 3 }));
    let mut run = pod(DELETION, json!({ "livenessProbe": probe }));
    run.probe(2.0, "/p", 200);
    run.deed(4.0, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace: None });
    run.signal(4.2, "SIGTERM");
    run.left(4.2 + after);
    verdict(&run.done(), DELETION)
}

#[test]
fn a_deletion_uses_the_pods() {
    assert_eq!(deleted(10.0), "holds");
    assert_eq!(deleted(3.0), "violated");
    assert_eq!(killed(DELETION, "livenessProbe", Some(3), 3.0), "inconclusive");
}

/// A sidecar in a deleted pod that gets its stop signal at this time, after the main container has ended, and that ends
/// this long after the signal.
fn sidecar_deleted(turn: f64, after: f64) -> &'static str {
    let probe = http(json!({ "terminationGracePeriodSeconds": 3 }));
    let mut run = Composer::new(&[DELETION]);
    run.create(0.0, &spec_of_sidecar(json!({ "livenessProbe": probe })));
    begin(&mut run, 1.0, 0);
    run.probe(2.0, "/p", 200);
    run.deed(4.0, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace: None });
    run.signal(turn, "SIGTERM");
    run.left(turn + after);
    verdict(&run.done(), DELETION)
}

#[test]
fn a_sidecar_has_what_is_left_of_the_pods_when_its_turn_comes() {
    assert_eq!(sidecar_deleted(4.2, 9.9), "holds");
    assert_eq!(sidecar_deleted(4.2, 3.0), "violated");
    assert_eq!(sidecar_deleted(8.0, 6.0), "holds");
    assert_eq!(sidecar_deleted(8.0, 3.0), "violated");
    assert_eq!(sidecar_deleted(14.1, 2.0), "holds");
    assert_eq!(sidecar_deleted(14.1, 16.0), "violated");
}

fn example(stop: Option<f64>) -> &'static str {
    let get = |path: &str| json!({ "path": path, "port": 8080 });
    let probes = json!({
        "startupProbe": { "httpGet": get("/start"), "periodSeconds": 10, "failureThreshold": 30 },
        "livenessProbe": { "httpGet": get("/live"), "initialDelaySeconds": 10, "periodSeconds": 5 },
        "readinessProbe": { "httpGet": get("/ready"), "periodSeconds": 5 },
    });
    let mut run = pod(EXAMPLE, probes);
    run.probe(5.0, "/start", 503);
    match stop {
        Some(at) => {
            run.signal(at, "SIGTERM");
        }
        None => {
            run.probe(15.0, "/start", 200);
            run.probe(15.5, "/ready", 200);
            run.running(16.0, true, true, 0);
        }
    }
    verdict(&run.done(), EXAMPLE)
}

#[test]
fn the_documented_example_has_its_time_to_start() {
    assert_eq!(example(None), "holds");
    assert_eq!(example(Some(8.0)), "violated");
    assert_eq!(killed(EXAMPLE, "livenessProbe", None, 10.0), "inconclusive");
}
