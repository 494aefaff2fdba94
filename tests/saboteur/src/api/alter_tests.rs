use serde_json::{Value, json};

use crate::api::fault::{Alter, Change, Condition};

fn status() -> Value {
    json!({
        "phase": "Running",
        "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-31T23:59:58Z"},
            {"type": "Initialized", "status": "True"},
        ],
        "initContainerStatuses": [{"name": "side", "ready": true, "restartCount": 0}],
        "containerStatuses": [
            {"name": "main", "ready": true, "started": true, "restartCount": 1,
             "lastState": {"terminated": {"exitCode": 137, "reason": "Error"}}},
        ],
    })
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> T {
    match serde_saphyr::from_str(text) {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}

fn altered(words: &str, is_struck: impl Fn(&Value) -> bool) -> (bool, Value) {
    let mut after = status();
    let changed = read::<Alter>(words).apply(&mut after, is_struck);
    (changed, after)
}

#[test]
fn fields_of_the_containers_of_the_scope_are_set() {
    let only_main = |container: &Value| container["name"] == "main";
    let (changed, after) = altered("containers: [{ set: { ready: false, started: null } }]", only_main);
    assert!(changed);
    assert_eq!(after["containerStatuses"][0]["ready"], false);
    assert_eq!(after["initContainerStatuses"][0]["ready"], true);
}

#[test]
fn a_change_waits_for_its_condition() {
    let words = "containers: [{ if: { ready: false }, set: { restartCount: 9 } }]";
    assert_eq!(altered(words, |_| true), (false, status()));
    let words = "containers: [{ if: { started: null }, set: { restartCount: 9 } }]";
    let (_, after) = altered(words, |_| true);
    assert_eq!(after["initContainerStatuses"][0]["restartCount"], 9, "null is absent");
    assert_eq!(after["containerStatuses"][0]["restartCount"], 1);
}

#[test]
fn numbers_are_added_and_never_negative() {
    let (_, after) = altered("containers: [{ add: { restartCount: -1, nothing: 4 } }]", |_| true);
    assert_eq!(after["containerStatuses"][0]["restartCount"], 0);
    assert_eq!(after["initContainerStatuses"][0]["restartCount"], 0);
    assert_eq!(after["containerStatuses"][0].get("nothing"), None);
}

#[test]
fn times_are_moved_over_midnight() {
    let (_, after) =
        altered("conditions: [{ type: Ready, change: { shift: { lastTransitionTime: 3 } } }]", |_| true);
    assert_eq!(after["conditions"][0]["lastTransitionTime"], "2026-02-01T00:00:01Z");
}

#[test]
fn a_field_is_made_but_not_its_parent() {
    let words = "containers: [{ set: { lastState/terminated/signal: 9, state/running/startedAt: x } }]";
    let (_, after) = altered(words, |_| true);
    assert_eq!(after["containerStatuses"][0]["lastState"]["terminated"]["signal"], 9);
    assert_eq!(after["containerStatuses"][0].get("state"), None);
}

#[test]
fn a_condition_is_left_out() {
    let (changed, after) = altered("conditions: [{ type: Ready, absent: true }]", |_| true);
    assert!(changed);
    assert_eq!(after["conditions"], json!([{"type": "Initialized", "status": "True"}]));
}

#[test]
fn fields_of_the_pod_are_removed() {
    let (_, after) = altered("pod: [{ remove: [phase] }]", |_| true);
    assert_eq!(after.get("phase"), None);
}

#[test]
fn what_is_not_there_is_no_change() {
    let change = Change { remove: vec!["message".into()], ..Change::default() };
    assert!(!change.apply(&mut status()));
}

#[test]
fn a_condition_of_a_fault_looks_at_containers_pod_and_conditions() {
    let holds =
        |words: &str| read::<Condition>(words).holds(&status(), |container| container["name"] == "main");
    assert!(holds("{}"));
    assert!(holds("container: { ready: true, lastState/terminated/exitCode: 137 }"));
    assert!(!holds("container: { restartCount: 0 }"), "the sidecar is not of the scope");
    assert!(holds("pod: { phase: Running, reason: null }"));
    assert!(holds("conditions: { Ready: 'True' }"));
    assert!(!holds("conditions: { Ready: 'True', Initialized: 'False' }"));
    assert!(!holds("conditions: { Gate: 'True' }"));
}
