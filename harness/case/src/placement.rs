//! The nodes that a run may use: a named node, nodes with some labels, and tainted nodes.
//!
//! It answers two questions: what to add to the spec of a pod, and whether a node accepts such a pod.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

use crate::manifest::entry;

/// The taint effects.
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Where pods may be placed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The only node.
    pub node: Option<String>,
    /// Labels that a node must have.
    pub selector: BTreeMap<String, String>,
    /// Taints that are tolerated.
    pub tolerations: Vec<Toleration>,
}

/// A taint that is tolerated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toleration {
    /// Its key.
    pub key: String,
    /// Its value. If absent, any value is tolerated.
    pub value: Option<String>,
    /// Its effect. If absent, any effect is tolerated.
    pub effect: Option<String>,
}

impl FromStr for Toleration {
    type Err = String;

    /// Reads `KEY[=VALUE][:EFFECT]`, as `kubectl taint` writes a taint.
    fn from_str(text: &str) -> Result<Self, String> {
        let (taint, effect) = match text.split_once(':') {
            Some((taint, effect)) => (taint, Some(effect)),
            None => (text, None),
        };
        if let Some(effect) = effect.filter(|effect| !EFFECTS.contains(effect)) {
            return Err(format!(
                "`{effect}` is not a valid taint effect; the effects are {}",
                EFFECTS.join(", ")
            ));
        }
        let (key, value) = match taint.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (taint, None),
        };
        if key.is_empty() {
            return Err(
                "write it as vendor.example.com/kubelet=new:NoSchedule; the value and the effect are optional"
                    .to_owned(),
            );
        }
        Ok(Self { key: key.to_owned(), value, effect: effect.map(str::to_owned) })
    }
}

impl fmt::Display for Toleration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value.iter().map(|value| format!("={value}"));
        let effect = self.effect.iter().map(|effect| format!(":{effect}"));
        write!(f, "{}{}", self.key, value.chain(effect).collect::<String>())
    }
}

impl Toleration {
    /// Whether the placement tolerates a taint of a node.
    #[must_use]
    pub fn tolerates(&self, taint: &Value) -> bool {
        let text = |field: &str| taint.get(field).and_then(Value::as_str).unwrap_or_default();
        self.key == text("key")
            && self.value.as_ref().is_none_or(|value| value == text("value"))
            && self.effect.as_ref().is_none_or(|effect| effect == text("effect"))
    }

    fn manifest(&self) -> Value {
        let mut toleration = match &self.value {
            Some(value) => json!({ "key": self.key, "operator": "Equal", "value": value }),
            None => json!({ "key": self.key, "operator": "Exists" }),
        };
        if let Some(effect) = &self.effect {
            toleration["effect"] = json!(effect);
        }
        toleration
    }
}

impl Placement {
    /// This placement, limited to one node.
    #[must_use]
    pub fn on(&self, node: &str) -> Self {
        Self { node: Some(node.to_owned()), ..self.clone() }
    }

    /// Whether a node, as the API server shows it, accepts pods with this placement.
    #[must_use]
    pub fn takes(&self, node: &Value) -> bool {
        let at = |path: &str| node.pointer(path).cloned().unwrap_or_default();
        let named = self.node.as_ref().is_none_or(|name| at("/metadata/name") == name.as_str());
        let labels = at("/metadata/labels");
        let selected = self.selector.iter().all(|(key, value)| labels.get(key) == Some(&json!(value)));
        let taints = at("/spec/taints");
        let repels = |taint: &Value| {
            matches!(taint["effect"].as_str(), Some("NoSchedule" | "NoExecute"))
                && !self.tolerations.iter().any(|toleration| toleration.tolerates(taint))
        };
        named && selected && !taints.as_array().is_some_and(|taints| taints.iter().any(repels))
    }

    /// Writes the placement into the spec of a pod, in addition to the pod's own constraints.
    pub fn write(&self, spec: &mut Value) {
        if let Some(node) = &self.node {
            bind(spec, node);
        }
        for (label, value) in &self.selector {
            let selector = &mut spec["nodeSelector"];
            if selector.get(label).is_none() {
                selector[label] = json!(value);
            }
        }
        let tolerations = self.tolerations.iter().map(Toleration::manifest);
        if let Some(own) = spec.get_mut("tolerations").and_then(Value::as_array_mut) {
            own.extend(tolerations);
        } else if !self.tolerations.is_empty() {
            spec["tolerations"] = tolerations.collect();
        }
    }
}

/// Requires a node by its name, because its host name label may differ. The terms of a node affinity are alternatives, so
/// each term gets this requirement.
fn bind(spec: &mut Value, node: &str) {
    let field = json!({ "key": "metadata.name", "operator": "In", "values": [node] });
    let affinity = entry(entry(spec, "affinity"), "nodeAffinity");
    let required = entry(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
    let terms = required.get_mut("nodeSelectorTerms").and_then(Value::as_array_mut);
    match terms.filter(|terms| !terms.is_empty()) {
        Some(terms) => terms.iter_mut().for_each(|term| match term["matchFields"].as_array_mut() {
            Some(fields) => fields.push(field.clone()),
            None => term["matchFields"] = json!([field]),
        }),
        None => required["nodeSelectorTerms"] = json!([{ "matchFields": [field] }]),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn vendor() -> Placement {
        Placement {
            node: None,
            selector: [("pool".to_owned(), "new".to_owned())].into(),
            tolerations: vec!["vendor=kubelet:NoSchedule".parse().unwrap()],
        }
    }

    #[test]
    fn a_toleration_is_read_as_kubectl_writes_a_taint() {
        for (text, manifest) in [
            ("a", json!({ "key": "a", "operator": "Exists" })),
            ("a=b", json!({ "key": "a", "operator": "Equal", "value": "b" })),
            ("a:NoExecute", json!({ "key": "a", "operator": "Exists", "effect": "NoExecute" })),
            (
                "a=:NoSchedule",
                json!({ "key": "a", "operator": "Equal", "value": "", "effect": "NoSchedule" }),
            ),
        ] {
            let read: Toleration = text.parse().unwrap();
            assert_eq!((read.manifest(), read.to_string()), (manifest, text.to_owned()));
        }
        assert!("a:Never".parse::<Toleration>().unwrap_err().contains("NoSchedule"));
        assert!("=b".parse::<Toleration>().is_err());
    }

    #[test]
    fn a_node_takes_pods_by_its_name_its_labels_and_its_taints() {
        let node = |taints: Value| json!({ "metadata": { "name": "n", "labels": { "pool": "new" } }, "spec": { "taints": taints } });
        let taint = |value: &str| json!([{ "key": "vendor", "value": value, "effect": "NoSchedule" }]);
        assert!(vendor().takes(&node(taint("kubelet"))));
        assert!(!vendor().takes(&node(taint("other"))));
        assert!(!Placement::default().takes(&node(taint("kubelet"))));
        assert!(Placement::default().takes(&node(json!([{ "key": "a", "effect": "PreferNoSchedule" }]))));
        assert!(vendor().on("n").takes(&node(json!([]))) && !vendor().on("m").takes(&node(json!([]))));
        let elsewhere = json!({ "metadata": { "name": "n", "labels": { "pool": "old" } } });
        assert!(!vendor().takes(&elsewhere) && Placement::default().takes(&elsewhere));
    }

    #[test]
    fn a_pod_keeps_what_it_says_itself() {
        let mut spec = json!({
            "nodeSelector": { "pool": "own" },
            "tolerations": [{ "operator": "Exists" }],
            "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{ "matchExpressions": [] }, { "matchFields": [] }],
            } } },
        });
        vendor().on("n").write(&mut spec);
        assert_eq!(spec["nodeSelector"], json!({ "pool": "own" }));
        assert_eq!(spec["tolerations"].as_array().unwrap().len(), 2);
        let required = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
        for term in required["nodeSelectorTerms"].as_array().unwrap() {
            assert_eq!(term["matchFields"][0]["values"], json!(["n"]));
        }
    }

    #[test]
    fn without_wishes_nothing_is_written() {
        let mut spec = json!({});
        Placement::default().write(&mut spec);
        assert_eq!(spec, json!({}));
    }
}
