use probity_composer::Composer;
use probity_model::history::{Did, REMOVE_SANDBOX, RESTART_KUBELET};
use probity_script::witness::{Fact, Listening};
use serde_json::{Value, json};

use crate::tests::verdict;

const NAME: &str = "probe.http.port-by-name";

/// The target opens a port.
pub(crate) fn opened(run: &mut Composer, at: f64, address: &str) {
    let (listener, state) = ("web".to_owned(), "open".to_owned());
    run.fact(at, Fact::Listening(Listening { listener, address: address.to_owned(), state }));
}

/// A container with this `httpGet` in its readiness probe. Its port 8080 is open, and is declared as `web`.
pub(crate) fn listening(clause: &str, get: &Value) -> Composer {
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &pod(&json!({ "httpGet": get, "periodSeconds": 1 }))).start(1.0, 0);
    opened(&mut run, 1.0, "0.0.0.0:8080");
    run
}

fn pod(probe: &Value) -> Value {
    let ports = json!([{ "name": "web", "containerPort": 8080 }]);
    json!({ "containers": [{ "name": "target", "ports": ports, "readinessProbe": probe }] })
}

fn never_probed(spec: &Value) -> &'static str {
    let mut run = Composer::new(&[NAME]);
    run.create(0.0, spec).start(1.0, 0);
    opened(&mut run, 1.0, "[::]:8080");
    run.running(60.0, false, true, 0);
    verdict(&run.done(), NAME)
}

fn named() -> Value {
    pod(&json!({ "httpGet": { "path": "/ready", "port": "web" }, "periodSeconds": 1 }))
}

#[test]
fn nobody_at_an_open_port_is_a_violation() {
    assert_eq!(never_probed(&named()), "violated");
}

#[test]
fn nobody_visits_a_container_that_may_have_been_stopping_since_its_start() {
    let judged = |killed: f64| {
        let mut spec = named();
        let probe = spec["containers"][0]["readinessProbe"].take();
        spec["containers"][0]["livenessProbe"] = probe;
        spec["containers"][0]["livenessProbe"]["failureThreshold"] = json!(1);
        let mut run = Composer::new(&[NAME]);
        run.create(0.0, &spec).start(1.0, 0);
        opened(&mut run, 1.2, "[::]:8080");
        run.left(killed).running(killed + 0.5, false, true, 1).reading(killed + 0.5);
        verdict(&run.done(), NAME)
    };
    assert_ne!(judged(31.0), "violated");
    assert_eq!(judged(22.0), "violated", "it had less than its grace period");
    assert_eq!(judged(45.0), "violated", "it had more than its grace period");
}

#[test]
fn nobody_after_the_loss_of_a_sandbox_is_a_violation() {
    let judged = |began: f64, verb: &str| {
        let mut run = listening(NAME, &json!({ "path": "/ready", "port": "web" }));
        run.probe(2.0, "/ready", 200);
        run.deed(20.0, Did::verb(probity_composer::NODE, verb, Some(0), None));
        run.start(began, 1);
        opened(&mut run, began, "[::]:8080");
        run.running(60.0, false, true, 1);
        verdict(&run.done(), NAME)
    };
    assert_eq!(judged(25.0, REMOVE_SANDBOX), "violated");
    assert_eq!(judged(15.0, REMOVE_SANDBOX), "holds", "it began in the old sandbox");
    assert_eq!(judged(25.0, RESTART_KUBELET), "holds", "a restarted kubelet may be late");
}

#[test]
fn a_neighbor_that_never_started_may_hold_probes_back() {
    let mut spec = named();
    spec["containers"] = json!([spec["containers"][0], { "name": "neighbor" }]);
    assert_eq!(never_probed(&spec), "inconclusive");
}

#[test]
fn a_hook_or_a_startup_probe_may_hold_probes_back() {
    let mut spec = named();
    spec["containers"][0]["lifecycle"] = json!({ "postStart": { "sleep": { "seconds": 60 } } });
    assert_eq!(never_probed(&spec), "inconclusive");
    let mut spec = named();
    spec["containers"][0]["startupProbe"] = json!({ "exec": { "command": ["x"] } });
    assert_eq!(never_probed(&spec), "inconclusive");
}

#[test]
fn a_starved_node_makes_doubt_of_it() {
    let mut run = listening(NAME, &json!({ "path": "/ready", "port": "web" }));
    run.noise(2.0, 20.0).running(20.0, false, true, 0);
    assert_eq!(verdict(&run.done(), NAME), "inconclusive");
}

#[test]
fn a_port_that_closed_again_shows_nothing() {
    let mut run = listening(NAME, &json!({ "path": "/ready", "port": "web" }));
    run.fact(
        3.0,
        Fact::Listening(Listening {
            listener: "web".to_owned(),
            address: String::new(),
            state: "closed".to_owned(),
        }),
    );
    run.running(60.0, false, true, 0);
    assert_eq!(verdict(&run.done(), NAME), "inconclusive");
}

#[test]
fn a_port_that_was_open_for_a_moment_shows_nothing() {
    let mut run = listening(NAME, &json!({ "path": "/ready", "port": "web" }));
    run.running(4.0, false, true, 0);
    assert_eq!(verdict(&run.done(), NAME), "inconclusive");
}
