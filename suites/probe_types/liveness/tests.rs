//! Hand-written histories for the judges of the liveness probe.

mod graceful;
mod left_alone;
mod restart;
mod sidecar;

use probity_composer::{Composer, Told};
use probity_model::history::Did;
use probity_script::witness::{Exiting, Fact};
use serde_json::{Value, json};

use crate::tests::verdict;

fn http(path: &str, port: u16, period: u64, failures: u64) -> Value {
    json!({
        "httpGet": { "path": path, "port": port }, "periodSeconds": period, "failureThreshold": failures,
    })
}

/// A pod with these containers, in which the process of `target` starts at 1 s.
fn pod(clause: &str, policy: &str, containers: Value) -> Composer {
    let mut run = Composer::new(&[clause]);
    let spec = json!({
        "restartPolicy": policy, "containers": containers, "terminationGracePeriodSeconds": 5,
    });
    run.create(0.0, &spec).start(1.0, 0);
    run
}

fn one(clause: &str, policy: &str, failures: u64) -> Composer {
    let target = json!({ "name": "target", "livenessProbe": http("/live", 8080, 1, failures) });
    pod(clause, policy, json!([target]))
}

fn exiting(run: &mut Composer, at: f64, code: u8, why: &str) {
    run.fact(at, Fact::Exiting(Exiting { code, why: why.to_owned() }));
    run.left(at + 0.01);
}

/// A status of a pod that shows only the target.
fn status(phase: &str, restarts: u64, state: Value, last: Value) -> Value {
    json!({
        "phase": phase, "podIP": "10.0.0.7",
        "containerStatuses": [{
            "name": "target", "restartCount": restarts, "ready": false, "started": true,
            "containerID": format!("containerd://target-{restarts}"), "state": state, "lastState": last,
        }],
    })
}

fn terminated(code: i64) -> Value {
    json!({ "terminated": { "exitCode": code, "reason": "Error" } })
}

/// A liveness failure at 4 s, which reaches the threshold, and the stop signal at 4.1 s.
fn killed(clause: &str, policy: &str) -> Composer {
    let mut run = one(clause, policy, 1);
    run.running(1.5, true, true, 0).probe(2.0, "/live", 200);
    run.probe(4.0, "/live", 500);
    run.signal(4.1, "SIGTERM");
    run
}
