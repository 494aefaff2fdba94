//! Histories of what the API server accepts and shows: patches, dry runs, quotas and slices.

use probity_composer::Composer;
use probity_model::history::{Change, Did};
use serde_json::{Value, json};

use super::{begins, pod, runs};
use crate::tests::verdict;

const MUTABLE: &str = "init.only-image-mutable";
const FIELDS: &str = "init.all-fields-except";
const NAMES: &str = "init.names-unique";
const HIGHEST: &str = "init.resources.effective-init";
const POD: &str = "init.resources.effective-pod";
const QUOTA: &str = "init.resources.quota";
const CLASS: &str = "init.resources.qos-same";
const PORTS: &str = "init.ports-not-in-services";

/// A patch of an init container that is accepted.
pub(super) fn patch(run: &mut Composer, at: f64, entry: &Value) {
    let patch = json!({ "spec": { "initContainers": [entry] } });
    let (kind, name) = ("Pod".to_owned(), "pod".to_owned());
    run.deed(at, Did::Patched { kind, name, patch, subresource: String::new() });
}

/// A pod whose init container is patched. The patch is rejected with this message, or it is accepted and then shown or
/// not.
fn patched(entry: &Value, refused: Option<&str>, shown: bool) -> &'static str {
    let mut run = pod(MUTABLE, "Always", &["one"], &["main"]);
    runs(&mut run, "one", 0, (1.0, 2.0), 0);
    begins(&mut run, "main", 3.0);
    match refused {
        None => patch(&mut run, 5.0, entry),
        Some(why) => {
            let what = format!("patch the pod pod with {{ spec: {{ initContainers: [{entry}] }} }}");
            run.deed(5.0, Did::Failed { what, why: why.to_owned() });
        }
    }
    if shown {
        shows(&mut run, &entry["image"]);
    }
    run.reading(20.0);
    verdict(&run.done(), MUTABLE)
}

/// The pod shows this image of its init container.
fn shows(run: &mut Composer, image: &Value) {
    let mut of = super::spec("Always", &["one"], &["main"]);
    of["initContainers"][0]["image"] = image.clone();
    run.pod_seen(5.1, &of, &json!({ "phase": "Running" }), Change::Modified);
}

/// A pod whose init container gets a new image, which the pod shows under this name.
fn renamed(shown: &str) -> &'static str {
    let mut run = pod(MUTABLE, "Always", &["one"], &["main"]);
    runs(&mut run, "one", 0, (1.0, 2.0), 0);
    begins(&mut run, "main", 3.0);
    patch(&mut run, 5.0, &json!({ "name": "one", "image": "registry/other:2" }));
    shows(&mut run, &json!(shown));
    run.reading(20.0);
    verdict(&run.done(), MUTABLE)
}

#[test]
fn only_the_image_of_an_init_container_can_be_changed() {
    let (image, command) =
        (json!({ "name": "one", "image": "other" }), json!({ "name": "one", "command": ["x"] }));
    assert_eq!(patched(&image, None, true), "holds");
    assert_eq!(patched(&image, None, false), "violated", "accepted, and not shown");
    assert_eq!(patched(&image, Some("pod updates may not change fields"), false), "violated");
    assert_eq!(patched(&command, Some("pod updates may not change fields"), false), "holds");
    assert_eq!(patched(&command, None, true), "violated");
    assert_eq!(patched(&command, Some("connection refused"), false), "inconclusive");
    let probe = json!({ "name": "one", "readinessProbe": { "periodSeconds": 7 } });
    assert_eq!(patched(&probe, Some("pod updates may not change fields"), false), "holds");
    assert_eq!(patched(&probe, None, false), "violated");
    let same = json!({ "name": "one", "image": "other", "restartPolicy": null });
    assert_eq!(patched(&same, None, true), "holds", "there is no such field to remove");
}

#[test]
fn an_image_may_be_stored_under_another_name() {
    assert_eq!(renamed("mirror/registry/other:2"), "inconclusive");
    assert_eq!(renamed("registry/other:1"), "violated");
}

fn tried(clause: &str, spec: &Value, code: u16, message: &str, class: &str) -> &'static str {
    stored(clause, (spec, spec), code, message, class)
}

/// A dry run of a pod that is sent and stored with these specs.
fn stored(
    clause: &str,
    (spec, stored): (&Value, &Value),
    code: u16,
    message: &str,
    class: &str,
) -> &'static str {
    let mut run = Composer::new(&[clause]);
    let stored = json!({ "spec": stored, "status": { "qosClass": class } });
    run.tried(1.0, "trial", json!({ "kind": "Pod", "spec": spec }), code, message, stored);
    verdict(&run.done(), clause)
}

#[test]
fn init_containers_have_neither_probes_nor_hooks() {
    let with = |field: &str, value: Value| {
        let mut init = json!({ "name": "i" });
        init[field] = value;
        json!({ "initContainers": [init], "containers": [{ "name": "c" }] })
    };
    let refusal = "spec.initContainers[0].x: Forbidden: may not be set for init containers without restartPolicy=Always";
    let probe = with("livenessProbe", json!({ "tcpSocket": { "port": 80 } }));
    assert_eq!(tried(FIELDS, &probe, 422, refusal, ""), "holds");
    assert_eq!(tried(FIELDS, &probe, 201, "", ""), "violated");
    assert_eq!(tried(FIELDS, &probe, 422, "something else", ""), "inconclusive");
    let hook = with("lifecycle", json!({ "preStop": {} }));
    assert_eq!(tried(FIELDS, &hook, 422, refusal, ""), "holds");
    let env = with("env", json!([]));
    assert_eq!(tried(FIELDS, &env, 201, "", ""), "holds");
    assert_eq!(tried(FIELDS, &env, 422, "initContainers[i].env: Forbidden", ""), "violated");
}

#[test]
fn names_are_unique_among_all_containers() {
    let of = |init: &str| json!({ "initContainers": [{ "name": init }], "containers": [{ "name": "c" }] });
    assert_eq!(
        tried(NAMES, &of("c"), 422, "spec.initContainers[0].name: Duplicate value: \"c\"", ""),
        "holds"
    );
    assert_eq!(tried(NAMES, &of("c"), 201, "", ""), "violated");
    assert_eq!(tried(NAMES, &of("i"), 201, "", ""), "holds");
}

#[test]
fn the_class_follows_from_all_containers() {
    let limits = json!({ "limits": { "cpu": "10m", "memory": "16Mi" } });
    let of = |init: &Value| json!({ "initContainers": [{ "name": "i", "resources": init }], "containers": [{ "name": "c", "resources": limits }] });
    assert_eq!(tried(CLASS, &of(&limits), 201, "", "Guaranteed"), "holds");
    assert_eq!(tried(CLASS, &of(&json!({})), 201, "", "Burstable"), "holds");
    assert_eq!(tried(CLASS, &of(&json!({})), 201, "", "Guaranteed"), "violated");
    let admitted = |sent: &Value, class: &str| stored(CLASS, (&of(sent), &of(&limits)), 201, "", class);
    assert_eq!(admitted(&json!({}), "Guaranteed"), "inconclusive", "a LimitRange sets limits");
    assert_eq!(admitted(&json!({}), "Burstable"), "violated", "not the class of what is stored");
}

/// A quota of 500m, and a dry run of a pod whose containers request these amounts.
fn quota(clause: &str, inits: &[(&str, i64)], main: i64, refused: bool) -> &'static str {
    beside_another(clause, inits, main, (refused, Some(100)))
}

/// Like [`quota`]. Another pod, which requests 100m and to which the quota does not apply, is stored with this request,
/// if it is stored.
fn beside_another(
    clause: &str,
    inits: &[(&str, i64)],
    main: i64,
    (refused, other): (bool, Option<i64>),
) -> &'static str {
    let mut run = Composer::new(&[clause]);
    let status = json!({ "hard": { "requests.cpu": "500m" }, "used": { "requests.cpu": "0" } });
    run.sighting(1.0, "ResourceQuota", "half", Change::Added, json!({ "status": status }));
    let asks = |amount: i64| json!({ "requests": { "cpu": format!("{amount}m") } });
    let inits: Vec<Value> = inits
        .iter()
        .enumerate()
        .map(|(nth, (policy, amount))| match *policy {
            "" => json!({ "name": format!("i{nth}"), "resources": asks(*amount) }),
            policy => {
                json!({ "name": format!("i{nth}"), "restartPolicy": policy, "resources": asks(*amount) })
            }
        })
        .collect();
    let mains = json!([{ "name": "c", "resources": asks(main) }]);
    let manifest =
        json!({ "spec": { "activeDeadlineSeconds": 60, "initContainers": inits, "containers": mains } });
    let alone =
        |amount: i64| json!({ "spec": { "containers": [{ "name": "c", "resources": asks(amount) }] } });
    if let Some(other) = other {
        run.tried(1.5, "other", alone(100), 201, "", alone(other));
    }
    let (code, message) = if refused { (403, "exceeded quota: half") } else { (201, "") };
    let stored = if refused { Value::Null } else { manifest.clone() };
    run.tried(2.0, "trial", manifest, code, message, stored);
    verdict(&run.done(), clause)
}

#[test]
fn a_quota_counts_what_admission_left() {
    let with = |other| beside_another(HIGHEST, &[("", 300), ("", 500)], 100, (true, other));
    assert_eq!(with(Some(100)), "violated", "the other pod was stored as it was sent");
    assert_eq!(with(Some(250)), "inconclusive", "admission raises requests");
    assert_eq!(with(None), "inconclusive", "nothing shows what admission does");
    let exceeds = [("", 300), ("", 501)];
    assert_eq!(
        beside_another(HIGHEST, &exceeds, 100, (false, None)),
        "violated",
        "it was stored as it was sent"
    );
}

#[test]
fn a_quota_counts_the_highest_init_container_or_the_sum() {
    let two = [("", 300), ("", 500)];
    assert_eq!(quota(HIGHEST, &two, 100, false), "holds");
    assert_eq!(quota(HIGHEST, &two, 100, true), "violated", "added up");
    assert_eq!(quota(HIGHEST, &[("", 300), ("", 501)], 100, true), "holds");
    assert_eq!(quota(HIGHEST, &[("", 300), ("", 501)], 100, false), "violated");
    assert_eq!(quota(HIGHEST, &two, 600, true), "inconclusive", "the main container decides");
    assert_eq!(quota(POD, &[("Always", 100)], 401, true), "holds");
    assert_eq!(quota(POD, &[("Always", 100)], 401, false), "violated", "without the sidecar");
    assert_eq!(
        quota(POD, &[("Always", 100), ("", 401)], 100, false),
        "violated",
        "beside the init container"
    );
    assert_eq!(quota(QUOTA, &[("", 501)], 100, true), "holds");
    assert_eq!(quota(QUOTA, &[("", 501)], 100, false), "violated");
}

#[test]
fn ports_of_init_containers_are_in_no_slice() {
    let judged = |ports: &Value| {
        let mut run = Composer::new(&[PORTS]);
        let mut of = super::spec("Always", &["one"], &["main"]);
        of["initContainers"][0]["ports"] = json!([{ "name": "early", "containerPort": 81 }]);
        of["containers"][0]["ports"] = json!([{ "name": "web", "containerPort": 80 }]);
        run.create(0.0, &of);
        let asked = json!([{ "name": "a", "port": 80, "targetPort": "web" }, { "name": "b", "port": 81, "targetPort": "early" }]);
        run.sighting(1.0, "Service", "s", Change::Added, json!({ "spec": { "ports": asked } }));
        let slice = json!({
            "metadata": { "labels": { "kubernetes.io/service-name": "s" } }, "ports": ports,
            "endpoints": [{ "targetRef": { "name": "pod" } }],
        });
        run.sighting(2.0, "EndpointSlice", "s-abc", Change::Added, slice);
        verdict(&run.done(), PORTS)
    };
    assert_eq!(judged(&json!([{ "name": "a", "port": 80 }])), "holds");
    assert_eq!(judged(&json!([{ "name": "a", "port": 80 }, { "name": "b", "port": 81 }])), "violated");
    assert_eq!(judged(&json!([])), "inconclusive");
}
