//! Histories of containers whose kubelet restarts.

use probity_model::history::NodeProof;
use probity_script::witness::{Exiting, Fact};

use super::*;

const KEPT: &str = "prober.kubelet-restart.status-kept";
const JITTER: &str = "prober.worker.restart-jitter";

/// A container that is ready from 2 s on; its kubelet is restarted at this second.
fn kubelet_restarted(at: f64, ready: bool) -> Composer {
    restarted_by(at, ready, proof(at + 1.0, 2))
}

/// The same container, with this proof of the restart from the node.
fn restarted_by(at: f64, ready: bool, proof: Option<NodeProof>) -> Composer {
    let mut run = one(KEPT, &json!({ "readinessProbe": http("/ready", 8080, 5) }));
    run.running(2.0, true, true, 0);
    let status = |ready| {
        let mut status = probity_composer::running_status("target", 2.0, ready, true, 0);
        status["containerStatuses"][0]["containerID"] = json!("containerd://target-0");
        status
    };
    run.deed(at, Did::verb(probity_composer::NODE, "restart-kubelet", Some(0), proof));
    run.status(at + 2.0, &status(ready));
    run.probe(at + 4.0, "/ready", 200);
    run.status(at + 4.2, &status(true));
    run.probe(at + 9.0, "/ready", 200);
    run.probe(at + 14.0, "/ready", 200);
    run
}

#[test]
fn a_restart_of_the_kubelet_leaves_what_is_shown_alone() {
    assert_eq!(verdict(&kubelet_restarted(20.0, true).done(), KEPT), "holds");
    assert_eq!(verdict(&kubelet_restarted(20.0, false).done(), KEPT), "violated");
    assert_eq!(verdict(&kubelet_restarted(6.0, false).done(), KEPT), "inconclusive");
}

#[test]
fn what_a_pod_that_is_not_ready_takes_from_its_containers_diverges() {
    let half = |at: f64, ready: bool, whole: bool| {
        let mut status = probity_composer::running_status("target", 2.0, ready, true, 0);
        let conditions = status["conditions"].as_array_mut().into_iter().flatten();
        for condition in conditions.filter(|of| of["type"] == "Ready" && !whole) {
            condition["status"] = json!("False");
        }
        (at, status)
    };
    for (whole, returns, word) in
        [(false, true, "diverges"), (false, false, "violated"), (true, true, "violated")]
    {
        let mut run = one(KEPT, &json!({ "readinessProbe": http("/ready", 8080, 5) }));
        let states = [half(2.0, true, whole), half(22.0, false, whole), half(26.0, true, whole)];
        for (at, status) in states.into_iter().take(if returns { 3 } else { 2 }) {
            if at > 20.0 && at < 25.0 {
                run.deed(20.0, Did::verb(probity_composer::NODE, "restart-kubelet", Some(0), proof(21.0, 2)));
            }
            run.status(at, &status);
        }
        run.probe(25.5, "/ready", 200);
        run.probe(40.0, "/ready", 200);
        assert_eq!(verdict(&run.done(), KEPT), word, "{whole} {returns}");
    }
}

#[test]
fn a_probe_of_the_kubelet_that_was_ended_is_no_new_result() {
    let judged = |probed: f64| {
        let mut run = one(KEPT, &json!({ "readinessProbe": http("/ready", 8080, 5) }));
        let status = |ready: bool| {
            let mut status = probity_composer::running_status("target", 2.0, ready, true, 0);
            let conditions = status["conditions"].as_array_mut().into_iter().flatten();
            conditions.filter(|of| of["type"] == "Ready").for_each(|of| of["status"] = json!("False"));
            status
        };
        run.status(2.0, &status(true));
        run.deed(20.0, Did::verb(probity_composer::NODE, "restart-kubelet", Some(0), proof(21.0, 2)));
        run.probe(probed, "/ready", 200);
        run.status(24.0, &status(false));
        run.probe(25.5, "/ready", 200);
        run.status(26.0, &status(true)).probe(40.0, "/ready", 200);
        verdict(&run.done(), KEPT)
    };
    assert_eq!(judged(20.5), "diverges");
    assert_eq!(judged(21.5), "violated");
}

#[test]
fn a_container_that_has_started_up_does_not_start_up_again() {
    for (again, word) in [(None, "holds"), (Some(22.0), "violated")] {
        let mut run = one(KEPT, &json!({ "startupProbe": http("/start", 8080, 1) }));
        let mut status = probity_composer::running_status("target", 1.0, true, true, 0);
        status["containerStatuses"][0]["containerID"] = json!("containerd://target-0");
        run.probe(1.5, "/start", 200);
        run.status(2.0, &status);
        run.deed(20.0, Did::verb(probity_composer::NODE, "restart-kubelet", Some(0), proof(21.0, 2)));
        if let Some(at) = again {
            run.probe(at, "/start", 200);
        }
        run.status(23.0, &status).reading(40.0);
        assert_eq!(verdict(&run.done(), KEPT), word, "{again:?}");
    }
}

#[test]
fn a_command_that_ended_well_proves_no_restart() {
    for proof in [None, proof(21.0, 1), Some(NodeProof::default())] {
        for clause in [KEPT, JITTER] {
            let run = restarted_by(20.0, true, proof.clone()).done();
            let judged = judgement(&run, clause).map(|of| of.verdict);
            let told = judged.map(|of| (of.word(), of.sentence().contains("restart-kubelet")));
            assert_eq!(told, Some(("inconclusive", true)), "{proof:?}");
        }
    }
}

#[test]
fn a_container_that_a_restart_of_the_kubelet_stops_and_starts_again_is_a_violation() {
    let mut run = kubelet_restarted(20.0, true);
    run.signal(35.0, "SIGTERM");
    run.left(35.1);
    run.start(35.5, 1);
    run.running(36.0, true, true, 1);
    assert_eq!(verdict(&run.done(), KEPT), "violated");
}

#[test]
fn a_restart_of_the_kubelet_restarts_no_young_container() {
    let judged = |restarts: u64| {
        let mut run = kubelet_restarted(6.0, true);
        let mut status = probity_composer::running_status("target", 9.0, true, true, restarts);
        status["containerStatuses"][0]["containerID"] = json!(format!("containerd://target-{restarts}"));
        run.status(21.0, &status);
        verdict(&run.done(), KEPT)
    };
    assert_eq!(judged(0), "inconclusive", "the container may be shown as new");
    assert_eq!(judged(1), "violated");
}

/// The kubelet restarts while an init container is running. The container exits with 1 at this time, if at all, and its next
/// instance begins at this time, if there is one.
fn initializing(exit: Option<f64>, again: Option<f64>) -> &'static str {
    let spec = json!({ "initContainers": [{ "name": "prepare" }], "containers": [{ "name": "target" }] });
    let mut run = Composer::new(&[KEPT]);
    run.create(0.0, &spec);
    run.of("pod", "prepare").start(1.0, 0);
    run.deed(20.0, Did::verb(probity_composer::NODE, "restart-kubelet", Some(0), proof(21.0, 2)));
    if let Some(at) = exit {
        run.fact(at, Fact::Exiting(Exiting { code: 1, why: "plan".to_owned() }));
        run.left(at + 0.01);
    }
    if let Some(at) = again {
        run.start(at, 1);
    }
    run.reading(50.0);
    verdict(&run.done(), KEPT)
}

#[test]
fn a_restart_of_the_kubelet_does_not_repeat_an_init_container_that_is_running() {
    assert_eq!(initializing(Some(30.0), None), "holds");
    assert_eq!(initializing(Some(30.0), Some(31.0)), "holds", "it had failed");
    assert_eq!(initializing(None, Some(23.0)), "violated");
    assert_eq!(initializing(None, None), "inconclusive");
}
