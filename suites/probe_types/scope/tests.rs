//! Histories about the readiness of all containers of a pod, and about two probes of one endpoint.

use probity_composer::{Composer, running_status};
use serde_json::{Value, json};

use crate::tests::verdict;

fn probe(path: &str, failures: u16) -> Value {
    json!({ "httpGet": { "path": path, "port": 8080 }, "periodSeconds": 1, "failureThreshold": failures })
}

mod all_containers {
    use super::*;

    const CLAUSE: &str = "probe.scope.pod-ready-iff-all-containers";

    /// A status with the readiness of two containers and of the pod.
    fn status(a: bool, b: bool, pod: bool) -> Value {
        let mut status = running_status("a", 1.0, pod, true, 0);
        let mut other = status["containerStatuses"][0].clone();
        status["containerStatuses"][0]["ready"] = json!(a);
        other["name"] = json!("b");
        other["ready"] = json!(b);
        status["containerStatuses"] = json!([status["containerStatuses"][0], other]);
        status
    }

    fn judged(statuses: &[Value]) -> &'static str {
        let mut run = Composer::new(&[CLAUSE]);
        run.of("pod", "a").create(0.0, &json!({ "containers": [{ "name": "a" }, { "name": "b" }] }));
        for (at, status) in statuses.iter().enumerate() {
            run.status(f64::from(u16::try_from(at).unwrap_or_default()) + 1.0, status);
        }
        run.reading(20.0);
        verdict(&run.done(), CLAUSE)
    }

    #[test]
    fn ready_with_the_last_of_them_holds() {
        assert_eq!(judged(&[status(true, false, false), status(true, true, true)]), "holds");
    }

    #[test]
    fn ready_before_the_last_of_them_is_a_violation() {
        assert_eq!(judged(&[status(true, false, true), status(true, true, true)]), "violated");
    }

    #[test]
    fn not_ready_though_all_are_is_a_violation() {
        assert_eq!(judged(&[status(true, false, false), status(true, true, false)]), "violated");
    }

    #[test]
    fn a_pod_past_its_deadline_is_not_ready_whatever_its_containers_are() {
        let judged = |deadline: u64| {
            let mut run = Composer::new(&[CLAUSE]);
            let spec = json!({ "activeDeadlineSeconds": deadline, "containers": [{ "name": "a" }, { "name": "b" }] });
            run.of("pod", "a").create(0.0, &spec);
            run.status(1.0, &status(true, false, false)).status(2.0, &status(true, true, true));
            run.status(6.0, &status(true, true, false)).reading(30.0);
            verdict(&run.done(), CLAUSE)
        };
        assert_eq!(judged(5), "holds");
        assert_eq!(judged(100), "violated");
    }

    #[test]
    fn containers_that_were_never_apart_are_doubt() {
        assert_eq!(judged(&[status(false, false, false), status(true, true, true)]), "inconclusive");
    }
}

mod same_endpoint {
    use super::*;

    const CLAUSE: &str = "probe.pair.same-endpoint-higher-threshold";

    /// One endpoint fails from 5 s on. The container is shown as not ready at `shown`, and is killed at `killed`.
    fn judged(shown: Option<u16>, killed: Option<u16>, failures: u16) -> &'static str {
        let mut run = Composer::new(&[CLAUSE]);
        let (ready, live) = (probe("/health", 2), probe("/health", failures));
        let container = json!({ "name": "target", "readinessProbe": ready, "livenessProbe": live });
        run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0);
        for second in 2..16 {
            if killed == Some(second) {
                run.signal(f64::from(second), "SIGTERM");
                break;
            }
            for at in [0.0, 0.5] {
                run.probe(f64::from(second) + at, "/health", if second < 5 { 200 } else { 503 });
            }
            if second == 2 {
                run.running(2.8, true, true, 0);
            }
            if shown == Some(second) {
                run.running(f64::from(second) + 0.8, false, true, 0);
            }
        }
        run.reading(20.0);
        verdict(&run.done(), CLAUSE)
    }

    #[test]
    fn not_ready_and_killed_later_holds() {
        assert_eq!(judged(Some(7), Some(14), 10), "holds");
    }

    #[test]
    fn killed_without_having_been_unready_is_a_violation() {
        assert_eq!(judged(None, Some(14), 10), "violated");
        assert_eq!(judged(None, Some(7), 10), "violated");
    }

    #[test]
    fn not_ready_late_is_a_violation() {
        assert_eq!(judged(Some(12), Some(14), 10), "violated");
    }

    #[test]
    fn nobody_killed_is_doubt_and_equal_thresholds_are_not_meant() {
        assert_eq!(judged(Some(7), None, 10), "inconclusive");
        assert_eq!(judged(None, Some(8), 2), "inconclusive");
    }
}
