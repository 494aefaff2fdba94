mod said;
mod shown;

use std::collections::BTreeMap;

use probity_composer::{Composer, NODE, running_status};
use probity_model::History;
use probity_model::history::{Change, Did};
use probity_script::witness::{Dump, Exiting, Fact};
use serde_json::{Value, json};

use crate::tests::verdict;

/// A container with these limits.
fn spec(cpu: &str, memory: &str, policy: &str) -> Value {
    let policies = match policy {
        "" => json!([]),
        policy => json!([{ "resourceName": "memory", "restartPolicy": policy }]),
    };
    let resources = json!({ "limits": { "cpu": cpu, "memory": memory } });
    let target = json!({ "name": "target", "resizePolicy": policies, "resources": resources });
    json!({ "terminationGracePeriodSeconds": 2, "containers": [target, { "name": "side" }] })
}

fn status(resources: &Value, restarts: u64, conditions: &Value) -> Value {
    let mut status = running_status("target", 1.0, true, true, restarts);
    status["containerStatuses"][0]["resources"] = resources.clone();
    status["conditions"] = conditions.clone();
    status
}

fn patched(run: &mut Composer, at: f64, limits: &Value) {
    let patch =
        json!({ "spec": { "containers": [{ "name": "target", "resources": { "limits": limits } }] } });
    let name = "pod".to_owned();
    run.deed(at, Did::Patched { kind: "Pod".to_owned(), name, patch, subresource: "resize".to_owned() });
}

fn dump(run: &mut Composer, at: f64, files: &[(&str, &str)]) {
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    run.fact(at, Fact::Dump(Dump { files: files.collect::<BTreeMap<_, _>>(), ..Dump::default() }));
}

/// A pod with two containers; the memory of the first is increased at 10 s.
fn grown(clause: &str, policy: &str) -> Composer {
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &spec("100m", "64Mi", policy)).start(1.0, 0);
    run.of("pod", "side").start(1.0, 0);
    run.of("pod", "target");
    run.status(1.5, &status(&json!({ "limits": { "cpu": "100m", "memory": "64Mi" } }), 0, &json!([])));
    patched(&mut run, 10.0, &json!({ "memory": "96Mi" }));
    run
}

/// What the status shows after the resize.
fn shows(run: &mut Composer, at: f64, memory: &str, restarts: u64, conditions: &Value) {
    let resources = json!({ "limits": { "cpu": "100m", "memory": memory } });
    let spec = spec("100m", "96Mi", "");
    run.pod_seen(at, &spec, &status(&resources, restarts, conditions), Change::Modified);
}

fn end(mut run: Composer) -> History {
    run.reading(40.0);
    run.done()
}

fn restarted(run: &mut Composer, at: f64, attempt: u64) {
    run.signal(at, "SIGTERM");
    run.fact(at + 0.05, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
    run.left(at + 0.1);
    run.start(at + 0.5, attempt);
}

#[test]
fn a_container_keeps_running_unless_its_policy_says_otherwise() {
    const KEPT: &str = "resize.without-restart";
    const ANEW: &str = "resize.with-restart";
    for (policy, clause, restarts, word) in [
        ("", KEPT, &[][..], "holds"),
        ("NotRequired", KEPT, &[], "holds"),
        ("", KEPT, &[11.0], "violated"),
        ("", KEPT, &[30.0], "violated"),
        ("RestartContainer", ANEW, &[11.0], "holds"),
        ("RestartContainer", ANEW, &[], "violated"),
        ("RestartContainer", ANEW, &[24.0], "violated"),
        ("RestartContainer", ANEW, &[11.0, 13.0], "violated"),
        ("", ANEW, &[], "inconclusive"),
    ] {
        let mut run = grown(clause, policy);
        for (attempt, at) in (1..).zip(restarts) {
            restarted(&mut run, *at, attempt);
        }
        assert_eq!(verdict(&end(run), clause), word, "{policy} {clause} {restarts:?}");
    }
    let mut killed = grown(ANEW, "RestartContainer");
    killed.signal(11.0, "SIGTERM");
    killed.left(11.1).start(11.5, 1);
    assert_eq!(verdict(&end(killed), ANEW), "violated", "it did not get its grace period");
    let mut waits = grown(ANEW, "RestartContainer");
    let pending = json!([{ "type": "PodResizePending", "status": "True", "reason": "Deferred" }]);
    shows(&mut waits, 10.5, "64Mi", 0, &pending);
    assert_eq!(verdict(&end(waits), ANEW), "inconclusive", "the node may not have room");
    let mut run = grown(KEPT, "RestartContainer");
    restarted(&mut run, 11.0, 1);
    run.of("pod", "side").signal(11.2, "SIGTERM");
    run.left(11.3);
    assert_eq!(verdict(&end(run), KEPT), "violated", "the other container was stopped, too");
}

#[test]
fn the_cgroup_has_the_new_limits() {
    const CLAUSE: &str = "resize.enacted";
    for (at, file, text, word) in [
        (22.0, "/sys/fs/cgroup/memory.max", "100663296\n", "holds"),
        (22.0, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "100663296", "holds"),
        (22.0, "/sys/fs/cgroup/memory.max", "67108864", "violated"),
        (22.0, "/sys/fs/cgroup/memory.max", "max", "violated"),
        (15.0, "/sys/fs/cgroup/memory.max", "67108864", "inconclusive"),
    ] {
        let mut run = grown(CLAUSE, "");
        dump(&mut run, at, &[(file, text)]);
        assert_eq!(verdict(&end(run), CLAUSE), word, "{at} {file} {text}");
    }
    for (files, word) in [
        (&[("/sys/fs/cgroup/cpu.max", "5000 100000")][..], "holds"),
        (&[("/sys/fs/cgroup/cpu.max", "10000 100000")], "violated"),
        (
            &[
                ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "10000"),
                ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"),
            ],
            "violated",
        ),
    ] {
        let mut run = grown(CLAUSE, "");
        patched(&mut run, 12.0, &json!({ "cpu": "50m" }));
        dump(&mut run, 23.0, files);
        assert_eq!(verdict(&end(run), CLAUSE), word, "{files:?}");
    }
}

#[test]
fn a_node_may_enforce_no_cpu_limits() {
    const CLAUSE: &str = "resize.enacted";
    for files in [
        &[("/sys/fs/cgroup/cpu.max", "max 100000")][..],
        &[("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1"), ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000")],
    ] {
        for (limited_before, word) in [(false, "inconclusive"), (true, "violated")] {
            let mut run = grown(CLAUSE, "");
            if limited_before {
                dump(&mut run, 11.0, &[("/sys/fs/cgroup/cpu.max", "10000 100000")]);
            }
            patched(&mut run, 12.0, &json!({ "cpu": "50m" }));
            dump(&mut run, 23.0, files);
            assert_eq!(verdict(&end(run), CLAUSE), word, "{files:?} {limited_before}");
        }
    }
}

#[test]
fn the_status_shows_a_complete_resize() {
    const CLAUSE: &str = "resize.completed";
    let going = json!([{ "type": "PodResizeInProgress", "status": "True" }]);
    for (last, memory, conditions, word) in [
        (12.0, "96Mi", json!([]), "holds"),
        (12.0, "64Mi", json!([]), "violated"),
        (12.0, "96Mi", going.clone(), "violated"),
        (25.0, "96Mi", going, "violated"),
    ] {
        let mut run = grown(CLAUSE, "");
        shows(&mut run, 10.5, "64Mi", 0, &json!([]));
        shows(&mut run, last, memory, 0, &conditions);
        assert_eq!(verdict(&end(run), CLAUSE), word, "{last} {memory}");
    }
}

#[test]
fn what_no_node_can_satisfy_is_marked_and_changes_nothing() {
    const CLAUSE: &str = "resize.infeasible";
    let marked = |reason: &str| json!([{ "type": "PodResizePending", "status": "True", "reason": reason }]);
    let asked = |run: &mut Composer| {
        let resources = json!({ "requests": { "cpu": "10000000m" } });
        let patch = json!({ "spec": { "containers": [{ "name": "target", "resources": resources }] } });
        let name = "pod".to_owned();
        run.deed(
            14.0,
            Did::Patched { kind: "Pod".to_owned(), name, patch, subresource: "resize".to_owned() },
        );
    };
    for (conditions, allocated, restarts, word) in [
        (marked("Infeasible"), json!({ "cpu": "100m" }), 0, "holds"),
        (marked("Deferred"), json!({ "cpu": "100m" }), 0, "violated"),
        (json!([]), json!({ "cpu": "100m" }), 0, "violated"),
        (marked("Infeasible"), json!({ "cpu": "10k" }), 0, "violated"),
        (marked("Infeasible"), json!({ "cpu": "100m" }), 1, "violated"),
    ] {
        let mut run = grown(CLAUSE, "");
        let with = |allocated: &Value, restarts: u64, conditions: &Value| {
            let mut status = status(&json!({}), restarts, conditions);
            status["containerStatuses"][0]["allocatedResources"] = allocated.clone();
            status
        };
        run.status(13.0, &with(&json!({ "cpu": "100m" }), 0, &json!([])));
        asked(&mut run);
        run.status(15.0, &with(&allocated, restarts, &conditions));
        assert_eq!(verdict(&end(run), CLAUSE), word, "{conditions} {allocated} {restarts}");
    }
    let mut run = grown(CLAUSE, "");
    let what = "patch the pod (resize) with { spec: { containers: [{ name: target, resources: { requests: { cpu: 10000000m } } }] } }";
    let why = "the API server answered 403 Forbidden: not enough allocatable resources".to_owned();
    run.deed(14.0, Did::Failed { what: what.to_owned(), why });
    assert_eq!(verdict(&end(run), CLAUSE), "holds");
}

#[test]
fn the_class_of_a_pod_stays() {
    const CLAUSE: &str = "resize.class-kept";
    let resources = "{ requests: { cpu: 100m, memory: 64Mi }, limits: { cpu: 100m, memory: 64Mi } }";
    let created = || {
        let resources = json!({ "requests": { "cpu": "100m", "memory": "64Mi" } });
        let mut run = Composer::new(&[CLAUSE]);
        run.create(0.0, &json!({ "containers": [{ "name": "target", "resources": resources }] }))
            .start(1.0, 0);
        run.running(1.5, true, true, 0);
        run
    };
    for (why, word) in
        [("422 Invalid: Pod QOS Class may not change", "holds"), ("500 InternalError: no", "inconclusive")]
    {
        let mut run = created();
        let what = format!(
            "patch the pod (resize) with {{ spec: {{ containers: [{{ name: target, resources: {resources} }}] }} }}"
        );
        run.deed(14.0, Did::Failed { what, why: format!("the API server answered {why}") });
        assert_eq!(verdict(&end(run), CLAUSE), word, "{why}");
    }
    let mut run = created();
    patched(&mut run, 14.0, &json!({ "cpu": "100m", "memory": "64Mi" }));
    assert_eq!(verdict(&end(run), CLAUSE), "violated");
}

/// A resize of a pod to 2400 MiB is deferred, because another pod on the node, which has 4000 MiB, requests as much.
/// The other pod is removed at 20 s.
fn deferred(run: &mut Composer) {
    let asking = |memory: &str| {
        let resources = json!({ "requests": { "memory": memory } });
        json!({ "nodeName": NODE, "containers": [{ "name": "target", "resources": resources }] })
    };
    let shown = |memory: &str, conditions: &Value| {
        let mut status = status(&json!({ "requests": { "memory": memory } }), 0, conditions);
        status["containerStatuses"][0]["allocatedResources"] = json!({ "memory": memory });
        status
    };
    run.of("holder", "target").create(0.0, &asking("2400Mi")).start(1.0, 0);
    run.status(1.5, &shown("2400Mi", &json!([])));
    run.of("pod", "target").create(2.0, &asking("16Mi")).start(3.0, 0);
    run.status(3.5, &shown("16Mi", &json!([])));
    let resources = json!({ "requests": { "memory": "2400Mi" } });
    let patch = json!({ "spec": { "containers": [{ "name": "target", "resources": resources }] } });
    let name = "pod".to_owned();
    run.deed(10.0, Did::Patched { kind: "Pod".to_owned(), name, patch, subresource: "resize".to_owned() });
    let waits = json!([{ "type": "PodResizePending", "status": "True", "reason": "Deferred" }]);
    run.status(10.5, &shown("16Mi", &waits));
    run.of("holder", "target").pod_seen(20.0, &asking("2400Mi"), &json!({}), Change::Deleted);
    run.of("pod", "target");
}

#[test]
fn a_deferred_resize_is_tried_again() {
    const CLAUSE: &str = "resize.deferred";
    let mut header = Composer::new(&[CLAUSE]).done().header;
    if let Some(facts) = header.nodes.get_mut(NODE) {
        facts.allocatable.insert("memory".to_owned(), "4000Mi".to_owned());
    }
    let begun = || {
        let mut run = Composer::with_header(header.clone());
        deferred(&mut run);
        run
    };
    let done = |run: &mut Composer, at: f64| {
        let mut status = status(&json!({ "requests": { "memory": "2400Mi" } }), 0, &json!([]));
        status["containerStatuses"][0]["allocatedResources"] = json!({ "memory": "2400Mi" });
        run.status(at, &status);
    };
    let mut run = begun();
    done(&mut run, 22.0);
    run.reading(60.0);
    assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    let mut run = begun();
    done(&mut run, 50.0);
    run.reading(60.0);
    assert_eq!(verdict(&run.done(), CLAUSE), "violated", "it is late");
    let mut run = begun();
    run.reading(60.0);
    assert_eq!(verdict(&run.done(), CLAUSE), "violated", "it is forgotten");
    let mut run = begun();
    run.reading(30.0);
    assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive", "the case ended too early");
}
