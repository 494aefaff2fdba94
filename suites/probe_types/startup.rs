//! The startup probe: it holds the other two back until it has succeeded once, and kills a container that never starts.

mod failure;
mod gate;
mod success;

use probity_model::Judge;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "probe.startup.gates-liveness", judge: gate::liveness_waits },
    Judge { clause: "probe.startup.gates-readiness", judge: gate::readiness_waits },
    Judge { clause: "probe.startup.stops-after-success", judge: success::success_is_the_last },
    Judge { clause: "probe.startup.reruns-on-restart", judge: gate::restart_shuts_the_gate },
    Judge { clause: "probe.startup.failure-kills-container", judge: failure::failure_kills },
    Judge { clause: "probe.startup.failure-never-policy", judge: failure::never_means_never },
    Judge { clause: "probe.startup.absent-means-started", judge: success::absent_is_started },
    Judge { clause: "probe.startup.started-field", judge: success::started_is_published },
    Judge { clause: "probe.startup.readiness-follows-immediately", judge: success::readiness_follows },
    Judge { clause: "probe.startup.slow-start-protection", judge: failure::startup_protects },
];

#[cfg(test)]
mod tests {
    use probity_model::History;
    use probity_model::compose::Composer;
    use serde_json::json;

    use crate::tests::verdict;

    /// A container whose startup probe succeeds at 3 s, and whose first liveness probe comes at `live`.
    fn started_at_three(live: f64) -> Composer {
        let probe = |path: &str| json!({ "httpGet": { "path": path, "port": 8080 }, "periodSeconds": 1 });
        let container =
            json!({ "name": "target", "startupProbe": probe("/start"), "livenessProbe": probe("/live") });
        let mut run = Composer::new(&["probe.startup.gates-liveness"]);
        run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0);
        if live < 3.0 {
            run.probe(live, "/live", 200);
        }
        run.probe(2.0, "/start", 503);
        run.probe(3.0, "/start", 200);
        if live > 3.0 {
            run.probe(live, "/live", 200);
        }
        run
    }

    fn gates_liveness(history: &History) -> &'static str {
        verdict(history, "probe.startup.gates-liveness")
    }

    #[test]
    fn liveness_after_startup_holds() {
        assert_eq!(gates_liveness(&started_at_three(3.5).done()), "holds");
    }

    #[test]
    fn liveness_before_startup_is_a_violation() {
        assert_eq!(gates_liveness(&started_at_three(2.5).done()), "violated");
    }

    #[test]
    fn no_liveness_probe_at_all_is_doubt() {
        let mut run = Composer::new(&["probe.startup.gates-liveness"]);
        let probe = json!({ "exec": { "command": ["/agnhost-rs", "exec", "live"] } });
        let container = json!({ "name": "target", "startupProbe": probe, "livenessProbe": probe });
        run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0);
        assert_eq!(gates_liveness(&run.done()), "inconclusive");
    }
}
