//! What the status shows while a resize is under way, while it must wait, and after it was withdrawn.

use super::*;

const COMPLETED: &str = "resize.completed";

/// The pod at a generation.
fn seen(run: &mut Composer, at: f64, (generation, spec, status): (u64, &Value, &Value)) {
    let labels = json!({ "probity.dev/pod": "pod" });
    let object = json!({
        "metadata": { "name": "pod", "uid": "uid-pod", "labels": labels, "generation": generation },
        "spec": spec, "status": status,
    });
    run.sighting(at, "Pod", "pod", Change::Modified, object);
}

#[test]
fn a_resize_is_in_progress_until_the_old_instance_has_ended() {
    let judged = |at: f64, observed: u64, conditions: &Value| {
        let mut run = grown(COMPLETED, "RestartContainer");
        let resources = json!({ "limits": { "cpu": "100m", "memory": "64Mi" } });
        let mut status = status(&resources, 0, conditions);
        status["observedGeneration"] = json!(observed);
        let spec = spec("100m", "96Mi", "RestartContainer");
        let early = at < 11.0;
        if early {
            seen(&mut run, at, (2, &spec, &status));
        }
        restarted(&mut run, 11.0, 1);
        if !early {
            seen(&mut run, at, (2, &spec, &status));
        }
        shows(&mut run, 14.0, "96Mi", 1, &json!([]));
        verdict(&end(run), COMPLETED)
    };
    let going = json!([{ "type": "PodResizeInProgress", "status": "True" }]);
    assert_eq!(judged(10.3, 2, &going), "holds");
    assert_eq!(judged(10.3, 2, &json!([])), "violated");
    assert_eq!(judged(10.3, 1, &json!([])), "holds", "the kubelet has not observed it yet");
    assert_eq!(judged(12.5, 2, &json!([])), "holds", "the new instance runs");
}

/// The spec of a pod that requests this much memory.
fn asking(memory: &str) -> Value {
    json!({ "containers": [{ "name": "target", "resources": { "requests": { "memory": memory } } }] })
}

/// Its status if its container has this much memory.
fn having(memory: &str, conditions: &Value) -> Value {
    let mut status = status(&json!({ "requests": { "memory": memory } }), 0, conditions);
    status["containerStatuses"][0]["allocatedResources"] = json!({ "memory": memory });
    status
}

fn asked(run: &mut Composer, at: f64, memory: &str) {
    let patch = json!({ "spec": asking(memory) });
    let (kind, name, subresource) = ("Pod".to_owned(), "pod".to_owned(), "resize".to_owned());
    run.deed(at, Did::Patched { kind, name, patch, subresource });
}

/// A pod that requests 64 MiB, and 96 MiB from 10 s on.
fn more() -> Composer {
    let mut run = Composer::new(&[COMPLETED]);
    run.create(0.0, &asking("64Mi")).start(1.0, 0);
    run.status(1.5, &having("64Mi", &json!([])));
    asked(&mut run, 10.0, "96Mi");
    run
}

#[test]
fn the_total_of_the_pod_is_the_new_one() {
    let judged = |total: &Value| {
        let mut run = more();
        let mut status = having("96Mi", &json!([]));
        status["allocatedResources"] = total.clone();
        seen(&mut run, 12.0, (2, &asking("96Mi"), &status));
        verdict(&end(run), COMPLETED)
    };
    assert_eq!(judged(&json!({ "memory": "96Mi" })), "holds");
    assert_eq!(judged(&json!({ "memory": "64Mi" })), "violated");
    assert_eq!(judged(&json!({})), "violated");
    assert_eq!(judged(&json!(null)), "holds", "most kubelets do not show it");
}

#[test]
fn a_resize_that_was_withdrawn_is_not_pending() {
    let pending = |generation: u64| {
        json!([{
            "type": "PodResizePending", "status": "True", "reason": "Deferred", "observedGeneration": generation,
        }])
    };
    let judged = |conditions: &Value| {
        let mut run = more();
        seen(&mut run, 10.5, (2, &asking("96Mi"), &having("64Mi", &pending(2))));
        asked(&mut run, 14.0, "64Mi");
        seen(&mut run, 14.1, (3, &asking("64Mi"), &having("64Mi", &pending(2))));
        seen(&mut run, 15.0, (3, &asking("64Mi"), &having("64Mi", conditions)));
        verdict(&end(run), COMPLETED)
    };
    assert_ne!(judged(&json!([])), "violated");
    assert_eq!(judged(&pending(2)), "violated");
    assert_ne!(judged(&pending(3)), "violated", "the node may not have room");
}

#[test]
fn a_deferred_resize_is_not_shown_as_allocated() {
    let judged = |memory: &str, times: usize| {
        let mut run = Composer::new(&["resize.deferred"]);
        deferred(&mut run);
        let waits = json!([{ "type": "PodResizePending", "status": "True", "reason": "Deferred" }]);
        let mut status = having("16Mi", &waits);
        status["containerStatuses"][0]["allocatedResources"] = json!({ "memory": memory });
        for at in (22_u32..).take(times) {
            run.status(f64::from(at), &status);
        }
        run.reading(60.0);
        verdict(&run.done(), "resize.deferred")
    };
    assert_eq!(judged("2400Mi", 2), "violated");
    assert_ne!(judged("2400Mi", 1), "violated", "the kubelet may be granting it");
    assert_ne!(judged("16Mi", 2), "violated");
}

/// Two resizes wait for the room of a third pod, which is removed at 20 s. The pod `pod` has this priority, and the resize
/// of the other one, whose priority is 0, is complete at 22 s.
fn second_first(priority: i64) -> &'static str {
    const CLAUSE: &str = "resize.deferred";
    let mut header = Composer::new(&[CLAUSE]).done().header;
    if let Some(facts) = header.nodes.get_mut(NODE) {
        facts.allocatable.insert("memory".to_owned(), "4000Mi".to_owned());
    }
    let mut run = Composer::with_header(header);
    let spec = |memory: &str, priority: i64| {
        let resources = json!({ "requests": { "memory": memory } });
        json!({ "nodeName": NODE, "priority": priority, "containers": [{ "name": "target", "resources": resources }] })
    };
    let waits = json!([{ "type": "PodResizePending", "status": "True", "reason": "Deferred" }]);
    for (at, name, memory, priority) in
        [(0.0, "holder", "2400Mi", 0), (1.0, "pod", "16Mi", priority), (2.0, "other", "16Mi", 0)]
    {
        run.of(name, "target").create(at, &spec(memory, priority)).start(at + 0.5, 0);
        run.status(at + 0.8, &having(memory, &json!([])));
    }
    for (at, name) in [(10.0, "pod"), (11.0, "other")] {
        let resources = json!({ "requests": { "memory": "2400Mi" } });
        let patch = json!({ "spec": { "containers": [{ "name": "target", "resources": resources }] } });
        let (kind, name, subresource) = ("Pod".to_owned(), name.to_owned(), "resize".to_owned());
        run.of(&name, "target");
        run.deed(at, Did::Patched { kind, name, patch, subresource });
        run.status(at + 0.5, &having("16Mi", &waits));
    }
    let going = json!({
        "metadata": {
            "name": "holder", "uid": "uid-holder", "labels": { "probity.dev/pod": "holder" },
            "deletionTimestamp": "2026-01-01T00:00:20Z",
        },
        "spec": spec("2400Mi", 0), "status": {},
    });
    run.sighting(18.0, "Pod", "holder", Change::Modified, going);
    run.of("holder", "target").pod_seen(20.0, &spec("2400Mi", 0), &json!({}), Change::Deleted);
    run.of("other", "target").status(22.0, &having("2400Mi", &json!([])));
    run.reading(60.0);
    verdict(&run.done(), CLAUSE)
}

#[test]
fn the_resize_with_the_higher_priority_comes_first() {
    assert_eq!(second_first(-1000), "holds", "the resize of the other pod has no room any more");
    assert_eq!(second_first(1000), "violated", "the pod with the lower priority got the room");
}

#[test]
fn a_resize_for_which_there_is_room_is_not_infeasible() {
    let judged = |clause: &str, reason: &str, asked: &Value, room: &str| {
        let mut header = Composer::new(&[clause]).done().header;
        if let Some(facts) = header.nodes.get_mut(NODE) {
            facts.allocatable.insert("cpu".to_owned(), room.to_owned());
            facts.allocatable.insert("memory".to_owned(), "4000Mi".to_owned());
        }
        let mut run = Composer::with_header(header);
        let limits = json!({ "cpu": "100m", "memory": "64Mi" });
        let resources = json!({ "requests": limits, "limits": limits });
        let spec = json!({ "nodeName": NODE, "containers": [{ "name": "target", "resources": resources }] });
        run.create(0.0, &spec).start(1.0, 0).status(1.5, &status(&resources, 0, &json!([])));
        let more = json!({ "requests": asked, "limits": asked });
        let patch = json!({ "spec": { "containers": [{ "name": "target", "resources": more }] } });
        let (kind, name) = ("Pod".to_owned(), "pod".to_owned());
        run.deed(10.0, Did::Patched { kind, name, patch, subresource: "resize".to_owned() });
        let pending = json!([{ "type": "PodResizePending", "status": "True", "reason": reason }]);
        run.status(11.0, &status(&resources, 0, &pending));
        verdict(&end(run), clause)
    };
    let cpu = json!({ "cpu": "150m" });
    for clause in ["resize.enacted", "resize.completed"] {
        assert_eq!(judged(clause, "Infeasible", &cpu, "2"), "violated");
        assert_ne!(judged(clause, "Deferred", &cpu, "2"), "violated", "other pods may hold it");
        assert_ne!(judged(clause, "Infeasible", &cpu, "120m"), "violated", "the node is too small");
        let swap = json!({ "memory": "96Mi" });
        assert_ne!(judged(clause, "Infeasible", &swap, "2"), "violated", "the container may use swap");
    }
}
