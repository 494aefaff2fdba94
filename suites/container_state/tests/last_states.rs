//! Hand-written histories of the last state of a container that has ended for good.

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
