//! Histories for the judges of endpoints and traffic.

use probity_composer::{Composer, Told, running_status};
use probity_model::history::{Change, Did};
use probity_script::witness::{Call, Exiting, Fact};
use serde_json::{Value, json};

use crate::tests::verdict;

/// Adds a Service that selects the pod.
fn serve(run: &mut Composer, name: &str, publishes: bool) {
    let selector = json!({ "probity.dev/pod": "pod" });
    let manifest = json!({ "spec": { "selector": selector, "publishNotReadyAddresses": publishes } });
    let (kind, of) = ("Service".to_owned(), name.to_owned());
    run.deed(0.0, Did::Created { kind, name: of, manifest });
    let object = json!({ "spec": { "clusterIP": if publishes { "10.96.0.8" } else { "10.96.0.9" } } });
    run.sighting(0.0, "Service", name, Change::Added, object);
}

/// A pod in the Service `web` that is ready from 2.1 s on.
fn ready_pod(clause: &str, probed: bool, publishes: bool) -> Composer {
    let probe =
        json!({ "httpGet": { "path": "/ready", "port": 8080 }, "periodSeconds": 1, "failureThreshold": 1 });
    let container = if probed {
        json!({ "name": "target", "readinessProbe": probe })
    } else {
        json!({ "name": "target" })
    };
    let mut run = Composer::new(&[clause]);
    serve(&mut run, "web", publishes);
    run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0).running(1.2, false, true, 0);
    if probed {
        run.probe(2.0, "/ready", 200);
    }
    run.running(2.1, true, true, 0).slice(2.2, "web", &json!({ "ready": true, "serving": true }));
    run
}

/// The same pod, whose probe fails from 4 s on, and which is shown as not ready at 4.2 s. `each` is called for every
/// second until 14 s.
fn failing(clause: &str, publishes: bool, mut each: impl FnMut(&mut Composer, u16)) -> &'static str {
    let mut run = ready_pod(clause, true, publishes);
    for second in 3..15 {
        run.probe(f64::from(second), "/ready", if second < 4 { 200 } else { 503 });
        if second == 4 {
            run.running(4.2, false, true, 0);
        }
        each(&mut run, second);
    }
    verdict(&run.done(), clause)
}

fn endpoint(run: &mut Composer, second: u16, conditions: &Value) {
    run.slice(f64::from(second) + 0.5, "web", conditions);
}

/// A client's request, as the client saw it and, if it arrives, as the pod saw it. In these histories, the pod's own
/// witness also records the client's side.
fn request(run: &mut Composer, second: u16, arrives: bool) {
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let headers = vec![header("Host", "10.96.0.9:80"), header("User-Agent", "agnhost-rs/0.1.0")];
    if arrives {
        run.http(f64::from(second) + 0.6, &Told { headers, ..Told::get("/", 200) });
    }
    let call = Call {
        by: "load".to_owned(),
        url: "http://10.96.0.9:80/".to_owned(),
        status: Some(200),
        answered_by: Some(if arrives { "pod" } else { "other" }.to_owned()),
        error: None,
        took_us: 2000,
    };
    run.fact(f64::from(second) + 0.7, Fact::Call(call));
}

mod service_traffic_stops {
    use super::*;

    const CLAUSE: &str = "probe.readiness.service-traffic-stops";

    #[test]
    fn requests_that_go_elsewhere_soon_hold() {
        assert_eq!(failing(CLAUSE, false, |run, second| request(run, second, second < 6)), "holds");
    }

    #[test]
    fn a_request_after_the_slack_is_a_violation() {
        assert_eq!(failing(CLAUSE, false, |run, second| request(run, second, second < 13)), "violated");
    }

    /// The slice changes at 5.5 s, and requests arrive until this second.
    fn proxied(until: u16) -> &'static str {
        failing(CLAUSE, false, |run, second| {
            if second == 5 {
                endpoint(run, second, &json!({ "ready": false, "serving": false }));
            }
            request(run, second, second < until);
            if second == 14 {
                (15..24).for_each(|second| request(run, second, second < until));
            }
        })
    }

    #[test]
    fn a_proxy_that_gathers_its_changes_is_doubt() {
        assert_eq!(proxied(6), "holds");
        assert_eq!(proxied(15), "inconclusive");
        assert_eq!(proxied(24), "violated", "no proxy takes that long");
    }

    #[test]
    fn without_calls_there_is_doubt() {
        assert_eq!(failing(CLAUSE, false, |_, _| ()), "inconclusive");
        assert_eq!(failing(CLAUSE, false, |run, second| request(run, second, false)), "inconclusive");
    }

    #[test]
    fn a_service_that_publishes_all_is_not_meant() {
        assert_eq!(failing(CLAUSE, true, |run, second| request(run, second, true)), "inconclusive");
    }
}

mod endpoint_removed {
    use super::*;

    const CLAUSE: &str = "probe.readiness.endpoint-removed";

    fn at_five(conditions: Option<Value>) -> &'static str {
        failing(CLAUSE, false, |run, second| match &conditions {
            Some(conditions) if second == 5 => endpoint(run, second, conditions),
            _ => {}
        })
    }

    #[test]
    fn an_address_that_leaves_holds() {
        let gone = |run: &mut Composer, second| {
            let labels = json!({ "kubernetes.io/service-name": "web" });
            let object = json!({ "metadata": { "name": "web-abcde", "labels": labels }, "endpoints": [] });
            if second == 5 {
                run.sighting(5.5, "EndpointSlice", "web-abcde", Change::Modified, object);
            }
        };
        assert_eq!(failing(CLAUSE, false, gone), "holds");
    }

    #[test]
    fn an_address_that_stays_as_not_ready_diverges() {
        let conditions = json!({ "ready": false, "serving": false, "terminating": false });
        assert_eq!(at_five(Some(conditions)), "diverges");
    }

    #[test]
    fn an_address_that_stays_ready_or_serving_is_a_violation() {
        assert_eq!(at_five(None), "violated");
        assert_eq!(at_five(Some(json!({ "ready": false, "serving": true }))), "violated");
    }

    #[test]
    fn slices_that_may_have_been_missed_are_doubt() {
        let lost = |run: &mut Composer, second| {
            if second == 8 {
                run.gap(4.0, 8.0, "EndpointSlice");
            }
        };
        assert_eq!(failing(CLAUSE, false, lost), "inconclusive");
    }

    #[test]
    fn legacy_endpoints_that_still_list_the_address_are_a_violation() {
        let stale = |run: &mut Composer, second| {
            let object = json!({ "subsets": [{ "addresses": [{ "ip": "10.0.0.7" }] }] });
            if second == 3 {
                run.sighting(3.5, "Endpoints", "web", Change::Added, object);
            } else if second == 5 {
                endpoint(run, second, &json!({ "ready": false, "serving": false }));
            }
        };
        assert_eq!(failing(CLAUSE, false, stale), "violated");
    }

    #[test]
    fn a_pod_that_nobody_serves_is_doubt() {
        let mut run = Composer::new(&[CLAUSE]);
        run.create(0.0, &json!({ "containers": [{ "name": "target" }] }))
            .start(1.0, 0)
            .running(1.2, true, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}

mod publish_not_ready {
    use super::*;

    const CLAUSE: &str = "probe.readiness.publish-not-ready";

    fn shown(conditions: Value) -> &'static str {
        failing(CLAUSE, true, |run, second| {
            if second == 5 {
                endpoint(run, second, &conditions)
            }
        })
    }

    #[test]
    fn ready_though_not_serving_holds() {
        assert_eq!(shown(json!({ "ready": true, "serving": false })), "holds");
    }

    #[test]
    fn not_ready_is_a_violation() {
        assert_eq!(shown(json!({ "ready": false, "serving": false })), "violated");
    }

    #[test]
    fn an_endpoint_that_always_served_is_doubt() {
        assert_eq!(shown(json!({ "ready": true, "serving": true })), "inconclusive");
    }
}

/// The pod is deleted at 4 s and runs until 14 s. It is shown as not ready at `unready`, and its endpoint at `left`.
fn deleted(clause: &str, unready: Option<f64>, left: Option<f64>) -> Composer {
    let mut run = ready_pod(clause, false, false);
    terminating(&mut run, 4.0, true);
    run.signal(4.1, "SIGTERM");
    for second in 5..14 {
        let near = |at: Option<f64>| at.filter(|at| at.floor() == f64::from(second));
        if let Some(at) = near(unready) {
            terminating(&mut run, at, false);
        }
        if let Some(at) = near(left) {
            run.slice(at, "web", &json!({ "ready": false, "serving": true, "terminating": true }));
        }
        run.probe(f64::from(second) + 0.9, "/", 200);
    }
    run.fact(14.0, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
    run.left(14.1);
    run
}

fn terminating(run: &mut Composer, at: f64, ready: bool) {
    let metadata = json!({
        "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod" },
        "deletionTimestamp": "2026-01-01T00:00:30Z",
    });
    let mut status = running_status("target", at, true, true, 0);
    if !ready {
        status["conditions"][2]["status"] = json!("False");
    }
    let object =
        json!({ "metadata": metadata, "spec": { "containers": [{ "name": "target" }] }, "status": status });
    run.sighting(at, "Pod", "pod", Change::Modified, object);
}

mod no_auto_unready_on_delete {
    use super::*;

    const CLAUSE: &str = "probe.readiness.no-auto-unready-on-delete";

    #[test]
    fn a_pod_that_makes_itself_unready_holds() {
        assert_eq!(verdict(&deleted(CLAUSE, Some(5.0), Some(5.0)).done(), CLAUSE), "holds");
    }

    #[test]
    fn a_pod_that_stays_ready_while_its_endpoint_leaves_diverges() {
        assert_eq!(verdict(&deleted(CLAUSE, None, Some(5.0)).done(), CLAUSE), "diverges");
    }

    #[test]
    fn an_endpoint_that_stays_ready_is_a_violation() {
        assert_eq!(verdict(&deleted(CLAUSE, None, None).done(), CLAUSE), "violated");
    }

    #[test]
    fn a_process_that_ends_at_once_shows_nothing() {
        let mut run = ready_pod(CLAUSE, false, false);
        terminating(&mut run, 4.0, true);
        run.signal(4.1, "SIGTERM");
        run.left(4.2);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}

mod drain_without_probe {
    use super::*;

    const CLAUSE: &str = "probe.readiness.drain-without-probe";

    #[test]
    fn an_endpoint_that_leaves_while_the_process_answers_holds() {
        assert_eq!(verdict(&deleted(CLAUSE, None, Some(5.0)).done(), CLAUSE), "holds");
    }

    #[test]
    fn an_endpoint_that_stays_or_leaves_late_is_a_violation() {
        assert_eq!(verdict(&deleted(CLAUSE, None, None).done(), CLAUSE), "violated");
        assert_eq!(verdict(&deleted(CLAUSE, None, Some(12.0)).done(), CLAUSE), "violated");
    }

    #[test]
    fn connections_to_a_leaving_pod_are_a_violation_if_there_is_another() {
        assert_eq!(with_another(22), "violated");
        assert_eq!(with_another(0), "holds");
    }

    #[test]
    fn a_proxy_that_gathers_its_changes_is_doubt() {
        assert_eq!(with_another(15), "inconclusive");
    }

    /// A second ready pod in the same Service, and a client that still reaches the first pod until this second. The slice
    /// changes at 4.5 s.
    fn with_another(until: u16) -> &'static str {
        let mut run = ready_pod(CLAUSE, false, false);
        let both = |ready: bool| {
            let entry = |pod: &str, ready: bool| {
                let conditions = json!({ "ready": ready, "serving": true, "terminating": !ready });
                json!({ "addresses": ["10.0.0.7"], "conditions": conditions, "targetRef": { "name": pod } })
            };
            let labels = json!({ "kubernetes.io/service-name": "web" });
            json!({ "metadata": { "name": "web-abcde", "labels": labels },
                    "endpoints": [entry("pod", ready), entry("other", true)] })
        };
        run.of("other", "target");
        let metadata = json!({ "name": "other", "uid": "uid-other", "labels": { "probity.dev/pod": "pod" } });
        let object = json!({ "metadata": metadata, "spec": { "containers": [] }, "status": {} });
        run.sighting(0.5, "Pod", "other", Change::Added, object);
        run.of("pod", "target");
        run.sighting(3.0, "EndpointSlice", "web-abcde", Change::Modified, both(true));
        terminating(&mut run, 4.0, true);
        run.signal(4.1, "SIGTERM");
        run.sighting(4.5, "EndpointSlice", "web-abcde", Change::Modified, both(false));
        for second in 5..22 {
            request(&mut run, second, second < until);
        }
        run.fact(22.0, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
        run.left(22.1);
        verdict(&run.done(), CLAUSE)
    }

    #[test]
    fn a_pod_with_a_readiness_probe_is_not_meant() {
        assert_eq!(failing(CLAUSE, false, |_, _| ()), "inconclusive");
    }
}
