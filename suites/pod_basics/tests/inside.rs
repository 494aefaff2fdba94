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
fn a_search_list_has_the_own_namespace() {
    let of = |spec: &Value, list: &str| {
        let text = format!("search {list}\nnameserver 10.96.0.10\n");
        judged(SEARCH, spec, dump(&[("/etc/resolv.conf", &text)], &[]))
    };
    assert_eq!(of(&plain(), "space.svc.example.org svc.example.org example.org"), "holds");
    assert_eq!(of(&plain(), "svc.example.org example.org"), "violated");
    assert_eq!(of(&plain(), "other.svc.example.org svc.example.org"), "violated");
    assert_eq!(of(&plain(), "example.org"), "inconclusive", "the kubelet knows no DNS service");
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
    assert_eq!(of(&added, some, 0, "rw"), "inconclusive", "it has the one that it adds");
    let mighty = with(context, "privileged", json!(true));
    assert_eq!(of(&mighty, some, 0, "rw"), "inconclusive", "it is privileged");
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

/// A pod with the file of a key that is `old` at first and `new` from 10 s on, and that is recorded at this time. Without
/// a text, there is no such file.
fn file(volume: &Value, at: f64, text: Option<&str>) -> &'static str {
    let mut run = Composer::new(&[FILES]);
    run.reading(0.05);
    let (kind, name) = ("ConfigMap".to_owned(), "map".to_owned());
    let manifest = json!({ "data": { "key": "old" } });
    run.deed(0.1, Did::Created { kind: kind.clone(), name: name.clone(), manifest });
    let mount = json!({ "name": "v", "mountPath": "/etc/podinfo" });
    let spec = json!({ "volumes": [volume], "containers": [{ "name": "a", "volumeMounts": [mount] }] });
    run.of("pod", "a").create(0.2, &spec);
    run.start(1.0, 0);
    let files: Vec<(&str, &str)> = text.map(|text| ("/etc/podinfo/file", text)).into_iter().collect();
    let early = at < 10.0;
    if early {
        run.fact(at, Fact::Dump(dump(&files, &[])));
    }
    let patch = json!({ "data": { "key": "new" } });
    run.deed(10.0, Did::Patched { kind, name, patch, subresource: String::new() });
    if !early {
        run.fact(at, Fact::Dump(dump(&files, &[])));
    }
    run.reading(240.0);
    verdict(&run.done(), FILES)
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
