//! Hand-written histories for the judges of the chapter.

mod absence;
mod anew;
mod counts;
mod extra;
mod fields;
mod first;
mod grace;
mod handshakes;
mod metronome;
mod overloaded;
mod pace;
mod retried;
mod shared;
mod shown;
mod times;
mod waits;
mod warned;

use probity_composer::Composer;
use probity_script::witness::{Fact, Listening};
use serde_json::{Value, json};

use crate::tests::verdict;

/// An HTTP probe of `/p` with these additional fields.
fn http(fields: Value) -> Value {
    let mut probe = json!({ "httpGet": { "path": "/p", "port": 8080 }, "periodSeconds": 1 });
    for (field, value) in fields.as_object().cloned().unwrap_or_default() {
        probe[field] = value;
    }
    probe
}

/// A pod whose only container has these probes, with a grace period of ten seconds.
fn spec(probes: Value) -> Value {
    let mut container = probes;
    container["name"] = json!("target");
    json!({ "containers": [container], "terminationGracePeriodSeconds": 10 })
}

/// A pod with a sidecar that has these probes, beside a container that only sleeps.
fn spec_of_sidecar(probes: Value) -> Value {
    let mut spec = spec(probes);
    let mut sidecars = spec["containers"].take();
    sidecars[0]["restartPolicy"] = json!("Always");
    spec["initContainers"] = sidecars;
    spec["containers"] = json!([{ "name": "main", "args": ["pause"] }]);
    spec
}

/// The process starts at this time, its port opens at once, and the API shows it.
fn begin(run: &mut Composer, at: f64, life: u64) {
    run.start(at, life);
    let state =
        Listening { listener: "web".to_owned(), address: "[::]:8080".to_owned(), state: "open".to_owned() };
    run.fact(at + 0.01, Fact::Listening(state));
    run.running(at + 0.1, false, true, life);
}

/// A pod whose only container has these probes. Its process starts at 1 s.
fn pod(clause: &str, probes: Value) -> Composer {
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &spec(probes));
    begin(&mut run, 1.0, 0);
    run
}

/// Adds probes with these answers, one each second from this time on.
fn answers(run: &mut Composer, from: u32, statuses: &[u16]) {
    for (second, status) in (from..).zip(statuses) {
        run.probe(f64::from(second), "/p", *status);
    }
}
