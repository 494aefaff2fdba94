//! Two pods that differ only in hostUsers.

use probity_composer::Composer;
use probity_model::history::Change;
use probity_script::witness::{Exiting, Fact, TrialSeen};
use serde_json::json;

use super::spec;
use crate::tests::verdict_of_all_facets as verdict;

const CLAUSE: &str = "userns.apps-unchanged";

/// A pod that does everything that an application can do, except `not`.
fn application(run: &mut Composer, pod: &str, own: bool, not: &str) {
    let spec = spec(own);
    run.of(pod, "target").create(0.0, &spec).pod_seen(
        0.5,
        &spec,
        &json!({ "phase": "Pending" }),
        Change::Modified,
    );
    run.start(1.0, 0);
    let trial = TrialSeen { trial: "write".to_owned(), ok: not != "writes-files", ..TrialSeen::default() };
    run.fact(1.1, Fact::Tried(trial));
    if not != "runs-commands" {
        run.exec(2.0, "live", Some(0));
    }
    if not != "answers" {
        run.probe(2.5, "/ready", 200);
    }
    if not != "is-ready" {
        run.running(3.0, true, true, 0);
        let conditions = json!([{ "type": "Ready", "status": "True" }]);
        run.pod_seen(3.1, &spec, &json!({ "phase": "Running", "conditions": conditions }), Change::Modified);
    }
    run.left(4.0);
    if not != "restarts" {
        run.start(5.0, 1);
        if not != "stops" {
            run.fact(6.0, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
        }
    }
}

fn judged(not: &str, end: f64) -> &'static str {
    let mut run = Composer::new(&[CLAUSE]);
    application(&mut run, "plain", false, "");
    application(&mut run, "own", true, not);
    run.reading(end);
    verdict(&run.done(), CLAUSE)
}

#[test]
fn twins_behave_alike() {
    assert_eq!(judged("", 40.0), "holds");
    for not in ["is-ready", "answers", "runs-commands", "writes-files", "stops"] {
        assert_eq!(judged(not, 40.0), "violated", "{not}");
    }
    assert_eq!(judged("is-ready", 7.0), "inconclusive", "it may still come");
}

/// The verdict if a pod with its own user namespace never starts, and another such pod may start.
fn never_starts(other_starts: bool) -> &'static str {
    let mut run = Composer::new(&[CLAUSE]);
    application(&mut run, "plain", false, "");
    for (pod, starts) in [("own", false), ("control", other_starts)] {
        let mut spec = spec(true);
        if pod == "control" {
            spec["securityContext"] = json!({ "runAsUser": 1000 });
        }
        run.of(pod, "target").create(0.0, &spec);
        run.pod_seen(0.5, &spec, &json!({ "phase": "Pending" }), Change::Modified);
        if starts {
            run.start(1.0, 0);
        }
    }
    run.reading(40.0);
    verdict(&run.done(), CLAUSE)
}

#[test]
fn a_node_may_lack_the_support_that_its_runtime_reports() {
    assert_eq!(never_starts(false), "inconclusive", "perhaps no such pod can start");
    assert_eq!(never_starts(true), "violated", "another such pod starts");
}

#[test]
fn without_a_twin_nothing_is_compared() {
    let mut run = Composer::new(&[CLAUSE]);
    application(&mut run, "own", true, "is-ready");
    run.reading(40.0);
    assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
}
