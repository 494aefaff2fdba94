//! Patches of a pod, with their answers.

use probity_composer::Composer;
use probity_model::history::{Change, Did};
use serde_json::{Value, json};

use crate::tests::verdict;

const FIELDS: &str = "pod.update.allowed-fields";
const DEADLINE: &str = "pod.update.activedeadline";
const FINALIZERS: &str = "pod.update.no-new-finalizers";
const IDENTITY: &str = "pod.update.metadata-immutable";
const INVALID: &str = "failed to patch Pod pod: the API server answered 422 Invalid: Pod \"pod\" is invalid";

fn object() -> Value {
    json!({
        "metadata": { "name": "pod", "uid": "uid-pod", "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": { "probity.dev/pod": "pod" } },
        "spec": {
            "activeDeadlineSeconds": 600, "tolerations": [{ "key": "a", "tolerationSeconds": 300 }],
            "containers": [{ "name": "target", "image": "old" }],
        },
        "status": { "phase": "Running" },
    })
}

/// A pod that is patched at 3 s, with the reason for a rejection (if there was one), and the pod afterwards.
fn patched(
    clause: &str,
    before: &Value,
    asked: &Value,
    refused: Option<&str>,
    after: &Value,
) -> &'static str {
    let mut run = Composer::new(&[clause]);
    run.sighting(1.0, "Pod", "pod", Change::Added, before.clone());
    match refused {
        None => {
            let (kind, name, patch) = ("Pod".to_owned(), "pod".to_owned(), asked.clone());
            run.deed(3.0, Did::Patched { kind, name, patch, subresource: String::new() });
        }
        Some(why) => {
            let what = format!("patch the pod pod by {asked}");
            run.deed(3.0, Did::Failed { what, why: why.to_owned() });
        }
    }
    run.sighting(3.1, "Pod", "pod", Change::Modified, after.clone());
    run.reading(60.0);
    verdict(&run.done(), clause)
}

/// The pod with one field of its metadata or spec changed.
fn with(path: &str, value: Value) -> Value {
    let mut object = object();
    let (part, field) = path.split_once('.').unwrap_or(("spec", path));
    object[part][field] = value;
    object
}

#[test]
fn some_fields_can_be_changed_and_all_others_cannot() {
    let image = json!([{ "name": "target", "image": "new" }]);
    let judged = |asked: &Value, refused: Option<&str>, after: &Value| {
        patched(FIELDS, &object(), &json!({ "spec": asked }), refused, after)
    };
    let new_image = json!({ "containers": image });
    assert_eq!(judged(&new_image, None, &with("containers", image.clone())), "holds");
    assert_eq!(judged(&new_image, None, &object()), "violated", "not shown");
    assert_eq!(judged(&new_image, Some(INVALID), &object()), "violated");
    assert_eq!(judged(&new_image, Some("connection refused"), &object()), "inconclusive");
    let env = json!({ "containers": [{ "name": "target", "env": [] }] });
    assert_eq!(judged(&env, Some(INVALID), &object()), "holds");
    assert_eq!(judged(&env, None, &object()), "violated");
    let policy = json!({ "restartPolicy": "Never" });
    assert_eq!(judged(&policy, Some(INVALID), &object()), "holds");
    assert_eq!(judged(&policy, None, &object()), "violated");
    let more = json!([{ "key": "a", "tolerationSeconds": 100 }, { "key": "b" }]);
    let tolerations = json!({ "tolerations": more });
    assert_eq!(judged(&tolerations, None, &with("tolerations", more.clone())), "holds");
    assert_eq!(judged(&tolerations, Some(INVALID), &object()), "violated");
    let none = json!({ "tolerations": [] });
    assert_eq!(judged(&none, Some(INVALID), &object()), "holds");
    assert_eq!(judged(&none, None, &with("tolerations", json!([]))), "violated");
    assert_eq!(
        judged(&json!({ "activeDeadlineSeconds": 600 }), None, &object()),
        "inconclusive",
        "no change"
    );
}

#[test]
fn admission_may_store_an_accepted_patch_differently() {
    let judged =
        |asked: &Value, after: &Value| patched(FIELDS, &object(), &json!({ "spec": asked }), None, after);
    let image = |image: &str| json!([{ "name": "target", "image": image }]);
    let asked = json!({ "containers": image("registry/new:1") });
    let shown = |name: &str| judged(&asked, &with("containers", image(name)));
    assert_eq!(shown("mirror/registry/new:1"), "inconclusive", "another registry");
    assert_eq!(shown("registry/new:1@sha256:0"), "inconclusive", "a digest");
    assert_eq!(shown("registry/new:2"), "violated", "another image");
    let none = json!({ "tolerations": [] });
    let again = json!([{ "key": "a", "tolerationSeconds": 200 }, { "key": "b" }]);
    assert_eq!(judged(&none, &object()), "inconclusive", "the tolerations were added again");
    assert_eq!(judged(&none, &with("tolerations", again)), "inconclusive", "and another one");
    assert_eq!(judged(&none, &with("tolerations", json!([{ "key": "b" }]))), "violated", "one is gone");
}

#[test]
fn a_deadline_can_only_become_shorter() {
    let none = with("activeDeadlineSeconds", Value::Null);
    let judged = |before: &Value, asked: Value, refused: bool| {
        let after = with("activeDeadlineSeconds", asked.clone());
        let after = if refused { before } else { &after };
        let asked = json!({ "spec": { "activeDeadlineSeconds": asked } });
        patched(DEADLINE, before, &asked, refused.then_some(INVALID), after)
    };
    assert_eq!(judged(&object(), json!(500), false), "holds");
    assert_eq!(judged(&object(), json!(500), true), "violated");
    assert_eq!(judged(&object(), json!(700), true), "holds");
    assert_eq!(judged(&object(), json!(700), false), "violated");
    assert_eq!(judged(&object(), Value::Null, true), "holds");
    assert_eq!(judged(&object(), Value::Null, false), "violated");
    assert_eq!(judged(&none, json!(500), false), "holds");
    assert_eq!(judged(&none, json!(500), true), "violated");
    assert_eq!(judged(&none, json!(-1), true), "holds");
    assert_eq!(judged(&none, json!(-1), false), "violated");
}

#[test]
fn a_pod_that_goes_gets_no_finalizers() {
    let going = with("metadata.deletionTimestamp", json!("2026-01-01T00:00:09Z"));
    let asked = json!({ "metadata": { "finalizers": ["probity.dev/late"] } });
    let has = |mut object: Value| {
        object["metadata"]["finalizers"] = json!(["probity.dev/late"]);
        object
    };
    let judged = |before: &Value, refused: Option<&str>, after: &Value| {
        patched(FINALIZERS, before, &asked, refused, after)
    };
    assert_eq!(judged(&going, Some(INVALID), &going), "holds");
    assert_eq!(judged(&going, None, &has(going.clone())), "violated");
    assert_eq!(judged(&going, None, &going), "violated", "accepted, and nothing came of it");
    assert_eq!(judged(&object(), None, &has(object())), "holds");
    assert_eq!(judged(&object(), None, &object()), "violated", "not shown");
    assert_eq!(judged(&object(), Some(INVALID), &object()), "violated");
    assert_eq!(judged(&object(), Some("timed out"), &object()), "inconclusive");
}

#[test]
fn the_identity_of_a_pod_stays() {
    let judged = |field: &str, refused: Option<&str>, changed: bool| {
        let wanted = json!("2001-01-01T00:00:00Z");
        let after = if changed { with(&format!("metadata.{field}"), wanted.clone()) } else { object() };
        let asked = json!({ "metadata": { field: wanted } });
        patched(IDENTITY, &object(), &asked, refused, &after)
    };
    assert_eq!(judged("creationTimestamp", None, false), "holds", "it was ignored");
    assert_eq!(judged("creationTimestamp", None, true), "violated");
    assert_eq!(judged("uid", Some("the API server answered 409 Conflict: precondition"), false), "holds");
    assert_eq!(judged("uid", None, true), "violated");
    assert_eq!(judged("name", Some("the API server answered 400 BadRequest: name"), false), "holds");
    assert_eq!(judged("namespace", Some("no connection"), false), "inconclusive");
}
