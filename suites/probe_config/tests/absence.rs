//! Probes that were due but never arrived.

use probity_composer::Composer;
use serde_json::json;

use super::{answers, begin, http, pod, spec, verdict};

const PERIOD: &str = "probe.timing.period";
const PHASE: &str = "probe.timing.first-probe-phase";

#[test]
fn a_probe_that_was_due_and_never_came_is_a_violation() {
    let judged = |clause: &str, probes: serde_json::Value, until: f64| {
        let mut run = pod(clause, probes);
        run.running(until, false, true, 0).reading(until);
        verdict(&run.done(), clause)
    };
    for kind in ["livenessProbe", "startupProbe", "readinessProbe"] {
        assert_eq!(judged(PERIOD, json!({ kind: http(json!({})) }), 20.0), "violated", "{kind}");
        assert_eq!(judged(PERIOD, json!({ kind: http(json!({})) }), 4.0), "inconclusive", "{kind}");
        let slow = http(json!({ "periodSeconds": 30 }));
        assert_eq!(judged(PERIOD, json!({ kind: slow }), 20.0), "inconclusive", "{kind}");
    }
    for kind in ["livenessProbe", "startupProbe"] {
        assert_eq!(judged(PHASE, json!({ kind: http(json!({})) }), 20.0), "violated", "{kind}");
    }
    let by = |handler: &str, of: serde_json::Value| json!({ "livenessProbe": { handler: of, "periodSeconds": 1 } });
    for probes in [by("tcpSocket", json!({ "port": 8080 })), by("grpc", json!({ "port": 8080 }))] {
        assert_eq!(judged(PERIOD, probes, 20.0), "violated");
    }
}

#[test]
fn probes_that_end_long_before_their_container_are_missing_too() {
    let judged = |until: f64, last: u16| {
        let mut run = pod(PERIOD, json!({ "livenessProbe": http(json!({})) }));
        answers(&mut run, 2, &[200, 200, 200, last, last, last]);
        run.running(until, false, true, 0).reading(until);
        verdict(&run.done(), PERIOD)
    };
    assert_eq!(judged(30.0, 200), "violated");
    assert_eq!(judged(9.0, 200), "holds");
    assert_eq!(judged(30.0, 500), "holds", "after three failures nothing more is due");
}

#[test]
fn what_may_have_held_a_probe_back_or_hidden_it_excuses_its_absence() {
    let judged = |damage: &dyn Fn(&mut Composer)| {
        let mut run = pod(PERIOD, json!({ "livenessProbe": http(json!({})) }));
        damage(&mut run);
        run.running(20.0, false, true, 0).reading(20.0);
        verdict(&run.done(), PERIOD)
    };
    assert_eq!(judged(&|_| ()), "violated");
    let excuses: [&dyn Fn(&mut Composer); 4] = [
        &|run| {
            run.lose_line().connection(2.0, "web", 8080);
        },
        &|run| {
            run.connection(2.0, "web", 8080);
        },
        &|run| {
            run.probe(2.0, "/elsewhere", 404);
        },
        &|run| {
            run.noise(1.5, 19.0);
        },
    ];
    for excuse in excuses {
        assert_eq!(judged(excuse), "inconclusive");
    }
}

#[test]
fn an_instance_that_may_have_been_stopping_since_its_start_gets_no_probes() {
    let judged = |killed: f64, signal: bool| {
        let mut run = pod(PERIOD, json!({ "livenessProbe": http(json!({ "failureThreshold": 1 })) }));
        if signal {
            run.signal(killed - 1.0, "SIGTERM");
        }
        run.left(killed).running(killed + 0.5, false, true, 1);
        run.reading(killed + 0.5);
        verdict(&run.done(), PERIOD)
    };
    assert_ne!(judged(11.2, false), "violated", "its stop signal may have come before it could record it");
    assert_eq!(judged(8.0, false), "violated", "it had less than its grace period");
    assert_eq!(judged(20.0, false), "violated", "it had more than its grace period");
    assert_eq!(judged(11.2, true), "violated", "its stop signal came at its end");
}

#[test]
fn a_case_may_end_before_the_grace_period_of_a_stop_without_a_record() {
    let judged = |failures: u64, busy: bool, until: f64| {
        let mut run = Composer::new(&[PERIOD]);
        run.create(0.0, &spec(json!({ "livenessProbe": http(json!({ "failureThreshold": failures })) })));
        if busy {
            run.noise(0.5, 1.9);
        }
        begin(&mut run, 2.0, 0);
        run.running(until, false, true, 0).reading(until);
        verdict(&run.done(), PERIOD)
    };
    assert_ne!(judged(1, true, 10.0), "violated", "it may be stopping");
    assert_eq!(judged(1, false, 10.0), "violated", "it started quickly");
    assert_eq!(judged(9, true, 10.0), "violated", "nine probes cannot fail before the port is open");
    assert_eq!(judged(1, true, 20.0), "violated", "its grace period is over");
}

#[test]
fn a_kubelet_that_tells_of_failures_has_no_excuse_for_probes_that_never_came() {
    let mut run = pod(PERIOD, json!({ "livenessProbe": http(json!({})) }));
    run.event(3.0, "Warning", "Unhealthy", "Liveness probe failed: connection refused");
    run.running(20.0, false, true, 0).reading(20.0);
    assert_eq!(verdict(&run.done(), PERIOD), "violated");
}

#[test]
fn behind_a_startup_probe_nothing_is_due_before_its_success() {
    let start =
        json!({ "httpGet": { "path": "/start", "port": 8080 }, "periodSeconds": 1, "failureThreshold": 30 });
    let judged = |success: Option<f64>| {
        let mut run = pod(PERIOD, json!({ "startupProbe": start, "livenessProbe": http(json!({})) }));
        for second in 2..10 {
            run.probe(f64::from(second), "/start", 503);
        }
        if let Some(at) = success {
            run.probe(at, "/start", 200);
        }
        run.running(12.0, false, true, 0).reading(12.0);
        if success.is_some() {
            run.reading(30.0);
        }
        verdict(&run.done(), PERIOD)
    };
    assert_eq!(judged(None), "holds");
    assert_eq!(judged(Some(10.0)), "violated");
}

#[test]
fn a_busy_node_does_not_explain_that_only_one_kind_of_probe_is_missing() {
    let judged = |others: bool| {
        let ready = json!({ "httpGet": { "path": "/ready", "port": 8080 }, "periodSeconds": 1 });
        let mut run = pod(PERIOD, json!({ "livenessProbe": http(json!({})), "readinessProbe": ready }));
        run.running(1.5, true, true, 0).noise(1.5, 19.0);
        for second in 2..20 {
            if others || second < 3 {
                run.probe(f64::from(second), "/ready", 200);
            }
        }
        run.running(20.0, true, true, 0).reading(20.0);
        verdict(&run.done(), PERIOD)
    };
    assert_eq!(judged(true), "violated");
    assert_ne!(judged(false), "violated");
}
