//! Placeholders for the names of objects: `{object:NAME}` must name an object of the case.

use probity_script::problem::pin;
use serde_json::Value;

use super::places::Places;
use super::there_is;

const START: &str = "{object:";

impl Places<'_> {
    /// Checks the placeholders for names in pods, workloads, plans, objects and patches.
    pub(crate) fn check_placeholders(&self) -> Result<(), String> {
        let names: Vec<&str> =
            self.objects.iter().filter_map(|object| object["metadata"]["name"].as_str()).collect();
        for (path, value) in self.texts() {
            if let Some(name) = unknown(&value, &names) {
                let hint = there_is(&name, names.iter().copied());
                return Err(pin(&format!("the case has no object `{name}` under `objects`{hint}"), &path));
            }
        }
        Ok(())
    }

    /// Everything in which placeholders are replaced, with its place.
    fn texts(&self) -> Vec<(Vec<String>, Value)> {
        let path = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
        let mut all = Vec::new();
        for (key, pod) in self.pods {
            all.push((self.path(key, &["pod"]), pod.pod.clone()));
            all.push((self.path(key, &["target"]), serde_json::to_value(&pod.target).unwrap_or_default()));
        }
        for (key, of) in self.workloads {
            all.push((path(&["workloads", key, "workload"]), of.workload.clone()));
            all.push((
                path(&["workloads", key, "target"]),
                serde_json::to_value(&of.target).unwrap_or_default(),
            ));
        }
        for (at, object) in self.objects.iter().enumerate() {
            all.push((path(&["objects", &at.to_string()]), object.clone()));
        }
        for (at, step) in self.steps.iter().enumerate() {
            all.push((path(&["steps", &at.to_string()]), serde_json::to_value(step).unwrap_or_default()));
        }
        all
    }
}

/// The first name in a placeholder that is not one of these.
fn unknown(value: &Value, names: &[&str]) -> Option<String> {
    match value {
        Value::String(text) => {
            let mut found = text.match_indices(START).filter_map(|(at, _)| {
                text.get(at + START.len()..)?.split_once('}').map(|(name, _)| name.to_owned())
            });
            found.find(|name| !names.contains(&name.as_str()))
        }
        Value::Array(values) => values.iter().find_map(|value| unknown(value, names)),
        Value::Object(fields) => fields.values().find_map(|value| unknown(value, names)),
        _ => None,
    }
}
