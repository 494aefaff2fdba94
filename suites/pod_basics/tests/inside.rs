//! What processes see inside their containers: names, files of ConfigMaps and Secrets, and their privileges.

use std::collections::BTreeMap;

use probity_composer::Composer;
use probity_model::history::{Change, Did};
use probity_script::witness::{Dump, Fact};
use serde_json::{Value, json};

use crate::tests::verdict;

const HOSTS: &str = "pod.hosts-file";
const SEARCH: &str = "pod.dns-search";
const CONTEXT: &str = "pod.security-context";
const FILES: &str = "pod.configuration-files";

fn dump(files: &[(&str, &str)], ids: &[u32]) -> Dump {
    let address = |of: &str| vec![of.to_owned()];
    let interfaces =
        [("lo".to_owned(), address("127.0.0.1")), ("eth0".to_owned(), address("10.0.0.7"))].into();
    let files: BTreeMap<String, String> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    Dump { interfaces, files, ids: ids.to_vec(), ..Dump::default() }
}

/// The verdict on a pod in the namespace `space` whose container `a` records this.
fn judged(clause: &str, spec: &Value, dump: Dump) -> &'static str {
    let mut run = Composer::new(&[clause]);
    let metadata = json!({ "name": "pod", "namespace": "space", "uid": "uid-pod" });
    let object = json!({ "metadata": metadata, "spec": spec, "status": {} });
    run.sighting(0.5, "Pod", "pod", Change::Added, object);
    run.of("pod", "a").start(1.0, 0).fact(1.1, Fact::Dump(dump));
    run.reading(30.0);
    verdict(&run.done(), clause)
}

fn with(mut spec: Value, field: &str, value: Value) -> Value {
    spec[field] = value;
    spec
}

fn plain() -> Value {
    json!({ "containers": [{ "name": "a" }] })
}

#[test]
fn a_hosts_file_has_the_name_of_the_pod() {
    let of = |spec: &Value, line: &str| {
        let hosts = format!("# managed\n127.0.0.1\tlocalhost\n{line}\n");
        judged(HOSTS, spec, dump(&[("/etc/hosts", &hosts)], &[]))
    };
    assert_eq!(of(&plain(), "10.0.0.7\tpod"), "holds");
    assert_eq!(of(&plain(), ""), "violated");
    assert_eq!(of(&plain(), "10.0.0.8\tpod"), "violated", "it is another address");
    assert_eq!(of(&plain(), "127.0.0.1\tpod"), "violated", "nobody else reaches this address");
    let named = with(with(plain(), "hostname", json!("x")), "subdomain", json!("y"));
    assert_eq!(of(&named, "10.0.0.7\tx.y.space.svc.example.org\tx"), "holds");
    assert_eq!(of(&named, "10.0.0.7\tx"), "violated");
    assert_eq!(of(&named, "10.0.0.7\tx.y.other.svc.example.org\tx"), "violated");
    let on_node = with(plain(), "hostNetwork", json!(true));
    assert_eq!(of(&on_node, ""), "inconclusive", "it has the file of its node");
    let own = json!({ "containers": [{ "name": "a", "volumeMounts": [{ "name": "v", "mountPath": "/etc/hosts" }] }] });
    assert_eq!(of(&own, ""), "inconclusive", "it brings its own file");
}

#[test]
fn a_hosts_file_has_all_aliases() {
    let aliases = json!([
        { "ip": "192.0.2.7", "hostnames": ["one.example", "two.example"] },
        { "ip": "192.0.2.8", "hostnames": ["three.example"] },
    ]);
    let of = |lines: &str| {
        let hosts = format!("127.0.0.1\tlocalhost\n10.0.0.7\tpod\n{lines}\n");
        judged(HOSTS, &with(plain(), "hostAliases", aliases.clone()), dump(&[("/etc/hosts", &hosts)], &[]))
    };
    assert_eq!(of("192.0.2.7\tone.example\ttwo.example\n192.0.2.8\tthree.example"), "holds");
    assert_eq!(of("192.0.2.7\tone.example\ttwo.example"), "violated", "the second entry is lost");
    assert_eq!(of("192.0.2.7\tone.example\n192.0.2.8\tthree.example"), "violated");
    let on_node = with(with(plain(), "hostAliases", aliases.clone()), "hostNetwork", json!(true));
    let file = "192.0.2.7\tone.example\ttwo.example\n192.0.2.8\tthree.example\n";
    assert_eq!(judged(HOSTS, &on_node, dump(&[("/etc/hosts", file)], &[])), "holds");
    let file = "127.0.0.1\tlocalhost\n";
    assert_eq!(judged(HOSTS, &on_node, dump(&[("/etc/hosts", file)], &[])), "violated");
}

#[test]
fn a_resolver_has_the_options_of_its_pod() {
    let own = json!({
        "searches": ["example.org"],
        "options": [{ "name": "ndots", "value": "2" }, { "name": "edns0" }],
    });
    let of = |list: &str, options: &str| {
        let text = format!("search {list}\nnameserver 10.96.0.10\noptions {options}\n");
        let spec = with(plain(), "dnsConfig", own.clone());
        judged(SEARCH, &spec, dump(&[("/etc/resolv.conf", &text)], &[]))
    };
    let list = "space.svc.cluster svc.cluster example.org";
    assert_eq!(of(list, "edns0 ndots:2"), "inconclusive", "the list of another pod is judged");
    assert_eq!(of(list, "ndots:5"), "violated");
    assert_eq!(of(list, "ndots:5 ndots:2 edns0"), "violated", "it is not replaced");
    assert_eq!(of("space.svc.cluster svc.cluster", "ndots:2 edns0"), "violated");
}

#[test]
fn a_resolver_keeps_what_its_policy_gives() {
    let of = |own: Value, list: &str, options: &str| {
        let mut run = Composer::new(&[SEARCH]);
        let configured = with(plain(), "dnsConfig", own);
        let plainly = ("plain", plain(), "space.svc.cluster svc.cluster", "ndots:5");
        for (name, spec, list, options) in [plainly, ("pod", configured, list, options)] {
            let metadata = json!({ "name": name, "namespace": "space", "uid": format!("uid-{name}") });
            let object = json!({ "metadata": metadata, "spec": spec, "status": {} });
            run.sighting(0.5, "Pod", name, Change::Added, object);
            let text = format!("search {list}\nnameserver 10.96.0.10\noptions {options}\n");
            let dump = dump(&[("/etc/resolv.conf", &text)], &[]);
            run.of(name, "a").start(1.0, 0).fact(1.1, Fact::Dump(dump));
        }
        run.reading(30.0);
        verdict(&run.done(), SEARCH)
    };
    let (own, list) = (json!({ "options": [{ "name": "edns0" }] }), "space.svc.cluster svc.cluster");
    assert_eq!(of(own.clone(), list, "ndots:5 edns0"), "holds");
    assert_eq!(of(own.clone(), list, "edns0"), "violated", "the option of the policy is lost");
    assert_eq!(of(own, "space.svc.cluster", "ndots:5 edns0"), "violated", "a domain of the policy is lost");
    let renamed = json!({ "options": [{ "name": "ndots", "value": "2" }] });
    assert_eq!(of(renamed, list, "ndots:2"), "holds");
}

#[test]
fn a_resolver_without_a_policy_has_only_what_its_pod_says() {
    let own = json!({
        "nameservers": ["192.0.2.53"], "searches": ["one.example", "two.example"],
        "options": [{ "name": "ndots", "value": "3" }, { "name": "edns0" }],
    });
    let spec = with(with(plain(), "dnsConfig", own), "dnsPolicy", json!("None"));
    let of = |spec: &Value, servers: &str, list: &str, options: &str| {
        let text = format!("search {list}\n{servers}options {options}\n");
        judged("pod.dns-none", spec, dump(&[("/etc/resolv.conf", &text)], &[]))
    };
    let (server, list) = ("nameserver 192.0.2.53\n", "one.example two.example");
    assert_eq!(of(&spec, server, list, "edns0 ndots:3"), "holds");
    let two = "nameserver 10.96.0.10\nnameserver 192.0.2.53\n";
    assert_eq!(of(&spec, two, list, "edns0 ndots:3"), "violated");
    assert_eq!(of(&spec, server, "two.example one.example", "edns0 ndots:3"), "violated", "another order");
    assert_eq!(of(&spec, server, "svc.cluster one.example two.example", "edns0 ndots:3"), "violated");
    assert_eq!(of(&spec, server, list, "ndots:3"), "violated");
    let first = with(spec, "dnsPolicy", json!("ClusterFirst"));
    assert_eq!(of(&first, two, list, "ndots:3"), "inconclusive", "it also has the settings of its policy");
}

#[test]
fn a_process_sees_the_safe_sysctls_of_its_pod() {
    let of = |name: &str, value: &str, shown: &str| {
        let context = json!({ "sysctls": [{ "name": name, "value": value }] });
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        judged("pod.safe-sysctls", &with(plain(), "securityContext", context), dump(&[(&path, shown)], &[]))
    };
    assert_eq!(of("kernel.shm_rmid_forced", "1", "1\n"), "holds");
    assert_eq!(of("kernel.shm_rmid_forced", "1", "0\n"), "violated");
    assert_eq!(of("net.ipv4.ip_local_port_range", "4000 5000", "4000\t5000\n"), "holds");
    assert_eq!(of("kernel.msgmax", "1", "0\n"), "inconclusive", "it is not safe");
    assert_eq!(of("kernel/shm_rmid_forced", "1", "1\n"), "holds");
    assert_eq!(of("kernel/shm_rmid_forced", "1", "0\n"), "violated", "slashes mean the same as dots");
}

#[test]
fn a_search_list_has_the_own_namespace() {
    let of = |spec: &Value, list: &str| {
        let text = format!("search {list}\nnameserver 10.96.0.10\n");
        judged(SEARCH, spec, dump(&[("/etc/resolv.conf", &text)], &[]))
    };
    assert_eq!(of(&plain(), "space.svc.example.org svc.example.org example.org"), "holds");
    assert_eq!(of(&plain(), "svc.example.org example.org"), "violated");
    assert_eq!(of(&plain(), "other.svc.example.org svc.example.org"), "violated");
    assert_eq!(of(&plain(), "example.org"), "inconclusive", "the kubelet knows no DNS service");
    let no_server = "search space.svc.example.org svc.example.org\n";
    let alone = judged(SEARCH, &plain(), dump(&[("/etc/resolv.conf", no_server)], &[]));
    assert_eq!(alone, "violated", "nobody answers its questions");
    let of_node = with(plain(), "dnsPolicy", json!("Default"));
    assert_eq!(of(&of_node, "svc.example.org"), "inconclusive", "it asked for the list of its node");
}

#[test]
fn a_process_has_no_more_privileges_than_its_spec_says() {
    let context = json!({
        "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": { "drop": ["ALL"] },
    });
    let of = |context: &Value, bound: &str, stays: u8, root: &str| {
        let spec = json!({ "containers": [{ "name": "a", "securityContext": context }] });
        let status = format!("CapBnd:\t{bound}\nNoNewPrivs:\t{stays}\n");
        let mounts =
            format!("1 1 0:1 / / {root},relatime - overlay overlay rw\n2 1 0:2 / /data rw - tmpfs tmpfs rw");
        judged(
            CONTEXT,
            &spec,
            dump(&[("/proc/self/status", &status), ("/proc/self/mountinfo", &mounts)], &[]),
        )
    };
    let (none, some) = ("0000000000000000", "00000000a80425fb");
    assert_eq!(of(&context, none, 1, "ro"), "holds");
    assert_eq!(of(&context, some, 1, "ro"), "violated");
    assert_eq!(of(&context, none, 0, "ro"), "violated");
    assert_eq!(of(&context, none, 1, "rw"), "violated");
    assert_eq!(of(&json!({}), some, 0, "rw"), "inconclusive", "nobody asked for anything");
    let added = json!({ "capabilities": { "drop": ["ALL"], "add": ["CHOWN"] } });
    assert_eq!(of(&added, "0000000000000001", 0, "rw"), "holds");
    assert_eq!(of(&added, some, 0, "rw"), "violated", "it adds only one");
    assert_eq!(of(&added, none, 0, "rw"), "violated", "it lacks the one that it adds");
    let newer = json!({ "capabilities": { "drop": ["ALL"], "add": ["BPF"] } });
    assert_eq!(of(&newer, none, 0, "rw"), "inconclusive", "perhaps the kernel does not have it");
    let mighty = with(context, "privileged", json!(true));
    assert_eq!(of(&mighty, some, 0, "rw"), "inconclusive", "it is privileged");
}

/// The verdict on a pod with a seccomp profile and two containers `a` and `b`, whose processes record these files.
fn of_two(b: &Value, files: [(&str, &str); 2]) -> &'static str {
    let mut run = Composer::new(&[CONTEXT]);
    let profile = json!({ "seccompProfile": { "type": "RuntimeDefault" } });
    let container = json!({ "name": "b", "securityContext": b });
    run.create(0.0, &json!({ "securityContext": profile, "containers": [{ "name": "a" }, container] }));
    for (name, (filter, mounts)) in ["a", "b"].into_iter().zip(files) {
        let status = format!("Seccomp:\t{filter}\n");
        let files = [("/proc/self/status", status.as_str()), ("/proc/self/mountinfo", mounts)];
        run.of("pod", name).start(1.0, 0).fact(1.1, Fact::Dump(dump(&files, &[])));
    }
    run.reading(30.0);
    verdict(&run.done(), CONTEXT)
}

#[test]
fn all_processes_of_a_pod_are_confined_alike() {
    const READ_ONLY: &str = "1 1 0:1 / / rw - overlay overlay rw\n2 1 0:2 /sys /proc/sys ro - proc proc rw";
    const OPEN: &str = "1 1 0:1 / / rw - overlay overlay rw";
    let plain = json!({});
    assert_ne!(of_two(&plain, [("2", READ_ONLY), ("2", READ_ONLY)]), "violated");
    assert_eq!(of_two(&plain, [("2", READ_ONLY), ("0", READ_ONLY)]), "violated", "it has no filter");
    assert_ne!(of_two(&plain, [("0", OPEN), ("0", OPEN)]), "violated", "the runtime cannot do it");
    assert_eq!(of_two(&plain, [("2", READ_ONLY), ("2", OPEN)]), "violated", "it can write to /proc/sys");
    let unmasked = json!({ "procMount": "Unmasked" });
    assert_ne!(of_two(&unmasked, [("2", READ_ONLY), ("2", OPEN)]), "violated");
    let unconfined = json!({ "seccompProfile": { "type": "Unconfined" } });
    assert_ne!(of_two(&unconfined, [("2", READ_ONLY), ("0", READ_ONLY)]), "violated");
    let mighty = json!({ "privileged": true });
    assert_ne!(of_two(&mighty, [("2", READ_ONLY), ("0", OPEN)]), "violated");
}

#[test]
fn an_ephemeral_container_has_the_hosts_file_too() {
    let of = |line: &str| {
        let mut run = Composer::new(&[HOSTS]);
        let spec = json!({ "containers": [{ "name": "a" }], "ephemeralContainers": [{ "name": "debug" }] });
        run.create(0.0, &plain());
        run.pod_seen(2.0, &spec, &json!({ "phase": "Running" }), Change::Modified);
        run.of("pod", "debug").start(3.0, 0).fact(3.1, Fact::Dump(dump(&[("/etc/hosts", line)], &[])));
        run.reading(30.0);
        verdict(&run.done(), HOSTS)
    };
    assert_ne!(of("10.0.0.7\tpod"), "violated");
    assert_eq!(of("127.0.0.1\tlocalhost"), "violated");
}

#[test]
fn an_empty_hosts_file_counts_unless_the_kubelet_may_be_writing_it() {
    let of = |other: Option<f64>| {
        let mut run = Composer::new(&[HOSTS]);
        run.create(0.0, &json!({ "containers": [{ "name": "a" }, { "name": "b" }] }));
        run.of("pod", "a").start(1.0, 0).fact(1.1, Fact::Dump(dump(&[("/etc/hosts", "")], &[])));
        if let Some(at) = other {
            run.of("pod", "b").start(at, 0);
        }
        run.reading(30.0);
        verdict(&run.done(), HOSTS)
    };
    assert_ne!(of(Some(1.4)), "violated");
    assert_eq!(of(Some(0.8)), "violated");
    assert_eq!(of(None), "violated");
}

#[test]
fn a_process_has_its_user_and_all_groups() {
    let of_pod = json!({ "runAsUser": 7, "supplementalGroups": [2000, 3000], "fsGroup": 4000 });
    let spec = with(plain(), "securityContext", of_pod);
    let of = |spec: &Value, ids: &[u32]| judged(CONTEXT, spec, dump(&[], ids));
    assert_eq!(of(&spec, &[7, 0, 2000, 3000, 4000]), "holds");
    assert_eq!(of(&spec, &[7, 2000, 5, 3000, 4000]), "holds", "others may come from the image");
    assert_eq!(of(&spec, &[7, 0, 2000, 4000]), "violated");
    assert_eq!(of(&spec, &[7, 0, 2000, 3000]), "violated");
    assert_eq!(of(&spec, &[0, 0, 2000, 3000, 4000]), "violated");
    assert_eq!(of(&spec, &[]), "inconclusive");
    let own = with(spec, "containers", json!([{ "name": "a", "securityContext": { "runAsUser": 8 } }]));
    assert_eq!(of(&own, &[8, 0, 2000, 3000, 4000]), "holds", "the container names another user");
}

/// A pod with a volume of an object that is patched at 10 s. A file of this volume has this text at the given time. Without a
/// text, there is no such file.
fn file_of(
    (kind, manifest, patch): (&str, Value, Value),
    (volume, path): (&Value, &str),
    at: f64,
    text: Option<&str>,
) -> &'static str {
    let mut run = Composer::new(&[FILES]);
    run.reading(0.05);
    let (kind, name) = (kind.to_owned(), "map".to_owned());
    run.deed(0.1, Did::Created { kind: kind.clone(), name: name.clone(), manifest });
    let folder = path.rsplit_once('/').map_or(path, |(folder, _)| folder);
    let mount = json!({ "name": "v", "mountPath": folder });
    let spec = json!({ "volumes": [volume], "containers": [{ "name": "a", "volumeMounts": [mount] }] });
    run.of("pod", "a").create(0.2, &spec);
    run.start(1.0, 0);
    let files: Vec<(&str, &str)> = text.map(|text| (path, text)).into_iter().collect();
    let recorded = Fact::Dump(dump(&files, &[]));
    if at < 10.0 {
        run.fact(at, recorded.clone());
    }
    run.deed(10.0, Did::Patched { kind, name, patch, subresource: String::new() });
    if at > 10.0 {
        run.fact(at, recorded);
    }
    run.reading(240.0);
    verdict(&run.done(), FILES)
}

/// The file of a key of a ConfigMap that is `old` at first and `new` from 10 s on.
fn file(volume: &Value, at: f64, text: Option<&str>) -> &'static str {
    let (old, new) = (json!({ "data": { "key": "old" } }), json!({ "data": { "key": "new" } }));
    file_of(("ConfigMap", old, new), (volume, "/etc/podinfo/file"), at, text)
}

#[test]
fn a_file_has_the_value_of_its_key() {
    let items = json!([{ "key": "key", "path": "file" }]);
    let whole = json!({ "name": "v", "configMap": { "name": "map", "items": items } });
    let part = json!({ "configMap": { "name": "map", "items": items } });
    let first = json!({ "secret": { "name": "words", "items": [{ "key": "other", "path": "word" }] } });
    let projected = json!({ "name": "v", "projected": { "sources": [first, part] } });
    for volume in [whole, projected] {
        assert_eq!(file(&volume, 2.0, Some("old")), "holds");
        assert_eq!(file(&volume, 2.0, Some("another")), "violated");
        assert_eq!(file(&volume, 2.0, None), "violated", "it is missing");
        assert_eq!(file(&volume, 60.0, Some("new")), "holds");
        assert_eq!(file(&volume, 200.0, Some("new")), "holds");
        assert_eq!(file(&volume, 200.0, Some("old")), "violated");
        assert_eq!(file(&volume, 60.0, Some("old")), "inconclusive", "it may still change");
    }
    let unknown = json!({ "name": "v", "configMap": { "name": "unknown", "items": items } });
    assert_eq!(file(&unknown, 2.0, None), "inconclusive", "the run did not create it");
}

/// The file of an optional key that a ConfigMap gets at 10 s, in a volume below the directory of the recorded files.
fn late_file(at: f64, text: Option<&str>) -> &'static str {
    let items = json!([{ "key": "key", "path": "file" }]);
    let volume = json!({ "name": "v", "configMap": { "name": "map", "optional": true, "items": items } });
    let object = ("ConfigMap", json!({ "data": {} }), json!({ "data": { "key": "new" } }));
    file_of(object, (&volume, "/etc/podinfo/below/file"), at, text)
}

#[test]
fn the_file_of_a_later_key_appears() {
    assert_eq!(late_file(60.0, Some("new")), "holds");
    assert_eq!(late_file(60.0, None), "inconclusive", "it may still appear");
    assert_eq!(late_file(200.0, None), "violated");
}

/// The file of a key of a ConfigMap that is removed at 10 s.
fn removed_file(items: Option<Value>, at: f64, text: Option<&str>) -> &'static str {
    let map =
        items.map_or_else(|| json!({ "name": "map" }), |items| json!({ "name": "map", "items": items }));
    let object = ("ConfigMap", json!({ "data": { "key": "old" } }), json!({ "data": { "key": null } }));
    file_of(object, (&json!({ "name": "v", "configMap": map }), "/etc/podinfo/key"), at, text)
}

#[test]
fn the_file_of_a_removed_key_disappears() {
    assert_eq!(removed_file(None, 5.0, Some("old")), "holds");
    assert_eq!(removed_file(None, 5.0, None), "violated", "it is missing before its removal");
    assert_eq!(removed_file(None, 60.0, None), "holds");
    assert_eq!(removed_file(None, 60.0, Some("old")), "inconclusive", "it may still disappear");
    assert_eq!(removed_file(None, 200.0, Some("old")), "violated");
    let needed = || Some(json!([{ "key": "key", "path": "key" }]));
    assert_eq!(removed_file(needed(), 200.0, Some("old")), "inconclusive", "the volume needs the key");
}

/// The file of a key of a Secret that is patched at 10 s.
fn secret_file(patch: Value, text: Option<&str>) -> &'static str {
    let volume = json!({ "name": "v", "secret": { "secretName": "map" } });
    let object = ("Secret", json!({ "stringData": { "key": "old" } }), patch);
    file_of(object, (&volume, "/etc/podinfo/key"), 200.0, text)
}

#[test]
fn the_file_of_a_secret_follows_its_data() {
    let removed = || json!({ "data": { "key": null } });
    assert_eq!(secret_file(removed(), None), "holds");
    assert_eq!(secret_file(removed(), Some("old")), "violated");
    assert_eq!(secret_file(json!({ "stringData": { "key": "new" } }), Some("old")), "violated");
    let encoded = json!({ "data": { "key": "bmV3" } });
    assert_eq!(secret_file(encoded, Some("new")), "inconclusive", "the value is not known");
}

#[test]
fn a_token_is_for_its_own_audience() {
    let token =
        |path: &str, audience: &str| json!({ "serviceAccountToken": { "path": path, "audience": audience } });
    let sources = [token("one", "a.example"), token("two", "b.example")];
    let volume = json!({ "name": "v", "projected": { "sources": sources } });
    let mount = json!({ "name": "v", "mountPath": "/etc/podinfo" });
    let spec = json!({ "volumes": [volume], "containers": [{ "name": "a", "volumeMounts": [mount] }] });
    let of = |one: &str, two: &str| {
        judged(FILES, &spec, dump(&[("/etc/podinfo/one", one), ("/etc/podinfo/two", two)], &[]))
    };
    let (first, second) = (r#"{"aud":["a.example"]}"#, r#"{"aud":["b.example"]}"#);
    assert_eq!(of(first, second), "holds");
    assert_eq!(of(first, first), "violated");
    assert_eq!(of(first, "nonsense"), "violated");
}
