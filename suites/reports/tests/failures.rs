//! Which texts and errors of failed probes are reported, how often, and until when.

use probity_script::witness::{Command, ExecEnded, ExecSeen};

use super::*;

/// A command runs at 2 s in the first step of its script and at 3 s in the second, and prints another text each time. An
/// event follows each time.
fn prints(says: [&str; 2]) -> &'static str {
    let clause = "report.event.unhealthy-names-probe";
    let step = |text: &str| json!({ "answer": { "exit": 1, "print": text }, "times": 1 });
    let plan = json!({ "exec": { "ready": [step("one\ntwo"), step("another"), { "answer": "succeed" }] } })
        .to_string();
    let env = json!([{ "name": "AGNHOST_PLAN", "value": plan }]);
    let command = json!({ "command": ["/agnhost-rs", "exec", "ready"] });
    let probe = json!({ "exec": command, "periodSeconds": 1, "timeoutSeconds": 5 });
    let mut run = pod(clause, &one(json!({ "name": "target", "env": env, "readinessProbe": probe })));
    run.start(1.0, 0);
    for (nth, text) in (0_u8..).zip(says) {
        let (at, exec) = (2.0 + f64::from(nth), u64::from(nth));
        let args = ["/agnhost-rs", "exec", "ready"].map(str::to_owned).to_vec();
        let command = Command { args, ..Command::default() };
        let endpoint = probity_script::Endpoint::Exec("ready".to_owned());
        let (step, answer) = (usize::from(nth), "exit 1".to_owned());
        run.fact(at, Fact::Exec(ExecSeen { exec, endpoint, probe: exec + 1, step, answer, command }));
        let ended = ExecEnded { exec, exit: Some(1), signals: Vec::new(), lived_us: 1000 };
        run.fact(at + 0.001, Fact::ExecEnded(ended));
        let says = event(at, "target", "Warning", "Unhealthy", &format!("Readiness probe failed: {text}"));
        told(&mut run, at + 0.5, &with(says, "/metadata/name", json!(format!("pod.{nth}"))));
    }
    concluded(run, clause)
}

#[test]
fn each_text_that_a_command_prints_is_reported() {
    assert_eq!(prints(["one\ntwo", "another"]), "holds");
    assert_eq!(prints(["one\ntwo", "one\ntwo"]), "violated", "the first text is repeated");
    assert_eq!(prints(["one", "another"]), "violated", "a line is missing");
}

#[test]
fn a_command_that_did_not_reach_its_target_printed_something_else() {
    let clause = "report.event.unhealthy-names-probe";
    let judged = |at: f64| {
        let plan = json!({ "exec": { "ready": { "exit": 1, "print": "not yet" } } }).to_string();
        let env = json!([{ "name": "AGNHOST_PLAN", "value": plan }]);
        let probe = json!({ "exec": { "command": ["/agnhost-rs", "exec", "ready"] }, "periodSeconds": 1 });
        let mut run = pod(clause, &one(json!({ "name": "target", "env": env, "readinessProbe": probe })));
        run.start(1.0, 0);
        let says = |text: &str| {
            event(at, "target", "Warning", "Unhealthy", &format!("Readiness probe failed: {text}"))
        };
        if at < 20.0 {
            told(&mut run, at, &says("failed to ask what to do"));
        }
        run.exec(20.0, "ready", Some(1));
        if at > 20.0 {
            told(&mut run, at, &says("failed to ask what to do"));
        }
        told(&mut run, 21.0, &with(says("not yet"), "/metadata/name", json!("pod.right")));
        concluded(run, clause)
    };
    assert_eq!(judged(1.5), "inconclusive", "no run has reached the target yet");
    assert_eq!(judged(20.5), "violated");
}

#[test]
fn an_error_is_reported_once_however_often_the_probe_is_tried() {
    let clause = "report.event.unhealthy";
    let judged = |each: u32| {
        let probe = json!({ "tcpSocket": { "port": "nope" }, "periodSeconds": 2 });
        let env = json!([{ "name": "AGNHOST_PLAN", "value": "{}" }]);
        let mut run = pod(clause, &one(json!({ "name": "target", "env": env, "livenessProbe": probe })));
        run.start(1.0, 0).running(1.2, true, true, 0);
        let says = "Liveness probe errored and resulted in unknown state: couldn't find port: nope";
        for turn in 1..4_u32 {
            let event = event(2.0, "target", "Warning", "Unhealthy", says);
            told(&mut run, 2.0 * f64::from(turn), &with(event, "/count", json!(turn * each)));
        }
        concluded(run, clause)
    };
    assert_eq!(judged(1), "holds");
    assert_eq!(judged(3), "violated");
}

#[test]
fn failures_of_a_sidecar_are_reported_until_it_stops() {
    let clause = "report.event.unhealthy";
    let judged = |reported: bool| {
        let probe = json!({ "httpGet": { "path": "/ready", "port": 8080 }, "periodSeconds": 1 });
        let helper = json!({ "name": "helper", "restartPolicy": "Always", "readinessProbe": probe });
        let spec = json!({ "initContainers": [helper], "containers": [{ "name": "target" }] });
        let mut run = pod(clause, &spec);
        run.of("pod", "helper").start(1.0, 0);
        deletes(&mut run, 3.0);
        run.probe(5.0, "/ready", 503);
        if reported {
            let says = "Readiness probe failed: HTTP probe failed with statuscode: 503";
            told(&mut run, 5.5, &event(5.0, "helper", "Warning", "Unhealthy", says));
        }
        stops(&mut run, 20.0);
        concluded(run, clause)
    };
    assert_eq!(judged(true), "holds");
    assert_eq!(judged(false), "violated");
}
