//! The data that a container receives about its pod: its variables, and the files of the downward API.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Defect;
use crate::kubelet::expand::expand;
use crate::node_facts::{ALLOCATABLE, NODE_ADDRESS};
use crate::pod::Kind;
use crate::updates::container_in;
use crate::world::{At, FIRST_NETWORK, NEXT_NETWORK, World};

/// The variables with which every container finds the API server.
const OF_API_SERVER: [(&str, &str); 2] =
    [("KUBERNETES_SERVICE_HOST", "10.96.0.1"), ("KUBERNETES_SERVICE_PORT_HTTPS", "443")];

impl World<'_> {
    /// The environment of a container.
    pub(crate) fn environment(&self, at: At) -> BTreeMap<String, String> {
        let pod = &self.pods[at.pod];
        let of_objects = self.variables_of_objects(&pod.containers[at.container].spec);
        let wins = |name: &str| self.has(Defect::EnvFromOverridesEnv) && of_objects.contains_key(name);
        let mut env = of_objects.clone();
        env.extend(self.variables_of_services(&pod.object["spec"]));
        let is_sourced = |name: &str| {
            let mut all = list(&pod.containers[at.container].spec, "env");
            all.any(|of| of["name"] == name && of.get("valueFrom").is_some())
        };
        for variable in list(&pod.containers[at.container].spec, "env") {
            let name = variable["name"].as_str().unwrap_or_default().to_owned();
            if wins(&name) {
                continue;
            }
            let source = &variable["valueFrom"];
            let value = match variable["value"].as_str() {
                Some(text) => {
                    let unseen = |name: &str| {
                        of_objects.contains_key(name) && self.has(Defect::ReferencesToObjectsStay)
                            || name.contains("_SERVICE_") && self.has(Defect::ServiceReferencesStay)
                            || is_sourced(name) && self.has(Defect::ReferencesToSourcesStay)
                    };
                    let later = |name: &str| {
                        let mut all = list(&pod.containers[at.container].spec, "env");
                        let of = all.find(|of| of["name"] == name)?;
                        self.has(Defect::LaterReferencesReplaced)
                            .then(|| of["value"].as_str().map(str::to_owned))?
                    };
                    let seen = |name: &str| env.get(name).filter(|_| !unseen(name)).cloned();
                    Some(expand(text, &|name: &str| seen(name).or_else(|| later(name))))
                }
                None if self.has(Defect::DownwardVariablesMissing) || self.lacks_token(at) => None,
                None if self.has(Defect::AddressUntoldAfterRestart)
                    && pod.containers[at.container].attempt() > 0
                    && source["fieldRef"]["fieldPath"]
                        .as_str()
                        .is_some_and(|path| path.contains("podIP")) =>
                {
                    Some(String::new())
                }
                None => self
                    .told(at, source, self.source_of_variable(at, source))
                    .or_else(|| self.value_of_key(source)),
            };
            if let Some(value) = value {
                env.insert(name, value);
            }
        }
        env
    }

    /// The arguments of the process in a container, with the values of the variables to which they refer.
    pub(super) fn arguments(&self, at: At) -> Vec<String> {
        let spec = &self.pods[at.pod].containers[at.container].spec;
        let literal =
            |name: &str| list(spec, "env").any(|of| of["name"] == name && of.get("value").is_some());
        let env = self.environment(at);
        let value = |name: &str| {
            env.get(name).filter(|_| literal(name) || !self.has(Defect::ArgumentsSeeLiteralsOnly)).cloned()
        };
        let again = |text: String| match self.has(Defect::ArgumentsExpandedTwice) {
            true => expand(&text, &value),
            false => text,
        };
        let words = list(spec, "args").filter_map(Value::as_str).map(|word| again(expand(word, &value)));
        ["/agnhost-rs".to_owned()].into_iter().chain(words).collect()
    }

    /// The variables about Services.
    fn variables_of_services(&self, spec: &Value) -> BTreeMap<String, String> {
        let linked = spec["enableServiceLinks"] != false;
        let asked = linked || self.has(Defect::ServiceVariablesUnasked);
        let addressed = self.services.iter().filter(|of| asked && of.object["spec"]["clusterIP"] != "None");
        let variable = |name: &str| format!("{}_SERVICE_HOST", name.to_ascii_uppercase().replace('-', "_"));
        let of_others = addressed.map(|of| (variable(&of.name), of.ip.clone()));
        let known = linked || !self.has(Defect::ApiServerVariablesMissing);
        let of_api_server = OF_API_SERVER.into_iter().filter(|_| known);
        let of_api_server = of_api_server.map(|(name, value)| (name.to_owned(), value.to_owned()));
        of_others.chain(of_api_server).collect()
    }

    /// The object from which a variable is taken.
    fn source_of_variable(&self, at: At, source: &Value) -> &Value {
        let pod = &self.pods[at.pod];
        let stays = is_one_of(source, "labels") && self.has(Defect::DownwardVariablesStay);
        if stays { &pod.first } else { &pod.object }
    }

    /// The content of a file of the downward API.
    pub(super) fn content(&self, at: At, item: &Value) -> Option<String> {
        let pod = &self.pods[at.pod];
        let as_first = |field: &str| pod.first["metadata"][field] == pod.object["metadata"][field];
        let unannotated = as_first("annotations");
        let back = unannotated && as_first("labels");
        let stays = self.has(Defect::DownwardFilesStay)
            || (unannotated && self.has(Defect::LabelsRenewedWithAnnotations))
            || (is_one_of(item, "labels") && self.has(Defect::DownwardLabelFileStays))
            || (is_one_of(item, "annotations") && self.has(Defect::DownwardAnnotationFileStays));
        let object = match () {
            () if stays => &pod.first,
            () if back && self.has(Defect::DownwardChangeBackUnwritten) => &pod.before,
            () => &pod.object,
        };
        if self.has(Defect::DownwardFilesMissing) || self.lacks_token(at) {
            return None;
        }
        self.told(at, item, object)
    }

    /// Whether a defective kubelet passes no values to a pod, because the pod has no token.
    fn lacks_token(&self, at: At) -> bool {
        let automatic = &self.pods[at.pod].object["spec"]["automountServiceAccountToken"];
        self.has(Defect::DownwardNeedsToken) && *automatic == false
    }

    fn told(&self, at: At, source: &Value, object: &Value) -> Option<String> {
        let main = self.pods[at.pod].containers[at.container].kind == Kind::Main;
        if !main && self.has(Defect::DownwardOnlyInMains) {
            return None;
        }
        if let Some(field) = source["fieldRef"]["fieldPath"].as_str() {
            return Some(self.field(object, field, &self.pods[at.pod].ip));
        }
        self.resource(at, source)
    }

    fn field(&self, object: &Value, field: &str, ip: &str) -> String {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (metadata, spec) = (&object["metadata"], &object["spec"]);
        if let Some((list, key)) = field.strip_suffix("']").and_then(|field| field.split_once("['")) {
            let list = if self.has(Defect::DownwardMixesMaps) { "metadata.labels" } else { list };
            let lowered = list == "metadata.annotations" && self.has(Defect::AnnotationKeysLowered);
            let key = if lowered { key.to_lowercase() } else { key.to_owned() };
            return text(&metadata[list.trim_start_matches("metadata.")][&key]);
        }
        match field {
            "metadata.labels" | "metadata.annotations" => {
                let map = metadata[field.trim_start_matches("metadata.")].as_object();
                let lines =
                    map.into_iter().flatten().map(|(key, value)| match self.has(Defect::DownwardUnquoted) {
                        true => format!("{key}={}", text(value)),
                        false => format!("{key}={value}"),
                    });
                lines.collect::<Vec<_>>().join("\n")
            }
            "metadata.uid" if self.has(Defect::DownwardUidIsName) => text(&metadata["name"]),
            "metadata.name" => text(&metadata["name"]),
            "metadata.namespace" => text(&metadata["namespace"]),
            "metadata.uid" => text(&metadata["uid"]),
            "spec.serviceAccountName" => text(&spec["serviceAccountName"]),
            "spec.nodeName" => text(&spec["nodeName"]),
            "status.hostIP" | "status.hostIPs" if self.has(Defect::DownwardHostIsPod) => ip.to_owned(),
            "status.hostIP" | "status.hostIPs" => NODE_ADDRESS.to_owned(),
            _ if self.has(Defect::DownwardAddressOfOldSandbox) => ip.replace(NEXT_NETWORK, FIRST_NETWORK),
            _ => ip.to_owned(),
        }
    }

    /// The amount of a resource, as a variable or, if the source has a path, as a file.
    fn resource(&self, at: At, source: &Value) -> Option<String> {
        let (of_variable, source) = (source.get("path").is_none(), &source["resourceFieldRef"]);
        let (kind, resource) = source["resource"].as_str()?.split_once('.')?;
        let kind = if self.has(Defect::DownwardRequestsAreLimits) { "limits" } else { kind };
        let containers = &self.pods[at.pod].containers;
        let named = source["containerName"].as_str().filter(|_| !self.has(Defect::DownwardContainerIgnored));
        let named = named.and_then(|name| containers.iter().find(|container| container.name == name));
        let given = match named.filter(|of| of.name != containers[at.container].name) {
            Some(other) => &other.spec["resources"],
            None if of_variable => self.resources_at_start(at),
            None => &containers[at.container].spec["resources"],
        };
        let given = &given[kind][resource];
        let of_init = kind == "limits" && containers[at.container].kind != Kind::Main;
        let of_node = ALLOCATABLE.iter().find(|(of, _)| kind == "limits" && *of == resource);
        let amount = match given.as_str() {
            Some(given) => quantity(given)?,
            None if self.has(Defect::DownwardLimitIsZero) => 0,
            None if named.is_some() && of_variable && self.has(Defect::NamedLimitIsZero) => 0,
            None if named.is_some_and(|of| of.name != containers[at.container].name)
                && of_variable
                && self.has(Defect::LimitOfOtherIsZero) =>
            {
                0
            }
            None if of_init && self.has(Defect::LimitOfInitsIsZero) => 0,
            None if self.has(Defect::DownwardLimitIsDoubled) => 2 * quantity(of_node?.1)?,
            None => quantity(of_node?.1)?,
        };
        let divisor = source["divisor"].as_str().filter(|_| !self.has(Defect::DownwardDivisorIgnored));
        let divisor = divisor.and_then(quantity).unwrap_or(1000);
        let down = self.has(Defect::DownwardRoundsDown)
            || (of_variable && self.has(Defect::DownwardVariablesRoundDown))
            || (resource == "ephemeral-storage" && self.has(Defect::StorageRoundsDown));
        let more = if down { 0 } else { divisor - 1 };
        Some(((amount + more) / divisor).to_string())
    }

    /// The resources that a container had when its process started.
    fn resources_at_start(&self, at: At) -> &Value {
        let (pod, of) = (&self.pods[at.pod], &self.pods[at.pod].containers[at.container]);
        let first = container_in(&pod.first["spec"], &of.name).map(|first| &first["resources"]);
        let stale = first.filter(|_| of.attempt() > 0 && self.has(Defect::ResizedVariablesStale));
        stale.or(of.life.as_ref().map(|life| &life.resources)).unwrap_or(&of.spec["resources"])
    }

    /// The problems with the downward API in a pod's spec.
    pub(crate) fn downward_problems(&self, spec: &Value, of: &str, problems: &mut Vec<String>) {
        let only_env = ["spec.serviceAccountName", "spec.nodeName", "status.hostIP", "status.podIP"];
        for (at, volume) in list(spec, "volumes").enumerate() {
            for item in list(&volume["downwardAPI"], "items") {
                let field = item["fieldRef"]["fieldPath"].as_str().unwrap_or_default();
                let wrong = only_env.iter().any(|only| field.starts_with(only));
                if wrong && !self.has(Defect::ApiAcceptsVariablesInVolumes) {
                    let path = format!("{of}.volumes[{at}].downwardAPI.fieldRef.fieldPath");
                    problems.push(format!("{path}: Unsupported value: \"{field}\""));
                }
            }
        }
        for container in list(spec, "containers") {
            for (at, variable) in list(container, "env").enumerate() {
                let field = variable["valueFrom"]["fieldRef"]["fieldPath"].as_str().unwrap_or_default();
                let wrong = matches!(field, "metadata.labels" | "metadata.annotations");
                if wrong && !self.has(Defect::ApiAcceptsFilesInVariables) {
                    problems.push(format!(
                        "{of}.env[{at}].valueFrom.fieldRef.fieldPath: Unsupported value: \"{field}\""
                    ));
                }
            }
        }
    }
}

/// Whether a variable or file shows one of the labels, or one of the annotations.
fn is_one_of(source: &Value, map: &str) -> bool {
    let field = source["fieldRef"]["fieldPath"].as_str().unwrap_or_default();
    field
        .strip_prefix("metadata.")
        .and_then(|field| field.strip_prefix(map))
        .is_some_and(|key| key.starts_with('['))
}

/// A quantity in thousandths.
fn quantity(text: &str) -> Option<i64> {
    let (number, factor) = match () {
        () if text.ends_with("Mi") => (text.trim_end_matches("Mi"), 1_048_576_000),
        () if text.ends_with("Ki") => (text.trim_end_matches("Ki"), 1_024_000),
        () if text.ends_with('m') => (text.trim_end_matches('m'), 1),
        () => (text, 1000),
    };
    Some(number.parse::<i64>().ok()? * factor)
}

fn list<'v>(of: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    of[field].as_array().into_iter().flatten()
}
