//! Hand-written histories of init containers that wait for something.

use probity_composer::Composer;
use probity_script::witness::{Exiting, Fact, Waited};
use serde_json::json;

use crate::tests::verdict;

const DELAYS: &str = "init.delays-app-start";

/// An init container starts at 1 s and finds what it waits for at the first time; the main container starts at the
/// second.
fn judged(found: Option<f64>, main: Option<f64>) -> &'static str {
    let plan = json!({ "process": { "wait-for": [{ "http": "http://10.0.0.1:80/" }] } });
    let env = json!([{ "name": "AGNHOST_PLAN", "value": plan.to_string() }]);
    let spec = json!({ "initContainers": [{ "name": "prepare", "env": env }], "containers": [{ "name": "target" }] });
    let mut run = Composer::new(&[DELAYS]);
    run.create(0.0, &spec);
    run.of("pod", "prepare").start(1.0, 0);
    let mut begins = main;
    if let Some(at) = found {
        if let Some(early) = begins.take_if(|main| *main < at) {
            run.of("pod", "target").start(early, 0);
        }
        let (what, took_us) =
            ("http http://10.0.0.1:80/".to_owned(), probity_composer::us(at - 1.0).unsigned_abs());
        run.of("pod", "prepare").fact(at, Fact::Waited(Waited { what, tries: 9, took_us }));
        run.fact(at + 0.5, Fact::Exiting(Exiting { code: 0, why: "plan".to_owned() }));
        run.left(at + 0.6);
    }
    if let Some(at) = begins {
        run.of("pod", "target").start(at, 0);
    }
    run.reading(60.0);
    verdict(&run.done(), DELAYS)
}

#[test]
fn main_containers_wait_for_what_an_init_container_waits_for() {
    assert_eq!(judged(Some(9.0), Some(10.0)), "holds");
    assert_eq!(judged(Some(9.0), Some(5.0)), "violated");
    assert_eq!(judged(None, Some(5.0)), "violated", "it never came");
    assert_eq!(judged(Some(9.0), None), "inconclusive", "no main container started");
    assert_eq!(judged(Some(1.5), Some(3.0)), "inconclusive", "it was there from the beginning");
    assert_eq!(judged(None, None), "inconclusive");
}
