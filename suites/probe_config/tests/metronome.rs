//! The kubelet's lateness for an idle pod.

use probity_model::history::{Did, Listener};
use serde_json::json;

use super::{http, pod, verdict};

const PERIOD: &str = "probe.timing.period";

fn judged(touched: bool, noise: &[(Listener, f64, f64)]) -> &'static str {
    let mut run = pod(PERIOD, json!({ "livenessProbe": http(json!({})) }));
    for at in 2..9 {
        run.probe(f64::from(at), "/p", 200);
    }
    for (by, from, to) in noise {
        run.noise_by(*by, *from, *to);
    }
    if touched {
        run.deed(8.5, Did::verb("node1", "restart-kubelet", Some(0), None));
    }
    run.reading(9.0);
    verdict(&run.done(), PERIOD)
}

#[test]
fn a_kubelet_that_is_late_for_an_idle_pod_is_accused() {
    assert_eq!(judged(false, &[]), "holds");
    assert_eq!(judged(false, &[(Listener::Metronome, 4.0, 4.2)]), "holds", "within the slack");
    assert_eq!(judged(false, &[(Listener::Metronome, 4.0, 6.0)]), "violated");
    assert_ne!(
        judged(true, &[(Listener::Metronome, 4.0, 6.0)]),
        "violated",
        "the case restarted the kubelet"
    );
}

#[test]
fn what_the_node_was_late_with_is_no_accusation() {
    let late = (Listener::Metronome, 4.0, 6.0);
    assert_ne!(judged(false, &[late, (Listener::Node, 4.0, 6.0)]), "violated");
    assert_eq!(judged(false, &[late, (Listener::Node, 4.0, 4.5)]), "violated", "as much as it lasted");
    assert_ne!(
        judged(false, &[(Listener::Metronome, 6.5, 8.5)]),
        "violated",
        "what says why may still be under way"
    );
}
