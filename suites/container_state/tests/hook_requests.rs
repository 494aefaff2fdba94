//! Hand-written histories of containers with HTTP hooks.

use probity_composer::{Composer, Told};
use probity_script::witness::{Fact, Listening};
use serde_json::json;

use super::pod;
use crate::tests::verdict;

const WRITTEN: &str = "container.hook.request-as-written";

/// A postStart hook sends its request at 1.2 s, and its container is shown as running at 2 s; the process records
/// something later.
fn judged(asks: Option<&Told>) -> &'static str {
    let get = json!({
        "path": "/prepare?stage=one", "port": 8080,
        "httpHeaders": [{ "name": "X-Stage", "value": "one" }, { "name": "Host", "value": "prepare.example" }],
    });
    let plan = json!({ "listeners": { "web": { "port": 8080, "paths": { "/prepare": 200 } } } }).to_string();
    let env = json!([{ "name": "AGNHOST_PLAN", "value": plan }]);
    let hook = json!({ "postStart": { "httpGet": get } });
    let mut run = pod(WRITTEN, json!({ "name": "target", "env": env, "lifecycle": hook }));
    if let Some(told) = asks {
        run.http(1.2, told);
    }
    run.running(2.0, true, true, 0).http(5.0, &Told::get("/other", 200));
    run.reading(20.0);
    verdict(&run.done(), WRITTEN)
}

fn asked() -> Told {
    let headers = [("Host", "prepare.example"), ("User-Agent", "kube-lifecycle/1.36"), ("X-Stage", "one")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    Told { headers, ..Told::get("/prepare?stage=one", 200) }
}

#[test]
fn a_request_as_it_is_written_is_fine() {
    assert_eq!(judged(Some(&asked())), "holds");
}

#[test]
fn what_differs_from_the_definition_is_a_violation() {
    let without = |name: &str| {
        let mut told = asked();
        told.headers.retain(|(other, _)| other != name);
        told
    };
    assert_eq!(judged(Some(&Told { target: "/prepare".to_owned(), ..asked() })), "violated", "no query");
    assert_eq!(judged(Some(&Told { port: 9090, ..asked() })), "violated", "another port");
    assert_eq!(judged(Some(&without("X-Stage"))), "violated", "no header");
    assert_eq!(judged(Some(&without("Host"))), "violated", "no Host");
    let mut twice = asked();
    twice.headers.push(("X-Stage".to_owned(), "two".to_owned()));
    assert_eq!(judged(Some(&twice)), "violated", "a value too many");
}

#[test]
fn a_request_that_never_comes_is_a_violation() {
    assert_eq!(judged(None), "violated");
}

/// A container starts again in a pod in which another container listens, and is not shown as running. The request may
/// arrive, and a stop signal may come.
fn started_again(asks: bool, listens: bool, stop: Option<f64>) -> &'static str {
    started_again_on(&[], asks, listens, stop)
}

/// The same, on a node that is stalled in these times.
fn started_again_on(stalls: &[(f64, f64)], asks: bool, listens: bool, stop: Option<f64>) -> &'static str {
    let plan = json!({ "listeners": { "web": { "port": 8080, "paths": { "/prepare": 200 } } } }).to_string();
    let env = json!([{ "name": "AGNHOST_PLAN", "value": plan }]);
    let hook = json!({ "postStart": { "httpGet": { "path": "/prepare", "port": 8080 } } });
    let containers = json!([{ "name": "server", "env": env }, { "name": "target", "lifecycle": hook }]);
    let mut run = Composer::new(&[WRITTEN]);
    run.create(0.0, &json!({ "containers": containers }));
    run.of("pod", "server").start(1.0, 0);
    if listens {
        let (listener, address, state) = ("web".to_owned(), "[::]:8080".to_owned(), "open".to_owned());
        run.fact(1.1, Fact::Listening(Listening { listener, address, state }));
    }
    for (from, to) in stalls {
        run.noise(*from, *to);
    }
    run.of("pod", "target").start(1.5, 0);
    if asks {
        let headers = vec![("User-Agent".to_owned(), "kube-lifecycle/1.36".to_owned())];
        run.of("pod", "server").http(1.7, &Told { headers, ..Told::get("/prepare", 200) });
    }
    if let Some(stop) = stop {
        run.of("pod", "target").signal(stop, "SIGTERM");
    }
    run.reading(20.0);
    verdict(&run.done(), WRITTEN)
}

#[test]
fn a_request_that_goes_elsewhere_is_found_although_nothing_shows_the_container() {
    assert_eq!(started_again(true, true, None), "holds");
    assert_eq!(started_again(false, true, None), "violated", "it waits for an answer");
    assert_eq!(started_again(false, true, Some(4.0)), "violated", "the hook has failed");
    assert_ne!(started_again(false, false, Some(4.0)), "violated", "the request may have been refused");
    let slow = started_again_on(&[(0.6, 1.4)], false, true, Some(4.0));
    assert_ne!(slow, "violated", "the request may have come before the port was open");
}

/// The postStart request of a sidecar goes to another container, which answers it at 5 s. The sidecar is shown as running at
/// this time.
fn answered_by_another(shown: f64) -> &'static str {
    let clause = "container.state.poststart-before-running";
    let plan = json!({ "listeners": { "web": { "port": 8080, "paths": { "/prepare": 200 } } } }).to_string();
    let env = json!([{ "name": "AGNHOST_PLAN", "value": plan }]);
    let hook = json!({ "postStart": { "httpGet": { "path": "/prepare", "port": 8080 } } });
    let inits = json!([
        { "name": "server", "restartPolicy": "Always", "env": env },
        { "name": "helper", "restartPolicy": "Always", "lifecycle": hook },
    ]);
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &json!({ "initContainers": inits, "containers": [{ "name": "target" }] }));
    run.of("pod", "server").start(0.5, 0);
    run.of("pod", "helper").start(1.0, 0);
    let status = json!({
        "phase": "Pending", "podIP": "10.0.0.7",
        "initContainerStatuses": [{
            "name": "helper", "restartCount": 0, "ready": true, "started": true,
            "containerID": "containerd://helper-0", "state": { "running": {} }, "lastState": {},
        }],
    });
    let headers = vec![("User-Agent".to_owned(), "kube-lifecycle/1.36".to_owned())];
    run.of("pod", "server").http(1.2, &Told { headers, took: 3.8, ..Told::get("/prepare", 200) });
    run.status(shown, &status).reading(20.0);
    verdict(&run.done(), clause)
}

#[test]
fn a_container_waits_for_an_answer_from_another_container() {
    assert_eq!(answered_by_another(6.0), "holds");
    assert_eq!(answered_by_another(2.0), "violated");
}
