//! Hand-written histories for the judges of static pods.

use probity_composer::{Composer, NODE, running_status};
use probity_model::history::{Change, Did, PLACE_STATIC_POD, REMOVE_STATIC_PODS};
use probity_script::witness::{Exiting, Fact};
use serde_json::{Value, json};

use crate::tests::verdict_of_all_facets as verdict;

const MANAGED: &str = "static.kubelet-managed";
const MIRROR: &str = "static.mirror";
const PROBED: &str = "static.probes-work";
const REMOVED: &str = "static.removed";
/// The mirror pod of `web` on the node.
const NAME: &str = "web-node1";

/// A verb for the node, with its input. It succeeds.
fn on_node(verb: &str, input: Option<Value>) -> Did {
    let (node, verb) = (NODE.to_owned(), verb.to_owned());
    Did::NodeVerb { node, verb, uid: None, input, exit: Some(0), output: None, proof: None }
}

/// The manifest of a pod with this container is placed.
fn placed(clause: &str, container: &Value) -> Composer {
    let mut run = Composer::new(&[clause]);
    let input = Some(json!({
        "metadata": { "name": "web", "labels": { "probity.dev/pod": "web" } },
        "spec": { "terminationGracePeriodSeconds": 1, "containers": [container] },
    }));
    run.deed(0.5, on_node(PLACE_STATIC_POD, input));
    run.of(NAME, "target");
    run
}

fn plain() -> Value {
    json!({ "name": "target", "readinessProbe": { "httpGet": { "path": "/ready", "port": 8080 }, "periodSeconds": 1 } })
}

/// A revision of the mirror pod with this UID, or its end.
fn mirrored(run: &mut Composer, at: f64, uid: &str, change: Change, ready: bool) {
    mirrored_with(run, &plain(), (at, uid, change, ready));
}

/// Like [`mirrored`], with this container.
fn mirrored_with(run: &mut Composer, container: &Value, (at, uid, change, ready): (f64, &str, Change, bool)) {
    let status = running_status("target", at, ready, true, 0);
    run.sighting(at, "Pod", NAME, change, mirror(container, uid, &status));
}

/// The mirror pod with this UID.
fn mirror(container: &Value, uid: &str, status: &Value) -> Value {
    json!({
        "metadata": {
            "name": NAME, "uid": uid, "labels": { "probity.dev/pod": "web" },
            "annotations": { "kubernetes.io/config.mirror": "0123" },
            "ownerReferences": [{ "kind": "Node", "name": NODE, "uid": "n" }],
        },
        "spec": { "nodeName": NODE, "terminationGracePeriodSeconds": 1, "containers": [container] },
        "status": status,
    })
}

fn exits(run: &mut Composer, at: f64) {
    run.fact(at, Fact::Exiting(Exiting { code: 1, why: "plan".to_owned() }));
    run.left(at + 0.01);
}

/// The container starts, exits, and starts again at these times.
fn managed(start: Option<f64>, again: Option<f64>, until: f64) -> &'static str {
    let mut run = placed(MANAGED, &plain());
    if let Some(start) = start {
        run.start(start, 0);
        mirrored(&mut run, start + 0.5, "m1", Change::Added, true);
        exits(&mut run, start + 2.0);
    }
    if let Some(again) = again {
        run.start(again, 1);
    }
    run.reading(until);
    verdict(&run.done(), MANAGED)
}

#[test]
fn a_static_pod_starts_and_is_started_again() {
    assert_eq!(managed(Some(1.0), Some(4.0), 50.0), "holds");
    assert_eq!(managed(Some(1.0), None, 50.0), "violated");
    assert_eq!(managed(Some(1.0), Some(48.0), 50.0), "violated", "forty seconds late");
    assert_eq!(managed(None, None, 50.0), "violated", "nothing of it was heard");
    assert_eq!(managed(None, None, 10.0), "inconclusive", "it may still come");
    assert_eq!(managed(Some(1.0), None, 10.0), "inconclusive");
}

/// What happens to the mirror pod and the container.
#[derive(Clone, Copy, PartialEq)]
enum Turn {
    Right,
    Unseen,
    Unmarked,
    StoppedByDeadline,
    StoppedByDeletion,
    NotAgain,
    NotShownAgain,
    ShownLater,
    Silent,
}

fn shown(turn: Turn) -> &'static str {
    let mut run = placed(MIRROR, &plain());
    run.start(1.0, 0);
    if turn == Turn::Unmarked {
        let object = json!({ "metadata": { "name": NAME, "uid": "m1" }, "spec": {}, "status": {} });
        run.sighting(1.5, "Pod", NAME, Change::Added, object);
    } else if turn != Turn::Unseen {
        mirrored(&mut run, 1.5, "m1", Change::Added, true);
    }
    run.connection(1.6, "web", 8080);
    if turn == Turn::Unseen {
        run.probe(59.0, "/ready", 200);
        run.reading(60.0);
        return verdict(&run.done(), MIRROR);
    }
    let patch = json!({ "spec": { "activeDeadlineSeconds": 1 } });
    let (kind, name, subresource) = ("Pod".to_owned(), NAME.to_owned(), String::new());
    run.deed(5.0, Did::Patched { kind: kind.clone(), name: name.clone(), patch, subresource });
    if turn == Turn::StoppedByDeadline {
        run.signal(6.5, "SIGTERM");
        run.reading(60.0);
        return verdict(&run.done(), MIRROR);
    }
    if turn != Turn::Silent {
        run.probe(12.0, "/ready", 200);
    }
    run.deed(13.0, Did::Deleted { kind, name, grace: Some(0) });
    mirrored(&mut run, 13.2, "m1", Change::Deleted, true);
    if turn == Turn::StoppedByDeletion {
        run.signal(14.0, "SIGTERM");
    }
    if [Turn::NotShownAgain, Turn::ShownLater].contains(&turn) {
        let empty = mirror(&plain(), "m2", &json!({ "phase": "Pending" }));
        run.sighting(16.0, "Pod", NAME, Change::Added, empty);
        if turn == Turn::ShownLater {
            mirrored(&mut run, 26.0, "m2", Change::Modified, true);
        }
    } else if turn != Turn::NotAgain {
        mirrored(&mut run, 16.0, "m2", Change::Added, true);
    }
    if turn != Turn::Silent {
        run.probe(20.0, "/ready", 200);
    }
    run.reading(70.0);
    verdict(&run.done(), MIRROR)
}

#[test]
fn a_mirror_pod_shows_a_static_pod_and_does_not_control_it() {
    for (turn, judged) in [
        (Turn::Right, "holds"),
        (Turn::Unseen, "violated"),
        (Turn::Unmarked, "violated"),
        (Turn::StoppedByDeadline, "violated"),
        (Turn::StoppedByDeletion, "violated"),
        (Turn::NotAgain, "violated"),
        (Turn::NotShownAgain, "violated"),
        (Turn::ShownLater, "holds"),
        (Turn::Silent, "inconclusive"),
    ] {
        assert_eq!(shown(turn), judged, "{}", turn as u8);
    }
}

/// The verdict if a probe of this kind fails three times, and then the events of `follows` come.
fn probed(kind: &str, follows: impl Fn(&mut Composer)) -> &'static str {
    let mut container = json!({ "name": "target" });
    container[format!("{kind}Probe")] =
        json!({ "httpGet": { "path": "/p", "port": 8080 }, "periodSeconds": 1, "failureThreshold": 3 });
    let mut run = placed(PROBED, &container);
    run.start(1.0, 0);
    mirrored_with(&mut run, &container, (1.2, "m1", Change::Added, true));
    for at in [2.0, 3.0, 4.0] {
        run.probe(at, "/p", 500);
    }
    follows(&mut run);
    run.reading(100.0);
    verdict(&run.done(), PROBED)
}

#[test]
fn the_probes_of_a_static_pod_have_their_effects() {
    let restarts = |run: &mut Composer| {
        run.signal(4.5, "SIGTERM");
        run.left(4.6);
        run.start(6.0, 1);
    };
    // The probes of one kind show nothing about the other kinds.
    assert_eq!(probed("liveness", restarts), "inconclusive");
    assert_eq!(probed("startup", restarts), "inconclusive");
    assert_eq!(probed("liveness", |_| ()), "violated");
    assert_eq!(probed("startup", |_| ()), "violated");
    assert_eq!(probed("readiness", |run| mirrored(run, 4.5, "m1", Change::Modified, false)), "inconclusive");
    assert_eq!(probed("readiness", |_| ()), "violated");
}

#[test]
fn the_status_may_be_heard_before_the_line_about_the_probe() {
    let container = json!({
        "name": "target",
        "readinessProbe": { "httpGet": { "path": "/p", "port": 8080 }, "periodSeconds": 1, "failureThreshold": 2 },
    });
    let mut run = placed(PROBED, &container);
    run.start(1.0, 0);
    mirrored(&mut run, 1.2, "m1", Change::Added, true);
    run.probe(2.0, "/p", 500);
    mirrored(&mut run, 3.0, "m1", Change::Modified, false);
    run.probe(3.0, "/p", 500);
    run.reading(100.0);
    assert_eq!(
        verdict(&run.done(), PROBED),
        "inconclusive",
        "the other kinds are not seen, but nothing is missing"
    );
}

#[test]
fn the_status_of_a_mirror_pod_tells_no_generation() {
    let clause = "report.status.observed-generation";
    let mut run = placed(clause, &plain());
    run.start(1.0, 0);
    mirrored(&mut run, 1.2, "m1", Change::Added, true);
    run.reading(30.0);
    assert_eq!(verdict(&run.done(), clause), "inconclusive");
}

/// What happens after the manifest of a static pod was removed at 10 s. A process has at least two seconds to stop.
struct After {
    told: Option<f64>,
    killed: Option<f64>,
    mirror: Option<f64>,
}

const GRACEFUL: After = After { told: Some(10.5), killed: Some(12.5), mirror: Some(14.0) };

fn removed(after: &After) -> &'static str {
    let mut run = Composer::new(&[REMOVED]);
    let spec = json!({ "terminationGracePeriodSeconds": 1, "containers": [plain()] });
    let manifest =
        json!({ "metadata": { "name": "web", "labels": { "probity.dev/pod": "web" } }, "spec": spec });
    run.deed(0.5, on_node(PLACE_STATIC_POD, Some(manifest)));
    run.of(NAME, "target").start(1.0, 0);
    mirrored(&mut run, 1.5, "m1", Change::Added, true);
    run.deed(10.0, on_node(REMOVE_STATIC_PODS, None));
    if let Some(told) = after.told {
        run.signal(told, "SIGTERM");
    }
    if let Some(killed) = after.killed {
        run.left(killed);
    }
    if let Some(mirror) = after.mirror {
        mirrored(&mut run, mirror, "m1", Change::Deleted, false);
    }
    run.reading(90.0);
    verdict(&run.done(), REMOVED)
}

#[test]
fn a_static_pod_terminates_gracefully_when_its_manifest_is_removed() {
    assert_eq!(removed(&GRACEFUL), "holds");
    assert_eq!(removed(&After { told: None, killed: None, mirror: None }), "violated", "it goes on");
    assert_eq!(
        removed(&After { told: Some(45.0), killed: Some(47.0), mirror: Some(48.0) }),
        "violated",
        "told late"
    );
    assert_eq!(removed(&After { told: None, ..GRACEFUL }), "violated", "killed without a signal");
    assert_eq!(removed(&After { killed: Some(11.0), ..GRACEFUL }), "violated", "killed early");
    assert_eq!(removed(&After { killed: None, ..GRACEFUL }), "violated", "never killed");
    assert_eq!(removed(&After { mirror: None, ..GRACEFUL }), "violated", "its mirror pod stays");
}

#[test]
fn the_hook_of_a_static_pod_runs_before_its_stop_signal() {
    let judged = |ran: bool| {
        let hook = json!({ "exec": { "command": ["/agnhost-rs", "exec", "bye"] } });
        let container = json!({ "name": "target", "lifecycle": { "preStop": hook } });
        let mut run = placed(REMOVED, &container);
        run.of(NAME, "target").start(1.0, 0);
        mirrored_with(&mut run, &container, (1.5, "m1", Change::Added, true));
        run.deed(10.0, on_node(REMOVE_STATIC_PODS, None));
        if ran {
            run.exec(10.3, "bye", Some(0));
        }
        run.signal(10.8, "SIGTERM");
        run.fact(10.9, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
        run.left(11.0);
        mirrored_with(&mut run, &container, (12.0, "m1", Change::Deleted, false));
        run.reading(90.0);
        // No process is killed in this history.
        crate::tests::verdict(&run.done(), REMOVED)
    };
    assert_eq!(judged(true), "holds");
    assert_eq!(judged(false), "violated");
}

#[test]
fn the_sidecar_of_a_static_pod_stops_after_its_main_container() {
    let judged = |told: f64| {
        let mut run = Composer::new(&[REMOVED]);
        let helper = json!({ "name": "helper", "restartPolicy": "Always" });
        let spec = json!({ "initContainers": [helper], "containers": [{ "name": "target" }] });
        let metadata = json!({ "name": "web", "labels": { "probity.dev/pod": "web" } });
        let manifest = json!({ "metadata": metadata, "spec": spec });
        run.deed(0.5, on_node(PLACE_STATIC_POD, Some(manifest)));
        run.of(NAME, "helper").start(1.0, 0);
        run.of(NAME, "target").start(1.5, 0);
        let object = json!({
            "metadata": {
                "name": NAME, "uid": "m1", "labels": { "probity.dev/pod": "web" },
                "annotations": { "kubernetes.io/config.mirror": "0123" },
                "ownerReferences": [{ "kind": "Node", "name": NODE, "uid": "n" }],
            },
            "spec": { "nodeName": NODE, "initContainers": spec["initContainers"], "containers": spec["containers"] },
            "status": running_status("target", 2.0, true, true, 0),
        });
        run.sighting(2.0, "Pod", NAME, Change::Added, object.clone());
        run.deed(10.0, on_node(REMOVE_STATIC_PODS, None));
        let stops = Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() });
        run.of(NAME, "target").signal(10.5, "SIGTERM");
        if told < 14.5 {
            run.of(NAME, "helper").signal(told, "SIGTERM");
        }
        run.of(NAME, "target").fact(14.5, stops.clone());
        run.left(14.6);
        if told > 14.5 {
            run.of(NAME, "helper").signal(told, "SIGTERM");
        }
        run.of(NAME, "helper").fact(15.0, stops);
        run.left(15.1);
        run.sighting(16.0, "Pod", NAME, Change::Deleted, object);
        run.reading(90.0);
        // No process is killed in this history.
        crate::tests::verdict(&run.done(), REMOVED)
    };
    assert_eq!(judged(14.7), "holds");
    assert_eq!(judged(10.5), "violated", "together with the main container");
}
