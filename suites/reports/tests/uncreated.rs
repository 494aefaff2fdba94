//! The image of a container that was not created yet, which the kubelet itself writes.

use super::*;

const CLAUSE: &str = "report.status.image";

/// A pod whose container has this image.
fn spec(image: &str) -> Value {
    json!({ "nodeName": NODE, "containers": [{ "name": "target", "image": image }] })
}

/// The status of its container, which waits.
fn waiting(image: &str, id: &str) -> Value {
    json!({
        "phase": "Pending", "startTime": timestamp(0.0), "qosClass": "BestEffort",
        "containerStatuses": [{
            "name": "target", "image": image, "imageID": "", "containerID": id, "restartCount": 0, "ready": false,
            "state": { "waiting": { "reason": "ContainerCreating" } }, "lastState": {},
        }],
    })
}

#[test]
fn a_container_that_was_not_created_has_the_image_of_its_spec() {
    let judged = |image: &str, id: &str| {
        let mut run = pod(CLAUSE, &spec("a.local/b:1"));
        run.noise(0.5, 4.0).status(2.0, &waiting(image, id));
        concluded(run, CLAUSE)
    };
    assert_eq!(judged("a.local/b:1", ""), "holds");
    assert_eq!(judged("a.local/b", ""), "violated");
    assert_eq!(judged("a.local/b:2", ""), "violated");
    assert_ne!(judged("sha256:1", "containerd://target-0"), "violated", "the runtime names the image");
}

#[test]
fn a_kubelet_may_not_know_a_new_image_yet() {
    let judged = |image: &str, patched: bool| {
        let mut run = pod(CLAUSE, &spec("a.local/b:1"));
        if patched {
            let patch = json!({ "spec": { "containers": [{ "name": "target", "image": "a.local/b:2" }] } });
            let (kind, name, subresource) = ("Pod".to_owned(), "pod".to_owned(), String::new());
            run.deed(2.0, Did::Patched { kind, name, patch, subresource });
            run.pod_seen(2.1, &spec("a.local/b:2"), &waiting("a.local/b:1", ""), Change::Modified);
        }
        run.status(3.0, &waiting(image, ""));
        concluded(run, CLAUSE)
    };
    assert_ne!(judged("a.local/b:1", true), "violated", "it has seen only the first spec so far");
    assert_ne!(judged("a.local/b:2", true), "violated");
    assert_eq!(judged("a.local/b:3", true), "violated");
    assert_eq!(judged("a.local/b:2", false), "violated");
}
