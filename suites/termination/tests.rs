//! Hand-written histories for the judges of how pods end.

mod behind_services;
mod chosen;
mod hooks;
mod leaving;
mod removal;
mod requests;
mod restarted;
mod sandbox;
mod sidecars;
mod times;

use probity_composer::{Composer, NODE, timestamp};
use probity_model::history::{Change, Did};
use probity_script::witness::{Command, ExecEnded, ExecSeen, Exiting, Fact};
use serde_json::{Value, json};

use crate::tests::verdict;

/// When the deletion of the pod is requested.
const ASKED: f64 = 10.0;

/// A pod with these containers, each of which begins at 1 s.
fn pod(clause: &str, spec: &Value) -> Composer {
    let mut run = Composer::new(&[clause]);
    run.create(0.0, spec);
    for list in ["initContainers", "containers"] {
        for container in spec[list].as_array().into_iter().flatten() {
            run.of("pod", container["name"].as_str().unwrap_or_default()).start(1.0, 0);
        }
    }
    run
}

/// A pod with one container and this grace period.
fn one(clause: &str, grace: Option<u64>) -> Composer {
    let mut spec = json!({ "containers": [{ "name": "target" }] });
    if let Some(grace) = grace {
        spec["terminationGracePeriodSeconds"] = json!(grace);
    }
    pod(clause, &spec)
}

fn delete(run: &mut Composer, at: f64, grace: Option<u64>) {
    run.deed(at, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace });
}

/// A revision of the pod with this deadline and grace period.
fn shown(run: &mut Composer, at: f64, (deadline, grace): (f64, i64), change: Change) {
    let object = json!({
        "metadata": {
            "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod", "app": "web" },
            "creationTimestamp": timestamp(0.0), "deletionTimestamp": timestamp(deadline), "deletionGracePeriodSeconds": grace,
        },
        "spec": { "nodeName": NODE }, "status": { "phase": "Running" },
    });
    run.sighting(at, "Pod", "pod", change, object);
}

fn gone(run: &mut Composer, at: f64) {
    shown(run, at, (at, 0), Change::Deleted);
}

fn exits(run: &mut Composer, container: &str, at: f64, code: u8) {
    run.of("pod", container).fact(at, Fact::Exiting(Exiting { code, why: "stop".to_owned() }));
    run.left(at + 0.01);
}

fn told(run: &mut Composer, container: &str, at: f64) {
    run.of("pod", container).signal(at, "SIGTERM");
}

fn killed(run: &mut Composer, container: &str, at: f64) {
    run.of("pod", container).left(at);
}

/// A hook command begins, and may end at this time.
fn hook(run: &mut Composer, container: &str, at: f64, done: Option<f64>) {
    let args = ["/agnhost-rs", "exec", "bye"].map(str::to_owned).to_vec();
    let (answer, command) = ("0".to_owned(), Command { args, ..Command::default() });
    let endpoint = probity_script::Endpoint::Exec("bye".to_owned());
    let seen = ExecSeen { exec: 0, endpoint, probe: 1, step: 0, answer, command };
    run.of("pod", container).fact(at, Fact::Exec(seen));
    if let Some(done) = done {
        let ended = ExecEnded { exec: 0, exit: Some(0), signals: Vec::new(), lived_us: 1000 };
        run.fact(done, Fact::ExecEnded(ended));
    }
}

/// A container with this name, whose preStop hook is a command.
fn with_hook(name: &str) -> Value {
    let command = json!(["/agnhost-rs", "exec", "bye"]);
    json!({ "name": name, "lifecycle": { "preStop": { "exec": { "command": command } } } })
}

/// The verdict if nothing else happens before `end`.
fn at(mut run: Composer, end: f64, clause: &str) -> &'static str {
    run.reading(end);
    verdict(&run.done(), clause)
}
