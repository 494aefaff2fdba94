//! Histories about the first probe of a container.

use probity_composer::Composer;
use serde_json::json;

use super::{begin, http, pod, spec_of_sidecar, verdict};

const PHASE: &str = "probe.timing.first-probe-phase";

#[test]
fn the_first_probe_comes_within_a_period() {
    let at = |at: f64| {
        let mut run = pod(PHASE, json!({ "livenessProbe": http(json!({ "periodSeconds": 5 })) }));
        run.probe(at, "/p", 200);
        verdict(&run.done(), PHASE)
    };
    assert_eq!(at(4.0), "holds");
    assert_eq!(at(12.0), "violated");
}

/// The verdict on a sidecar whose first liveness probe arrives at this time. The main container starts at 16 s, after an init
/// container that runs from 2 s to 15 s, or at the same time without one.
fn first_of_sidecar(at: f64, prepared: bool) -> &'static str {
    let mut spec = spec_of_sidecar(json!({ "livenessProbe": http(json!({ "periodSeconds": 2 })) }));
    spec["containers"] = json!([{ "name": "main" }]);
    if let Some(sidecars) = spec["initContainers"].as_array_mut().filter(|_| prepared) {
        sidecars.push(json!({ "name": "prepare" }));
    }
    let mut run = Composer::new(&[PHASE]);
    run.create(0.0, &spec);
    begin(&mut run, 1.0, 0);
    if prepared {
        run.of("pod", "prepare").start(2.0, 0).left(15.0);
    }
    run.of("pod", "main").start(16.0, 0);
    run.of("pod", "target").probe(at, "/p", 200);
    verdict(&run.done(), PHASE)
}

#[test]
fn a_sidecar_does_not_wait_for_what_comes_after_an_init_container() {
    assert_eq!(first_of_sidecar(3.5, true), "holds");
    assert_eq!(first_of_sidecar(16.5, true), "violated");
    assert_eq!(
        first_of_sidecar(16.5, false),
        "holds",
        "the kubelet may have started the main container first"
    );
}

#[test]
fn after_the_startup_success_the_first_liveness_probe_comes_within_a_period() {
    let startup =
        json!({ "httpGet": { "path": "/s", "port": 8080 }, "periodSeconds": 1, "failureThreshold": 30 });
    let at = |at: f64| {
        let probes = json!({ "startupProbe": startup, "livenessProbe": http(json!({ "periodSeconds": 5 })) });
        let mut run = pod(PHASE, probes);
        for (at, path, status) in [(2.0, "/s", 503), (10.0, "/s", 200), (at, "/p", 200)] {
            run.probe(at, path, status);
        }
        verdict(&run.done(), PHASE)
    };
    assert_eq!(at(14.0), "holds", "it is counted from the success");
    assert_eq!(at(24.0), "violated");
}
