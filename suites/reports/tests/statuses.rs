//! The fields of a status that distinguish pods, containers and instances.

use super::*;

fn container(restarts: u64, id: &str, state: Value, last: Value) -> Value {
    json!({
        "name": "target", "restartCount": restarts, "image": "agnhost-rs", "imageID": "sha256:1", "containerID": id,
        "ready": true, "state": state, "lastState": last,
    })
}

fn status(container: Value) -> Value {
    json!({
        "phase": "Running", "startTime": timestamp(0.0), "qosClass": "BestEffort", "observedGeneration": 1,
        "podIP": "10.0.0.7", "podIPs": [{ "ip": "10.0.0.7" }], "hostIP": "10.0.0.1", "hostIPs": [{ "ip": "10.0.0.1" }],
        "containerStatuses": [container],
    })
}

fn runs(at: f64) -> Value {
    json!({ "running": { "startedAt": timestamp(at) } })
}

fn ended(id: &str) -> Value {
    json!({ "terminated": { "exitCode": 1, "reason": "Error", "containerID": id } })
}

/// A status of the first instance, which runs.
fn first() -> Value {
    status(container(0, "containerd://a", runs(1.0), json!({})))
}

fn judged(clause: &str, spec: &Value, statuses: &[Value]) -> &'static str {
    let mut run = pod(clause, spec);
    for (at, status) in (2_u32..).zip(statuses) {
        run.status(f64::from(at), status);
    }
    concluded(run, clause)
}

#[test]
fn each_instance_has_an_id_of_its_own() {
    let clause = "report.status.container-id";
    let then = |id: &str, last: &str| {
        judged(
            clause,
            &one(json!({ "name": "target" })),
            &[first(), status(container(1, id, runs(5.0), ended(last)))],
        )
    };
    let alone = |status: Value| judged(clause, &one(json!({ "name": "target" })), &[first(), status]);
    assert_eq!(then("containerd://b", "containerd://a"), "holds");
    assert_eq!(then("containerd://a", "containerd://a"), "violated", "two have one");
    assert_eq!(then("containerd://b", "containerd://b"), "violated", "the last one had another");
    assert_eq!(alone(status(container(0, "containerd://b", runs(1.0), json!({})))), "violated", "it changed");
    assert_eq!(alone(status(container(0, "", runs(1.0), json!({})))), "violated");
    assert_eq!(alone(status(container(0, "a", runs(1.0), json!({})))), "violated", "no runtime is named");
    assert_eq!(alone(status(container(0, "containerd://a", ended("containerd://b"), json!({})))), "violated");
    assert_eq!(judged(clause, &three(), &[]), "inconclusive");
}

#[test]
fn an_ephemeral_container_has_an_id_too() {
    let clause = "report.status.container-id";
    let spec = json!({ "containers": [{ "name": "target" }], "ephemeralContainers": [{ "name": "debug" }] });
    let of = |id: &str| {
        let mut shown = first();
        shown["ephemeralContainerStatuses"] =
            json!([{ "name": "debug", "restartCount": 0, "containerID": id, "state": runs(1.0) }]);
        judged(clause, &spec, &[shown])
    };
    assert_eq!(of("containerd://d"), "holds");
    assert_eq!(of(""), "violated");
}

#[test]
fn an_instance_that_has_ended_has_the_id_that_it_had() {
    let clause = "report.status.container-id";
    let over = |id: &str, own: &str, at: Value| {
        let end = json!({ "terminated": {
            "exitCode": 1, "reason": "Error", "containerID": own, "startedAt": at,
        } });
        judged(
            clause,
            &one(json!({ "name": "target" })),
            &[first(), status(container(0, id, end, json!({})))],
        )
    };
    let at = || json!(timestamp(1.0));
    assert_eq!(over("containerd://a", "containerd://a", at()), "holds");
    assert_eq!(over("containerd://b", "containerd://b", at()), "violated", "it is that of another");
    assert_eq!(over("containerd://a", "", at()), "violated", "its state has none");
    assert_eq!(over("", "", at()), "violated", "it has none at all");
    assert_eq!(over("", "", Value::Null), "holds", "the kubelet does not know what became of it");
}

#[test]
fn a_status_names_the_image() {
    let clause = "report.status.image";
    let with = |field: &str| {
        judged(clause, &three(), &[with(first(), &format!("/containerStatuses/0/{field}"), json!(""))])
    };
    assert_eq!(with("name"), "holds");
    assert_eq!(with("image"), "violated");
    assert_eq!(with("imageID"), "violated");
    assert_eq!(judged(clause, &three(), &[]), "inconclusive");
}

/// A container that restarts at 5 s, and whose statuses show these counts at 2 s, 6 s and 12 s.
fn counted(counts: [u64; 3]) -> &'static str {
    let clause = "report.status.restart-count";
    let mut run = pod(clause, &one(json!({ "name": "target" })));
    let say = |run: &mut Composer, at: f64, count: u64| {
        run.status(at, &status(container(count, "containerd://a", runs(1.0), json!({}))));
    };
    run.start(1.0, 0);
    say(&mut run, 2.0, counts[0]);
    exits(&mut run, 4.0, 1);
    run.start(5.0, 1);
    say(&mut run, 6.0, counts[1]);
    say(&mut run, 12.0, counts[2]);
    concluded(run, clause)
}

#[test]
fn the_count_is_that_of_the_restarts() {
    assert_eq!(counted([0, 1, 1]), "holds");
    assert_eq!(counted([0, 0, 1]), "violated", "it is counted late");
    assert_eq!(counted([0, 0, 0]), "violated", "it is not counted");
    assert_eq!(counted([0, 1, 2]), "violated", "it counts twice");
    assert_eq!(counted([0, 1, 0]), "violated", "it falls");
    let clause = "report.status.restart-count";
    assert_eq!(judged(clause, &three(), &[]), "inconclusive");
}

/// A container whose status counts one restart although its first process runs. Its last state has this reason, and perhaps
/// an event reports that a start failed.
fn started_late(reason: &str, event_reason: Option<&str>) -> &'static str {
    let clause = "report.status.restart-count";
    let mut run = pod(clause, &one(json!({ "name": "target" })));
    run.start(1.0, 0);
    let last = with(ended("containerd://a"), "/terminated/reason", json!(reason));
    run.status(2.0, &status(container(1, "containerd://b", runs(1.0), last)));
    if let Some(reason) = event_reason {
        told(&mut run, 2.5, &event(2.0, "target", "Warning", reason, "Error: unable to freeze"));
    }
    concluded(run, clause)
}

#[test]
fn a_start_that_the_runtime_failed_is_counted() {
    assert_eq!(started_late("StartError", None), "holds");
    assert_ne!(started_late("Error", Some("Failed")), "violated", "only an event may report it");
    assert_eq!(started_late("Error", Some("BackOff")), "violated");
    assert_eq!(started_late("Error", None), "violated");
}

#[test]
fn the_addresses_are_those_of_the_connections() {
    let clause = "report.status.addresses";
    let probe = json!({ "httpGet": { "path": "/ready", "port": 8080 }, "periodSeconds": 1 });
    let spec = one(json!({ "name": "target", "readinessProbe": probe }));
    let judged = |statuses: &[Value]| {
        let mut run = pod(clause, &spec);
        run.start(1.0, 0);
        for (at, status) in (2_u32..).zip(statuses) {
            run.status(f64::from(at), status);
        }
        run.probe(8.0, "/ready", 200);
        concluded(run, clause)
    };
    let other = || with(first(), "/podIP", json!("10.0.0.8"));
    assert_eq!(judged(&[first()]), "holds");
    assert_eq!(judged(&[other()]), "violated", "the list says otherwise");
    assert_eq!(
        judged(&[with(other(), "/podIPs/0/ip", json!("10.0.0.8"))]),
        "violated",
        "probes go elsewhere"
    );
    let moved = with(with(first(), "/hostIP", json!("10.0.0.2")), "/hostIPs/0/ip", json!("10.0.0.2"));
    assert_eq!(judged(&[first(), moved]), "violated", "it moves");
    let without = |fields: [&str; 2]| {
        let mut status = first();
        if let Some(all) = status.as_object_mut() {
            fields.iter().for_each(|field| drop(all.remove(*field)));
        }
        status
    };
    assert_eq!(judged(&[first(), without(["podIP", "podIPs"])]), "violated", "it is lost");
    let late = with(without(["podIP", "podIPs"]), "/containerStatuses/0/state", ended("containerd://a"));
    assert_eq!(judged(&[first(), late.clone()]), "violated", "it is lost with the end of a container");
    assert_eq!(torn_down(&spec, &late), "diverges");
    assert_eq!(torn_down(&spec, &without(["podIP", "podIPs"])), "violated", "a container still runs");
    assert_eq!(judged(&[without(["hostIP", "hostIPs"])]), "violated", "a container runs without it");
    assert_eq!(judged(&[]), "inconclusive");
}

/// The verdict about the addresses of two pods, each with its node, its own address and the address of its node.
fn of_two(on_host: bool, pods: [(&str, &str, &str); 2]) -> &'static str {
    of_two_on(&[], on_host, pods)
}

/// The same on a first node with these addresses.
fn of_two_on(known: &[&str], on_host: bool, pods: [(&str, &str, &str); 2]) -> &'static str {
    let clause = "report.status.addresses";
    let mut header = Composer::new(&[clause]).done().header;
    for facts in header.nodes.values_mut() {
        facts.addresses = known.iter().map(|address| (*address).to_owned()).collect();
    }
    let mut run = Composer::with_header(header);
    for (number, (node, ip, host)) in pods.into_iter().enumerate() {
        let status = with(with(first(), "/podIP", json!(ip)), "/podIPs/0/ip", json!(ip));
        let status = with(with(status, "/hostIP", json!(host)), "/hostIPs/0/ip", json!(host));
        let spec = json!({ "nodeName": node, "hostNetwork": on_host, "containers": [{ "name": "target" }] });
        run.of(&format!("pod-{number}"), "target");
        run.pod_seen(2.0, &spec, &status, Change::Added);
    }
    concluded(run, clause)
}

#[test]
fn the_address_of_the_host_is_that_of_the_node() {
    let right = ["holds", "inconclusive"];
    let (one, other) = (("node1", "10.0.0.7", "10.0.0.1"), ("node1", "10.0.0.8", "10.0.0.1"));
    let elsewhere = ("node2", "10.0.0.8", "10.0.0.2");
    assert!(right.contains(&of_two(false, [one, other])));
    assert!(right.contains(&of_two(false, [one, elsewhere])));
    assert_eq!(of_two(false, [one, ("node1", "10.0.0.8", "10.0.0.2")]), "violated", "one node has two");
    assert_eq!(of_two(false, [one, ("node2", "10.0.0.8", "10.0.0.1")]), "violated", "two nodes have one");
    let own = ("node1", "10.0.0.1", "10.0.0.1");
    assert_eq!(of_two(false, [own, other]), "violated", "it has a network of its own");
    assert!(right.contains(&of_two(false, [own, elsewhere])), "a node that belongs to the pod");
    assert!(right.contains(&of_two(true, [own, own])));
    assert_eq!(of_two(true, [own, other]), "violated", "it uses the host network");
    assert!(right.contains(&of_two_on(&["192.0.2.1", "10.0.0.1"], false, [one, other])));
    assert_eq!(of_two_on(&["192.0.2.1"], false, [one, other]), "violated", "no address of the node");
    assert!(right.contains(&of_two_on(&["10.0.0.1"], false, [one, elsewhere])), "nothing is known of node2");
}

/// The verdict about the addresses of a pod that is shown with this status when it is being deleted.
fn torn_down(spec: &Value, last: &Value) -> &'static str {
    let clause = "report.status.addresses";
    let mut run = pod(clause, spec);
    run.start(1.0, 0).status(2.0, &first());
    run.probe(3.0, "/ready", 200);
    let mut object = json!({ "metadata": { "name": "pod", "uid": "uid-pod" }, "spec": spec, "status": last });
    object["metadata"]["deletionTimestamp"] = json!("2026-11-21T00:00:35Z");
    run.sighting(5.0, "Pod", "pod", Change::Modified, object);
    concluded(run, clause)
}

#[test]
fn a_pod_has_come_to_its_kubelet_before_its_containers_start() {
    let clause = "report.status.start-time";
    let judged = |times: &[f64]| {
        let mut run = pod(clause, &one(json!({ "name": "target" })));
        run.start(2.5, 0);
        for (at, time) in (3_u32..).zip(times) {
            run.status(f64::from(at), &with(first(), "/startTime", json!(timestamp(*time))));
        }
        concluded(run, clause)
    };
    assert_eq!(judged(&[1.0, 1.0]), "holds");
    assert_eq!(judged(&[1.0, 2.0]), "violated", "it changes");
    assert_eq!(judged(&[5.0]), "violated", "it is later");
    assert_eq!(judged(&[-5.0]), "violated", "nobody had asked for the pod");
    assert_eq!(judged(&[]), "inconclusive");
}

#[test]
fn a_status_of_a_kubelet_has_a_start_time() {
    let clause = "report.status.start-time";
    let without = || with(first(), "/startTime", Value::Null);
    let spec = one(json!({ "name": "target" }));
    assert_eq!(judged(clause, &spec, &[without()]), "violated", "it never has one");
    assert_eq!(judged(clause, &spec, &[first(), without()]), "violated", "it is lost");
    let unbegun = json!({ "phase": "Pending", "conditions": [{ "type": "PodScheduled", "status": "True" }] });
    assert_eq!(judged(clause, &spec, &[unbegun]), "inconclusive", "the scheduler wrote it");
}

#[test]
fn a_condition_is_about_a_generation_that_there_was() {
    let clause = "report.status.observed-generation";
    let of = |kind: &str, observed: Value| {
        let mut run = pod(clause, &three());
        let mut status = first();
        status["conditions"] = json!([{ "type": kind, "status": "False", "observedGeneration": observed }]);
        let object = json!({
            "metadata": { "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod" }, "generation": 1 },
            "spec": { "nodeName": NODE }, "status": status,
        });
        run.sighting(2.0, "Pod", "pod", Change::Modified, object);
        concluded(run, clause)
    };
    for kind in ["Ready", "PodResizePending", "PodResizeInProgress"] {
        assert_eq!(of(kind, json!(1)), "holds", "{kind}");
        assert_eq!(of(kind, json!(2)), "violated", "{kind} is ahead");
        assert_eq!(of(kind, json!(0)), "violated", "{kind}");
        assert_eq!(of(kind, Value::Null), "violated", "{kind} does not report it");
    }
    assert_eq!(of("of/others", Value::Null), "holds");
}

#[test]
fn the_condition_of_an_eviction_is_about_a_generation_too() {
    let clause = "report.status.observed-generation";
    let of = |reason: &str, observed: Value| {
        let mut run = pod(clause, &three());
        let mut status = first();
        status["conditions"] = json!([{
            "type": "DisruptionTarget", "status": "True", "reason": reason, "observedGeneration": observed,
        }]);
        let metadata = json!({ "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod" }, "generation": 1 });
        let object = json!({ "metadata": metadata, "spec": { "nodeName": NODE }, "status": status });
        run.sighting(2.0, "Pod", "pod", Change::Modified, object);
        concluded(run, clause)
    };
    assert_eq!(of("TerminationByKubelet", json!(1)), "holds");
    assert_eq!(of("TerminationByKubelet", Value::Null), "violated");
    assert_eq!(of("TerminationByKubelet", json!(2)), "violated", "it is ahead");
    assert_eq!(of("EvictionByEvictionAPI", Value::Null), "holds", "somebody else wrote it");
}

#[test]
fn the_condition_of_the_scheduler_is_about_the_new_generation_too() {
    let clause = "report.status.observed-generation";
    let judged = |scheduled: &[(i64, Value)]| {
        let mut run = pod(clause, &three());
        for (at, (generation, observed)) in (2_u32..).zip(scheduled) {
            let mut status = with(first(), "/observedGeneration", json!(generation));
            status["conditions"] =
                json!([{ "type": "PodScheduled", "status": "True", "observedGeneration": observed }]);
            let object = json!({
                "metadata": {
                    "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod" }, "generation": generation,
                },
                "spec": { "nodeName": NODE }, "status": status,
            });
            run.sighting(f64::from(at), "Pod", "pod", Change::Modified, object);
        }
        concluded(run, clause)
    };
    assert_eq!(judged(&[(1, json!(1)), (2, json!(2))]), "holds");
    assert_eq!(judged(&[(1, json!(1)), (2, json!(1))]), "violated", "it keeps the old one");
    assert_eq!(judged(&[(1, json!(1)), (2, Value::Null)]), "violated", "it is not told");
    assert_eq!(judged(&[(1, Value::Null)]), "holds", "the scheduler wrote it");
}

#[test]
fn the_class_follows_from_the_resources() {
    let clause = "report.status.qos-class";
    let of = |resources: Value, class: &str| {
        let spec = one(json!({ "name": "target", "resources": resources }));
        judged(clause, &spec, &[with(first(), "/qosClass", json!(class))])
    };
    let all = json!({ "cpu": "100m", "memory": "64Mi" });
    assert_eq!(of(json!({}), "BestEffort"), "holds");
    assert_eq!(of(json!({ "requests": { "cpu": "10m" } }), "Burstable"), "holds");
    assert_eq!(of(json!({ "requests": all, "limits": all }), "Guaranteed"), "holds");
    assert_eq!(of(json!({ "requests": all, "limits": all }), "Burstable"), "violated");
    assert_eq!(of(json!({ "limits": { "cpu": "10m" } }), "Guaranteed"), "violated");
    assert_eq!(of(json!({}), ""), "violated");
    assert_eq!(judged(clause, &three(), &[]), "inconclusive");
}

#[test]
fn a_status_is_about_a_generation_that_there_was() {
    let clause = "report.status.observed-generation";
    let judged = |pairs: &[(i64, i64)]| {
        let mut run = pod(clause, &three());
        for (at, (generation, observed)) in (2_u32..).zip(pairs) {
            let object = json!({
                "metadata": {
                    "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod" }, "generation": generation,
                },
                "spec": { "nodeName": NODE }, "status": with(first(), "/observedGeneration", json!(observed)),
            });
            run.sighting(f64::from(at), "Pod", "pod", Change::Modified, object);
        }
        concluded(run, clause)
    };
    assert_eq!(judged(&[(1, 1), (2, 1), (2, 2)]), "holds");
    assert_eq!(judged(&[(1, 2)]), "violated", "it is ahead");
    assert_eq!(judged(&[(2, 2), (2, 1)]), "violated", "it falls");
    assert_eq!(judged(&[(1, 0)]), "violated", "it is not told");
    assert_eq!(judged(&[]), "inconclusive");
}

#[test]
fn a_new_status_is_about_the_pod_as_it_is() {
    let clause = "report.status.observed-generation";
    let judged = |late: f64, observed: i64, id: &str| {
        let mut run = pod(clause, &three());
        let statuses =
            [(2.0, 1, 1, "containerd://a"), (3.0, 2, 1, "containerd://a"), (late, 2, observed, id)];
        for (at, generation, observed, id) in statuses {
            let status = with(first(), "/observedGeneration", json!(observed));
            let object = json!({
                "metadata": {
                    "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod" }, "generation": generation,
                },
                "spec": { "nodeName": NODE }, "status": with(status, "/containerStatuses/0/containerID", json!(id)),
            });
            run.sighting(at, "Pod", "pod", Change::Modified, object);
        }
        concluded(run, clause)
    };
    assert_eq!(judged(10.0, 2, "containerd://b"), "holds");
    assert_eq!(judged(10.0, 1, "containerd://b"), "violated");
    assert_eq!(judged(5.0, 1, "containerd://b"), "holds", "the kubelet did not know yet");
    assert_eq!(judged(10.0, 1, "containerd://a"), "holds", "the kubelet wrote nothing");
}
