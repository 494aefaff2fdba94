//! Histories of results, attempts, counters and rejections.

use probity_composer::Told;
use probity_model::history::Change;
use probity_script::witness::{Command, ExecSeen, Fact};

use super::*;

const SILENCE: &str = "prober.result.published-on-change";
const AT_ONCE: &str = "prober.sync.readiness-status-path";
const TRIES: &str = "prober.retry.three-on-error";
const LITERAL: &str = "prober.exec.static-env-expansion";
const AGREE: &str = "prober.metrics.agree-with-witness";
const GO: &str = "prober.termination.remove-all";
const COMMAND: &str = "validation.exec-command-required";
const SLEEP: &str = "validation.prestop-sleep-range";
const TEMPLATE: &str = "validation.template-level";

#[test]
fn a_result_that_stays_the_same_writes_nothing() {
    let mut run = one(SILENCE, &json!({ "readinessProbe": http("/ready", 8080, 1) }));
    run.running(1.5, false, true, 0);
    answers(&mut run, "/ready", 503, 2..30);
    assert_eq!(verdict(&run.done(), SILENCE), "holds");
    let short = one(SILENCE, &json!({ "readinessProbe": http("/ready", 8080, 1) }));
    assert_eq!(verdict(&short.done(), SILENCE), "inconclusive");
}

#[test]
fn a_status_for_each_probe_is_noticed() {
    let mut run = one(SILENCE, &json!({ "readinessProbe": http("/ready", 8080, 1) }));
    let status = probity_composer::running_status("target", 1.5, false, true, 0);
    run.status(1.5, &status);
    for second in 2..30_u16 {
        run.probe(f64::from(second), "/ready", 503);
        run.status(f64::from(second) + 0.1, &status);
    }
    assert_eq!(verdict(&run.done(), SILENCE), "violated");
}

/// Readiness succeeds at 2 s and fails from 5 s on; the failure is shown at `shown`.
fn turns(shown: u16) -> Composer {
    let mut run = one(AT_ONCE, &json!({ "readinessProbe": http("/ready", 8080, 1) }));
    run.running(1.5, false, true, 0);
    answers(&mut run, "/ready", 200, 2..3);
    run.running(2.2, true, true, 0);
    answers(&mut run, "/ready", 200, 3..5);
    for second in 5..20 {
        run.probe(f64::from(second), "/ready", 503);
        if second == shown {
            run.running(f64::from(second) + 0.2, false, true, 0);
        }
    }
    run
}

#[test]
fn a_change_of_readiness_is_written_at_once() {
    assert_eq!(verdict(&turns(6).done(), AT_ONCE), "holds");
    assert_eq!(verdict(&turns(14).done(), AT_ONCE), "violated");
    let mut held_up = turns(14);
    held_up.noise(6.1, 14.0);
    assert_eq!(verdict(&held_up.done(), AT_ONCE), "inconclusive");
}

/// A liveness probe every four seconds fails, each time with this number of requests at once.
fn tried(times: u16) -> Composer {
    let mut run = one(TRIES, &json!({ "livenessProbe": http("/live", 8080, 4) }));
    for turn in 0..4_u16 {
        for again in 0..times {
            run.probe(2.0 + 4.0 * f64::from(turn) + 0.01 * f64::from(again), "/live", 500);
        }
    }
    run
}

#[test]
fn a_failure_counts_at_the_first_try() {
    assert_eq!(verdict(&tried(1).done(), TRIES), "holds");
    assert_eq!(verdict(&tried(3).done(), TRIES), "violated");
    assert_eq!(verdict(&tried(2).done(), TRIES), "violated");
    assert_eq!(verdict(&tried(0).done(), TRIES), "inconclusive");
}

/// A command that ran with these arguments after the fixed ones.
fn ran(words: &[&str]) -> Composer {
    let command = ["/agnhost-rs", "exec", "ready", "--note", "$(A)", "x$(B)y", "$(C)", "$$(A)", "$A"];
    let container = json!({
        "env": [
            { "name": "A", "value": "one two" },
            { "name": "B", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
        ],
        "readinessProbe": { "exec": { "command": command }, "periodSeconds": 1 },
    });
    let mut run = one(LITERAL, &container);
    let args = command.iter().take(4).chain(words).map(|word| (*word).to_owned()).collect();
    let endpoint = probity_script::Endpoint::Exec("ready".to_owned());
    let command = Command { args, ..Command::default() };
    let seen = ExecSeen { exec: 0, endpoint, probe: 1, step: 0, answer: "0".to_owned(), command };
    run.fact(2.0, Fact::Exec(seen));
    run
}

#[test]
fn only_literal_variables_are_replaced_in_a_command() {
    assert_eq!(verdict(&ran(&["one two", "x$(B)y", "$(C)", "$(A)", "$A"]).done(), LITERAL), "holds");
    assert_eq!(verdict(&ran(&["one two", "xy", "$(C)", "$(A)", "$A"]).done(), LITERAL), "diverges");
    assert_eq!(verdict(&ran(&["one two", "xpody", "$(C)", "$(A)", "$A"]).done(), LITERAL), "violated");
    assert_eq!(verdict(&ran(&["one", "two", "x$(B)y", "$(C)", "$(A)", "$A"]).done(), LITERAL), "violated");
}

/// A liveness probe arrives every second from 2 s on; the counters are read at 4.5 s and at 10.5 s.
fn read(rise: u64) -> Composer {
    let mut run = one(AGREE, &json!({ "livenessProbe": http("/live", 8080, 1) }));
    answers(&mut run, "/live", 200, 2..5);
    counted(&mut run, 4.7, &[("successful", 3)]);
    answers(&mut run, "/live", 200, 5..11);
    counted(&mut run, 10.7, &[("successful", 3 + rise)]);
    run
}

#[test]
fn counters_rise_by_what_the_target_saw() {
    assert_eq!(verdict(&read(6).done(), AGREE), "holds");
    assert_eq!(verdict(&read(3).done(), AGREE), "violated");
    assert_eq!(verdict(&read(18).done(), AGREE), "violated");
    let unread = one(AGREE, &json!({ "livenessProbe": http("/live", 8080, 1) }));
    assert_eq!(verdict(&unread.done(), AGREE), "inconclusive");
}

/// Liveness probes alternately succeed and fail. The process is stalled before each probe, so the kubelet may count a
/// success as a failure. Between the two readings, the counters grow by these numbers.
fn read_on_a_stalled_node(successful: u64, failed: u64) -> &'static str {
    let mut run = one(AGREE, &json!({ "livenessProbe": http("/live", 8080, 1) }));
    answers(&mut run, "/live", 200, 2..5);
    counted(&mut run, 4.7, &[("successful", 3)]);
    for second in 5..11_u16 {
        let at = f64::from(second);
        run.noise(at - 0.95, at - 0.01);
        run.probe(at, "/live", if second % 2 == 0 { 500 } else { 200 });
    }
    counted(&mut run, 10.7, &[("successful", 3 + successful), ("failed", failed)]);
    verdict(&run.done(), AGREE)
}

#[test]
fn a_probe_is_counted_once_even_if_its_result_is_not_known() {
    assert_eq!(read_on_a_stalled_node(3, 3), "holds");
    assert_eq!(read_on_a_stalled_node(1, 5), "holds", "two successes came too late");
    assert_eq!(read_on_a_stalled_node(3, 6), "violated", "each failure was counted twice");
}

/// The container restarts between the two readings, and its probes succeed again after that.
fn read_after_restart(successful: u64, failed: u64) -> &'static str {
    let mut run = one(AGREE, &json!({ "livenessProbe": http("/live", 8080, 1) }));
    answers(&mut run, "/live", 200, 2..5);
    counted(&mut run, 4.7, &[("successful", 3)]);
    answers(&mut run, "/live", 500, 5..7);
    run.start(8.0, 1);
    answers(&mut run, "/live", 200, 10..13);
    counted(&mut run, 13.7, &[("successful", successful), ("failed", failed)]);
    verdict(&run.done(), AGREE)
}

#[test]
fn counters_go_on_after_a_restart() {
    assert_eq!(read_after_restart(6, 2), "holds");
    assert_eq!(read_after_restart(6, 3), "holds", "a probe may have been refused");
    assert_eq!(read_after_restart(3, 2), "violated", "they began again");
    assert_eq!(read_after_restart(6, 0), "violated");
}

/// The counters of a pod are read while it runs, and again this long after its removal.
fn gone(after: f64, left: &[(&str, u64)]) -> Composer {
    let container = json!({ "livenessProbe": http("/live", 8080, 1) });
    let mut run = one(GO, &container);
    run.probe(2.0, "/live", 200);
    counted(&mut run, 3.0, &[("successful", 1)]);
    delete(&mut run, 4.0);
    run.pod_seen(5.0, &json!({ "nodeName": "node1" }), &json!({ "phase": "Succeeded" }), Change::Deleted);
    counted(&mut run, 5.0 + after, left);
    run
}

#[test]
fn counters_go_with_their_pod() {
    assert_eq!(verdict(&gone(12.0, &[]).done(), GO), "holds");
    assert_eq!(verdict(&gone(12.0, &[("successful", 1)]).done(), GO), "violated");
    assert_eq!(verdict(&gone(2.0, &[("successful", 1)]).done(), GO), "inconclusive");
}

/// A ready container runs again from 6 s on, and its readiness probe fails then. Before, this was done to its node.
fn restarts_unready(rules: &Value, verb: Option<&str>, ready: bool) -> &'static str {
    let clause = "prober.worker.new-container-resets-result";
    let container = json!({ "readinessProbe": http("/ready", 8080, 1), "restartPolicyRules": rules });
    let mut run = one(clause, &container);
    run.running(1.3, false, true, 0);
    run.probe(2.0, "/ready", 200);
    run.running(2.3, true, true, 0);
    if let Some(verb) = verb {
        run.deed(4.0, Did::verb(probity_composer::NODE, verb, Some(0), None));
    }
    run.left(5.0).start(6.0, 1).running(6.5, ready, true, 1);
    answers(&mut run, "/ready", 503, 7..12);
    over(&mut run, 13.0);
    verdict(&run.done(), clause)
}

#[test]
fn readiness_does_not_outlive_a_restart_of_all_or_a_sandbox() {
    let all = json!([{ "action": "RestartAllContainers" }]);
    assert_eq!(restarts_unready(&all, None, false), "holds");
    assert_eq!(restarts_unready(&all, None, true), "violated");
    assert_eq!(restarts_unready(&Value::Null, Some("remove-sandbox"), false), "holds");
    assert_eq!(restarts_unready(&Value::Null, Some("remove-sandbox"), true), "violated");
    assert_eq!(restarts_unready(&Value::Null, Some("restart-kubelet"), true), "inconclusive");
}

#[test]
fn histograms_go_with_their_pod() {
    let judged = |left: &[&str]| {
        let mut run = gone(12.0, &[]);
        measured(&mut run, 18.0, &[], left);
        verdict(&run.done(), GO)
    };
    assert_eq!(judged(&[]), "holds");
    assert_eq!(judged(&["other"]), "holds", "it is of another pod");
    assert_eq!(judged(&["pod"]), "violated");
}

#[test]
fn a_probe_that_always_ends_in_an_error_is_not_counted() {
    let judged = |failed: u64| {
        let probe = json!({ "tcpSocket": { "port": "nope" }, "periodSeconds": 1 });
        let mut run = one(AGREE, &json!({ "livenessProbe": probe }));
        counted(&mut run, 4.7, &[("failed", 0)]);
        counted(&mut run, 10.7, &[("failed", failed)]);
        verdict(&run.done(), AGREE)
    };
    assert_eq!(judged(0), "inconclusive", "nothing else is counted");
    assert_eq!(judged(6), "violated");
}

fn trial(clause: &str, manifest: Value, code: u16, message: &str) -> &'static str {
    let mut run = Composer::new(&[clause]);
    run.tried(1.0, "trial", manifest, code, message, Value::Null);
    verdict(&run.done(), clause)
}

fn pod(spec: &Value) -> Value {
    json!({ "kind": "Pod", "spec": spec })
}

#[test]
fn an_empty_command_is_refused() {
    let with = |command: Value| {
        pod(&json!({ "containers": [{ "name": "c", "livenessProbe": { "exec": { "command": command } } }] }))
    };
    let words = "spec.containers[0].livenessProbe.exec.command: Required value";
    assert_eq!(trial(COMMAND, with(json!([])), 422, words), "holds");
    assert_eq!(trial(COMMAND, with(json!([])), 201, ""), "violated");
    assert_eq!(trial(COMMAND, with(json!(["x"])), 422, words), "violated");
    assert_eq!(
        trial(COMMAND, with(json!([])), 422, "spec.containers[0].image: Required value"),
        "inconclusive"
    );
}

#[test]
fn a_sleep_is_refused_beyond_the_grace_period() {
    let with = |seconds: i64| {
        let sleep = json!({ "preStop": { "sleep": { "seconds": seconds } } });
        pod(
            &json!({ "terminationGracePeriodSeconds": 30, "containers": [{ "name": "c", "lifecycle": sleep }] }),
        )
    };
    let words = "spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31";
    assert_eq!(trial(SLEEP, with(31), 422, words), "holds");
    assert_eq!(trial(SLEEP, with(30), 201, ""), "holds");
    assert_eq!(trial(SLEEP, with(-1), 201, ""), "violated");
    assert_eq!(trial(SLEEP, with(0), 422, words), "violated");
    assert_eq!(trial(SLEEP, pod(&json!({ "containers": [] })), 201, ""), "inconclusive");
}

#[test]
fn a_wrong_probe_in_a_template_is_refused() {
    let with = |probe: Value| {
        let spec = json!({ "containers": [{ "name": "c", "livenessProbe": probe }] });
        json!({ "kind": "Deployment", "spec": { "template": { "spec": spec } } })
    };
    let wrong = || with(json!({ "httpGet": { "port": 0 } }));
    let words = "spec.template.spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0";
    assert_eq!(trial(TEMPLATE, wrong(), 422, words), "holds");
    assert_eq!(trial(TEMPLATE, wrong(), 201, ""), "violated");
    assert_eq!(trial(TEMPLATE, with(json!({ "httpGet": { "port": 80 } })), 422, words), "violated");
    assert_eq!(trial(TEMPLATE, wrong(), 422, "spec.selector: Required value"), "inconclusive");
}

#[test]
fn a_probe_that_timed_out_is_no_evidence_of_tries() {
    let mut run = one(TRIES, &json!({ "livenessProbe": http("/live", 8080, 4) }));
    for turn in 0..4_u16 {
        let told = Told { answer: "hang".to_owned(), took: 1.5, written: 0, ..Told::get("/live", 200) };
        run.http(2.0 + 4.0 * f64::from(turn), &told);
    }
    assert_eq!(verdict(&run.done(), TRIES), "inconclusive");
}
