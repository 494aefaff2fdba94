//! Hand-written histories of the last state of a container that has terminated for good, and of last states that are
//! not shown.

use probity_composer::Composer;
use probity_model::history::RESTART_ALL_GATE;
use serde_json::{Value, json};

use super::{ENDED, ended, exits, plain, running, status};
use crate::tests::verdict;

/// A container fails, runs again with the failure as its last state, and then exits with 0. The status that shows this
/// end has this last state.
fn at_the_end(kubelet: &str, last: Value) -> &'static str {
    let mut run = plain(ENDED);
    run.status(1.5, &status(0, running(1.0), json!({})));
    exits(&mut run, 3.0, 3);
    run.start(4.0, 1);
    run.status(4.5, &status(1, running(4.0), ended(3, "Error", 1.0, 3.0)));
    exits(&mut run, 6.0, 0);
    run.status(6.5, &status(1, ended(0, "Completed", 4.0, 6.0), last)).reading(30.0);
    on(kubelet, run)
}

/// The verdict if the node has a kubelet of this version.
fn on(kubelet: &str, run: Composer) -> &'static str {
    let mut history = run.done();
    for node in history.header.nodes.values_mut() {
        kubelet.clone_into(&mut node.kubelet);
    }
    verdict(&history, ENDED)
}

#[test]
fn the_last_state_is_still_shown_after_the_last_end() {
    assert_ne!(at_the_end("v1.36.3", ended(3, "Error", 1.0, 3.0)), "violated");
    assert_eq!(at_the_end("v1.36.3", json!({})), "violated");
    assert_ne!(at_the_end("v1.35.4", json!({})), "violated", "such a kubelet asks the runtime");
    assert_ne!(at_the_end("", json!({})), "violated", "the version is not known");
}

/// A container fails twice and is started again each time. The last state of each new instance is shown or not.
fn started_again(kubelet: &str, shown: [bool; 2]) -> &'static str {
    let mut run = plain(ENDED);
    run.status(1.5, &status(0, running(1.0), json!({})));
    exits(&mut run, 3.0, 3);
    run.start(4.0, 1);
    let first = ended(3, "Error", 1.0, 3.0);
    run.status(4.5, &status(1, running(4.0), first.clone()));
    run.status(5.0, &status(1, running(4.0), if shown[0] { first } else { json!({}) }));
    exits(&mut run, 6.0, 4);
    run.start(7.0, 2);
    let second = if shown[1] { ended(4, "Error", 4.0, 6.0) } else { json!({}) };
    run.status(7.5, &status(2, running(7.0), second)).reading(40.0);
    on(kubelet, run)
}

#[test]
fn a_clean_up_may_take_one_end_from_a_kubelet_that_remembers_none() {
    assert_eq!(started_again("v1.35.4", [true, true]), "holds");
    assert_eq!(started_again("v1.35.4", [true, false]), "inconclusive");
    assert_eq!(started_again("v1.35.4", [false, true]), "inconclusive");
    assert_eq!(started_again("v1.35.4", [false, false]), "violated", "that is too often");
    assert_eq!(started_again("v1.36.3", [true, false]), "violated");
    assert_eq!(started_again("v1.36.3", [false, true]), "violated");
}

#[test]
fn a_kubelet_remembers_last_states_only_with_its_gate() {
    let judged = |gate: Option<bool>| {
        let mut run = plain(ENDED);
        run.status(1.5, &status(0, running(1.0), json!({})));
        exits(&mut run, 3.0, 3);
        run.start(4.0, 1);
        run.status(4.5, &status(1, running(4.0), json!({}))).reading(30.0);
        let mut history = run.done();
        for node in history.header.nodes.values_mut() {
            node.features = gate.map(|is_on| (RESTART_ALL_GATE.to_owned(), is_on)).into_iter().collect();
        }
        verdict(&history, ENDED)
    };
    assert_eq!(judged(None), "violated");
    assert_eq!(judged(Some(true)), "violated");
    assert_eq!(judged(Some(false)), "inconclusive");
}
