//! Workloads of a case: pods that a controller of the cluster makes from a template, and the update of that template.
//!
//! A workload is written as Kubernetes writes it. What is read here is only what the harness must know of it: its kind,
//! the containers of its template, and how many pods there may be at once. All else is the API server's to judge.

use std::collections::BTreeMap;

use probity_script::Plan;
use probity_script::problem::{nearest, pin};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check_containers;

/// The kinds that a workload can have; the first one is meant if none is said.
pub const KINDS: [&str; 2] = ["Deployment", "StatefulSet"];

/// A workload of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Workload {
    /// The workload as Kubernetes writes it; a Deployment if it says no kind. Strings may hold `{ip:KEY}` (of a pod) and
    /// `{service-ip:NAME}`.
    pub workload: Value,
    /// The plan of each container of the template that is a target.
    #[serde(default)]
    pub target: BTreeMap<String, Plan>,
}

/// An update of a workload: other plans for its targets, or a patch, or both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UpdateOf {
    /// The workload's key.
    pub workload: String,
    /// The new plan of each target that gets one.
    #[serde(default)]
    pub target: BTreeMap<String, Plan>,
    /// A strategic merge patch of the workload.
    #[serde(default)]
    pub patch: Option<Value>,
}

impl Workload {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.workload.get("kind").and_then(Value::as_str).unwrap_or(KINDS[0])
    }

    /// The spec of its pods.
    #[must_use]
    pub fn pod_spec(&self) -> &Value {
        &self.workload["spec"]["template"]["spec"]
    }

    /// How many pods are wanted.
    #[must_use]
    pub fn replicas(&self) -> u64 {
        self.workload["spec"]["replicas"].as_u64().unwrap_or(1)
    }

    /// How many pods there can be at once: a rolling update may have some above the wanted number.
    #[must_use]
    pub fn most_pods(&self) -> u64 {
        let strategy = &self.workload["spec"]["strategy"];
        let wanted = self.replicas();
        if self.kind() != "Deployment" || strategy["type"] == "Recreate" {
            return wanted;
        }
        let share = |percent: u64| (wanted * percent).div_ceil(100);
        let surge = match &strategy["rollingUpdate"]["maxSurge"] {
            Value::Number(number) => number.as_u64().unwrap_or(0),
            Value::String(text) => {
                share(text.strip_suffix('%').and_then(|text| text.parse().ok()).unwrap_or(25))
            }
            _ => share(25),
        };
        wanted + surge
    }

    /// Whether its template has a container of this name.
    #[must_use]
    pub fn has_container(&self, name: &str) -> bool {
        ["initContainers", "containers"].iter().any(|list| {
            let containers = self.pod_spec()[list].as_array();
            containers.into_iter().flatten().any(|container| container["name"] == name)
        })
    }

    /// What can be said of it without a server: its kind, its shape, and whether the plans name its containers.
    pub(super) fn check(&self, key: &str) -> Result<(), String> {
        let at = |rest: &[&str]| {
            let path = ["workloads", key].into_iter().chain(rest.iter().copied()).map(str::to_owned);
            path.collect::<Vec<_>>()
        };
        match self.workload.get("kind").map(|kind| kind.as_str().unwrap_or_default()) {
            Some(kind) if !KINDS.contains(&kind) => {
                let near = nearest(kind, KINDS.iter().copied());
                let hint = near.map(|near| format!("; the nearest is `{near}`")).unwrap_or_default();
                let why = format!("`{kind}` is no kind of workload that can stand here{hint}");
                return Err(pin(&why, &at(&["workload", "kind"])));
            }
            _ => {}
        }
        let template = self.workload.get("spec").and_then(|spec| spec.get("template"));
        let Some(template) = template else {
            return Err(pin("a workload needs a `spec` with a `template`", &at(&["workload"])));
        };
        let Some(spec) = template.get("spec").and_then(Value::as_object) else {
            return Err(pin("a template needs a `spec`", &at(&["workload", "spec", "template"])));
        };
        check_containers(
            "template",
            spec,
            &self.target,
            &at(&["workload", "spec", "template", "spec"]),
            &at(&["target"]),
        )
    }
}

impl UpdateOf {
    /// Checks that what it speaks of exists, and that it changes something.
    pub(super) fn check(&self, workloads: &BTreeMap<String, Workload>) -> Result<(), String> {
        let key = self.workload.as_str();
        let found = workloads.get(key).ok_or_else(|| unknown(key, workloads))?;
        if let Some(wrong) = self.target.keys().find(|name| !found.target.contains_key(*name)) {
            let near = nearest(wrong, found.target.keys().map(String::as_str));
            let hint = near.map(|near| format!("; the nearest is `{near}`")).unwrap_or_default();
            return Err(format!("`{wrong}` is no target of workload `{key}`{hint}"));
        }
        if self.target.is_empty() && self.patch.is_none() {
            return Err("an update needs a new plan under `target`, or a `patch`".to_owned());
        }
        Ok(())
    }
}

/// That there is no such workload.
pub(super) fn unknown(key: &str, workloads: &BTreeMap<String, Workload>) -> String {
    let near = nearest(key, workloads.keys().map(String::as_str));
    let hint = near.map(|near| format!("; the nearest is `{near}`")).unwrap_or_default();
    format!("the case has no workload `{key}`{hint}")
}
