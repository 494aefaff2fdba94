//! Hand-written histories of pods whose kubelet restarts while they are initializing.

use probity_composer::{NODE, us};
use probity_model::history::{Did, KubeletSigns, NodeProof, RESTART_KUBELET};
use probity_script::witness::{Exiting, Fact};

use super::{COMPLETE, SEQUENTIAL, begins, pod, runs};
use crate::tests::verdict;

/// The first init container has succeeded, and the second one runs until 20 s. The kubelet restarts at 10 s. The container
/// after the second one begins at this time.
fn judged(clause: &str, next: &str, begin: f64, proven: bool) -> &'static str {
    let mut run = pod(clause, "Always", &["one", "two", "three"], &["main"]);
    runs(&mut run, "one", 0, (1.0, 3.0), 0);
    run.of("pod", "two").start(4.0, 0);
    let shown = |starts| KubeletSigns { starts: Some(starts), process_us: None };
    let proof = NodeProof { ended_us: us(11.0), before: shown(1), after: shown(2) };
    run.deed(10.0, Did::verb(NODE, RESTART_KUBELET, Some(0), Some(proof).filter(|_| proven)));
    if begin < 20.0 {
        begins(&mut run, next, begin);
    }
    run.of("pod", "two").fact(20.0, Fact::Exiting(Exiting { code: 0, why: "plan".to_owned() }));
    run.left(20.01);
    if begin > 20.0 {
        begins(&mut run, next, begin);
    }
    run.reading(60.0);
    verdict(&run.done(), clause)
}

#[test]
fn a_restart_of_the_kubelet_keeps_the_order() {
    assert_eq!(judged(SEQUENTIAL, "three", 21.0, true), "holds");
    assert_eq!(judged(SEQUENTIAL, "three", 40.0, true), "holds", "a restarted kubelet may be late");
    assert_eq!(judged(SEQUENTIAL, "three", 12.0, true), "violated");
    assert_eq!(judged(COMPLETE, "main", 12.0, true), "violated");
    assert_eq!(judged(COMPLETE, "main", 12.0, false), "inconclusive", "it may not have been a restart");
}
