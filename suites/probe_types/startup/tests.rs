//! Hand-written histories for the judges of the startup probe.

mod failure;
mod gate;
mod success;

use probity_composer::Composer;
use probity_model::History;
use serde_json::{Value, json};

use crate::tests::verdict;

fn http(path: &str, period: u64, failures: u64) -> Value {
    json!({
        "httpGet": { "path": path, "port": 8080 }, "periodSeconds": period, "failureThreshold": failures,
    })
}

/// A pod whose only container has these probes. Its process starts at 1 s.
fn pod(clause: &str, policy: &str, probes: Value) -> Composer {
    let mut container = probes;
    container["name"] = json!("target");
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &json!({ "restartPolicy": policy, "containers": [container] })).start(1.0, 0);
    run
}

/// A pod whose container has all three probes, each with a period of one second.
fn three(clause: &str) -> Composer {
    let probes = json!({
        "startupProbe": http("/start", 1, 30),
        "livenessProbe": http("/live", 1, 3),
        "readinessProbe": http("/ready", 1, 3),
    });
    pod(clause, "Always", probes)
}

/// Startup succeeds at 3 s.
fn started(run: &mut Composer) -> &mut Composer {
    run.probe(2.0, "/start", 503);
    run.probe(3.0, "/start", 200);
    run
}

/// The first instance starts, is probed, and ends at 6 s, either because of the kubelet's stop signal or by itself. The
/// second begins at 7 s.
fn restarted(clause: &str, killed: bool) -> Composer {
    let mut run = three(clause);
    started(&mut run).running(3.1, true, true, 0);
    run.probe(3.5, "/live", 200);
    if killed {
        run.signal(6.0, "SIGTERM");
    }
    run.left(6.1).start(7.0, 1);
    run
}
