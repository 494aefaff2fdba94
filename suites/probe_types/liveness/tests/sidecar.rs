//! Sidecars restart under every restart policy of their pod.

use super::*;

const CLAUSE: &str = "probe.liveness.needs-restarting-policy";
const RESTART: &str = "probe.liveness.failure-restarts-container";

/// A sidecar in a pod of this policy fails its liveness probe at 4 s and is stopped at 4.1 s.
fn killed_sidecar(clause: &str, policy: &str) -> Composer {
    let side =
        json!({ "name": "target", "restartPolicy": "Always", "livenessProbe": http("/live", 8080, 1, 1) });
    let mut run = Composer::new(&[clause]);
    let main = json!({ "name": "main", "args": ["pause"] });
    let spec = json!({
        "restartPolicy": policy, "initContainers": [side], "containers": [main], "terminationGracePeriodSeconds": 5,
    });
    run.create(0.0, &spec).start(1.0, 0);
    run.probe(2.0, "/live", 200);
    run.probe(4.0, "/live", 500);
    run.signal(4.1, "SIGTERM");
    run
}

#[test]
fn a_sidecar_is_started_again_under_every_policy() {
    for clause in [CLAUSE, RESTART] {
        for policy in ["Always", "OnFailure", "Never"] {
            let mut run = killed_sidecar(clause, policy);
            exiting(&mut run, 4.2, 0, "stop signal");
            run.start(5.0, 1).reading(20.0);
            assert_eq!(verdict(&run.done(), clause), "holds", "{policy}");
        }
    }
}

#[test]
fn one_that_stays_down_is_a_violation_under_never_too() {
    for clause in [CLAUSE, RESTART] {
        for policy in ["Always", "Never"] {
            let mut run = killed_sidecar(clause, policy);
            exiting(&mut run, 4.2, 0, "stop signal");
            run.reading(90.0);
            assert_eq!(verdict(&run.done(), clause), "violated", "{policy}");
        }
    }
}

#[test]
fn one_that_stays_down_since_the_work_was_done_is_no_violation() {
    for (clause, word) in [(CLAUSE, "inconclusive"), (RESTART, "holds")] {
        let mut run = killed_sidecar(clause, "Never");
        exiting(&mut run, 4.2, 0, "stop signal");
        let ended = |name: &str| json!({ "name": name, "restartCount": 0, "state": terminated(0) });
        let (main, side) = ([ended("main")], [ended("target")]);
        run.status(
            5.0,
            &json!({ "phase": "Succeeded", "containerStatuses": main, "initContainerStatuses": side }),
        );
        run.reading(90.0);
        assert_eq!(verdict(&run.done(), clause), word);
    }
}
