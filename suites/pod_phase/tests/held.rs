//! A deleted pod whose removal a finalizer prevents.

use super::*;

/// A deleted pod with a finalizer, whose process exits at 3.2 s with this status. It is shown in a phase at some time, or
/// never; the history ends at another time.
fn held(code: u8, phase: Option<(f64, &str)>, spec: &Value, end: f64) -> &'static str {
    let mut run = Composer::new(&[REMOVAL]);
    run.create(0.0, spec).start(1.0, 0);
    run.status(1.5, &status("Running", 0, runs(), json!({})));
    run.deed(3.0, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace: None });
    let mut bound = spec.clone();
    bound["nodeName"] = json!("node1");
    let object = |phase: &str| {
        let metadata = json!({
            "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod" }, "finalizers": ["probity.dev/kept"],
            "deletionTimestamp": timestamp(33.0), "deletionGracePeriodSeconds": 30,
        });
        json!({ "metadata": metadata, "spec": bound, "status": status(phase, 0, ended(i64::from(code)), json!({})) })
    };
    run.sighting(3.05, "Pod", "pod", Change::Modified, object("Running"));
    run.signal(3.1, "SIGTERM");
    exits(&mut run, 3.2, code);
    if let Some((at, phase)) = phase {
        run.sighting(at, "Pod", "pod", Change::Modified, object(phase));
    }
    run.reading(end);
    verdict(&run.done(), REMOVAL)
}

#[test]
fn a_deleted_pod_that_is_kept_is_over_when_its_containers_are() {
    let plain = spec("Always");
    let judged = |code, phase| held(code, phase, &plain, 30.0);
    assert_eq!(judged(0, Some((4.0, "Succeeded"))), "holds");
    assert_eq!(judged(3, Some((4.0, "Failed"))), "holds");
    assert_eq!(judged(3, Some((4.0, "Succeeded"))), "violated");
    assert_eq!(judged(0, Some((4.0, "Failed"))), "violated");
    assert_eq!(judged(0, Some((11.0, "Succeeded"))), "holds", "a kubelet that is slow");
    assert_eq!(judged(0, Some((15.0, "Succeeded"))), "violated", "the phase is late");
    assert_eq!(judged(0, None), "violated", "the pod never reaches a terminal phase");
    assert_eq!(held(0, None, &plain, 8.0), "inconclusive", "the history ends early");
}

#[test]
fn a_hook_may_hold_up_the_end_of_a_pod() {
    let mut hooked = spec("Always");
    hooked["containers"][0]["lifecycle"] = json!({ "preStop": { "sleep": { "seconds": 20 } } });
    assert_eq!(held(0, None, &hooked, 30.0), "inconclusive");
}
