//! Changes values in a status or an event. The changes of JSON are pure, and are defined in [`super::fault`].

use serde_json::{Map, Value};

use super::fault::{Alter, Change, Condition, PodAlter};

/// The value at `path` (`state/running/startedAt`, `env/0/value`), if it exists.
#[must_use]
pub fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('/').try_fold(object, |object, name| match object {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        _ => object.get(name),
    })
}

/// The object that contains the last name of `path`, and that name. `None` if a parent is absent.
fn parent<'a, 'p>(object: &'a mut Value, path: &'p str) -> Option<(&'a mut Map<String, Value>, &'p str)> {
    let (parents, name) = path.rsplit_once('/').map_or((None, path), |(parents, name)| (Some(parents), name));
    let mut holder = object;
    for name in parents.into_iter().flat_map(|parents| parents.split('/')) {
        holder = match holder {
            Value::Array(items) => items.get_mut(name.parse::<usize>().ok()?)?,
            _ => holder.get_mut(name)?,
        };
    }
    Some((holder.as_object_mut()?, name))
}

/// Whether all fields have these values; `null` is absent.
fn agree<'a>(object: &Value, mut values: impl Iterator<Item = (&'a String, &'a Value)>) -> bool {
    values.all(|(path, wanted)| at(object, path).unwrap_or(&Value::Null) == wanted)
}

impl Change {
    /// Changes `object` if its condition holds. Returns whether anything has changed.
    pub fn apply(&self, object: &mut Value) -> bool {
        if !agree(object, self.only_if.iter()) {
            return false;
        }
        let before = object.clone();
        for (path, value) in &self.set {
            if let Some((holder, name)) = parent(object, path) {
                holder.insert(name.to_owned(), value.clone());
            }
        }
        for (path, more) in &self.add {
            if let Some((holder, name)) = parent(object, path)
                && let Some(number) = holder.get(name).and_then(Value::as_i64)
            {
                holder.insert(name.to_owned(), number.saturating_add(*more).max(0).into());
            }
        }
        for (path, seconds) in &self.shift {
            if let Some((holder, name)) = parent(object, path)
                && let Some(moved) =
                    holder.get(name).and_then(Value::as_str).and_then(|time| shifted(time, *seconds))
            {
                holder.insert(name.to_owned(), moved.into());
            }
        }
        for path in &self.remove {
            if let Some((holder, name)) = parent(object, path) {
                holder.remove(name);
            }
        }
        *object != before
    }
}

/// Applies all changes, even if an earlier one has already changed something. Returns whether anything has changed.
fn apply_all(changes: &[Change], object: &mut Value) -> bool {
    changes.iter().fold(false, |so_far, change| change.apply(object) | so_far)
}

/// A time of the API (`2026-01-31T23:59:59Z`), moved by this many seconds.
fn shifted(time: &str, seconds: i64) -> Option<String> {
    let timestamp: jiff::Timestamp = time.parse().ok()?;
    let moved = timestamp.checked_add(jiff::SignedDuration::from_secs(seconds)).ok()?;
    Some(moved.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// The three lists of a status that describe containers.
pub const CONTAINER_LISTS: [&str; 3] =
    ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"];

impl Alter {
    /// Changes a pod's status. `is_struck` selects the containers; the pod itself is always selected.
    pub fn apply(&self, status: &mut Value, is_struck: impl Fn(&Value) -> bool) -> bool {
        let mut changed = false;
        for list in CONTAINER_LISTS {
            for container in status.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                if is_struck(container) {
                    changed |= apply_all(&self.containers, container);
                }
            }
        }
        if let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) {
            for change in &self.conditions {
                let is_meant =
                    |condition: &Value| condition.get("type").is_some_and(|kind| *kind == *change.r#type);
                let before = conditions.len();
                if change.absent {
                    conditions.retain(|condition| !is_meant(condition));
                }
                changed |= conditions.len() != before;
                for condition in conditions.iter_mut().filter(|condition| is_meant(condition)) {
                    changed |= change.change.apply(condition);
                }
            }
        }
        changed | apply_all(&self.pod, status)
    }
}

/// The two lists of a specification that describe containers.
const SPEC_LISTS: [&str; 2] = ["initContainers", "containers"];

impl PodAlter {
    /// Changes a pod as the kubelet receives it. `is_struck` selects the containers; the pod itself is always selected.
    pub fn apply(&self, pod: &mut Value, is_struck: impl Fn(&Value) -> bool) -> bool {
        let mut changed = false;
        for list in SPEC_LISTS {
            let containers = pod.pointer_mut(&format!("/spec/{list}")).and_then(Value::as_array_mut);
            for container in containers.into_iter().flatten().filter(|container| is_struck(container)) {
                changed |= apply_all(&self.containers, container);
            }
        }
        changed | apply_all(&self.pod, pod)
    }
}

impl Condition {
    /// Whether a pod's status is one of the selected ones.
    #[must_use]
    pub fn holds(&self, status: &Value, is_struck: impl Fn(&Value) -> bool) -> bool {
        let lists = CONTAINER_LISTS.iter().filter_map(|list| status.get(*list)?.as_array());
        let mut containers = lists.flatten().filter(|container| is_struck(container));
        let condition = |kind: &str| {
            let conditions = status.get("conditions").and_then(Value::as_array);
            let mut of_kind =
                conditions.into_iter().flatten().filter(move |condition| condition["type"] == *kind);
            of_kind.next().and_then(|condition| condition.get("status")?.as_str())
        };
        (self.container.is_empty() || containers.any(|container| agree(container, self.container.iter())))
            && agree(status, self.pod.iter())
            && self.conditions.iter().all(|(kind, wanted)| condition(kind) == Some(wanted))
    }
}

#[cfg(test)]
#[path = "alter_tests.rs"]
mod tests;
