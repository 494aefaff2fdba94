//! Workloads of a case: pods that a controller creates from a template, and the update of that template.
//!
//! A workload is written as Kubernetes writes it. This module reads only what the harness needs: its kind, the containers
//! of its template, and how many pods can exist at once. The API server validates the rest.

use std::collections::BTreeMap;

use probity_script::Plan;
use probity_script::problem::pin;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::case::checks::check_containers;
use crate::names::did_you_mean;
use crate::pod_rules;

/// The kinds that a workload can have. The first one is the default.
pub const KINDS: [&str; 4] = ["Deployment", "StatefulSet", "DaemonSet", "Job"];

/// A workload of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Workload {
    /// The workload as Kubernetes writes it. Without a `kind`, it is a Deployment. Strings may contain `{ip:KEY}` (of a
    /// pod), `{service-ip:NAME}` and `{object:NAME}`.
    pub workload: Value,
    /// The plan of each container of the template that is a target.
    #[serde(default)]
    pub target: BTreeMap<String, Plan>,
}

/// An update of a workload: new plans for its targets, or a patch, or both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UpdateStep {
    /// The workload's key.
    pub workload: String,
    /// The new plan of each target whose plan changes.
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

    /// The version of the API to which the workload's kind belongs.
    #[must_use]
    pub fn api_version(&self) -> &'static str {
        if self.kind() == "Job" { "batch/v1" } else { "apps/v1" }
    }

    /// The spec of its pods.
    #[must_use]
    pub fn pod_spec(&self) -> &Value {
        &self.workload["spec"]["template"]["spec"]
    }

    /// The desired number of pods. For a DaemonSet, the minimum number.
    #[must_use]
    pub fn replicas(&self) -> u64 {
        let spec = &self.workload["spec"];
        match self.kind() {
            "Job" => {
                let completions = spec["completions"].as_u64().unwrap_or(u64::MAX);
                spec["parallelism"].as_u64().unwrap_or(1).min(completions)
            }
            "DaemonSet" => 1,
            _ => spec["replicas"].as_u64().unwrap_or(1),
        }
    }

    /// How many pods can exist at once. A rolling update may exceed the desired number of replicas.
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

    /// Whether the template has a container of this name.
    #[must_use]
    pub fn has_container(&self, name: &str) -> bool {
        ["initContainers", "containers"].iter().any(|list| {
            let containers = self.pod_spec()[list].as_array();
            containers.into_iter().flatten().any(|container| container["name"] == name)
        })
    }

    /// Everything that is wrong with the workload, as far as this can be checked without an API server: its kind, its
    /// structure, and whether each plan belongs to one of its containers.
    pub(super) fn problems(&self, key: &str) -> Vec<String> {
        let at = |rest: &[&str]| {
            let path = ["workloads", key].into_iter().chain(rest.iter().copied()).map(str::to_owned);
            path.collect::<Vec<_>>()
        };
        match self.workload.get("kind").map(|kind| kind.as_str().unwrap_or_default()) {
            Some(kind) if !KINDS.contains(&kind) => {
                let hint = did_you_mean(kind, KINDS);
                let why = format!("`{kind}` is not a kind of workload that is allowed here{hint}");
                return vec![pin(&why, &at(&["workload", "kind"]))];
            }
            _ => {}
        }
        let found = pod_rules::problems_of_workload(self.kind(), &self.workload, &at(&["workload"]));
        if found.is_empty() { self.check_template(at).err().into_iter().collect() } else { found }
    }

    /// Checks what the harness needs of the template. `at` is the place of a part of the workload.
    fn check_template(&self, at: impl Fn(&[&str]) -> Vec<String>) -> Result<(), String> {
        let template = self.workload.get("spec").and_then(|spec| spec.get("template"));
        if template.is_none() {
            return Err(pin("a workload needs a `spec` with a `template`", &at(&["workload"])));
        }
        if self.kind() == "Job"
            && !["Never", "OnFailure"].iter().any(|policy| self.pod_spec()["restartPolicy"] == *policy)
        {
            let why = "the pods of a Job need `restartPolicy: Never` or `restartPolicy: OnFailure`";
            return Err(pin(why, &at(&["workload", "spec", "template", "spec"])));
        }
        check_containers(
            "template",
            self.pod_spec(),
            &self.target,
            &at(&["workload", "spec", "template", "spec"]),
            &at(&["target"]),
        )
    }
}

impl UpdateStep {
    /// Checks that everything that the update names exists, and that the update changes something.
    pub(super) fn check(&self, workloads: &BTreeMap<String, Workload>) -> Result<(), String> {
        let key = self.workload.as_str();
        let found = workloads.get(key).ok_or_else(|| unknown(key, workloads))?;
        if let Some(wrong) = self.target.keys().find(|name| !found.target.contains_key(*name)) {
            let hint = did_you_mean(wrong, found.target.keys().map(String::as_str));
            return Err(format!("`{wrong}` is not a target of workload `{key}`{hint}"));
        }
        if self.target.is_empty() && self.patch.is_none() {
            return Err("an update needs a new plan under `target`, or a `patch`".to_owned());
        }
        Ok(())
    }
}

/// The error for a workload that does not exist.
pub(super) fn unknown(key: &str, workloads: &BTreeMap<String, Workload>) -> String {
    let hint = did_you_mean(key, workloads.keys().map(String::as_str));
    format!("the case has no workload `{key}`{hint}")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::Workload;
    use crate::case::Case;

    const GOOD: &str = "\
case: a/b
story: because
workloads:
  web:
    workload:
      spec:
        replicas: 3
        template:
          spec:
            containers: [{ name: target }]
    target:
      target: { listeners: { web: { port: 8080, paths: { /ready: 200 } } } }
steps:
  - wait: { workload: web, available: 3 }
  - update: { workload: web, target: { target: { listeners: { web: { port: 8080, paths: { /ready: 503 } } } } } }
  - wait: { workload: web, new: true, all: true, ready: false }
  - delete: { workload: web }
";

    fn refused(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        Case::read("a.yaml", &GOOD.replace(from, to)).unwrap_err().line()
    }

    #[test]
    fn a_case_of_a_workload_alone_is_read() {
        let case = Case::read("a.yaml", GOOD).unwrap().remove(0);
        assert_eq!((case.workloads["web"].kind(), case.pods.len(), case.steps.len()), ("Deployment", 0, 4));
        assert!(case.plans("web").unwrap().contains_key("target") && case.plans("wob").is_none());
    }

    #[test]
    fn what_is_wrong_is_told_at_its_place() {
        let said = refused("    target:\n      target:", "    target:\n      tarket:");
        assert_eq!(
            said,
            "a.yaml, line 12, column 7: the template has no container `tarket`; did you mean `target`?"
        );
        let said =
            refused("      spec:\n        replicas", "      kind: Deploymint\n      spec:\n        replicas");
        assert_eq!(
            said,
            "a.yaml, line 6, column 13: `Deploymint` is not a kind of workload that is allowed here; did you mean `Deployment`?"
        );
        let said = refused("        template:\n          spec:", "        templite:\n          spec:");
        assert!(
            said.starts_with(
                "a.yaml, line 8, column 9: a Deployment's spec has no field `templite`; did you mean"
            ),
            "{said}"
        );
        let said = refused("            containers: [{ name: target }]", "            containers: []");
        assert!(said.starts_with("a.yaml, line 9, column 11: a template needs at least one"), "{said}");
        let said = refused("    target:\n      target:", "    tarket:\n      target:");
        assert!(said.starts_with("a.yaml, line 11, column 5: "), "{said}");
        let said =
            refused("steps:", "pods: { web: { pod: { spec: { containers: [{ name: c }] } } } }\nsteps:");
        assert!(said.starts_with("a.yaml, line 4, column 3: a pod also has the key `web`"), "{said}");
    }

    #[test]
    fn steps_that_mean_nothing_are_told_at_their_place() {
        let wait = "wait: { workload: web, available: 3 }";
        let said = refused(wait, "wait: { workload: wib, available: 3 }");
        assert_eq!(said, "a.yaml, line 14, column 5: the case has no workload `wib`; did you mean `web`?");
        let said = refused(wait, "wait: { workload: web, pod: web }");
        assert_eq!(said, "a.yaml, line 14, column 5: write either `pod` or `workload`");
        let said = refused("delete: { workload: web }", "delete: { workload: wib }");
        assert!(said.ends_with("the case has no workload `wib`; did you mean `web`?"), "{said}");
        let said = refused("delete: { workload: web }", "delete: { workload: web, pod: web }");
        assert!(said.ends_with("write either `pod` or `workload`"), "{said}");
        let said = refused(wait, "wait: { available: 3 }");
        assert!(
            said.ends_with("`available` is a condition of a workload: name the workload with `workload`"),
            "{said}"
        );
        let said = refused(wait, "wait: { ready: true }");
        assert!(said.ends_with("the case has no pods to which this could refer"), "{said}");
        let said = refused(wait, "update: { workload: web }");
        assert!(said.ends_with("an update needs a new plan under `target`, or a `patch`"), "{said}");
        let said = refused(wait, "update: { workload: web, target: { targit: {} } }");
        assert!(
            said.contains("`targit` is not a target of workload `web`; did you mean `target`?"),
            "{said}"
        );
        let said = refused(wait, "wait: { workload: web, container: other, ready: true }");
        assert!(said.contains("the template of workload `web` has no container `other`"), "{said}");
    }

    #[test]
    fn room_is_for_all_pods_that_a_rollout_may_have() {
        let most = |workload| Workload { workload, ..Workload::default() }.most_pods();
        let surge = |surge| {
            most(json!({ "spec": { "replicas": 4, "strategy": { "rollingUpdate": { "maxSurge": surge } } } }))
        };
        assert_eq!((surge(json!(2)), surge(json!("30%")), surge(json!(null))), (6, 6, 5));
        assert_eq!(most(json!({ "spec": {} })), 2, "one pod, and one that takes its place");
        assert_eq!(most(json!({ "spec": { "replicas": 4, "strategy": { "type": "Recreate" } } })), 4);
        assert_eq!(most(json!({ "kind": "StatefulSet", "spec": { "replicas": 4 } })), 4);
    }
}
