//! Hand-written histories of containers with downward API values.

use std::collections::BTreeMap;

use probity_composer::{Composer, running_status};
use probity_model::history::{Change, Did};
use probity_script::witness::{Dump, Exiting, Fact};
use serde_json::{Value, json};

use crate::tests::verdict;

const BOTH: &str = "downward.fieldref-both";
const VARIABLES: &str = "downward.env-only";
const FILES: &str = "downward.volume-only";
const RESOURCES: &str = "downward.resourcefieldref";
const WAYS: &str = "downward.two-ways";
const TOKEN: &str = "downward.no-client-needed";

fn object(label: &str) -> Value {
    let field = |path: &str| json!({ "fieldRef": { "fieldPath": path } });
    let env = |name: &str, from: Value| json!({ "name": name, "valueFrom": from });
    let item = |path: &str, field: &str| json!({ "path": path, "fieldRef": { "fieldPath": field } });
    json!({
        "metadata": { "name": "pod", "uid": "uid-pod", "labels": { "b": label, "probity.dev/pod": "pod" } },
        "spec": {
            "nodeName": "node1", "automountServiceAccountToken": false,
            "volumes": [{ "name": "info", "downwardAPI": {
                "items": [
                    item("name", "metadata.name"), item("labels", "metadata.labels"), item("b", "metadata.labels['b']"),
                ],
            } }],
            "containers": [{
                "name": "target", "resources": { "limits": { "cpu": "1500m", "memory": "64Mi" } },
                "volumeMounts": [{ "name": "info", "mountPath": "/etc/podinfo" }],
                "env": [
                    env("NAME", field("metadata.name")), env("IP", field("status.podIP")),
                    env("B", field("metadata.labels['b']")),
                    env("CPU", json!({ "resourceFieldRef": { "resource": "limits.cpu" } })),
                    env("MEMORY", json!({ "resourceFieldRef": { "resource": "limits.memory", "divisor": "1Mi" } })),
                ],
            }],
        },
        "status": { "phase": "Running", "podIP": "10.0.0.7" },
    })
}

/// The variables and files of a container, of which those in `wrong` have these values.
fn view(wrong: &[(&str, &str)]) -> Fact {
    let mut files: BTreeMap<String, String> = [
        ("/proc/self/mountinfo", "1 1 0:1 / /etc/podinfo rw"),
        ("/etc/podinfo/name", "pod"),
        ("/etc/podinfo/b", "new"),
        ("/etc/podinfo/labels", "b=\"new\"\nprobity.dev/pod=\"pod\""),
    ]
    .map(|(path, text)| (path.to_owned(), text.to_owned()))
    .into();
    let mut env: BTreeMap<String, String> =
        [("NAME", "pod"), ("IP", "10.0.0.7"), ("B", "old"), ("CPU", "2"), ("MEMORY", "64"), ("PATH", "/")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
    for (name, value) in wrong {
        let of = if name.starts_with('/') { &mut files } else { &mut env };
        match *value {
            "" => drop(of.remove(*name)),
            value => drop(of.insert((*name).to_owned(), value.to_owned())),
        }
    }
    Fact::Dump(Dump { env, files, ..Dump::default() })
}

/// A container that starts while its pod has the label `old`. The label becomes `new` at the given time.
fn relabelled(clause: &str, at: f64) -> Composer {
    let mut run = Composer::new(&[clause]);
    run.sighting(0.5, "Pod", "pod", Change::Added, object("old"));
    run.start(1.0, 0);
    run.sighting(at, "Pod", "pod", Change::Modified, object("new"));
    run
}

/// Judges what a container sees at the given time: its variables and files, of which those in `wrong` have these
/// values.
fn told(clause: &str, wrong: &[(&str, &str)], at: f64) -> &'static str {
    let mut run = relabelled(clause, 2.0);
    run.fact(at, view(wrong));
    run.reading(at + 5.0);
    verdict(&run.done(), clause)
}

#[test]
fn a_container_is_told_what_its_pod_is() {
    assert_eq!(told(BOTH, &[], 3.0), "holds");
    assert_eq!(told(BOTH, &[("NAME", "another")], 3.0), "violated");
    assert_eq!(told(BOTH, &[("NAME", "")], 3.0), "violated", "it is missing");
    assert_eq!(told(BOTH, &[("/etc/podinfo/name", "another")], 3.0), "violated");
    assert_eq!(told(VARIABLES, &[], 3.0), "holds");
    assert_eq!(told(VARIABLES, &[("IP", "10.0.0.8")], 3.0), "violated");
    assert_eq!(told(WAYS, &[], 3.0), "holds");
    assert_eq!(told(WAYS, &[("NAME", "another")], 3.0), "violated");
    assert_eq!(told(TOKEN, &[], 3.0), "holds");
    assert_eq!(told(TOKEN, &[("/etc/podinfo/name", "")], 3.0), "violated");
    let token = [("/proc/self/mountinfo", "1 1 0:1 / /var/run/secrets/kubernetes.io/serviceaccount ro")];
    assert_eq!(told(TOKEN, &token, 3.0), "inconclusive", "it has a token");
}

#[test]
fn amounts_are_divided_and_rounded_up() {
    assert_eq!(told(RESOURCES, &[], 3.0), "holds");
    assert_eq!(told(RESOURCES, &[("CPU", "1")], 3.0), "violated", "rounded down");
    assert_eq!(told(RESOURCES, &[("MEMORY", "67108864")], 3.0), "violated", "not divided");
}

/// The verdict on a container that restarts after a resize from 64Mi to 96Mi. It has this policy for its memory, and its
/// two instances get these amounts.
fn resized(policy: &str, first: &str, second: &str) -> &'static str {
    let shown = |memory: &str, restarts: u64| {
        let resources = json!({ "limits": { "cpu": "1500m", "memory": memory } });
        let mut pod = object("old");
        let target = &mut pod["spec"]["containers"][0];
        target["resources"] = resources.clone();
        target["resizePolicy"] = json!([{ "resourceName": "memory", "restartPolicy": policy }]);
        pod["status"] = running_status("target", 1.0, true, true, restarts);
        pod["status"]["containerStatuses"][0]["resources"] = resources;
        pod
    };
    let mut run = Composer::new(&[RESOURCES]);
    run.sighting(0.5, "Pod", "pod", Change::Added, shown("64Mi", 0));
    run.start(1.0, 0).fact(2.0, view(&[("MEMORY", first)]));
    let resources = json!({ "limits": { "memory": "96Mi" } });
    let patch = json!({ "spec": { "containers": [{ "name": "target", "resources": resources }] } });
    let (kind, name, subresource) = ("Pod".to_owned(), "pod".to_owned(), "resize".to_owned());
    run.deed(10.0, Did::Patched { kind, name, patch, subresource });
    run.signal(11.0, "SIGTERM");
    run.fact(11.1, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
    run.left(11.2);
    run.start(12.0, 1);
    run.sighting(12.5, "Pod", "pod", Change::Modified, shown("96Mi", 1));
    run.fact(13.0, view(&[("MEMORY", second)]));
    run.reading(20.0);
    verdict(&run.done(), RESOURCES)
}

#[test]
fn a_container_that_a_resize_restarts_gets_the_new_amount() {
    assert_eq!(resized("RestartContainer", "64", "96"), "holds");
    assert_eq!(resized("RestartContainer", "64", "64"), "violated", "the amount of its creation");
    assert_eq!(resized("RestartContainer", "96", "96"), "violated", "it started before the resize");
    assert_eq!(resized("NotRequired", "64", "64"), "holds", "the resize may have come after the start");
    assert_eq!(resized("NotRequired", "64", "96"), "holds");
}

#[test]
fn files_show_changes() {
    let old = [("/etc/podinfo/labels", "b=\"old\"\nprobity.dev/pod=\"pod\"")];
    assert_eq!(told(FILES, &[], 3.0), "holds");
    assert_eq!(told(FILES, &old, 3.0), "holds", "it takes a while");
    assert_eq!(told(FILES, &old, 200.0), "violated");
    assert_eq!(told(FILES, &[("/etc/podinfo/labels", "b=new\nprobity.dev/pod=pod")], 3.0), "violated");
    assert_eq!(told(FILES, &old, 90.0), "holds", "just in time");
    let more = [("/etc/podinfo/labels", "")];
    assert_eq!(told(FILES, &more, 3.0), "violated", "it is missing");
}

#[test]
fn the_file_of_one_label_shows_changes() {
    let old = [("/etc/podinfo/b", "old")];
    assert_eq!(told(BOTH, &old, 3.0), "holds", "it takes a while");
    assert_eq!(told(BOTH, &old, 90.0), "holds", "just in time");
    assert_eq!(told(BOTH, &old, 200.0), "violated");
    assert_eq!(told(BOTH, &[], 200.0), "holds", "variables do not change");
}

#[test]
fn the_files_of_a_projected_volume_are_found() {
    let judged = |name: &str| {
        let mut pod = object("old");
        let items = pod["spec"]["volumes"][0]["downwardAPI"].clone();
        let sources = json!([{ "configMap": { "name": "map" } }, { "downwardAPI": items }]);
        pod["spec"]["volumes"][0] = json!({ "name": "info", "projected": { "sources": sources } });
        pod["spec"]["containers"][0]["volumeMounts"][0]["mountPath"] = json!("/etc/podinfo/all");
        let mut run = Composer::new(&[BOTH]);
        run.sighting(0.5, "Pod", "pod", Change::Added, pod);
        run.start(1.0, 0);
        run.fact(3.0, view(&[("/etc/podinfo/all/name", name), ("/etc/podinfo/all/b", "old")]));
        run.reading(8.0);
        verdict(&run.done(), BOTH)
    };
    assert_eq!(judged("pod"), "holds");
    assert_eq!(judged("another"), "violated");
    assert_eq!(judged(""), "violated", "it is missing");
}

#[test]
fn a_container_that_starts_again_gets_the_newest_value() {
    let judged = |variable: &str, changed: f64| {
        let mut run = relabelled(BOTH, changed);
        run.fact(40.0, Fact::Exiting(Exiting { code: 1, why: "plan".to_owned() }));
        run.left(40.01);
        run.start(45.0, 1);
        run.fact(45.1, view(&[("B", variable)]));
        run.reading(60.0);
        verdict(&run.done(), BOTH)
    };
    assert_eq!(judged("new", 20.0), "holds");
    assert_eq!(judged("old", 20.0), "violated");
    assert_eq!(judged("old", 35.0), "holds", "the kubelet may not have known the change");
}

#[test]
fn an_address_is_one_of_the_interfaces() {
    let judged = |addresses: &[&str]| {
        let mut run = relabelled(VARIABLES, 2.0);
        let Fact::Dump(mut dump) = view(&[]) else { return "no dump" };
        let own = addresses.iter().map(|of| (*of).to_owned()).collect();
        dump.interfaces.insert("eth0".to_owned(), own);
        run.fact(3.0, Fact::Dump(dump));
        run.reading(8.0);
        verdict(&run.done(), VARIABLES)
    };
    assert_eq!(judged(&["10.0.0.7", "fe80::1"]), "holds");
    assert_eq!(judged(&["10.0.0.8", "fe80::1"]), "violated", "the address of an older sandbox");
}

#[test]
fn some_fields_are_rejected() {
    let tried = |clause: &str, spec: &Value, code: u16, message: &str| {
        let mut run = Composer::new(&[clause]);
        run.tried(1.0, "trial", json!({ "kind": "Pod", "spec": spec }), code, message, json!({}));
        verdict(&run.done(), clause)
    };
    let item = json!({ "path": "f", "fieldRef": { "fieldPath": "status.podIP" } });
    let volume = json!({ "volumes": [{ "name": "v", "downwardAPI": { "items": [item] } }] });
    let from = json!({ "fieldRef": { "fieldPath": "metadata.labels" } });
    let variable = json!({ "containers": [{ "name": "c", "env": [{ "name": "A", "valueFrom": from }] }] });
    let message = "spec.x.fieldRef.fieldPath: Unsupported value";
    for (clause, spec) in [(VARIABLES, &volume), (FILES, &variable)] {
        assert_eq!(tried(clause, spec, 422, message), "holds");
        assert_eq!(tried(clause, spec, 201, ""), "violated");
        assert_eq!(tried(clause, spec, 422, "another fault"), "inconclusive");
    }
}
