//! Hand-written histories of kubelets with a configured maximum back-off.

use probity_composer::{Composer, NODE, us};
use probity_model::history::{CONFIGURE_KUBELET, Did, KubeletSigns, NodeProof};
use serde_json::{Value, json};

use super::{SEQUENCE, exits};
use crate::tests::verdict_of_all_facets as verdict;

const MAXIMUM: &str = "restart.backoff.configurable";
const SHORT: &str = "restart.backoff.max-below-initial";
const RANGE: &str = "restart.backoff.config-range";

/// Configures a maximum. The command prints `output`, and the node shows one start of its kubelet before it and
/// `starts` starts after it.
fn configure(run: &mut Composer, at: f64, maximum: &str, output: Option<Value>, starts: u64) {
    let shown = |starts| KubeletSigns { starts: Some(starts), process_us: None };
    let proof = Some(NodeProof { ended_us: us(at), before: shown(1), after: shown(starts) });
    let input = Some(json!({ "crashLoopBackOff": { "maxContainerRestartPeriod": maximum } }));
    let (node, verb) = (NODE.to_owned(), CONFIGURE_KUBELET.to_owned());
    run.deed(at, Did::NodeVerb { node, verb, uid: None, input, exit: Some(0), output, proof });
}

fn runs() -> Option<Value> {
    Some(json!({ "running": true }))
}

fn refuses() -> Option<Value> {
    Some(json!({ "running": false, "error": "must be set between 1s and 300s" }))
}

/// A container on the node of a kubelet with this maximum crashes a second after each of these starts except the last.
fn crashes(clause: &str, maximum: &str, lives: &[f64]) -> Composer {
    let mut run = Composer::new(&[clause]);
    configure(&mut run, 0.1, maximum, runs(), 2);
    run.create(0.2, &json!({ "containers": [{ "name": "target" }] }));
    for (number, at) in lives.iter().enumerate() {
        run.start(*at, number as u64);
        if number + 1 < lives.len() {
            exits(&mut run, at + 1.0, 1, "plan");
        }
    }
    run.reading(lives.last().copied().unwrap_or(0.0) + 1.0);
    run
}

fn delays(clause: &str, maximum: &str, lives: &[f64]) -> &'static str {
    verdict(&crashes(clause, maximum, lives).done(), clause)
}

#[test]
fn delays_double_up_to_the_configured_maximum() {
    let judged = |lives: &[f64]| delays(MAXIMUM, "20s", lives);
    assert_eq!(judged(&[1.0, 3.0, 14.5, 36.0, 58.0]), "holds");
    assert_eq!(judged(&[1.0, 3.0, 14.5, 36.0, 77.5]), "violated", "40 s of 20 s");
    assert_eq!(judged(&[1.0, 3.0, 24.5, 46.0, 68.0]), "violated", "20 s before the second restart");
    assert_eq!(judged(&[1.0, 3.0, 14.5, 26.0, 38.0]), "violated", "10 s where it should have doubled");
    assert_eq!(judged(&[1.0, 3.0, 14.5, 36.0]), "inconclusive", "the maximum was not reached");
}

#[test]
fn a_maximum_below_the_first_delay_is_every_delay() {
    let judged = |lives: &[f64]| delays(SHORT, "2s", lives);
    assert_eq!(judged(&[1.0, 3.0, 6.5, 10.0]), "holds");
    assert_eq!(judged(&[1.0, 3.0, 14.5, 18.0]), "violated", "10 s of 2 s");
    assert_eq!(judged(&[1.0, 3.0, 5.5, 9.0]), "violated", "1.5 s of 2 s");
    assert_eq!(judged(&[1.0, 3.0, 6.5]), "inconclusive");
    assert_eq!(delays(SHORT, "20s", &[1.0, 3.0, 14.5, 36.0]), "inconclusive", "it is not below");
}

#[test]
fn the_usual_delays_are_not_asked_of_a_kubelet_with_another_maximum() {
    let run = crashes(SEQUENCE, "2s", &[1.0, 3.0, 6.5, 10.0]);
    assert_eq!(verdict(&run.done(), SEQUENCE), "inconclusive");
}

#[test]
fn a_pod_from_before_or_a_configuration_that_nothing_proves_shows_nothing() {
    let judged = |before: bool, output: Option<Value>, starts: u64| {
        let mut run = Composer::new(&[SHORT]);
        if !before {
            configure(&mut run, 0.1, "2s", output.clone(), starts);
        }
        run.create(0.2, &json!({ "containers": [{ "name": "target" }] }));
        if before {
            configure(&mut run, 0.5, "2s", output, starts);
        }
        for (number, at) in [1.0, 3.0, 14.5, 26.0].into_iter().enumerate() {
            run.start(at, number as u64);
            exits(&mut run, at + 1.0, 1, "plan");
        }
        run.reading(27.5);
        verdict(&run.done(), SHORT)
    };
    assert_eq!(judged(false, runs(), 2), "violated");
    assert_eq!(judged(true, runs(), 2), "inconclusive");
    assert_eq!(judged(false, runs(), 1), "inconclusive", "no restart was shown");
    assert_eq!(judged(false, None, 2), "inconclusive", "the command told nothing");
    assert_eq!(judged(false, refuses(), 2), "inconclusive", "the kubelet does not run with it");
}

/// The kubelet is configured with these maxima, and runs with them or not.
fn range(of: &[(&str, bool)]) -> &'static str {
    let mut run = Composer::new(&[RANGE]);
    for (at, (maximum, accepted)) in of.iter().enumerate() {
        configure(&mut run, at as f64 + 1.0, maximum, if *accepted { runs() } else { refuses() }, 2);
    }
    run.reading(10.0);
    verdict(&run.done(), RANGE)
}

#[test]
fn a_kubelet_that_does_not_run_lets_the_harness_miss_much_but_not_what_the_command_told() {
    let mut run = Composer::new(&[RANGE]);
    configure(&mut run, 1.0, "500ms", refuses(), 1);
    configure(&mut run, 2.0, "1s", runs(), 2);
    configure(&mut run, 3.0, "301s", refuses(), 1);
    configure(&mut run, 4.0, "300s", runs(), 2);
    run.gap(0.5, 5.0, "Pod").reading(10.0);
    assert_eq!(verdict(&run.done(), RANGE), "holds");
}

#[test]
fn a_kubelet_runs_with_a_maximum_in_the_range_and_with_no_other() {
    assert_eq!(range(&[("500ms", false), ("1s", true), ("301s", false), ("300s", true)]), "holds");
    assert_eq!(range(&[("500ms", true), ("1s", true)]), "violated");
    assert_eq!(range(&[("1s", false)]), "violated");
    assert_eq!(range(&[("301s", true)]), "violated");
    assert_eq!(range(&[("300s", false)]), "violated");
    assert_eq!(range(&[("1s", true), ("300s", true)]), "inconclusive", "nothing beyond the range was tried");
}
