//! Hand-written histories of the sandboxes that the runtime lists for a pod.

use probity_composer::{Composer, NODE};
use probity_model::history::{DESCRIBE_POD, Did};
use serde_json::json;

use super::{ASKED, delete, gone, one};
use crate::tests::verdict_of_all_facets as verdict;

const CLEANED: &str = "termination.sandbox-cleaned";

/// The runtime has sandboxes in these states.
fn described(run: &mut Composer, at: f64, exit: i32, states: &[&str]) {
    let list: Vec<_> = states.iter().map(|state| json!({ "id": "s1", "state": state })).collect();
    let output = Some(json!({ "sandboxes": list, "containers": [], "cgroup": null }));
    let (node, verb, uid) = (NODE.to_owned(), DESCRIBE_POD.to_owned(), Some("uid-pod".to_owned()));
    run.deed(at, Did::NodeVerb { node, verb, uid, input: None, exit: Some(exit), output, proof: None });
}

/// A pod that is removed at 12 s, with the states of its sandboxes before, soon after and long after the removal.
fn cleaned(before: &[&str], soon: &[&str], late: &[&str]) -> &'static str {
    let mut run = one(CLEANED, Some(2));
    run.status(1.5, &json!({ "phase": "Running" }));
    described(&mut run, 5.0, 0, before);
    delete(&mut run, ASKED, None);
    gone(&mut run, 12.0);
    described(&mut run, 13.0, 0, soon);
    described(&mut run, 123.0, 0, late);
    run.reading(124.0);
    verdict(&run.done(), CLEANED)
}

#[test]
fn the_sandbox_of_a_pod_ends_with_it_and_is_removed() {
    assert_eq!(cleaned(&["running"], &["exited"], &[]), "holds");
    assert_eq!(cleaned(&["running"], &[], &[]), "holds");
    assert_eq!(cleaned(&["running"], &["running"], &[]), "violated");
    assert_eq!(cleaned(&["running"], &["exited"], &["exited"]), "violated");
}

#[test]
fn a_command_that_saw_no_sandbox_before_shows_nothing() {
    assert_eq!(cleaned(&[], &[], &[]), "inconclusive");
    assert_eq!(cleaned(&["exited"], &[], &[]), "inconclusive");
}

#[test]
fn a_command_that_fails_or_comes_too_early_shows_nothing() {
    let judged = |exit: i32, late: bool| {
        let mut run = one(CLEANED, Some(2));
        run.status(1.5, &json!({ "phase": "Running" }));
        described(&mut run, 5.0, 0, &["running"]);
        delete(&mut run, ASKED, None);
        gone(&mut run, 12.0);
        described(&mut run, if late { 123.0 } else { 20.0 }, exit, &[]);
        run.reading(124.0);
        verdict(&run.done(), CLEANED)
    };
    assert_eq!(judged(0, true), "holds");
    assert_eq!(judged(1, true), "inconclusive");
    assert_eq!(judged(0, false), "inconclusive", "only that it ended was seen");
}
