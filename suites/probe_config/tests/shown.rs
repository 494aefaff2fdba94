//! The first probe after the API has shown a container as running.

use probity_composer::Composer;
use probity_script::witness::{Fact, Listening};
use serde_json::{Value, json};

use super::{http, pod, spec, verdict};

const DELAY: &str = "probe.timing.initial-delay-honoured";
const PHASE: &str = "probe.timing.first-probe-phase";

/// A container is shown as running at 1.1 s, and its first liveness probe arrives at this time.
fn first(clause: &str, fields: Value, at: f64) -> Composer {
    let mut run = pod(clause, json!({ "livenessProbe": http(fields) }));
    run.probe(at, "/p", 200);
    run
}

#[test]
fn the_first_probe_comes_within_a_period_after_the_api_shows_the_container() {
    let judged = |at: f64| verdict(&first(PHASE, json!({ "periodSeconds": 5 }), at).done(), PHASE);
    assert_eq!(judged(6.0), "holds");
    assert_eq!(judged(7.2), "violated");
    let mut busy = first(PHASE, json!({ "periodSeconds": 5 }), 7.2);
    busy.noise(5.5, 7.0);
    assert_ne!(verdict(&busy.done(), PHASE), "violated");
}

#[test]
fn the_first_probe_comes_within_a_period_after_its_delay() {
    let judged = |at: f64| verdict(&first(DELAY, json!({ "initialDelaySeconds": 4 }), at).done(), DELAY);
    assert_eq!(judged(7.0), "holds");
    assert_eq!(judged(7.9), "violated");
}

/// An instance with a startup probe is shown as running right after its start at 1 s and as started at 10.2 s, and its first
/// liveness probe arrives at this time.
fn started(instance: u64, at: f64) -> &'static str {
    let startup =
        json!({ "httpGet": { "path": "/s", "port": 8080 }, "periodSeconds": 1, "failureThreshold": 30 });
    let probes = json!({ "startupProbe": startup, "livenessProbe": http(json!({ "periodSeconds": 5 })) });
    let mut run = Composer::new(&[PHASE]);
    run.create(0.0, &spec(probes)).start(1.0, instance);
    let (listener, address) = ("web".to_owned(), "[::]:8080".to_owned());
    run.fact(1.01, Fact::Listening(Listening { listener, address, state: "open".to_owned() }));
    run.running(1.1, false, false, instance);
    run.probe(1.5, "/s", 503);
    run.probe(10.0, "/s", 200);
    run.running(10.2, false, true, instance);
    run.probe(at, "/p", 200);
    verdict(&run.done(), PHASE)
}

#[test]
fn the_first_liveness_probe_comes_within_a_period_after_the_api_shows_the_container_as_started() {
    assert_eq!(started(0, 15.0), "holds");
    assert_eq!(started(0, 16.2), "violated");
    assert_ne!(started(1, 16.2), "violated", "a later instance may have been taken for a started one");
}
