//! Endpoints and requests of terminating pods.

use probity_composer::{Composer, Told, us};
use probity_model::history::{Change, Deed, Did, Happening};
use probity_script::witness::{Call, Fact};
use serde_json::{Value, json};

use super::{ASKED, at, delete, exits, killed, shown, told};

const KEPT: &str = "termination.endpoint-kept-terminating";
const NOT_READY: &str = "termination.endpoint-ready-false";
const SERVING: &str = "termination.endpoint-serving-is-readiness";
const FALLBACK: &str = "termination.endpoint-proxy-fallback";
const OPEN: &str = "termination.open-connections-finish";
const COUNTED: &str = "termination.controllers-stop-counting";

fn conditions(ready: bool, serving: bool, terminating: bool) -> Value {
    json!({ "ready": ready, "serving": serving, "terminating": terminating })
}

/// A ready pod behind a Service is deleted.
fn behind(clause: &str, container: &Value) -> Composer {
    let mut run = Composer::new(&[clause]);
    let manifest = json!({ "spec": { "selector": { "probity.dev/pod": "pod" } } });
    run.deed(0.0, Did::Created { kind: "Service".to_owned(), name: "web".to_owned(), manifest });
    let spec = json!({ "terminationGracePeriodSeconds": 25, "containers": [container] });
    run.create(0.0, &spec).start(1.0, 0).running(1.2, true, true, 0);
    run.slice(2.0, "web", &conditions(true, true, false));
    delete(&mut run, ASKED, None);
    shown(&mut run, ASKED + 0.1, (35.0, 25), Change::Modified);
    told(&mut run, "target", ASKED + 0.2);
    run
}

/// The verdict if the slice shows these endpoints after the deletion. The pod ends at 30 s.
fn slices(clause: &str, all: &[(f64, Option<Value>)]) -> &'static str {
    let mut run = behind(clause, &json!({ "name": "target" }));
    for (after, conditions) in all {
        match conditions {
            Some(conditions) => {
                run.slice(ASKED + after, "web", conditions);
            }
            None => {
                let object = json!({
                    "metadata": { "name": "web-abcde", "labels": { "kubernetes.io/service-name": "web" } }, "endpoints": [],
                });
                run.sighting(ASKED + after, "EndpointSlice", "web-abcde", Change::Modified, object);
            }
        }
    }
    exits(&mut run, "target", 30.0, 0);
    at(run, 40.0, clause)
}

#[test]
fn an_endpoint_is_marked_and_kept() {
    let marked = || Some(conditions(false, true, true));
    assert_eq!(slices(KEPT, &[(0.3, marked())]), "holds");
    assert_eq!(slices(KEPT, &[(8.0, marked())]), "violated");
    assert_eq!(slices(KEPT, &[]), "violated");
    assert_eq!(slices(KEPT, &[(0.3, None)]), "violated");
    assert_eq!(slices(KEPT, &[(0.3, marked()), (5.0, None)]), "violated");
}

#[test]
fn an_endpoint_is_not_ready() {
    let marked = |ready: bool| Some(conditions(ready, true, true));
    assert_eq!(slices(NOT_READY, &[(0.3, marked(false))]), "holds");
    assert_eq!(slices(NOT_READY, &[(0.3, marked(true))]), "violated");
    assert_eq!(slices(NOT_READY, &[(0.3, marked(false)), (5.0, marked(true))]), "violated");
    assert_eq!(slices(NOT_READY, &[]), "violated");
}

/// Another pod of the Service is ready, the slice changes 0.3 s after the deletion, and requests through the Service
/// reach the deleted pod until this second.
fn traffic(until: u16) -> &'static str {
    let mut run = behind(NOT_READY, &json!({ "name": "target" }));
    let metadata = json!({ "name": "other", "uid": "uid-other", "labels": { "probity.dev/pod": "pod" } });
    let other = json!({ "metadata": metadata, "spec": { "containers": [] }, "status": {} });
    let both = |own: Value| {
        let entry = |pod: &str, shown: Value| json!({ "addresses": ["10.0.0.7"], "conditions": shown, "targetRef": { "name": pod } });
        let labels = json!({ "kubernetes.io/service-name": "web" });
        let endpoints = [entry("pod", own), entry("other", conditions(true, true, false))];
        json!({ "metadata": { "name": "web-abcde", "labels": labels }, "endpoints": endpoints })
    };
    let slice = |run: &mut Composer, when: f64, own: Value| {
        run.sighting(when, "EndpointSlice", "web-abcde", Change::Modified, both(own));
    };
    run.sighting(0.5, "Pod", "other", Change::Added, other);
    slice(&mut run, 3.0, conditions(true, true, false));
    run.status(ASKED + 0.2, &json!({ "phase": "Running", "podIP": "10.0.0.7" }));
    slice(&mut run, ASKED + 0.3, conditions(false, true, true));
    for second in 11..29_u16 {
        let url = "http://10.96.0.1:80/".to_owned();
        if second < until {
            let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            let headers = vec![header("Host", "10.96.0.1:80"), header("User-Agent", "agnhost-rs/0.1.0")];
            run.http(f64::from(second) + 0.5, &Told { headers, ..Told::get("/", 200) });
        }
        let by = "load".to_owned();
        let call = Call { by, url, status: Some(200), answered_by: None, error: None, took_us: 1000 };
        run.fact(f64::from(second) + 0.6, Fact::Call(call));
    }
    exits(&mut run, "target", 30.0, 0);
    at(run, 40.0, NOT_READY)
}

#[test]
fn new_requests_reach_the_other_pod() {
    assert_eq!(traffic(12), "holds");
    assert_eq!(traffic(20), "inconclusive", "the proxy may gather its changes");
    assert_eq!(traffic(29), "violated");
}

/// The readiness probe passes every second until 15 s, and then fails. The endpoint serves from the deletion on if
/// `first` is set, and stops serving at `until`.
fn serving(first: bool, until: Option<f64>) -> &'static str {
    probed(first, until, true)
}

/// Like [`serving`], but if `seen` is not set, the failing probes find the port closed, which leaves no record.
fn probed(first: bool, until: Option<f64>, seen: bool) -> &'static str {
    let probe =
        json!({ "httpGet": { "path": "/ready", "port": 8080 }, "periodSeconds": 1, "failureThreshold": 1 });
    let mut run = behind(SERVING, &json!({ "name": "target", "readinessProbe": probe }));
    run.slice(ASKED + 0.3, "web", &conditions(false, first, true));
    for second in 11..26_u16 {
        let when = f64::from(second);
        if second < 15 || seen {
            run.probe(when, "/ready", if second < 15 { 200 } else { 503 });
        }
        if let Some(until) = until.filter(|until| (*until - when - 0.5).abs() < 0.5) {
            run.slice(until, "web", &conditions(false, false, true));
        }
    }
    exits(&mut run, "target", 30.0, 0);
    at(run, 40.0, SERVING)
}

#[test]
fn an_endpoint_serves_as_long_as_its_probe_passes() {
    assert_eq!(serving(true, Some(15.5)), "holds");
    assert_eq!(serving(false, None), "violated", "it never served");
    assert_eq!(serving(true, Some(13.5)), "violated", "it served too short");
    assert_eq!(serving(true, Some(22.5)), "violated", "it served too long");
    assert_eq!(serving(true, None), "violated");
}

#[test]
fn probes_that_find_a_closed_port_are_not_taken_for_passing_ones() {
    assert_eq!(probed(true, Some(16.5), false), "inconclusive");
    assert_eq!(probed(true, Some(13.5), false), "violated", "a later probe passed");
}

#[test]
fn the_last_endpoint_still_gets_requests() {
    let judged = |status: Option<u16>, more: u16| {
        let mut run = behind(FALLBACK, &json!({ "name": "target" }));
        run.status(ASKED + 0.2, &json!({ "phase": "Running", "podIP": "10.0.0.7" }));
        run.slice(ASKED + 0.3, "web", &conditions(false, true, true));
        run.of("client", "target")
            .create(ASKED, &json!({ "containers": [{ "name": "target" }] }))
            .start(ASKED + 0.4, 0);
        for second in 16..16 + more {
            let (by, url) = ("load".to_owned(), "http://10.96.0.1:80/".to_owned());
            let call = Call { by, url, status, answered_by: None, error: None, took_us: 1000 };
            run.fact(f64::from(second), Fact::Call(call));
        }
        exits(&mut run, "target", 30.0, 0);
        at(run, 40.0, FALLBACK)
    };
    assert_eq!(judged(Some(200), 8), "holds");
    assert_eq!(judged(None, 8), "violated");
    assert_eq!(judged(Some(200), 1), "inconclusive", "too few");
}

/// A request of a client is open when the pod gets its stop signal. It is answered, or the process is killed.
fn open(answered: bool, end: f64) -> &'static str {
    let mut run = Composer::new(&[OPEN]);
    let spec = json!({ "terminationGracePeriodSeconds": 25, "containers": [{ "name": "target" }] });
    run.create(0.0, &spec).start(1.0, 0);
    delete(&mut run, ASKED, None);
    let headers = vec![("User-Agent".to_owned(), "agnhost-rs/0.1.0".to_owned())];
    if answered {
        run.http(9.0, &Told { headers, took: 6.0, ..Told::get("/slow", 200) });
        told(&mut run, "target", ASKED + 0.2);
        exits(&mut run, "target", end, 0);
    } else {
        run.http(9.0, &Told { headers, ..Told::get("/slow", 200) });
        told(&mut run, "target", ASKED + 0.2);
        killed(&mut run, "target", end);
        return without_answer(run);
    }
    at(run, 60.0, OPEN)
}

/// The verdict without the answer to a request.
fn without_answer(mut run: Composer) -> &'static str {
    use probity_model::history::Happening;
    use probity_script::witness::Entry;
    run.reading(60.0);
    let old = run.done();
    let mut history = probity_model::History::new(old.header.clone());
    for (_, event) in old.events() {
        let mut what = event.what.clone();
        if let Happening::Witness(heard) = &mut what
            && let Entry::Line(line) = &mut heard.entry
            && let Fact::Answer(answer) = &line.fact
        {
            // The number of lines must not change.
            let by = answer.answer.clone();
            let mark = probity_script::witness::Mark { name: "instead".to_owned(), by };
            line.fact = Fact::Mark(mark);
        }
        history.push(event.us, what);
    }
    crate::tests::verdict(&history, OPEN)
}

#[test]
fn open_requests_are_answered_within_the_grace_period() {
    assert_eq!(open(true, 15.2), "holds");
    assert_eq!(open(false, 11.0), "violated", "it was killed");
    assert_eq!(open(false, 35.3), "inconclusive", "the grace period was over");
}

/// A Deployment is scaled up by one pod at 12 s, while one of its pods is terminating until 30 s. The next pod is
/// created at `next`. The request takes 0.2 s.
fn counted(next: Option<f64>) -> &'static str {
    let mut run = Composer::new(&[COUNTED]);
    let pod = |name: &str, going: bool| {
        let mut metadata = json!({ "name": name, "uid": format!("uid-{name}") });
        if going {
            metadata["deletionTimestamp"] = json!("2026-01-01T00:00:40Z");
        }
        json!({ "metadata": metadata, "spec": { "nodeName": "node1", "containers": [{ "name": "target" }] }, "status": { "phase": "Running" } })
    };
    run.sighting(1.0, "Pod", "web-a", Change::Added, pod("web-a", false));
    run.of("web-a", "target").start(2.0, 0);
    run.sighting(ASKED, "Pod", "web-a", Change::Modified, pod("web-a", true));
    let answered = ASKED + 2.0;
    let shown = |run: &mut Composer, next: f64| {
        run.sighting(next, "Pod", "web-b", Change::Added, pod("web-b", false));
    };
    next.filter(|next| *next < answered).into_iter().for_each(|next| shown(&mut run, next));
    let did = Did::Scaled { kind: "Deployment".to_owned(), name: "web".to_owned(), replicas: 2 };
    run.push(answered, Happening::Deed(Deed { began_us: us(answered - 0.2), did }));
    next.filter(|next| *next >= answered).into_iter().for_each(|next| shown(&mut run, next));
    run.of("web-a", "target").left(30.0);
    at(run, 40.0, COUNTED)
}

#[test]
fn a_pod_that_goes_is_not_counted() {
    assert_eq!(counted(Some(12.5)), "holds");
    assert_eq!(counted(Some(11.9)), "holds", "shown before the request was answered");
    assert_eq!(counted(Some(22.0)), "violated", "late");
    assert_eq!(counted(None), "violated");
}
