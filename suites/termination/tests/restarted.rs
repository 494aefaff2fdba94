//! Hand-written histories of kubelets that are restarted while a pod terminates.

use probity_composer::{Composer, NODE, us};
use probity_model::history::{Did, KubeletSigns, NodeProof, RESTART_KUBELET};

use super::{ASKED, delete, exits, gone, killed, one, told};
use crate::tests::verdict;

const AGAIN: &str = "termination.kubelet-restart-restarts-grace";

/// The kubelet is restarted. The node shows one start of it before the restart, and `starts` starts after it.
fn restart(run: &mut Composer, at: f64, starts: u64) {
    let shown = |starts| KubeletSigns { starts: Some(starts), process_us: None };
    let proof = Some(NodeProof { ended_us: us(at), before: shown(1), after: shown(starts) });
    run.deed(at, Did::verb(NODE, RESTART_KUBELET, Some(0), proof));
}

/// A pod with a grace period of 30 s is deleted and gets its stop signal, and its kubelet is restarted at 20 s.
fn restarted(starts: u64) -> Composer {
    let mut run = one(AGAIN, Some(30));
    delete(&mut run, ASKED, None);
    told(&mut run, "target", ASKED + 0.2);
    restart(&mut run, 20.0, starts);
    run
}

fn killed_after(at: f64) -> &'static str {
    let mut run = restarted(2);
    killed(&mut run, "target", at);
    gone(&mut run, at + 1.0);
    run.reading(100.0);
    verdict(&run.done(), AGAIN)
}

#[test]
fn a_new_kubelet_grants_the_grace_period_again() {
    assert_eq!(killed_after(51.0), "holds");
    assert_eq!(killed_after(40.2), "violated", "that is the deadline of the old kubelet");
    assert_eq!(killed_after(35.0), "violated", "half of it");
    assert_eq!(killed_after(90.0), "violated", "late");
}

#[test]
fn a_new_kubelet_knows_that_a_pod_terminates() {
    let judged = |until: f64| {
        let mut run = restarted(2);
        run.reading(until);
        verdict(&run.done(), AGAIN)
    };
    assert_eq!(judged(120.0), "violated");
    assert_eq!(judged(60.0), "inconclusive", "it may still be killed in time");
}

#[test]
fn a_restart_must_be_proven() {
    let mut run = restarted(1);
    killed(&mut run, "target", 40.2);
    run.reading(60.0);
    assert_eq!(verdict(&run.done(), AGAIN), "inconclusive");
}

#[test]
fn what_ends_by_itself_shows_nothing() {
    let mut run = restarted(2);
    exits(&mut run, "target", 25.0, 0);
    run.reading(60.0);
    assert_eq!(verdict(&run.done(), AGAIN), "inconclusive");
}

#[test]
fn a_restart_before_the_deletion_or_after_the_deadline_shows_nothing() {
    let judged = |at: f64| {
        let mut run = one(AGAIN, Some(30));
        if at < ASKED {
            restart(&mut run, at, 2);
        }
        delete(&mut run, ASKED, None);
        told(&mut run, "target", ASKED + 0.2);
        if at > ASKED {
            restart(&mut run, at, 2);
        }
        killed(&mut run, "target", 41.0);
        run.reading(60.0);
        verdict(&run.done(), AGAIN)
    };
    assert_eq!(judged(5.0), "inconclusive");
    assert_eq!(judged(40.8), "inconclusive");
}

#[test]
fn a_second_request_may_have_shortened_the_grace_period() {
    let mut run = restarted(2);
    delete(&mut run, 22.0, Some(5));
    killed(&mut run, "target", 27.0);
    run.reading(60.0);
    assert_eq!(verdict(&run.done(), AGAIN), "inconclusive");
}
