use probity_composer::Told;
use serde_json::json;

use crate::reading::scene::Scene;

const BEFORE: &str = "probe.result.readiness-failure-before-delay";

fn delayed(probe: &str) -> Scene {
    let spec =
        json!({ "httpGet": { "path": "/r", "port": 8080 }, "periodSeconds": 1, "initialDelaySeconds": 5 });
    Scene::with(BEFORE, &json!({ probe: spec }), &json!({ "/r": 200 }))
}

#[test]
fn a_container_is_not_ready_before_its_first_probe() {
    for (ready, word) in [(false, "holds"), (true, "violated")] {
        let mut scene = delayed("readinessProbe");
        scene.ready(3.0, ready).probes(6..8, &[Told::get("/r", 200)]).ready(7.2, true);
        assert_eq!(scene.at(9.0), word);
    }
}

#[test]
fn without_a_probe_nothing_is_said() {
    let mut scene = delayed("readinessProbe");
    scene.ready(3.0, true);
    assert_eq!(scene.at(9.0), "inconclusive");
}

#[test]
fn a_kill_before_the_first_liveness_probe_is_a_violation() {
    for (killed, word) in [(false, "holds"), (true, "violated")] {
        let mut scene = delayed("livenessProbe");
        if killed {
            scene.killed(3.0);
        }
        scene.probes(6..8, &[Told::get("/r", 200)]);
        assert_eq!(scene.at(9.0), word);
    }
}

#[test]
fn a_container_is_not_started_before_its_first_startup_probe() {
    for (started, word) in [(false, "holds"), (true, "violated")] {
        let handler = json!({ "httpGet": { "path": "/r", "port": 8080 }, "initialDelaySeconds": 5 });
        let mut scene = Scene::new(BEFORE, "startupProbe", &handler, &json!({}));
        scene.run.running(3.0, false, started, 0).probe(6.0, "/r", 200);
        assert_eq!(scene.at(9.0), word);
    }
}
