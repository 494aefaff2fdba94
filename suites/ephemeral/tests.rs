//! Hand-written histories for the judges of ephemeral containers.

use probity_composer::{Composer, timestamp};
use probity_model::history::{Change, Did};
use probity_script::Fact;
use probity_script::witness::Exiting;
use serde_json::{Value, json};

use crate::tests::verdict;

/// The verdicts on a correct history: one history may not show all facets of a clause.
const RIGHT: [&str; 2] = ["holds", "inconclusive"];

fn spec(ephemeral: &Value) -> Value {
    json!({ "restartPolicy": "Always", "containers": [{ "name": "target" }], "ephemeralContainers": ephemeral })
}

fn plain() -> Value {
    spec(&json!([]))
}

/// A pod that runs from 2 s on.
fn running(clause: &str) -> Composer {
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &plain());
    run.pod_seen(2.0, &plain(), &json!({ "phase": "Running" }), Change::Modified);
    run
}

/// A patch of ephemeral containers at 3 s that was accepted, or rejected with this message.
fn patched(run: &mut Composer, subresource: &str, entry: &Value, refused: Option<&str>) {
    let patch = json!({ "spec": { "ephemeralContainers": [entry] } });
    let part = if subresource.is_empty() { String::new() } else { format!(" ({subresource})") };
    let did = match refused {
        Some(why) => Did::Failed { what: format!("patch the pod{part} by {patch}"), why: why.to_owned() },
        None => {
            let (kind, name, subresource) = ("Pod".to_owned(), "pod".to_owned(), subresource.to_owned());
            Did::Patched { kind, name, patch, subresource }
        }
    };
    run.deed(3.0, did);
}

fn rejected(clause: &str, entry: &Value, refused: Option<&str>) -> &'static str {
    let mut run = running(clause);
    patched(&mut run, "ephemeralcontainers", entry, refused);
    run.reading(30.0);
    verdict(&run.done(), clause)
}

#[test]
fn forbidden_fields_are_rejected_and_named() {
    let ports = json!({ "name": "a", "ports": [{ "containerPort": 80 }] });
    let why = "422 Invalid: spec.ephemeralContainers[0].ports: Forbidden";
    let clause = "ephemeral.fields-forbidden";
    assert!(RIGHT.contains(&rejected(clause, &ports, Some(why))));
    assert_eq!(rejected(clause, &ports, None), "violated");
    assert_eq!(rejected(clause, &ports, Some("422 Invalid: no image")), "inconclusive");
    let asks = json!({ "name": "a", "resources": { "limits": { "cpu": "1" } } });
    let why = "422 Invalid: spec.ephemeralContainers[0].resources: Forbidden";
    assert!(RIGHT.contains(&rejected("ephemeral.resources-forbidden", &asks, Some(why))));
    assert_eq!(rejected("ephemeral.resources-forbidden", &asks, None), "violated");
}

#[test]
fn an_update_of_the_pod_adds_none() {
    let clause = "ephemeral.added-via-subresource";
    let judged = |refused: Option<&str>| {
        let mut run = running(clause);
        patched(&mut run, "", &json!({ "name": "a", "image": "b" }), refused);
        run.reading(30.0);
        verdict(&run.done(), clause)
    };
    assert!(RIGHT.contains(&judged(Some("422 Invalid: spec: Forbidden"))));
    assert_eq!(judged(None), "violated");
}

#[test]
fn a_container_that_is_there_stays_as_it_is() {
    let clause = "ephemeral.immutable";
    let judged = |refused: Option<&str>, image: &str| {
        let mut run = Composer::new(&[clause]);
        run.create(0.0, &plain());
        let status = json!({ "phase": "Running" });
        run.pod_seen(2.0, &spec(&json!([{ "name": "a", "image": "b" }])), &status, Change::Modified);
        patched(&mut run, "ephemeralcontainers", &json!({ "name": "a", "image": "c" }), refused);
        run.pod_seen(4.0, &spec(&json!([{ "name": "a", "image": image }])), &status, Change::Modified);
        run.reading(30.0);
        verdict(&run.done(), clause)
    };
    let why = Some("422 Invalid: existing ephemeral containers \"a\" may not be changed");
    assert!(RIGHT.contains(&judged(why, "b")));
    assert_eq!(judged(why, "c"), "violated", "it was rejected, and took effect");
    assert_eq!(judged(None, "c"), "violated");
}

#[test]
fn a_mirror_gets_none() {
    let clause = "ephemeral.static-pod-refused";
    let judged = |refused: Option<&str>| {
        let mut run = Composer::new(&[clause]);
        let metadata = json!({
            "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod" },
            "annotations": { "kubernetes.io/config.mirror": "1" },
        });
        let object = json!({ "metadata": metadata, "spec": plain(), "status": { "phase": "Pending" } });
        run.sighting(1.0, "Pod", "pod", Change::Added, object);
        patched(&mut run, "ephemeralcontainers", &json!({ "name": "a" }), refused);
        run.reading(30.0);
        verdict(&run.done(), clause)
    };
    assert_eq!(judged(Some("422 Invalid: static pods do not support ephemeral containers")), "holds");
    assert_eq!(judged(None), "violated");
}

/// Adds a status with this state of the ephemeral container, and with this readiness of the pod.
fn shown(run: &mut Composer, at: f64, state: &Value, restarts: u64, ready: &str) {
    let plan = json!([{ "name": "AGNHOST_PLAN", "value": "{}" }]);
    let with = json!({
        "restartPolicy": "Always", "containers": [{ "name": "target", "env": plan }],
        "ephemeralContainers": [{ "name": "debug", "env": plan }],
    });
    let status = json!({
        "phase": "Running", "conditions": [{ "type": "Ready", "status": ready }],
        "ephemeralContainerStatuses": [{ "name": "debug", "state": state, "restartCount": restarts }],
    });
    run.pod_seen(at, &with, &status, Change::Modified);
}

fn ended() -> Value {
    json!({ "terminated": { "exitCode": 3 } })
}

/// Judges an ephemeral container that is added at 3 s, runs from 4 s on and exits with 3 at 6 s; `then` adds what
/// follows.
fn exiting(clause: &str, then: impl Fn(&mut Composer)) -> &'static str {
    let mut run = Composer::new(&[clause]);
    let env = json!([{ "name": "AGNHOST_PLAN", "value": "{}" }]);
    let first = json!({ "restartPolicy": "Always", "containers": [{ "name": "target", "env": env }] });
    run.create(0.0, &first);
    let ready = json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] });
    run.pod_seen(2.0, &first, &ready, Change::Modified);
    run.of("pod", "debug").start(4.0, 0);
    shown(&mut run, 4.5, &json!({ "running": {} }), 0, "True");
    run.fact(6.0, Fact::Exiting(Exiting { code: 3, why: "plan".to_owned() }));
    run.left(6.1);
    then(&mut run);
    run.reading(40.0);
    verdict(&run.done(), clause)
}

#[test]
fn it_never_starts_again() {
    let clause = "ephemeral.never-restarted";
    assert!(RIGHT.contains(&exiting(clause, |run| shown(run, 7.0, &ended(), 0, "True"))));
    let again = exiting(clause, |run| {
        run.start(8.0, 1);
        shown(run, 8.5, &json!({ "running": {} }), 1, "True");
    });
    assert_eq!(again, "violated");
    assert_eq!(exiting(clause, |run| shown(run, 7.0, &ended(), 1, "True")), "violated");
}

#[test]
fn its_end_is_shown_as_it_was() {
    let clause = "ephemeral.never-restarted";
    let as_shown = |code: i64, reason: &str| {
        let state = json!({ "terminated": { "exitCode": code, "reason": reason } });
        exiting(clause, |run| shown(run, 7.0, &state, 0, "True"))
    };
    assert!(RIGHT.contains(&as_shown(3, "Error")));
    assert!(RIGHT.contains(&as_shown(3, "VendorSaysSo")));
    assert_eq!(as_shown(3, "Completed"), "violated");
    assert_eq!(as_shown(0, "Completed"), "violated");
    assert_eq!(exiting(clause, |_| {}), "violated", "it is never shown");
    let at_times = |started: f64, finished: f64| {
        let (started, finished) = (timestamp(started), timestamp(finished));
        let state = json!({ "terminated": {
            "exitCode": 3, "reason": "Error", "startedAt": started, "finishedAt": finished,
        } });
        exiting(clause, |run| shown(run, 7.0, &state, 0, "True"))
    };
    assert!(RIGHT.contains(&at_times(4.0, 6.0)));
    assert_eq!(at_times(4.0, 10.0), "violated", "it ended before");
    assert_eq!(at_times(10.0, 6.0), "violated", "it began before");
    assert_eq!(at_times(4.0, 2.0), "violated", "it ended later");
    let deleted = exiting(clause, |run| {
        run.deed(12.0, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace: None });
    });
    assert!(RIGHT.contains(&deleted), "its pod was deleted soon");
}

#[test]
fn its_pod_stays_as_it_was() {
    let clause = "ephemeral.no-effect-on-readiness";
    assert!(RIGHT.contains(&exiting(clause, |run| shown(run, 7.0, &ended(), 0, "True"))));
    assert_eq!(exiting(clause, |run| shown(run, 7.0, &ended(), 0, "False")), "violated");
}

#[test]
fn a_busy_node_excuses_only_what_a_probe_can_change() {
    let clause = "ephemeral.no-effect-on-readiness";
    let judged = |containers_ready: &str, target_is_ready: bool| {
        let mut run = Composer::new(&[clause]);
        let env = json!([{ "name": "AGNHOST_PLAN", "value": "{}" }]);
        let probe = json!({ "httpGet": { "path": "/r", "port": 8080 }, "periodSeconds": 1 });
        let target = json!([{ "name": "target", "env": env, "readinessProbe": probe }]);
        let spec = json!({ "containers": target });
        let debugged =
            json!({ "containers": target, "ephemeralContainers": [{ "name": "debug", "env": env }] });
        let status = |ready: &str, containers_ready: &str, target_is_ready: bool| {
            let conditions = json!([{ "type": "Ready", "status": ready }, { "type": "ContainersReady", "status": containers_ready }]);
            let running = json!({ "running": {} });
            let target =
                json!({ "name": "target", "ready": target_is_ready, "restartCount": 0, "state": running });
            json!({
                "phase": "Running", "conditions": conditions,
                "containerStatuses": [target],
                "ephemeralContainerStatuses": [{ "name": "debug", "state": running, "restartCount": 0 }],
            })
        };
        run.create(0.0, &spec);
        run.pod_seen(2.0, &spec, &status("True", "True", true), Change::Modified);
        run.of("pod", "debug").start(4.0, 0);
        run.pod_seen(4.5, &debugged, &status("True", "True", true), Change::Modified);
        run.noise(5.0, 9.0);
        run.pod_seen(8.0, &debugged, &status("False", containers_ready, target_is_ready), Change::Modified);
        run.reading(40.0);
        verdict(&run.done(), clause)
    };
    assert_eq!(judged("False", true), "violated");
    assert_eq!(judged("False", false), "inconclusive");
    assert_eq!(judged("True", true), "inconclusive", "the node may have missed its heartbeats");
}
