//! The startup probe: it holds the other two back until it has succeeded once, and kills a container that never starts.

use probity_model::clocks::Order;
use probity_model::timeline::ProbeKind;
use probity_model::verdict::Doubt;
use probity_model::{Clause, Judge, Seen, Timeline};

pub(super) const JUDGES: &[Judge] =
    &[Judge { clause: "probe.startup.gates-liveness", judge: liveness_waits_for_startup }];

/// No liveness probe reaches a container before its startup probe has succeeded.
fn liveness_waits_for_startup(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    waits_for_startup(run, ProbeKind::Liveness, seen);
}

fn waits_for_startup(run: &Timeline<'_>, kind: ProbeKind, seen: &mut Seen) {
    for (_, container, _) in
        run.probed(ProbeKind::Startup).filter(|(_, container, _)| container.probe(kind).is_some())
    {
        seen.applies();
        for attempt in &container.attempts {
            let started = attempt.first_success(ProbeKind::Startup).and_then(|probe| probe.settled.as_ref());
            for probe in attempt.probes_of(kind) {
                let Some((started_id, started)) = started else {
                    let finding =
                        format!("a {} probe arrived though no startup probe ever succeeded", kind.word());
                    seen.violated(finding, [probe.id]);
                    continue;
                };
                let events = [probe.id, *started_id];
                match run.clocks.order(&probe.at, started) {
                    Order::Before => {
                        let early = probity_model::measure::seconds(started.at.lo - probe.at.at.lo);
                        let finding =
                            format!("a {} probe arrived {early} before startup succeeded", kind.word());
                        seen.violated(finding, events);
                    }
                    Order::TooClose => {
                        let why =
                            format!("a {} probe and the startup success are too close to call", kind.word());
                        seen.doubt(Doubt::TooClose, why, events);
                    }
                    Order::After => seen.fine(events),
                }
            }
        }
    }
}

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
