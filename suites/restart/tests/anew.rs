//! Hand-written histories of containers that are changed while they wait for their restart.

use probity_composer::Composer;
use probity_model::history::{Change, Did};
use serde_json::json;

use super::{ended, exits, pod, status};
use crate::tests::verdict;

const ANEW: &str = "restart.backoff.image-change-resets";
const SEQUENCE: &str = "restart.backoff.sequence";

fn resize(run: &mut Composer, at: f64) {
    let patch = json!({ "spec": { "containers": [{ "name": "target", "resources": { "requests": { "cpu": "20m" } } }] } });
    let (kind, name, subresource) = ("Pod".to_owned(), "pod".to_owned(), "resize".to_owned());
    run.deed(at, Did::Patched { kind, name, patch: patch.clone(), subresource });
    let status = status("Running", 2, ended(1), json!({}));
    run.pod_seen(at + 0.01, &patch["spec"], &status, Change::Modified);
}

/// A container exits at 2 s, 4 s and 15 s, so it has to wait until 35 s; it is changed at this time.
fn waiting(clause: &str, changed: f64) -> Composer {
    let mut run = pod(clause, "Always");
    crashes(&mut run);
    resize(&mut run, changed);
    run
}

fn crashes(run: &mut Composer) {
    exits(run, 2.0, 1, "plan");
    run.start(3.0, 1);
    exits(run, 4.0, 1, "plan");
    run.start(14.2, 2);
    exits(run, 15.0, 1, "plan");
}

/// An init container crashes in the same way, is changed at 19 s, and starts again at this time.
fn init_changed(starts: f64) -> &'static str {
    let mut run = Composer::new(&[ANEW]);
    let spec = json!({ "initContainers": [{ "name": "target" }], "containers": [{ "name": "main" }] });
    run.create(0.0, &spec).start(1.0, 0);
    run.status(1.5, &status("Pending", 0, ended(1), json!({})));
    crashes(&mut run);
    resize(&mut run, 19.0);
    run.start(starts, 3);
    exits(&mut run, starts + 1.0, 0, "plan");
    run.reading(120.0);
    verdict(&run.done(), ANEW)
}

#[test]
fn the_back_off_of_an_init_container_begins_anew_too() {
    assert_ne!(init_changed(20.0), "violated");
    assert_eq!(init_changed(35.5), "violated");
}

/// A container crashes in the same way, another container gets a new image at 19 s, and the first one starts again at this
/// time.
fn neighbor_changed(starts: f64) -> &'static str {
    let mut run = pod(SEQUENCE, "Always");
    crashes(&mut run);
    let patch = json!({ "spec": { "containers": [{ "name": "other", "image": "new" }] } });
    let (kind, name, subresource) = ("Pod".to_owned(), "pod".to_owned(), String::new());
    run.deed(19.0, Did::Patched { kind, name, patch, subresource });
    run.start(starts, 3);
    run.reading(60.0);
    verdict(&run.done(), SEQUENCE)
}

#[test]
fn a_change_of_another_container_leaves_the_back_off_as_it_is() {
    assert_ne!(neighbor_changed(35.5), "violated");
    assert_eq!(neighbor_changed(20.0), "violated");
}

/// The container is changed at 19 s, restarts and exits a second later, and restarts again.
fn changed(clause: &str, starts: f64, again: Option<f64>) -> &'static str {
    let mut run = waiting(clause, 19.0);
    run.start(starts, 3);
    exits(&mut run, starts + 1.0, 1, "plan");
    if let Some(at) = again {
        run.start(at, 4);
    }
    run.reading(120.0);
    verdict(&run.done(), clause)
}

#[test]
fn a_change_begins_the_back_off_anew() {
    assert_eq!(changed(ANEW, 20.0, Some(31.5)), "holds");
    assert_eq!(changed(ANEW, 35.5, Some(77.0)), "violated", "it waited for its delay");
    assert_eq!(changed(ANEW, 20.0, Some(61.5)), "violated", "the next delay goes on growing");
    assert_eq!(changed(ANEW, 20.0, Some(22.0)), "violated", "the next delay is missing");
    assert_eq!(changed(ANEW, 20.0, None), "violated", "it never comes back");
}

#[test]
fn a_container_that_waits_for_ever_after_a_change_is_noticed() {
    let judged = |until: f64| {
        let mut run = waiting(ANEW, 19.0);
        run.reading(until);
        verdict(&run.done(), ANEW)
    };
    assert_eq!(judged(60.0), "violated");
    assert_eq!(judged(21.0), "inconclusive");
}

#[test]
fn a_change_that_no_pod_shows_is_none() {
    let mut run = waiting(ANEW, 19.0);
    let spec = json!({ "containers": [{ "name": "target" }] });
    run.pod_seen(19.5, &spec, &status("Running", 2, ended(1), json!({})), Change::Modified);
    run.start(35.3, 3);
    run.reading(60.0);
    assert_eq!(verdict(&run.done(), ANEW), "inconclusive");
}

#[test]
fn a_change_near_the_end_of_the_delay_shows_nothing() {
    let mut run = waiting(ANEW, 33.0);
    run.start(35.3, 3);
    run.reading(60.0);
    assert_eq!(verdict(&run.done(), ANEW), "inconclusive");
}

#[test]
fn a_changed_container_does_not_break_the_sequence_of_delays() {
    assert_eq!(changed(SEQUENCE, 20.0, Some(31.5)), "holds");
}
