//! Hand-written histories of the last state of a container that has terminated for good, and of last states that are
//! not shown.

use probity_composer::{Composer, NODE, timestamp, us};
use probity_model::history::{Change, Did, KubeletSigns, NodeProof, RESTART_ALL_GATE};
use serde_json::{Value, json};

use super::{ENDED, STARTED, ended, exits, hungry, plain, pod, running, status};
use crate::tests::verdict;

/// A container fails, runs again with the failure as its last state, and then exits with 0. The status that shows this
/// end has this last state.
fn at_the_end(kubelet: &str, last: Value) -> &'static str {
    let mut run = plain(ENDED);
    run.status(1.5, &status(0, running(1.0), json!({})));
    exits(&mut run, 3.0, 3);
    run.start(4.0, 1);
    run.status(4.5, &status(1, running(4.0), ended(3, "Error", 1.0, 3.0)));
    exits(&mut run, 6.0, 0);
    run.status(6.5, &status(1, ended(0, "Completed", 4.0, 6.0), last)).reading(30.0);
    on(kubelet, run)
}

/// The verdict if the node has a kubelet of this version.
fn on(kubelet: &str, run: Composer) -> &'static str {
    let mut history = run.done();
    for node in history.header.nodes.values_mut() {
        kubelet.clone_into(&mut node.kubelet);
    }
    verdict(&history, ENDED)
}

#[test]
fn the_last_state_is_still_shown_after_the_last_end() {
    assert_ne!(at_the_end("v1.36.3", ended(3, "Error", 1.0, 3.0)), "violated");
    assert_eq!(at_the_end("v1.36.3", json!({})), "violated");
    assert_ne!(at_the_end("v1.35.4", json!({})), "violated", "such a kubelet asks the runtime");
    assert_ne!(at_the_end("", json!({})), "violated", "the version is not known");
}

/// A container fails twice and is started again each time. The last state of each new instance is shown or not.
fn started_again(kubelet: &str, shown: [bool; 2]) -> &'static str {
    let mut run = plain(ENDED);
    run.status(1.5, &status(0, running(1.0), json!({})));
    exits(&mut run, 3.0, 3);
    run.start(4.0, 1);
    let first = ended(3, "Error", 1.0, 3.0);
    run.status(4.5, &status(1, running(4.0), first.clone()));
    run.status(5.0, &status(1, running(4.0), if shown[0] { first } else { json!({}) }));
    exits(&mut run, 6.0, 4);
    run.start(7.0, 2);
    let second = if shown[1] { ended(4, "Error", 4.0, 6.0) } else { json!({}) };
    run.status(7.5, &status(2, running(7.0), second)).reading(40.0);
    on(kubelet, run)
}

#[test]
fn a_clean_up_may_take_one_end_from_a_kubelet_that_remembers_none() {
    assert_eq!(started_again("v1.35.4", [true, true]), "holds");
    assert_eq!(started_again("v1.35.4", [true, false]), "inconclusive");
    assert_eq!(started_again("v1.35.4", [false, true]), "inconclusive");
    assert_eq!(started_again("v1.35.4", [false, false]), "violated", "that is too often");
    assert_eq!(started_again("v1.36.3", [true, false]), "violated");
    assert_eq!(started_again("v1.36.3", [false, true]), "violated");
}

#[test]
fn a_kubelet_remembers_last_states_only_with_its_gate() {
    let judged = |gate: Option<bool>| {
        let mut run = plain(ENDED);
        run.status(1.5, &status(0, running(1.0), json!({})));
        exits(&mut run, 3.0, 3);
        run.start(4.0, 1);
        run.status(4.5, &status(1, running(4.0), json!({}))).reading(30.0);
        let mut history = run.done();
        for node in history.header.nodes.values_mut() {
            node.features = gate.map(|is_on| (RESTART_ALL_GATE.to_owned(), is_on)).into_iter().collect();
        }
        verdict(&history, ENDED)
    };
    assert_eq!(judged(None), "violated");
    assert_eq!(judged(Some(true)), "violated");
    assert_eq!(judged(Some(false)), "inconclusive");
}

/// A container runs from 1 s on, and after a restart of its kubelet at 10 s, its status shows this start.
fn shown_after_a_restart_of_the_kubelet(id: &str, started: f64) -> &'static str {
    let mut run = plain(STARTED);
    run.status(1.5, &status(0, running(1.0), json!({})));
    let shown = |starts| KubeletSigns { starts: Some(starts), process_us: None };
    let proof = NodeProof { ended_us: us(11.0), before: shown(1), after: shown(2) };
    run.deed(10.0, Did::verb(NODE, "restart-kubelet", Some(0), Some(proof)));
    let mut later = status(0, running(started), json!({}));
    later["containerStatuses"][0]["containerID"] = json!(id);
    run.status(12.0, &later).reading(20.0);
    verdict(&run.done(), STARTED)
}

#[test]
fn the_start_of_an_instance_does_not_change_with_its_kubelet() {
    assert_eq!(shown_after_a_restart_of_the_kubelet("containerd://target-0", 11.0), "violated");
    assert_eq!(shown_after_a_restart_of_the_kubelet("containerd://target-0", 2.0), "violated");
    assert_ne!(shown_after_a_restart_of_the_kubelet("containerd://target-0", 1.0), "violated");
    assert_ne!(shown_after_a_restart_of_the_kubelet("containerd://other", 11.0), "violated");
}

/// An init container fails, runs again and succeeds. Its statuses have this last state from its restart on.
fn initializing(kubelet: &str, last: &Value) -> &'static str {
    let of_init = |restarts: u64, state: Value, last: Value| {
        let mut status = status(restarts, state, last);
        status["phase"] = "Pending".into();
        status["initContainerStatuses"] = status["containerStatuses"].take();
        status
    };
    let mut run = Composer::new(&[ENDED]);
    run.create(0.0, &json!({ "initContainers": [{ "name": "target" }], "containers": [{ "name": "main" }] }));
    run.start(1.0, 0).status(1.5, &of_init(0, running(1.0), json!({})));
    exits(&mut run, 3.0, 3);
    run.start(4.0, 1).status(4.5, &of_init(1, running(4.0), last.clone()));
    exits(&mut run, 6.0, 0);
    run.status(6.5, &of_init(1, ended(0, "Completed", 4.0, 6.0), last.clone()));
    run.noise(1.0, 7.0).reading(30.0);
    on(kubelet, run)
}

#[test]
fn an_init_container_has_a_last_state_too() {
    assert_ne!(initializing("v1.36.3", &ended(3, "Error", 1.0, 3.0)), "violated");
    assert_eq!(initializing("v1.36.3", &json!({})), "violated");
    assert_ne!(initializing("v1.35.4", &json!({})), "violated", "its cleanup may have removed the record");
}

/// A container fails, is started again without a last state, and soon fails again.
fn short_lived(kubelet: &str, probed: bool) -> &'static str {
    let mut container = json!({ "name": "target" });
    if probed {
        container["livenessProbe"] = json!({ "tcpSocket": { "port": 8080 } });
    }
    let mut run = pod(ENDED, container);
    run.status(1.5, &status(0, running(1.0), json!({})));
    exits(&mut run, 3.0, 3);
    run.start(4.0, 1).status(4.5, &status(1, running(4.0), json!({})));
    exits(&mut run, 6.0, 4);
    run.status(6.5, &status(1, ended(4, "Error", 4.0, 6.0), json!({}))).reading(7.0);
    on(kubelet, run)
}

#[test]
fn a_kubelet_that_remembers_last_states_shows_them_at_once() {
    assert_eq!(short_lived("v1.36.3", false), "violated");
    assert_ne!(short_lived("v1.35.4", false), "violated", "its cleanup may have removed the record");
    assert_ne!(short_lived("v1.36.3", true), "violated", "the kubelet may have been about to kill it");
}

/// A container needs more memory than its limit, is killed, and is started again with this last state.
fn lacked_memory(probed: bool, last: Value) -> &'static str {
    let mut container = hungry();
    if probed {
        container["livenessProbe"] = json!({ "tcpSocket": { "port": 8080 } });
    }
    let mut run = pod(ENDED, container);
    run.status(1.5, &status(0, running(1.0), json!({}))).left(3.0);
    run.status(3.5, &status(0, ended(137, "OOMKilled", 1.0, 3.0), json!({})));
    run.start(4.0, 1).status(4.5, &status(1, running(4.0), last)).reading(30.0);
    on("v1.36.3", run)
}

#[test]
fn what_lacked_memory_is_the_last_state_of_what_was_started_again() {
    assert_ne!(lacked_memory(false, ended(137, "OOMKilled", 1.0, 3.0)), "violated");
    assert_eq!(lacked_memory(false, json!({})), "violated");
    assert_ne!(
        lacked_memory(true, json!({})),
        "violated",
        "the kubelet may have killed it because of its probe"
    );
}

/// A container fails, waits for its back-off with this last state, and is started again, unless its pod was deleted.
fn waiting(kubelet: &str, deleted: bool, last: &Value) -> &'static str {
    let mut run = plain(ENDED);
    run.status(1.5, &status(0, running(1.0), json!({})));
    exits(&mut run, 3.0, 3);
    if deleted {
        run.deed(3.2, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace: None });
        let metadata = json!({
            "name": "pod", "uid": "uid-pod", "deletionTimestamp": timestamp(3.2), "deletionGracePeriodSeconds": 30,
        });
        let spec = json!({ "nodeName": NODE, "containers": [{ "name": "target" }] });
        let status = status(0, crash_loop(), last.clone());
        let object = json!({ "metadata": metadata, "spec": spec, "status": status });
        run.sighting(3.4, "Pod", "pod", Change::Modified, object);
    } else {
        run.status(3.4, &status(0, crash_loop(), last.clone())).start(14.0, 1);
        run.status(14.5, &status(1, running(14.0), ended(3, "Error", 1.0, 3.0)));
    }
    run.reading(30.0);
    on(kubelet, run)
}

fn crash_loop() -> Value {
    json!({ "waiting": { "reason": "CrashLoopBackOff" } })
}

#[test]
fn a_container_that_waits_for_its_back_off_has_a_last_state() {
    assert_ne!(waiting("v1.36.3", false, &ended(3, "Error", 1.0, 3.0)), "violated");
    assert_eq!(waiting("v1.36.3", false, &json!({})), "violated");
    assert_ne!(
        waiting("v1.35.4", false, &json!({})),
        "violated",
        "once, its cleanup may have removed the record"
    );
    assert_ne!(
        waiting("v1.36.3", true, &json!({})),
        "violated",
        "the containers of a deleted pod are removed"
    );
}
