//! Hand-written histories of pods whose main containers have all terminated.

use probity_composer::Composer;
use probity_script::witness::{Exiting, Fact};

use super::{pod, runs};
use crate::tests::verdict;

const CLAUSE: &str = "init.restart-reason-all-terminated";

fn exits(run: &mut Composer, container: &str, at: f64) {
    run.of("pod", container).fact(at, Fact::Exiting(Exiting { code: 1, why: "plan".to_owned() }));
    run.left(at + 0.01);
}

/// Two main containers end at 10 s and at `end`, and restart at 20 s; the init container runs again or not.
fn ended(end: f64, again: bool) -> &'static str {
    let mut run = pod(CLAUSE, "Always", &["one"], &["main", "other"]);
    runs(&mut run, "one", 0, (1.0, 2.0), 0);
    run.of("pod", "main").start(3.0, 0).of("pod", "other").start(3.1, 0);
    exits(&mut run, "other", 10.0);
    if end < 20.0 {
        exits(&mut run, "main", end);
    }
    if again {
        runs(&mut run, "one", 1, (15.0, 16.0), 0);
    }
    run.of("pod", "other").start(20.0, 1);
    if end > 20.0 {
        exits(&mut run, "main", end);
    }
    run.of("pod", "main").start(20.5, 1);
    run.reading(40.0);
    verdict(&run.done(), CLAUSE)
}

#[test]
fn init_containers_do_not_run_again_when_all_others_have_ended() {
    assert_eq!(ended(12.0, false), "holds");
    assert_eq!(ended(12.0, true), "violated");
}

#[test]
fn main_containers_that_never_ended_together_show_nothing() {
    assert_eq!(ended(20.2, false), "inconclusive");
}
