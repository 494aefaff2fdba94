//! Slow answers on an overloaded node.

use probity_composer::Told;
use probity_model::history::Listener;
use serde_json::json;

use super::{http, pod, verdict};

const EXACT: &str = "probe.failure-threshold.exact-count";
const PERIOD: &str = "probe.timing.period";

/// An answer at 5 s takes this long, with a timeout of one second, and the container is then shown as not ready.
fn slow_answer(took: f64, overloaded: Option<(f64, f64)>) -> &'static str {
    let mut run = pod(EXACT, json!({ "readinessProbe": http(json!({ "failureThreshold": 1 })) }));
    for at in [2.0, 3.0, 4.0] {
        run.probe(at, "/p", 200);
        run.running(at + 0.05, true, true, 0);
    }
    run.http(5.0, &Told { took, ..Told::get("/p", 200) });
    run.probe(6.2, "/p", 200);
    if let Some((from, to)) = overloaded {
        run.noise_by(Listener::Overload, from, to);
    }
    run.running(6.25, false, true, 0);
    run.probe(7.0, "/p", 200);
    run.running(12.0, true, true, 0);
    run.reading(13.0);
    verdict(&run.done(), EXACT)
}

#[test]
fn a_slow_answer_may_have_been_too_late_for_a_kubelet_that_waited_for_a_processor() {
    assert_eq!(slow_answer(0.6, None), "violated");
    assert_ne!(slow_answer(0.6, Some((4.5, 6.0))), "violated");
    assert_eq!(
        slow_answer(0.1, Some((4.8, 5.3))),
        "violated",
        "the answer was in time in spite of the overload"
    );
}

#[test]
fn several_late_commands_in_a_row_do_not_move_the_schedule() {
    let probe = json!({ "exec": { "command": ["/agnhost-rs", "exec", "live"] }, "periodSeconds": 4 });
    let judged = |overloaded: bool, last: [f64; 3]| {
        let mut run = pod(PERIOD, json!({ "livenessProbe": probe.clone() }));
        // Those that are due at 14, 18 and 22 s are late.
        for at in [2.0, 6.0, 10.0, 16.5, 20.5, 24.5].into_iter().chain(last) {
            run.exec(at, "live", Some(0));
        }
        if overloaded {
            run.noise_by(Listener::Overload, 12.0, 25.0);
        }
        verdict(&run.done(), PERIOD)
    };
    assert_ne!(judged(true, [26.0, 30.0, 34.0]), "violated");
    assert_eq!(judged(false, [26.0, 30.0, 34.0]), "violated", "late without an overload");
    assert_eq!(judged(true, [26.0, 28.0, 30.0]), "violated", "twice as often as it should");
}
