//! Histories for the judges of the readiness probe.

mod duty;
mod follows;
mod life;
mod start;

use probity_composer::{Composer, running_status};
use probity_model::History;
use probity_model::history::Change;
use probity_script::witness::{Call, Fact};
use serde_json::{Value, json};

use crate::tests::verdict;

fn http(path: &str) -> Value {
    json!({ "httpGet": { "path": path, "port": 8080 }, "periodSeconds": 1, "failureThreshold": 2 })
}

fn ready_only() -> Value {
    json!({ "name": "target", "readinessProbe": http("/ready") })
}

fn ready_and_live() -> Value {
    json!({ "name": "target", "readinessProbe": http("/ready"), "livenessProbe": http("/live") })
}

/// Adds one answer each second to probes of a path.
fn answers(run: &mut Composer, path: &str, status: u16, seconds: std::ops::Range<u16>) {
    for second in seconds {
        run.probe(f64::from(second), path, status);
    }
}

/// A container that passes its readiness probe from 2 s on, and is shown ready at 2.1 s.
fn ready_from_two(clause: &str, container: &Value) -> Composer {
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0).running(1.2, false, true, 0);
    run.probe(2.0, "/ready", 200);
    run.running(2.1, true, true, 0);
    run.probe(3.0, "/ready", 200);
    run
}

/// The same container, whose probe fails from 4 s to 12 s, and which is shown as not ready at `shown`.
fn fails_from_four(clause: &str, container: &Value, shown: Option<u16>) -> Composer {
    let mut run = ready_from_two(clause, container);
    for second in 4..12 {
        run.probe(f64::from(second), "/ready", 503);
        if container.get("livenessProbe").is_some() {
            run.probe(f64::from(second) + 0.2, "/live", 200);
        }
        if Some(second) == shown {
            run.running(f64::from(second) + 0.3, false, true, 0);
            run.slice(f64::from(second) + 0.4, "web", &json!({ "ready": false, "serving": false }));
        }
    }
    run
}
