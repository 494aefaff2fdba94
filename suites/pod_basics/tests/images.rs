//! Hand-written histories of containers that get a new image.

use probity_composer::{Composer, NODE, Told, running_status};
use probity_model::history::{Change, Did};
use probity_script::witness::{Exiting, Fact, Listening};
use serde_json::{Value, json};

use crate::tests::verdict;

const REPLACES: &str = "pod.update.image-replaces";

/// A pod whose target gets a new image at 3 s. Its grace period is six seconds.
fn updated(container: &Value) -> Composer {
    let mut run = Composer::new(&[REPLACES]);
    let spec = json!({ "terminationGracePeriodSeconds": 6, "containers": [container] });
    run.create(0.0, &spec).start(1.0, 0).running(1.5, true, true, 0);
    patch(&mut run, "target");
    run
}

fn patch(run: &mut Composer, container: &str) {
    let patch = json!({ "spec": { "containers": [{ "name": container, "image": "registry/target:2" }] } });
    let (kind, name) = ("Pod".to_owned(), "pod".to_owned());
    run.deed(3.0, Did::Patched { kind, name, patch, subresource: String::new() });
}

fn plain() -> Value {
    json!({ "name": "target", "image": "registry/target:1" })
}

#[test]
fn the_old_process_is_stopped_with_the_grace_period_of_its_pod() {
    let killed = |at: f64| {
        let mut run = updated(&plain());
        run.signal(3.5, "SIGTERM");
        run.left(at).reading(30.0);
        verdict(&run.done(), REPLACES)
    };
    assert_eq!(killed(9.5), "holds");
    assert_eq!(killed(5.5), "violated", "too early");
    assert_eq!(killed(14.0), "violated", "too late");
    let mut run = updated(&plain());
    run.reading(30.0);
    assert_eq!(verdict(&run.done(), REPLACES), "violated", "the old process goes on");
}

#[test]
fn its_hook_runs_before_its_stop_signal() {
    let judged = |ran: bool| {
        let hook = json!({ "exec": { "command": ["/agnhost-rs", "exec", "bye"] } });
        let mut run = updated(&json!({
            "name": "target", "image": "registry/target:1", "lifecycle": { "preStop": hook },
        }));
        if ran {
            run.exec(3.3, "bye", Some(0));
        }
        run.signal(3.8, "SIGTERM");
        run.fact(3.9, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
        run.left(4.0).reading(30.0);
        verdict(&run.done(), REPLACES)
    };
    assert_eq!(judged(true), "holds");
    assert_eq!(judged(false), "violated");
}

#[test]
fn a_request_before_its_stop_signal_is_a_hook_too() {
    let judged = |came: bool| {
        let plan = json!({ "listeners": { "web": { "port": 8080, "paths": { "/bye": 200 } } } }).to_string();
        let mut run = updated(&json!({
            "name": "target", "image": "registry/target:1", "env": [{ "name": "AGNHOST_PLAN", "value": plan }],
            "lifecycle": { "preStop": { "httpGet": { "path": "/bye", "port": 8080 } } },
        }));
        let (listener, address, state) = ("web".to_owned(), "[::]:8080".to_owned(), "open".to_owned());
        run.fact(3.1, Fact::Listening(Listening { listener, address, state }));
        if came {
            let headers = vec![("User-Agent".to_owned(), "kube-lifecycle/1.36".to_owned())];
            run.http(3.3, &Told { headers, ..Told::get("/bye", 200) });
        }
        run.signal(3.8, "SIGTERM");
        run.fact(3.9, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
        run.left(4.0).start(5.0, 1).reading(30.0);
        verdict(&run.done(), REPLACES)
    };
    assert_eq!(judged(true), "holds");
    assert_eq!(judged(false), "violated");
}

/// A container waits for its image, and has this status at 4 s. The target runs beside it.
fn corrected(later: &Value) -> &'static str {
    let mut run = Composer::new(&[REPLACES]);
    let plan = json!({ "name": "target", "image": "registry/target:1", "env": [{ "name": "AGNHOST_PLAN", "value": "{}" }] });
    let other = json!({ "name": "other", "image": "nowhere/none:1" });
    run.create(0.0, &json!({ "containers": [plan, other] })).start(1.0, 0);
    let status = |state: &Value| {
        json!({ "phase": "Pending", "podIP": "10.0.0.7", "containerStatuses": [
            { "name": "target", "restartCount": 0, "ready": true, "started": true, "containerID": "containerd://target-0",
              "state": { "running": { "startedAt": "2026-01-01T00:00:01Z" } }, "lastState": {} },
            { "name": "other", "restartCount": 0, "ready": false, "started": false, "containerID": "",
              "state": state, "lastState": {} },
        ] })
    };
    run.status(1.5, &status(&json!({ "waiting": { "reason": "ImagePullBackOff" } })));
    patch(&mut run, "other");
    run.status(4.0, &status(later)).reading(30.0);
    verdict(&run.done(), REPLACES)
}

#[test]
fn a_container_that_waits_for_its_image_gets_the_corrected_one() {
    let running = json!({ "running": { "startedAt": "2026-01-01T00:00:03Z" } });
    assert_eq!(corrected(&running), "holds");
    assert_eq!(corrected(&json!({ "waiting": { "reason": "ImagePullBackOff" } })), "violated");
}

/// The verdict on a container that gets the image of another pod, and whose new instance is shown with this ID and this
/// name of its image.
fn replaced(id: &str, name: &str) -> &'static str {
    beside(NODE, id, name)
}

/// Like [`replaced`]. The other pod runs on this node.
fn beside(node: &str, id: &str, name: &str) -> &'static str {
    let spec = |image: &str| {
        let plan = json!([{ "name": "AGNHOST_PLAN", "value": "{}" }]);
        json!({ "containers": [{ "name": "target", "image": image, "env": plan }] })
    };
    let status = |at: f64, restarts: u64, id: &str, name: &str| {
        let mut status = running_status("target", at, true, true, restarts);
        status["containerStatuses"][0]["imageID"] = json!(id);
        status["containerStatuses"][0]["image"] = json!(name);
        status
    };
    let (old, new) = ("registry/target:1", "registry/target:2");
    let mut run = Composer::new(&[REPLACES]);
    let mut reference = spec(new);
    reference["nodeName"] = json!(node);
    run.of("reference", "target").pod_seen(0.0, &reference, &json!({ "phase": "Pending" }), Change::Added);
    run.status(0.8, &status(0.8, 0, "sha256:2", new));
    run.of("pod", "target").create(1.0, &spec(old)).start(1.4, 0);
    run.status(1.8, &status(1.8, 0, "sha256:1", old));
    patch(&mut run, "target");
    run.signal(3.5, "SIGTERM");
    run.fact(3.9, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
    run.left(4.0).start(4.5, 1).status(5.0, &status(5.0, 1, id, name)).reading(30.0);
    verdict(&run.done(), REPLACES)
}

#[test]
fn the_status_shows_the_new_image() {
    assert_ne!(replaced("sha256:2", "registry/target:2"), "violated");
    assert_ne!(replaced("sha256:2", "registry/another-name:2"), "violated", "another name of the image");
    assert_eq!(replaced("sha256:1", "registry/target:1"), "violated", "the image is the old one");
    assert_eq!(replaced("sha256:2", "registry/target:1"), "violated", "only the name is the old one");
}

#[test]
fn an_image_has_other_ids_on_other_nodes() {
    assert_ne!(beside("another", "sha256:3", "registry/target:2"), "violated");
    assert_eq!(beside(NODE, "sha256:3", "registry/target:2"), "violated");
}
