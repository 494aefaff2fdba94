//! Hand-written histories of a pod whose sandbox is removed.

use probity_composer::Composer;
use probity_model::history::{Did, REMOVE_SANDBOX};
use probity_script::witness::{Exiting, Fact};
use serde_json::json;

use super::{pod, runs, target};
use crate::tests::verdict;

const CLAUSE: &str = "init.rerun-on-pod-restart";

fn removes(run: &mut Composer, verb: &str, exit: i32) {
    run.deed(10.0, Did::verb("node1", verb, Some(exit), None));
}

/// The sandbox is removed at 10 s; the init containers run again at these times, and the main container at 16 s.
fn again(verb: &str, first: Option<f64>, second: Option<f64>) -> &'static str {
    let mut run = pod(CLAUSE, "Always", &["one", "two"], &["main"]);
    runs(&mut run, "one", 0, (1.0, 2.0), 0);
    runs(&mut run, "two", 0, (3.0, 4.0), 0);
    run.of("pod", "main").start(5.0, 0);
    removes(&mut run, verb, 0);
    run.of("pod", "main").left(11.0);
    for (name, at) in [("one", first), ("two", second)] {
        if let Some(at) = at {
            runs(&mut run, name, 1, (at, at + 1.0), 0);
        }
    }
    run.of("pod", "main").start(16.0, 1);
    run.reading(30.0);
    verdict(&run.done(), CLAUSE)
}

#[test]
fn init_containers_run_again_in_a_new_sandbox() {
    assert_eq!(again(REMOVE_SANDBOX, Some(12.0), Some(14.0)), "holds");
    assert_eq!(again(REMOVE_SANDBOX, None, Some(14.0)), "violated");
    assert_eq!(again(REMOVE_SANDBOX, Some(12.0), None), "violated");
    assert_eq!(again(REMOVE_SANDBOX, Some(12.0), Some(15.5)), "violated", "the main container did not wait");
}

#[test]
fn a_sidecar_waits_for_the_init_containers_again() {
    let judged = |helper: f64| {
        let mut run = Composer::new(&[CLAUSE]);
        let mut sidecar = target("helper");
        sidecar["restartPolicy"] = json!("Always");
        run.create(
            0.0,
            &json!({ "initContainers": [target("one"), sidecar], "containers": [target("main")] }),
        );
        runs(&mut run, "one", 0, (1.0, 2.0), 0);
        run.of("pod", "helper").start(3.0, 0);
        run.of("pod", "main").start(5.0, 0);
        removes(&mut run, REMOVE_SANDBOX, 0);
        for name in ["main", "helper"] {
            run.of("pod", name).left(11.0);
        }
        run.of("pod", "one").start(12.0, 1);
        if helper < 14.0 {
            run.of("pod", "helper").start(helper, 1);
        }
        run.of("pod", "one").fact(14.0, Fact::Exiting(Exiting { code: 0, why: "plan".to_owned() }));
        run.left(14.01);
        if helper > 14.0 {
            run.of("pod", "helper").start(helper, 1);
        }
        run.of("pod", "main").start(16.0, 1);
        run.reading(30.0);
        verdict(&run.done(), CLAUSE)
    };
    assert_ne!(judged(15.0), "violated");
    assert_eq!(judged(13.0), "violated");
}

#[test]
fn without_a_new_sandbox_nothing_is_judged() {
    assert_eq!(again("restart-kubelet", None, None), "inconclusive");
    let mut run = pod(CLAUSE, "Always", &["one"], &["main"]);
    runs(&mut run, "one", 0, (1.0, 2.0), 0);
    run.of("pod", "main").start(5.0, 0);
    removes(&mut run, REMOVE_SANDBOX, 0);
    run.reading(40.0);
    assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive", "the main container runs on");
}
