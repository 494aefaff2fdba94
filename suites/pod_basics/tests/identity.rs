//! Hand-written histories about names, operating systems, privileges, shared volumes and templates.

use std::collections::BTreeMap;

use probity_composer::{Composer, NODE};
use probity_model::history::{Change, Did};
use probity_script::Fact;
use probity_script::witness::{Consumed, Dump, Waited};
use serde_json::{Value, json};

use crate::tests::verdict;

/// The verdicts on a correct history: one history may not show all facets of a clause.
const RIGHT: [&str; 2] = ["holds", "inconclusive"];

fn tried(clause: &str, manifest: &Value, code: u16, message: &str) -> &'static str {
    let mut run = Composer::new(&[clause]);
    run.tried(1.0, "sent", manifest.clone(), code, message, json!({}));
    verdict(&run.done(), clause)
}

#[test]
fn names_are_subdomains() {
    let clause = "pod.name-subdomain";
    let named = |name: &str, code: u16| {
        let manifest = json!({ "kind": "Pod", "metadata": { "name": name }, "spec": {} });
        tried(clause, &manifest, code, if code == 422 { "metadata.name: Invalid value" } else { "" })
    };
    assert!(RIGHT.contains(&named("a.b-1", 201)));
    assert_eq!(named("a.b-1", 422), "violated");
    assert!(RIGHT.contains(&named("a_b", 422)));
    assert_eq!(named("a_b", 201), "violated");
    assert_eq!(named("a..b", 201), "violated");
    assert_eq!(named(&"a".repeat(254), 201), "violated");
    assert_eq!(named(&"a".repeat(253), 422), "violated");
    let denied = |name: &str| {
        let manifest = json!({ "kind": "Pod", "metadata": { "name": name }, "spec": {} });
        tried(clause, &manifest, 422, "ValidatingAdmissionPolicy 'p' denied request: metadata.name: short")
    };
    assert_eq!(["a.b-1", "a_b"].map(denied), ["inconclusive"; 2], "a policy of the cluster denied it");
}

#[test]
fn systems_are_two() {
    let clause = "pod.os-field";
    let named = |name: &str, code: u16| {
        let manifest = json!({ "kind": "Pod", "spec": { "os": { "name": name } } });
        tried(clause, &manifest, code, if code == 422 { "spec.os.name: Unsupported value" } else { "" })
    };
    assert!(RIGHT.contains(&named("windows", 201)));
    assert_eq!(named("windows", 422), "violated");
    assert_eq!(named("plan9", 201), "violated");
    assert!(RIGHT.contains(&named("plan9", 422)));
}

#[test]
fn a_pod_of_another_system_is_refused() {
    let clause = "pod.os-field";
    let on = |image: &str, linux: bool, phase: &str, state: Value| {
        let mut header = Composer::new(&[clause]).done().header;
        if let Some(facts) = header.nodes.get_mut(NODE) {
            image.clone_into(&mut facts.os_image);
        }
        let mut run = Composer::with_header(header);
        if linux {
            run.of("target", "target").create(0.0, &json!({ "containers": [{ "name": "target" }] }));
            run.start(0.4, 0).of("pod", "target");
        }
        let spec =
            json!({ "os": { "name": "windows" }, "nodeName": NODE, "containers": [{ "name": "target" }] });
        run.create(0.0, &spec);
        run.pod_seen(0.5, &spec, &json!({ "phase": "Pending" }), Change::Modified);
        let status = json!({ "phase": phase, "containerStatuses": [{ "name": "target", "state": state }] });
        run.pod_seen(2.0, &spec, &status, Change::Modified).reading(40.0);
        verdict(&run.done(), clause)
    };
    let waiting = json!({ "waiting": { "reason": "ContainerCreating" } });
    let judged = |phase: &str, state: Value| on("Debian GNU/Linux 12", false, phase, state);
    assert!(RIGHT.contains(&judged("Failed", json!({}))));
    assert_eq!(judged("Running", json!({ "running": {} })), "violated");
    assert_eq!(judged("Pending", waiting.clone()), "violated");
    let windows = "Windows Server 2022 Datacenter";
    assert_eq!(on(windows, false, "Pending", waiting.clone()), "inconclusive", "it is the right system");
    assert_eq!(on(windows, false, "Running", json!({ "running": {} })), "inconclusive");
    assert_eq!(on(windows, true, "Pending", waiting), "violated", "a program for Linux ran there");
}

#[test]
fn one_container_is_privileged_and_the_other_is_not() {
    let clause = "pod.privileged";
    let judged = |mighty: &str, plain: &str| {
        let mut run = Composer::new(&[clause]);
        let none = json!({ "capabilities": { "drop": ["ALL"] } });
        let spec = json!({ "containers": [
            { "name": "mighty", "securityContext": { "privileged": true } }, { "name": "plain", "securityContext": none },
        ] });
        run.create(0.0, &spec);
        for (container, bound) in [("mighty", mighty), ("plain", plain)] {
            let files = BTreeMap::from([("/proc/self/status".to_owned(), format!("CapBnd:\t{bound}\n"))]);
            run.of("pod", container).start(1.0, 0).fact(1.1, Fact::Dump(Dump { files, ..Dump::default() }));
        }
        run.reading(20.0);
        verdict(&run.done(), clause)
    };
    assert_eq!(judged("000001ffffffffff", "0000000000000000"), "holds");
    assert_eq!(judged("0000000000000000", "0000000000000000"), "violated");
    assert_eq!(judged("000001ffffffffff", "000001ffffffffff"), "violated");
}

/// One container writes a file at 2 s. Another container waits for the file, and finds it or does not.
fn file(found: bool, until: f64) -> &'static str {
    file_at("/in/page", found, until)
}

/// Like [`file`], with this path in the other container. The first container writes into the folder `part` of the volume if
/// the path is in this folder.
fn file_at(path: &str, found: bool, until: f64) -> &'static str {
    let clause = "pod.shared.volumes";
    let mut run = Composer::new(&[clause]);
    let with = |name: &str, path: &str, plan: &str| {
        json!({
            "name": name, "env": [{ "name": "AGNHOST_PLAN", "value": plan }],
            "volumeMounts": [{ "name": "shared", "mountPath": path }],
        })
    };
    let mut spec = json!({ "volumes": [{ "name": "shared", "emptyDir": {} }], "containers": [
        with("writes", "/out", r#"{"process":{"consume":[{"disk":{"path":"/out/page","bytes":"1KiB"}}]}}"#),
        with("reads", "/in", &format!(r#"{{"process":{{"wait-for":[{{"file":"{path}"}}]}}}}"#)),
    ] });
    if path.contains("/part/") {
        spec["containers"][0]["volumeMounts"][0]["subPath"] = json!("part");
    }
    run.create(0.0, &spec);
    run.of("pod", "writes").start(1.0, 0);
    run.of("pod", "reads").start(1.0, 0);
    let written = Consumed { resource: "disk".to_owned(), amount: 1024, error: None };
    run.of("pod", "writes").fact(2.0, Fact::Consumed(written));
    if found {
        let what = format!("file {path}");
        run.of("pod", "reads").fact(2.2, Fact::Waited(Waited { what, tries: 9, took_us: 1_000_000 }));
    }
    run.reading(until);
    verdict(&run.done(), clause)
}

#[test]
fn a_file_of_one_container_is_there_for_the_other() {
    assert!(RIGHT.contains(&file(true, 40.0)));
    assert_eq!(file(false, 40.0), "violated");
    assert_eq!(file(false, 3.0), "inconclusive", "the file may still appear");
    assert!(RIGHT.contains(&file_at("/in/part/page", true, 40.0)));
    assert_eq!(file_at("/in/part/page", false, 40.0), "violated", "the mount has the whole volume");
}

/// One container writes a file into the folder `part` of a volume. Another container has only the folder with this name in
/// the volume, waits for the file, and finds it or does not.
fn file_below(expression: &str, found: bool) -> [&'static str; 2] {
    const CLAUSES: [&str; 2] = ["pod.subpath-expr", "pod.shared.volumes"];
    let mut run = Composer::new(&CLAUSES);
    let writes = json!({
        "name": "writes",
        "env": [{ "name": "AGNHOST_PLAN", "value": r#"{"process":{"consume":[{"disk":{"path":"/out/page","bytes":"1KiB"}}]}}"# }],
        "volumeMounts": [{ "name": "shared", "mountPath": "/out", "subPath": "part" }],
    });
    let reads = json!({
        "name": "reads",
        "env": [
            { "name": "FOLDER", "value": "part" },
            { "name": "AGNHOST_PLAN", "value": r#"{"process":{"wait-for":[{"file":"/in/page"}]}}"# },
        ],
        "volumeMounts": [{ "name": "shared", "mountPath": "/in", "subPathExpr": expression }],
    });
    run.create(
        0.0,
        &json!({ "volumes": [{ "name": "shared", "emptyDir": {} }], "containers": [writes, reads] }),
    );
    run.of("pod", "writes").start(1.0, 0);
    run.of("pod", "reads").start(1.0, 0);
    let written = Consumed { resource: "disk".to_owned(), amount: 1024, error: None };
    run.of("pod", "writes").fact(2.0, Fact::Consumed(written));
    if found {
        let what = "file /in/page".to_owned();
        run.of("pod", "reads").fact(2.2, Fact::Waited(Waited { what, tries: 9, took_us: 1_000_000 }));
    }
    run.reading(40.0);
    let history = run.done();
    CLAUSES.map(|clause| verdict(&history, clause))
}

#[test]
fn a_mount_may_name_its_folder_with_a_variable() {
    assert_eq!(file_below("$(FOLDER)", true), ["holds", "inconclusive"]);
    assert_eq!(file_below("$(FOLDER)", false), ["violated", "inconclusive"]);
    assert_eq!(file_below("other-$(FOLDER)", false), ["inconclusive"; 2], "it is another folder");
    assert_eq!(file_below("$(POD_NAME)", false), ["inconclusive"; 2], "its value is not known here");
}

/// The template of a Deployment gets another variable at 5 s. In the end, its old pod and its new pod have these
/// values.
fn updated(old: &str, new: &str) -> &'static str {
    let clause = "pod.template-change";
    let mut run = Composer::new(&[clause]);
    let spec =
        |value: &str| json!({ "containers": [{ "name": "c", "env": [{ "name": "A", "value": value }] }] });
    let pod = |name: &str, value: &str| {
        json!({
            "metadata": {
                "name": name, "uid": format!("uid-{name}"),
                "ownerReferences": [{ "kind": "ReplicaSet", "name": "case-web-1" }],
            },
            "spec": spec(value), "status": { "phase": "Running" },
        })
    };
    run.sighting(1.0, "Pod", "old", Change::Added, pod("old", "first"));
    let (kind, name, subresource) = ("Deployment".to_owned(), "case-web".to_owned(), String::new());
    let patch = json!({ "spec": { "template": { "spec": spec("second") } } });
    run.deed(5.0, Did::Patched { kind, name, patch, subresource });
    run.sighting(6.0, "Pod", "old", Change::Modified, pod("old", old));
    run.sighting(20.0, "Pod", "new", Change::Added, pod("new", new));
    run.reading(60.0);
    verdict(&run.done(), clause)
}

#[test]
fn a_template_changes_new_pods_only() {
    assert_eq!(updated("first", "second"), "holds");
    assert_eq!(updated("second", "second"), "violated");
    assert_eq!(updated("first", "first"), "violated");
}

/// The template of a Deployment gets another variable and an annotation at 5 s. Its old pod has these annotations in the
/// end.
fn annotated(annotations: &Value) -> &'static str {
    let clause = "pod.template-change";
    let mut run = Composer::new(&[clause]);
    let spec =
        |value: &str| json!({ "containers": [{ "name": "c", "env": [{ "name": "A", "value": value }] }] });
    let pod = |annotations: &Value| {
        let owners = json!([{ "kind": "ReplicaSet", "name": "case-web-1" }]);
        let metadata =
            json!({ "name": "old", "uid": "uid-old", "ownerReferences": owners, "annotations": annotations });
        json!({ "metadata": metadata, "spec": spec("first"), "status": { "phase": "Running" } })
    };
    run.sighting(1.0, "Pod", "old", Change::Added, pod(&json!({})));
    let (kind, name, subresource) = ("Deployment".to_owned(), "case-web".to_owned(), String::new());
    let template = json!({ "metadata": { "annotations": { "round": "two" } }, "spec": spec("second") });
    let patch = json!({ "spec": { "template": template } });
    run.deed(5.0, Did::Patched { kind, name, patch, subresource });
    run.sighting(6.0, "Pod", "old", Change::Modified, pod(annotations));
    run.reading(60.0);
    verdict(&run.done(), clause)
}

#[test]
fn a_template_does_not_annotate_existing_pods() {
    assert_eq!(annotated(&json!({ "other": "one" })), "holds");
    assert_eq!(annotated(&json!({ "round": "two" })), "violated");
}
