//! How the API server handles init containers: their fields, their names and policies, patches, and ports.

use probity_case::manifest::pod_name;
use probity_case::{ONLY, PatchStep, Step};
use probity_model::history::Did;
use serde_json::{Value, json};

use crate::Defect;
use crate::kubelet::rule_problems;
use crate::updates::merge;
use crate::world::World;

/// The message with which an update of a pod is rejected.
const FORBIDDEN: &str = "Pod is invalid: spec: Forbidden: pod updates may not change fields other than \
                         `spec.containers[*].image`,`spec.initContainers[*].image`";

fn list<'v>(spec: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    spec[field].as_array().into_iter().flatten()
}

impl World<'_> {
    /// The problems with the init containers in a pod's spec.
    pub(crate) fn init_problems(&self, spec: &Value, of: &str, problems: &mut Vec<String>) {
        let mut names: Vec<&Value> = list(spec, "containers").map(|container| &container["name"]).collect();
        for (at, container) in list(spec, "initContainers").enumerate() {
            let path = format!("{of}.initContainers[{at}]");
            if names.contains(&&container["name"]) && !self.has(Defect::ApiAcceptsSameNames) {
                problems.push(format!("{path}.name: Duplicate value: {}", container["name"]));
            }
            names.push(&container["name"]);
            let policy = container["restartPolicy"].as_str();
            let before = problems.len();
            rule_problems(self, &path, container, problems);
            if self.has(Defect::ApiAcceptsAnyInitPolicy) {
                problems.truncate(before);
            }
            if container.get("env").is_some() && self.has(Defect::ApiRefusesInitVariables) {
                problems.push(format!(
                    "initContainers[{}].env: Forbidden",
                    container["name"].as_str().unwrap_or("")
                ));
            }
            let hooked = container.get("lifecycle").is_some() && policy != Some("Always");
            if hooked && !self.has(Defect::ApiAcceptsInitProbes) {
                problems.push(format!(
                    "{path}.lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always"
                ));
            }
        }
    }

    /// Whether a sidecar may have no probe.
    pub(crate) fn sidecar_problem(&self, container: &Value, field: &str) -> Option<String> {
        let name = container["name"].as_str().unwrap_or_default();
        let refused = self.has(Defect::ApiRefusesSidecarProbes);
        refused.then(|| format!("initContainers[{name}].{field}: Forbidden"))
    }

    /// The status that a new pod gets.
    pub(crate) fn status_of_new(&self, spec: &Value) -> Value {
        let mut status = json!({ "phase": "Pending", "qosClass": self.class_of(spec) });
        let conditions = self.conditions_of_new(spec);
        if conditions.is_array() {
            status["conditions"] = conditions;
        }
        status
    }

    /// Applies a patch of the init containers of a pod. Only their images can be changed.
    pub(crate) fn patch_inits(&mut self, of: &PatchStep, step: &Step) {
        let name = pod_name(self.case, of.pod.as_deref().unwrap_or(ONLY));
        let entries: Vec<Value> = list(&of.patch["spec"], "initContainers").cloned().collect();
        let other = |entry: &Value| {
            entry
                .as_object()
                .is_some_and(|fields| fields.keys().any(|field| field != "name" && field != "image"))
        };
        let probes = self.patches_probes(&name, &entries);
        let refused = match entries.iter().any(other) {
            true => !probes && !self.has(Defect::ApiPatchesInits),
            false => self.has(Defect::ApiRefusesInitImage),
        };
        if refused {
            self.did(Did::Failed { what: step.in_words(), why: FORBIDDEN.to_owned() });
            return;
        }
        let (kind, patch) = ("Pod".to_owned(), of.patch.clone());
        self.did(Did::Patched { kind, name: name.clone(), patch, subresource: String::new() });
        let Some(pod) = self.pods.iter().rposition(|pod| pod.name == name && !pod.gone) else { return };
        let old = self.pods[pod].object["spec"].clone();
        let inits = self.pods[pod].object["spec"]["initContainers"].as_array_mut();
        for container in inits.into_iter().flatten() {
            let entry = entries.iter().find(|entry| entry["name"] == container["name"]);
            if let Some(image) = entry.and_then(|entry| entry.get("image")) {
                container["image"] = image.clone();
            }
            if let Some(entry) = entry.filter(|_| probes) {
                merge(container, entry);
            }
        }
        self.count_change(pod);
        self.show_again(pod);
        self.replace_changed(pod, &old);
        if self.has(Defect::ImageRunsInitAgain) {
            self.run_inits_again(pod);
        }
    }

    /// Whether a patch is accepted because it changes only the liveness and readiness probes of sidecars.
    fn patches_probes(&self, name: &str, entries: &[Value]) -> bool {
        let Some(pod) = self.pods.iter().rfind(|pod| pod.name == name && !pod.gone) else { return false };
        let is_sidecar = |entry: &Value| {
            let mut sidecars = pod.containers.iter().filter(|of| of.kind == crate::pod::Kind::Sidecar);
            sidecars.any(|of| entry["name"] == of.name.as_str())
        };
        let of_probes = |entry: &Value| {
            let fields = ["name", "livenessProbe", "readinessProbe"];
            entry.as_object().is_some_and(|of| of.keys().all(|field| fields.contains(&field.as_str())))
        };
        entries.iter().all(|entry| is_sidecar(entry) && of_probes(entry))
            && self.has(Defect::ApiPatchesSidecarProbes)
    }

    /// The ports of a service that its pods expose. A port name is looked up in the containers that keep running.
    pub(crate) fn ports_of(&self, service: &Value, members: &[usize]) -> Value {
        let all = list(&service["spec"], "ports");
        let known = |port: &&Value| {
            let Some(name) = port["targetPort"].as_str() else { return true };
            members.is_empty() || members.iter().any(|pod| self.names_port(*pod, name))
        };
        Value::Array(all.filter(known).cloned().collect())
    }

    fn names_port(&self, pod: usize, name: &str) -> bool {
        let counted = |container: &&crate::pod::Container| {
            container.kind != crate::pod::Kind::Init || self.has(Defect::InitPortsInServices)
        };
        let mut containers = self.pods[pod].containers.iter().filter(counted);
        containers.any(|container| list(&container.spec, "ports").any(|port| port["name"] == name))
    }
}
