//! What the containers of a pod share, as their processes record it.

use std::collections::BTreeMap;

use probity_composer::{Composer, NODE, us};
use probity_model::history::{Change, Happening, Heard, Way};
use probity_script::WitnessLine;
use probity_script::witness::{Call, Dump, Entry, Fact, Listening, Started};
use serde_json::{Value, json};

use crate::tests::verdict;

const NETWORK: &str = "pod.shared.network";
const IPC: &str = "pod.shared.ipc";
const ADDRESSES: &str = "pod.shared.ip-per-family";
const ONE_NODE: &str = "pod.co-scheduled";
const HOSTNAME: &str = "pod.hostname";

fn spec() -> Value {
    json!({ "containers": [{ "name": "a" }, { "name": "b" }] })
}

fn with_ips(ips: &[&str]) -> Value {
    let all: Vec<Value> = ips.iter().map(|ip| json!({ "ip": ip })).collect();
    json!({ "phase": "Running", "podIP": ips[0], "podIPs": all })
}

/// Judges the processes of two containers of a pod and of another pod, with these namespaces of one kind and this
/// address.
fn namespaces(clause: &str, kind: &str, [a, b, other]: [u64; 3], address: &str) -> &'static str {
    let mut run = Composer::new(&[clause]);
    for (pod, container, number) in [("pod", "a", a), ("pod", "b", b), ("other", "a", other)] {
        if container == "a" {
            run.of(pod, container).create(0.0, &spec());
            run.status(2.0, &with_ips(&[if pod == "pod" { "10.0.0.7" } else { "10.0.0.8" }]));
        }
        run.of(pod, container).start(1.0, 0);
        let own = if pod == "pod" { address } else { "10.0.0.8" };
        let interfaces = BTreeMap::from([("eth0".to_owned(), vec![own.to_owned()])]);
        let namespaces = BTreeMap::from([(kind.to_owned(), number)]);
        run.fact(1.1, Fact::Dump(Dump { interfaces, namespaces, ..Dump::default() }));
    }
    run.reading(30.0);
    verdict(&run.done(), clause)
}

#[test]
fn containers_share_namespaces_and_pods_do_not() {
    assert_eq!(namespaces(NETWORK, "net", [1, 1, 2], "10.0.0.7"), "holds");
    assert_eq!(namespaces(NETWORK, "net", [1, 3, 2], "10.0.0.7"), "violated");
    assert_eq!(namespaces(NETWORK, "net", [1, 1, 1], "10.0.0.7"), "violated", "shared by two pods");
    assert_eq!(namespaces(NETWORK, "net", [1, 1, 2], "10.0.0.9"), "violated", "another address");
    assert_eq!(namespaces(IPC, "ipc", [1, 1, 2], "10.0.0.7"), "holds");
    assert_eq!(namespaces(IPC, "ipc", [1, 3, 2], "10.0.0.7"), "violated");
    assert_eq!(namespaces(IPC, "ipc", [1, 1, 1], "10.0.0.7"), "violated");
    assert_eq!(namespaces(IPC, "net", [1, 1, 1], "10.0.0.7"), "inconclusive", "it was not recorded");
}

/// One container calls localhost at 3 s, and another container opens the port at the time `opens`.
fn localhost(opens: f64, status: Option<u16>) -> &'static str {
    let mut run = Composer::new(&[NETWORK]);
    run.of("pod", "a").create(0.0, &spec()).start(1.0, 0);
    let (listener, address, state) = ("web".to_owned(), "[::]:8080".to_owned(), "open".to_owned());
    run.of("pod", "b").start(1.0, 0).fact(opens, Fact::Listening(Listening { listener, address, state }));
    let error = status.is_none().then(|| "connection refused".to_owned());
    let (by, url) = ("beside".to_owned(), "http://127.0.0.1:8080/".to_owned());
    run.of("pod", "a");
    run.fact(3.0, Fact::Call(Call { by, url, status, answered_by: None, error, took_us: 900 }));
    run.reading(30.0);
    verdict(&run.done(), NETWORK)
}

#[test]
fn containers_reach_each_other_by_localhost() {
    assert_eq!(localhost(2.0, Some(200)), "holds");
    assert_eq!(localhost(2.0, None), "violated");
    assert_eq!(localhost(4.0, None), "inconclusive", "nobody listened yet");
}

/// Judges two pods with these addresses, of which the first ends at the given time.
fn addresses(one: &[&str], other: &[&str], over: Option<f64>) -> &'static str {
    let mut run = Composer::new(&[ADDRESSES]);
    run.of("one", "a").create(0.0, &spec()).status(1.0, &with_ips(one));
    if let Some(at) = over {
        run.status(at, &json!({ "phase": "Succeeded" }));
    }
    run.of("other", "a").create(4.0, &spec()).status(5.0, &with_ips(other));
    run.reading(30.0);
    verdict(&run.done(), ADDRESSES)
}

#[test]
fn addresses_belong_to_one_pod() {
    assert_eq!(addresses(&["10.0.0.7", "fd00::7"], &["10.0.0.8", "fd00::8"], None), "holds");
    assert_eq!(addresses(&["10.0.0.7", "10.0.0.9"], &["10.0.0.8"], None), "violated");
    assert_eq!(addresses(&["10.0.0.7"], &["10.0.0.7"], None), "violated");
    assert_eq!(addresses(&["10.0.0.7"], &["10.0.0.7"], Some(3.0)), "holds", "it was free again");
}

/// A process starts on a node and sees a host name.
fn starts(run: &mut Composer, (pod, container): (&str, &str), node: &str, host: &str) {
    let started = Started {
        version: "0.1.0".to_owned(),
        pid: 1,
        args: Vec::new(),
        host: host.to_owned(),
        plan: String::new(),
        seed: 0,
        attempt_known: true,
        began_mono_us: 0,
        identity: BTreeMap::new(),
    };
    let fact = Fact::Started(started);
    let mono_us = us(1.0).unsigned_abs();
    let line = WitnessLine {
        v: 1,
        boot: format!("boot-{container}"),
        attempt: 0,
        seq: 0,
        mono_us,
        wall_us: 0,
        fact,
    };
    let heard = Heard {
        pod: pod.to_owned(),
        uid: "uid-pod".to_owned(),
        container: container.to_owned(),
        node: node.to_owned(),
        by: Way::Recorder,
        received_us: None,
        entry: Entry::Line(Box::new(line)),
    };
    run.push(1.0, Happening::Witness(heard));
}

#[test]
fn all_containers_are_on_one_node() {
    let judged = |node: &str| {
        let mut run = Composer::new(&[ONE_NODE]);
        run.of("pod", "a").create(0.0, &spec());
        starts(&mut run, ("pod", "a"), NODE, "pod");
        starts(&mut run, ("pod", "b"), node, "pod");
        run.reading(30.0);
        verdict(&run.done(), ONE_NODE)
    };
    assert_eq!(judged(NODE), "holds");
    assert_eq!(judged("another"), "violated");
}

#[test]
fn the_host_name_is_the_name_of_the_pod() {
    let judged = |spec: Value, host: &str| {
        let mut run = Composer::new(&[HOSTNAME]);
        run.of("pod", "a").create(0.0, &spec);
        starts(&mut run, ("pod", "a"), NODE, host);
        run.reading(30.0);
        verdict(&run.done(), HOSTNAME)
    };
    assert_eq!(judged(spec(), "pod"), "holds");
    assert_eq!(judged(spec(), NODE), "violated");
    let named = json!({ "hostname": "x", "containers": [{ "name": "a" }] });
    assert_eq!(judged(named.clone(), "x"), "holds", "it has a host name of its own");
    assert_eq!(judged(named, "pod"), "violated", "its host name was ignored");
    let overridden = json!({ "hostname": "x", "hostnameOverride": "y", "containers": [{ "name": "a" }] });
    assert_eq!(judged(overridden, "y"), "inconclusive", "this field is not judged");
}

#[test]
fn a_pod_can_see_its_fully_qualified_name() {
    let judged = |host: &str| {
        let mut run = Composer::new(&[HOSTNAME]);
        let mut spec = spec();
        for (field, value) in
            [("hostname", json!("x")), ("subdomain", json!("y")), ("setHostnameAsFQDN", json!(true))]
        {
            spec[field] = value;
        }
        let metadata = json!({ "name": "pod", "namespace": "space", "uid": "uid-pod" });
        let object = json!({ "metadata": metadata, "spec": spec, "status": {} });
        run.sighting(0.5, "Pod", "pod", Change::Added, object);
        starts(&mut run, ("pod", "a"), NODE, host);
        run.reading(30.0);
        verdict(&run.done(), HOSTNAME)
    };
    assert_eq!(judged("x.y.space.svc.example.org"), "holds");
    assert_eq!(judged("x"), "violated");
    assert_eq!(judged("x.y.other.svc.example.org"), "violated");
}

#[test]
fn a_long_host_name_is_cut_off() {
    let name = "a-name-with-more-than-sixty-three-characters-which-is-cut-here-and-not-there";
    let judged = |host: &str| {
        let mut run = Composer::new(&[HOSTNAME]);
        let object = json!({ "metadata": { "name": name, "uid": "uid-pod" }, "spec": spec(), "status": {} });
        run.sighting(0.5, "Pod", name, Change::Added, object);
        starts(&mut run, (name, "a"), NODE, host);
        run.reading(30.0);
        verdict(&run.done(), HOSTNAME)
    };
    assert_eq!(judged("a-name-with-more-than-sixty-three-characters-which-is-cut-here"), "holds");
    assert_eq!(judged(name), "violated");
}

/// Judges a container of a pod with this spec, whose process sees the host name `pod`, this file and this variable.
fn copies(spec: &Value, file: &str, variable: &str) -> &'static str {
    let mut run = Composer::new(&[HOSTNAME]);
    let files = BTreeMap::from([("/etc/hostname".to_owned(), format!("{file}\n"))]);
    let env = BTreeMap::from([("HOSTNAME".to_owned(), variable.to_owned())]);
    run.of("pod", "a").create(0.0, spec).start(1.0, 0);
    run.fact(1.1, Fact::Dump(Dump { host: "pod".to_owned(), files, env, ..Dump::default() }));
    run.reading(30.0);
    verdict(&run.done(), HOSTNAME)
}

#[test]
fn all_copies_of_the_host_name_agree() {
    assert_eq!(copies(&spec(), "pod", "pod"), "holds");
    assert_eq!(copies(&spec(), NODE, "pod"), "violated");
    assert_eq!(copies(&spec(), "pod", NODE), "violated");
    let with = |field: &str, value: Value| {
        let mut container = json!({ "name": "a" });
        container[field] = value;
        json!({ "containers": [container] })
    };
    let mounted = with("volumeMounts", json!([{ "name": "v", "mountPath": "/etc/hostname" }]));
    assert_eq!(copies(&mounted, "x", "pod"), "holds", "the container replaces the file");
    let own = with("env", json!([{ "name": "HOSTNAME", "value": "x" }]));
    assert_eq!(copies(&own, "pod", "x"), "holds", "the container has a variable of its own");
    let on_node = json!({ "hostNetwork": true, "containers": [{ "name": "a" }] });
    assert_ne!(copies(&on_node, "x", "y"), "violated");
}
