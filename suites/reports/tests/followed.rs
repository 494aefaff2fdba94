//! Statuses that follow a change of their pod, although no container changes.

use super::*;

/// The verdict on a pod whose revisions show, at each time, the generation of the pod and the generation that its
/// status is about. The history ends at `end`.
fn followed(spec: &Value, shown: &[(f64, i64, i64)], end: f64) -> &'static str {
    let clause = "report.status.observed-generation";
    let mut run = Composer::new(&[clause]);
    let mut bound = spec.clone();
    bound["nodeName"] = json!(NODE);
    for (at, generation, observed) in shown {
        let object = json!({
            "metadata": {
                "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod" }, "generation": generation,
            },
            "spec": bound,
            "status": { "phase": "Running", "podIP": "10.0.0.7", "observedGeneration": observed },
        });
        run.sighting(*at, "Pod", "pod", Change::Modified, object);
    }
    run.reading(end);
    verdict(&run.done(), clause)
}

#[test]
fn a_change_of_a_pod_is_followed_by_a_status_about_it() {
    let plain = one(json!({ "name": "target" }));
    let judged = |shown: &[(f64, i64, i64)]| followed(&plain, shown, 30.0);
    assert_eq!(judged(&[(2.0, 1, 1), (3.0, 2, 1), (4.0, 2, 2)]), "holds");
    assert_eq!(judged(&[(2.0, 1, 1), (3.0, 2, 1)]), "violated", "it never follows");
    assert_ne!(judged(&[(2.0, 1, 1), (3.0, 2, 1), (12.5, 2, 2)]), "violated", "a kubelet that is slow");
    assert_eq!(judged(&[(2.0, 1, 1), (3.0, 2, 1), (14.0, 2, 2)]), "violated", "it is late");
    let steps = [(2.0, 1, 1), (3.0, 2, 1), (10.0, 3, 2), (17.0, 4, 3), (24.0, 4, 4)];
    assert_ne!(judged(&steps), "violated", "each generation is followed in time");
    assert_ne!(followed(&plain, &[(2.0, 1, 1), (3.0, 2, 1)], 12.0), "violated", "the history ends early");
}

#[test]
fn a_kubelet_that_is_busy_with_the_pod_may_be_late() {
    let late = [(2.0, 1, 1), (3.0, 2, 1), (20.0, 2, 2)];
    let hooked =
        one(json!({ "name": "target", "lifecycle": { "postStart": { "sleep": { "seconds": 15 } } } }));
    assert_ne!(followed(&hooked, &late, 30.0), "violated");
    let probed = one(json!({ "name": "target", "livenessProbe": { "tcpSocket": { "port": 80 } } }));
    assert_ne!(followed(&probed, &late, 30.0), "violated");
}
