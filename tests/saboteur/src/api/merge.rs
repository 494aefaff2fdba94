//! Applies a patch to an object as the API server does, as far as a kubelet's patches of pods need it: maps are merged,
//! `null` removes a field, some lists are merged by a key, and all other lists are replaced. In this way, the proxy
//! knows what the kubelet believes to have written, although it was not written.

use serde_json::{Map, Value};

/// The lists of a pod's status that are merged, each with its key.
const MERGED: [(&str, &str); 4] =
    [("conditions", "type"), ("podIPs", "ip"), ("hostIPs", "ip"), ("resourceClaimStatuses", "name")];

/// Applies a strategic merge patch to an object.
pub(super) fn lay_over(object: &mut Value, patch: &Value) {
    merge(object, patch, false);
}

/// Adds a later patch to an earlier one: applied to any object, the sum has the same effect as both patches one after
/// the other.
pub(super) fn add_up(sum: &mut Value, patch: &Value) {
    merge(sum, patch, true);
}

/// With `keep`, the directives of a patch are kept, because the object is also a patch.
fn merge(object: &mut Value, patch: &Value, keep: bool) {
    let Value::Object(changes) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let Value::Object(fields) = object else { return };
    for (name, change) in changes {
        if name.starts_with("$setElementOrder/") {
            // The order directive matters only together with the list, and conditions can be in any order.
            continue;
        }
        match change {
            Value::Null if !keep => {
                fields.remove(name);
            }
            Value::Object(_) => merge(fields.entry(name.clone()).or_insert(Value::Null), change, keep),
            Value::Array(items) => {
                let list = fields.entry(name.clone()).or_insert(Value::Null);
                match MERGED.iter().find(|(merged, _)| merged == name) {
                    Some((_, key)) => merge_list(list, items, key, keep),
                    None => *list = change.clone(),
                }
            }
            _ => {
                fields.insert(name.clone(), change.clone());
            }
        }
    }
}

fn merge_list(list: &mut Value, changes: &[Value], key: &str, keep: bool) {
    if !list.is_array() {
        *list = Value::Array(Vec::new());
    }
    let Value::Array(items) = list else { return };
    for change in changes {
        let same = |item: &Value| item.get(key) == change.get(key);
        let is_removal = change.get("$patch").is_some_and(|word| word == "delete");
        match items.iter().position(same) {
            Some(at) if is_removal && !keep => {
                items.remove(at);
            }
            Some(at) if is_removal => items[at] = change.clone(),
            Some(at) => {
                if let Value::Object(fields) = &mut items[at] {
                    fields.remove("$patch");
                }
                merge(&mut items[at], change, keep);
            }
            None if is_removal && !keep => {}
            None => items.push(change.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{add_up, lay_over};

    fn pod() -> Value {
        json!({"metadata": {"uid": "u"}, "status": {
            "phase": "Pending",
            "message": "m",
            "conditions": [
                {"type": "Ready", "status": "False", "reason": "ContainersNotReady"},
                {"type": "PodScheduled", "status": "True"},
            ],
            "containerStatuses": [{"name": "a", "ready": false, "state": {"waiting": {"reason": "ContainerCreating"}}}],
        }})
    }

    fn patch() -> Value {
        json!({"metadata": {"uid": "u"}, "status": {
            "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "PodScheduled"}],
            "phase": "Running",
            "message": null,
            "conditions": [
                {"type": "Ready", "status": "True", "reason": null},
                {"type": "PodScheduled", "$patch": "delete"},
                {"type": "Initialized", "status": "True"},
            ],
            "containerStatuses": [{"name": "a", "ready": true, "state": {"running": {}}}],
            "podIPs": [{"ip": "10.0.0.1"}],
        }})
    }

    #[test]
    fn conditions_are_merged_by_type_and_container_statuses_replaced() {
        let mut object = pod();
        lay_over(&mut object, &patch());
        assert_eq!(
            object["status"],
            json!({
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "True"}],
                "containerStatuses": [{"name": "a", "ready": true, "state": {"running": {}}}],
                "podIPs": [{"ip": "10.0.0.1"}],
            })
        );
    }

    #[test]
    fn the_sum_of_patches_does_what_they_did_one_after_the_other() {
        let second = json!({"status": {
            "message": "again",
            "conditions": [{"type": "Ready", "status": "False"}, {"type": "PodScheduled", "status": "True"}],
            "containerStatuses": [],
        }});
        let mut one_by_one = pod();
        lay_over(&mut one_by_one, &patch());
        lay_over(&mut one_by_one, &second);
        let mut sum = patch();
        add_up(&mut sum, &second);
        let mut at_once = pod();
        lay_over(&mut at_once, &sum);
        let sorted = |mut pod: Value| {
            if let Some(conditions) = pod["status"]["conditions"].as_array_mut() {
                conditions.sort_by_key(|condition| condition["type"].to_string());
            }
            pod
        };
        assert_eq!(sorted(at_once), sorted(one_by_one));
    }
}
