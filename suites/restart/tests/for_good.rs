//! Hand-written histories of pods that lose their sandbox.

use probity_model::history::{Did, REMOVE_SANDBOX};

use super::{NEVER, ON_FAILURE, exits, pod};
use crate::tests::verdict;

/// The container exits with 0 or is killed when the sandbox of its pod is removed at 10 s, and is started again at this time.
fn lost(clause: &str, policy: &str, exited: bool, again: Option<f64>) -> &'static str {
    let mut run = pod(clause, policy);
    if exited {
        exits(&mut run, 3.0, 0, "plan");
    }
    run.deed(10.0, Did::verb("node1", REMOVE_SANDBOX, Some(0), None));
    if !exited {
        run.left(11.0);
    }
    if let Some(at) = again {
        run.start(at, 1);
    }
    run.reading(40.0);
    verdict(&run.done(), clause)
}

#[test]
fn with_never_nothing_runs_again_in_another_sandbox() {
    assert_eq!(lost(NEVER, "Never", false, Some(14.0)), "violated");
    assert_eq!(lost(NEVER, "Never", true, Some(14.0)), "violated");
    assert_ne!(lost(NEVER, "Never", false, None), "violated");
    assert_ne!(lost(NEVER, "Always", false, Some(14.0)), "violated");
}

#[test]
fn with_on_failure_what_succeeded_does_not_run_again_in_another_sandbox() {
    assert_eq!(lost(ON_FAILURE, "OnFailure", true, Some(14.0)), "violated");
    assert_ne!(lost(ON_FAILURE, "OnFailure", true, None), "violated");
    assert_ne!(lost(ON_FAILURE, "OnFailure", false, Some(14.0)), "violated", "it was killed");
}
