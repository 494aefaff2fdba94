//! What the API server records about requests.

use probity_model::history::Change;
use serde_json::json;

use super::{ASKED, at, delete, one, shown};
use crate::tests::verdict;

const RECORDED: &str = "termination.deadline-recorded";
const SHORTENS: &str = "termination.grace-only-shortens";
const NEGATIVE: &str = "termination.negative-grace";

#[test]
fn grace_period_and_deadline_are_recorded() {
    let judged = |deadline: f64, grace: i64| {
        let mut run = one(RECORDED, Some(20));
        delete(&mut run, ASKED, None);
        shown(&mut run, ASKED + 0.1, (deadline, grace), Change::Modified);
        at(run, 12.0, RECORDED)
    };
    assert_eq!(judged(30.0, 20), "holds");
    assert_eq!(judged(30.0, 30), "violated");
    assert_eq!(judged(10.0, 20), "violated", "the time of the request");
    assert_eq!(judged(50.0, 20), "violated");
}

/// A pod is deleted twice, and this deadline and grace period are shown after the second request, which may have no grace
/// period.
fn twice(second: Option<u64>, deadline: f64, grace: i64) -> &'static str {
    let mut run = one(SHORTENS, Some(60));
    delete(&mut run, ASKED, Some(8));
    shown(&mut run, ASKED + 0.1, (18.0, 8), Change::Modified);
    delete(&mut run, ASKED + 1.0, second);
    shown(&mut run, ASKED + 1.1, (deadline, grace), Change::Modified);
    at(run, 14.0, SHORTENS)
}

#[test]
fn a_second_request_only_shortens() {
    assert_eq!(twice(Some(4), 14.0, 4), "holds");
    assert_eq!(twice(Some(60), 18.0, 8), "holds");
    assert_eq!(twice(Some(60), 70.0, 60), "violated");
    assert_eq!(twice(Some(4), 18.0, 8), "violated", "nothing changed");
    assert_eq!(twice(Some(4), 15.0, 4), "violated", "it counts from the second request");
    assert_eq!(twice(None, 18.0, 8), "holds");
    assert_eq!(twice(None, 70.0, 60), "violated", "the grace period of the pod applies again");
    assert_eq!(twice(None, 19.0, 8), "violated", "the deadline moved");
    assert_eq!(twice(Some(0), 18.0, 8), "inconclusive", "it asks for an immediate removal");
    let mut unseen = one(SHORTENS, Some(60));
    delete(&mut unseen, ASKED, Some(8));
    assert_eq!(at(unseen, 14.0, SHORTENS), "inconclusive");
}

#[test]
fn a_negative_grace_period_is_one_second() {
    let judged = |code: u16, stored: i64| {
        let spec =
            |grace: i64| json!({ "spec": { "terminationGracePeriodSeconds": grace, "containers": [] } });
        let mut run = one(NEGATIVE, None);
        run.tried(2.0, "negative", spec(-1), code, "", spec(stored));
        verdict(&run.done(), NEGATIVE)
    };
    assert_eq!(judged(201, 1), "holds");
    assert_eq!(judged(201, -1), "violated");
    assert_eq!(judged(201, 30), "violated");
}
