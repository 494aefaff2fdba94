//! What a container leaves behind and what it is given: its termination message, and its resources, volumes and user.

use probity_model::History;
use probity_model::history::Happening;
use probity_script::file_text;
use probity_script::witness::{Consumed, Dump, Entry};

use super::*;

fn status(container: &str, state: &Value, more: Value) -> Value {
    let mut of = json!({ "name": container, "restartCount": 0, "image": "agnhost-rs", "state": state });
    if let (Some(of), Value::Object(more)) = (of.as_object_mut(), more) {
        of.extend(more);
    }
    json!({ "phase": "Running", "startTime": timestamp(0.0), "containerStatuses": [of] })
}

fn running(more: Value) -> Value {
    status("target", &json!({ "running": { "startedAt": timestamp(1.0) } }), more)
}

/// A container that writes this many bytes to a file, exits, and is shown with this message.
fn leaves(clause: &str, container: Value, written: Option<u64>, code: u8, message: &str) -> &'static str {
    leaves_in(clause, vec![container], (written, 0, code), |_| message.to_owned())
}

/// The first of several containers writes this many bytes to a file, gets this number of probes, exits, and is shown with
/// a message that may come from its log.
fn leaves_in(
    clause: &str,
    mut containers: Vec<Value>,
    (written, probes, code): (Option<u64>, u32, u8),
    message: impl Fn(&str) -> String,
) -> &'static str {
    let container = &mut containers[0];
    let path = container["terminationMessagePath"].as_str().unwrap_or("/dev/termination-log").to_owned();
    let files = written.map(|bytes| json!({ "disk": { "path": path, "bytes": bytes } }));
    let plan = json!({ "process": { "consume": files.into_iter().collect::<Vec<_>>() } });
    container["name"] = json!("target");
    container["env"] = json!([{ "name": "AGNHOST_PLAN", "value": plan.to_string() }]);
    let spec = json!({ "containers": containers });
    let gone = || {
        let mut run = pod(clause, &spec);
        run.start(1.0, 0);
        if let Some(amount) = written {
            run.fact(1.5, Fact::Consumed(Consumed { resource: "disk".to_owned(), amount, error: None }));
        }
        for probe in 0..probes {
            run.probe(1.6 + f64::from(probe) / 10.0, "/ready", 200);
        }
        exits(&mut run, 3.0, code);
        run
    };
    let (mut run, message) = (gone(), message(&log(&gone().done())));
    let end = json!({ "exitCode": code, "message": message, "containerID": "containerd://a" });
    run.status(4.0, &status("target", &json!({ "terminated": end }), json!({})));
    concluded(run, clause)
}

/// The log of the target: its records, one per line.
fn log(history: &History) -> String {
    let lines = history.events().filter_map(|(_, event)| match &event.what {
        Happening::Witness(heard) => match &heard.entry {
            Entry::Line(line) => serde_json::to_string(line).ok(),
            _ => None,
        },
        _ => None,
    });
    lines.map(|line| line + "\n").collect()
}

fn end(log: &str, bytes: usize) -> String {
    log[log.len() - bytes..].to_owned()
}

/// The environment of a container that writes ten bytes as its message.
fn writes() -> Value {
    let plan =
        json!({ "process": { "consume": [{ "disk": { "path": "/dev/termination-log", "bytes": 10 } }] } });
    json!([{ "name": "AGNHOST_PLAN", "value": plan.to_string() }])
}

#[test]
fn the_message_is_what_was_written() {
    let clause = "report.status.termination-message";
    let of =
        |written: Option<u64>, code: u8, message: &str| leaves(clause, json!({}), written, code, message);
    assert_eq!(of(Some(100), 0, &file_text(100)), "holds");
    assert_eq!(of(Some(100), 1, &".".repeat(100)), "violated", "other characters");
    assert_eq!(of(Some(100), 1, &file_text(101)[1..]), "violated", "one character is lost, and one is added");
    assert_eq!(of(None, 1, ""), "holds");
    assert_eq!(of(Some(100), 0, ""), "violated");
    assert_eq!(of(Some(100), 1, &file_text(99)), "violated");
    assert_eq!(of(None, 0, "from elsewhere"), "violated");
    assert_eq!(of(Some(6000), 0, &file_text(4096)), "inconclusive", "it is too long");
    let denied = |error: &str| {
        let mut run = pod(clause, &one(json!({ "name": "target", "env": writes() })));
        let (resource, error) = ("disk".to_owned(), Some(format!("failed to write: {error}")));
        run.start(1.0, 0).fact(1.5, Fact::Consumed(Consumed { resource, amount: 0, error }));
        concluded(run, clause)
    };
    assert_eq!(denied("Permission denied (os error 13)"), "violated", "the file was not made for it");
    assert_eq!(denied("No space left on device (os error 28)"), "inconclusive", "the node has no space");
    let path = json!({ "terminationMessagePath": "/words" });
    assert_eq!(leaves(clause, path.clone(), Some(10), 1, &file_text(10)), "holds");
    assert_eq!(leaves(clause, path, Some(10), 1, ""), "violated");
    let logs = json!({ "terminationMessagePolicy": "FallbackToLogsOnError" });
    assert_eq!(leaves(clause, logs, None, 1, "the log"), "inconclusive", "another clause is about that");
}

#[test]
fn a_container_that_is_stopped_has_its_message_too() {
    let clause = "report.status.termination-message";
    let judged = |message: &str| {
        let mut run = pod(clause, &one(json!({ "name": "target", "env": writes() })));
        run.start(1.0, 0);
        run.fact(1.5, Fact::Consumed(Consumed { resource: "disk".to_owned(), amount: 10, error: None }));
        stops(&mut run, 3.0);
        let end = json!({ "exitCode": 0, "message": message, "containerID": "containerd://a" });
        run.status(4.0, &status("target", &json!({ "terminated": end }), json!({})));
        concluded(run, clause)
    };
    assert_eq!(judged(&file_text(10)), "holds");
    assert_eq!(judged(""), "violated");
}

#[test]
fn a_container_that_is_killed_has_its_message_too() {
    let clause = "report.status.termination-message";
    let judged = |reason: &str, message: &str| {
        let mut run = pod(clause, &one(json!({ "name": "target", "env": writes() })));
        run.start(1.0, 0);
        run.fact(1.5, Fact::Consumed(Consumed { resource: "disk".to_owned(), amount: 10, error: None }));
        run.left(3.0);
        let end =
            json!({ "exitCode": 137, "reason": reason, "message": message, "containerID": "containerd://a" });
        run.status(4.0, &status("target", &json!({ "terminated": end }), json!({})));
        concluded(run, clause)
    };
    assert_eq!(judged("OOMKilled", &file_text(10)), "holds");
    assert_eq!(
        judged("OOMKilled", &format!("out of memory: {}", file_text(10))),
        "holds",
        "the words of a runtime"
    );
    assert_eq!(judged("OOMKilled", ""), "violated");
    assert_eq!(judged("Error", &file_text(9)), "violated");
    assert_eq!(judged("Error", &".".repeat(10)), "violated", "other characters");
    assert_eq!(
        judged("OOMKilled", &"!".repeat(4096)),
        "holds",
        "the words of a runtime leave no space for it"
    );
    assert_eq!(judged("ContainerStatusUnknown", ""), "inconclusive", "the kubelet lost track of it");
}

#[test]
fn an_ephemeral_container_has_a_message_too() {
    let clause = "report.status.termination-message";
    let judged = |message: &str| {
        let spec = json!({
            "containers": [{ "name": "target" }], "ephemeralContainers": [{ "name": "debug", "env": writes() }],
        });
        let mut run = pod(clause, &spec);
        run.of("pod", "debug").start(1.0, 0);
        run.fact(1.5, Fact::Consumed(Consumed { resource: "disk".to_owned(), amount: 10, error: None }));
        exits(&mut run, 3.0, 3);
        let end = json!({ "exitCode": 3, "message": message, "containerID": "containerd://a" });
        let mut shown = running(json!({}));
        shown["ephemeralContainerStatuses"] =
            json!([{ "name": "debug", "restartCount": 0, "state": { "terminated": end } }]);
        run.status(4.0, &shown);
        concluded(run, clause)
    };
    assert_eq!(judged(&file_text(10)), "holds");
    assert_eq!(judged(""), "violated");
}

#[test]
fn a_message_is_cut_at_the_limit() {
    let clause = "report.status.termination-message-limit";
    let of = |count: usize, written: u64, length: usize| {
        let mut containers = vec![json!({})];
        containers.extend((1..count).map(|of| json!({ "name": format!("c{of}") })));
        leaves_in(clause, containers, (Some(written), 0, 1), |_| file_text(length))
    };
    assert_eq!(of(1, 6000, 4096), "holds");
    assert_eq!(of(1, 6000, 6000), "violated");
    assert_eq!(of(1, 6000, 2048), "violated");
    assert_eq!(of(1, 4096, 4096), "inconclusive", "it need not be cut");
    assert_eq!(of(3, 6000, 4096), "holds", "three shares are as large as the limit of one container");
    assert_eq!(of(4, 6000, 3072), "holds");
    assert_eq!(of(4, 6000, 4096), "violated", "it takes the share of others");
    assert_eq!(of(4, 6000, 2048), "violated");
    let shown = |message: &str| leaves(clause, json!({}), Some(6000), 0, message);
    let (all, half) = (file_text(6000), file_text(2048));
    assert_eq!(shown(&all[6000 - 4096..]), "holds", "its end");
    assert_eq!(shown(&all[1904 - 5..6000 - 5]), "holds", "another part of it");
    assert_eq!(shown(&(half.clone() + &all[6000 - 2048..])), "violated", "the middle is missing");
    assert_eq!(shown(&half.repeat(2)), "violated", "one half twice");
    assert_eq!(shown(&".".repeat(4096)), "violated", "other characters");
}

#[test]
fn the_log_stands_in_for_the_message_of_a_failure() {
    let clause = "report.status.termination-message-log";
    let logs = || json!({ "terminationMessagePolicy": "FallbackToLogsOnError" });
    let of = |code: u8, probes: u32, message: fn(&str) -> String| {
        leaves_in(clause, vec![logs()], (None, probes, code), message)
    };
    assert_eq!(of(1, 0, str::to_owned), "holds");
    assert_eq!(of(1, 0, |log| log.trim_end().to_owned()), "holds", "white space is nothing");
    assert_eq!(of(0, 0, |_| String::new()), "holds");
    assert_eq!(of(1, 0, |_| String::new()), "violated");
    assert_eq!(of(1, 0, |log| log[..log.len() / 2].to_owned()), "violated", "the beginning");
    assert_eq!(of(1, 0, |log| log[log.len() / 2..].to_owned()), "violated", "there is room for all of it");
    assert_eq!(of(0, 0, str::to_owned), "violated", "it succeeded");
    assert_eq!(of(1, 9, |log| end(log, 2048)), "holds");
    assert_eq!(of(1, 9, |log| end(log, 2049)), "violated", "it is too long");
    assert_eq!(of(1, 9, |log| end(log, 1024)), "violated", "it is too short");
    assert_eq!(of(1, 9, |log| log[..2048].to_owned()), "violated", "the beginning");
    assert_eq!(leaves(clause, json!({}), None, 1, ""), "inconclusive", "it has another policy");
    assert_eq!(leaves(clause, logs(), Some(10), 1, &file_text(10)), "inconclusive", "it has a message");
}

#[test]
fn the_end_of_a_log_is_the_last_bytes_of_its_last_lines() {
    let end =
        |log: &'static str, lines: usize, bytes: usize| super::super::messages::end_of(log, lines, bytes);
    assert_eq!(end("one\ntwo\nthree\n", 2, 99), Some("two\nthree\n"));
    assert_eq!(end("one\ntwo\nthree\n", 3, 99), Some("one\ntwo\nthree\n"));
    assert_eq!(end("one\ntwo\nthree\n", 2, 8), Some("o\nthree\n"));
    assert_eq!(end("one\ntwo\nthree\n", 1, 99), Some("three\n"));
    assert_eq!(end("one\n", 80, 99), Some("one\n"));
    assert_eq!(end("", 80, 99), Some(""));
}

/// The verdict on a pod that is shown with these statuses.
fn judged(clause: &str, spec: &Value, statuses: &[Value]) -> &'static str {
    let mut run = pod(clause, spec);
    for (at, status) in (2_u32..).zip(statuses) {
        run.status(f64::from(at), status);
    }
    concluded(run, clause)
}

fn with_resources() -> Value {
    let resources = json!({ "requests": { "cpu": "1", "memory": "64Mi" }, "limits": { "cpu": "1500m" } });
    one(json!({ "name": "target", "resources": resources }))
}

#[test]
fn what_a_container_requests_is_allocated() {
    let clause = "report.status.allocated-resources";
    let of = |spec: &Value, more: Value| judged(clause, spec, &[running(more)]);
    let allocated = |cpu: &str| json!({ "allocatedResources": { "cpu": cpu, "memory": "64Mi" } });
    assert_eq!(of(&with_resources(), allocated("1")), "holds");
    assert_eq!(of(&with_resources(), allocated("1000m")), "holds", "it is the same amount");
    assert_eq!(of(&with_resources(), allocated("2")), "violated");
    assert_eq!(of(&with_resources(), json!({ "allocatedResources": { "cpu": "1" } })), "violated");
    assert_eq!(of(&with_resources(), json!({})), "violated");
    assert_eq!(of(&one(json!({ "name": "target" })), json!({})), "inconclusive", "it requests nothing");
    let waiting = status("target", &json!({ "waiting": { "reason": "ContainerCreating" } }), json!({}));
    assert_eq!(judged(clause, &with_resources(), &[waiting]), "inconclusive", "it does not run");
    let again = |mut more: Value| {
        more["containerID"] = json!("containerd://target-0");
        let waiting = status("target", &json!({ "waiting": { "reason": "CrashLoopBackOff" } }), more);
        judged(clause, &with_resources(), &[waiting])
    };
    assert_eq!(again(allocated("1")), "holds");
    assert_eq!(again(json!({})), "violated", "it lost its share");
}

#[test]
fn a_container_has_the_resources_of_its_spec() {
    let clause = "report.status.resources";
    let of =
        |spec: &Value, resources: Value| judged(clause, spec, &[running(json!({ "resources": resources }))]);
    let both =
        |limit: &str| json!({ "requests": { "cpu": "1", "memory": "67108864" }, "limits": { "cpu": limit } });
    assert_eq!(of(&with_resources(), both("1.5")), "holds");
    assert_eq!(of(&with_resources(), both("2")), "violated");
    assert_eq!(of(&with_resources(), json!({ "requests": { "cpu": "1", "memory": "64Mi" } })), "violated");
    assert_eq!(of(&with_resources(), Value::Null), "violated");
    assert_eq!(of(&one(json!({ "name": "target" })), Value::Null), "inconclusive");
}

#[test]
fn resources_that_are_being_changed_are_left_out() {
    for clause in ["report.status.allocated-resources", "report.status.resources"] {
        let mut run = pod(clause, &with_resources());
        let (kind, name, subresource) = ("Pod".to_owned(), "pod".to_owned(), "resize".to_owned());
        run.deed(1.0, Did::Patched { kind, name, patch: json!({}), subresource });
        run.status(2.0, &running(json!({})));
        assert_eq!(concluded(run, clause), "inconclusive");
    }
}

#[test]
fn a_status_lists_the_mounts() {
    let clause = "report.status.volume-mounts";
    let spec = one(json!({ "name": "target", "volumeMounts": [
        { "name": "scratch", "mountPath": "/scratch", "readOnly": true }, { "name": "data", "mountPath": "/data" },
    ] }));
    let of = |mounts: Value| judged(clause, &spec, &[running(json!({ "volumeMounts": mounts }))]);
    let scratch = |read_only: bool| {
        let recursive = if read_only { json!("Disabled") } else { Value::Null };
        json!({ "name": "scratch", "mountPath": "/scratch", "readOnly": read_only, "recursiveReadOnly": recursive })
    };
    let data = |path: &str| json!({ "name": "data", "mountPath": path });
    assert_eq!(of(json!([scratch(true), data("/data")])), "holds");
    assert_eq!(of(json!([scratch(false), data("/data")])), "violated");
    assert_eq!(of(json!([scratch(true), data("/other")])), "violated");
    assert_eq!(of(json!([scratch(true)])), "violated");
    assert_eq!(of(Value::Null), "violated");
    assert_eq!(judged(clause, &spec, &[]), "inconclusive");
}

#[test]
fn a_status_tells_whether_the_mounts_below_are_read_only() {
    let clause = "report.status.volume-mounts";
    let mount = |read_only: bool, recursive: Value| {
        let mount =
            json!({ "name": "a", "mountPath": "/a", "readOnly": read_only, "recursiveReadOnly": recursive });
        json!([mount, { "name": "b", "mountPath": "/b" }, { "name": "c", "mountPath": "/c", "readOnly": true }])
    };
    let of = |read_only: bool, asked: Value, shown: Value| {
        let spec = one(json!({ "name": "target", "volumeMounts": mount(read_only, asked) }));
        let mut mounts = mount(read_only, shown);
        mounts[2]["recursiveReadOnly"] = json!("Disabled");
        judged(clause, &spec, &[running(json!({ "volumeMounts": mounts }))])
    };
    let (enabled, disabled, if_possible) = (json!("Enabled"), json!("Disabled"), json!("IfPossible"));
    assert_eq!(of(true, Value::Null, disabled.clone()), "holds");
    assert_eq!(of(true, Value::Null, enabled.clone()), "violated", "nobody asked for it");
    assert_eq!(of(true, Value::Null, Value::Null), "violated", "it is not told");
    assert_eq!(of(true, enabled.clone(), enabled.clone()), "holds");
    assert_eq!(of(true, enabled.clone(), disabled.clone()), "violated");
    assert_eq!(of(true, if_possible.clone(), enabled.clone()), "holds");
    assert_eq!(of(true, if_possible.clone(), disabled), "holds");
    assert_eq!(of(true, if_possible.clone(), if_possible), "violated");
    assert_eq!(of(false, Value::Null, Value::Null), "holds");
    assert_eq!(of(false, Value::Null, enabled), "violated", "it can be written to");
}

#[test]
fn a_status_has_the_user_of_the_process() {
    let clause = "report.status.user";
    let of = |ids: &[u32], user: Value| {
        let mut run = pod(clause, &one(json!({ "name": "target" })));
        run.start(1.0, 0);
        run.fact(1.1, Fact::Dump(Dump { ids: ids.to_vec(), ..Dump::default() }));
        run.status(2.0, &running(json!({ "user": { "linux": user } })));
        concluded(run, clause)
    };
    let user = |uid: u32, groups: &[u32]| json!({ "uid": uid, "gid": 3, "supplementalGroups": groups });
    assert_eq!(of(&[7, 3, 2000], user(7, &[3, 2000])), "holds");
    assert_eq!(of(&[7, 3], user(7, &[3])), "holds", "its own group may be listed");
    assert_eq!(of(&[7, 3, 3], user(7, &[])), "holds");
    assert_eq!(of(&[7, 3, 2000], user(0, &[3, 2000])), "violated");
    assert_eq!(of(&[7, 4, 2000], user(7, &[3, 2000])), "violated");
    assert_eq!(of(&[7, 3, 2000], user(7, &[3])), "violated");
    assert_eq!(of(&[7, 3], user(7, &[3, 2000])), "violated");
    assert_eq!(of(&[7, 3], Value::Null), "inconclusive", "the runtime does not report it");
    assert_eq!(of(&[], user(7, &[3])), "inconclusive", "the process does not report it");
}

#[test]
fn every_instance_has_a_user_if_one_has() {
    let clause = "report.status.user";
    let user = json!({ "user": { "linux": { "uid": 7, "gid": 3 } } });
    let of = |first: &Value, then: &Value| {
        let spec = one(json!({ "name": "target" }));
        judged(clause, &spec, &[running(first.clone()), running(then.clone())])
    };
    assert_eq!(of(&user, &json!({})), "violated");
    assert_eq!(of(&user, &user), "inconclusive", "no process reports its user");
    assert_eq!(of(&json!({}), &json!({})), "inconclusive", "the runtime does not report it");
}

#[test]
fn a_pod_has_the_requests_of_all_its_containers() {
    let clause = "report.status.pod-allocated-resources";
    let asks = |name: &str, cpu: &str, policy: Value| {
        let requests = json!({ "cpu": cpu, "memory": "32Mi" });
        json!({ "name": name, "restartPolicy": policy, "resources": { "requests": requests } })
    };
    let spec = |init: &str| {
        json!({
            "initContainers": [asks("helper", "20m", json!("Always")), asks("first", init, Value::Null)],
            "containers": [asks("target", "10m", Value::Null), { "name": "other" }],
        })
    };
    let of = |spec: &Value, cpu: &str, memory: &str| {
        let mut status = running(json!({}));
        status["allocatedResources"] = json!({ "cpu": cpu, "memory": memory });
        judged(clause, spec, &[status])
    };
    assert_eq!(of(&spec("5m"), "30m", "64Mi"), "holds");
    assert_eq!(of(&spec("5m"), "0.03", "67108864"), "holds", "it is written in another way");
    assert_eq!(of(&spec("5m"), "10m", "64Mi"), "violated", "without its sidecar");
    assert_eq!(
        of(&spec("5m"), "35m", "64Mi"),
        "violated",
        "an init container does not run beside main containers"
    );
    assert_eq!(of(&spec("100m"), "120m", "64Mi"), "holds", "an init container needs more");
    assert_eq!(of(&spec("100m"), "30m", "64Mi"), "violated");
    let mut whole = spec("5m");
    whole["resources"] = json!({ "requests": { "cpu": "1" } });
    assert_eq!(of(&whole, "1", "64Mi"), "inconclusive", "the pod has its own requests");
    assert_eq!(judged(clause, &spec("5m"), &[running(json!({}))]), "inconclusive", "it is not shown");
}

#[test]
fn each_container_has_one_status() {
    let clause = "report.status.one-per-container";
    let of = |inits: &[&str], mains: &[&str]| {
        let all =
            |names: &[&str]| -> Vec<Value> { names.iter().map(|name| json!({ "name": name })).collect() };
        let status = json!({
            "startTime": timestamp(0.0), "initContainerStatuses": all(inits), "containerStatuses": all(mains),
        });
        judged(clause, &three(), &[status])
    };
    assert_eq!(of(&["first", "helper"], &["target"]), "holds");
    assert_eq!(of(&["first"], &["target"]), "holds", "one may be missing");
    assert_eq!(of(&["first", "first"], &["target"]), "violated");
    assert_eq!(of(&["first"], &["target", "target"]), "violated");
    assert_eq!(of(&["first"], &["target", "helper"]), "violated", "it is in the wrong list");
    assert_eq!(of(&["another"], &["target"]), "violated");
    assert_eq!(judged(clause, &three(), &[]), "inconclusive");
    let mut spec = three();
    spec["ephemeralContainers"] = json!([{ "name": "one" }, { "name": "two" }]);
    let added = |names: &[&str]| {
        let all: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        judged(clause, &spec, &[json!({ "startTime": timestamp(0.0), "ephemeralContainerStatuses": all })])
    };
    assert_eq!(added(&["one", "two"]), "holds");
    assert_eq!(added(&["one", "two", "one"]), "violated");
}
