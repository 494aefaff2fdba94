//! The objects that are sent to the API server for a case.
//!
//! The harness adds as little as possible to a pod: a name and labels, the target's image, plan and outlets, and the
//! settings that the restricted Pod Security Standard requires and the pod does not set itself. The sent objects are
//! part of the history.

mod known_later;
pub mod variants;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use probity_script::Plan;
use serde_json::{Map, Value, json};

use crate::case::{Case, CasePod, ONLY};
use crate::placement::Placement;
use crate::step::EphemeralStep;
use crate::wide::{WIDE_KINDS, is_wide};
use crate::workload::{UpdateStep, Workload};

pub use known_later::{most_memory, placeholders, placeholders_in, pod_of_placeholder};

/// The label of everything that a run creates.
pub const RUN: &str = "probity.dev/run";
/// The label that holds the slug of the case.
pub const CASE: &str = "probity.dev/case";
/// The label of a cluster-scoped object that holds the namespace of its run.
pub const NAMESPACE: &str = "probity.dev/namespace";
/// The label that holds the pod's key in the case.
pub const POD: &str = "probity.dev/pod";
/// The prefix of the finalizers that a pod of a case can have: the harness removes only finalizers with this prefix.
pub const FINALIZERS: &str = "probity.dev/";
/// The path of the target's program in its image; exec probes use it.
pub const PROGRAM: &str = "/agnhost-rs";
/// The control port of a pod's first target. Each further target has the next port.
pub const CONTROL_PORT: u16 = 7072;
/// The environment variable that holds the plan of a target.
const PLAN: &str = "AGNHOST_PLAN";
/// The volume for the journals, and where it is mounted.
const VOLUME: (&str, &str) = ("probity-witness", "/probity");

/// The values that are known when a pod is sent.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// The run's name.
    pub run: String,
    /// The namespace.
    pub namespace: String,
    /// The target's image.
    pub image: String,
    /// `Never`, `IfNotPresent` or `Always`.
    pub pull_policy: String,
    /// The recorder's address and port. If empty, the lines of a target are read only from its log.
    pub recorder: String,
    /// The token of the run.
    pub token: String,
    /// Where pods may be placed.
    pub placement: Placement,
    /// Values for placeholders: `ip:KEY`, `uid:KEY`, `node:KEY`, `most-memory:KEY`, `service-ip:NAME` and
    /// `image:VARIANT`.
    pub addresses: BTreeMap<String, String>,
}

/// The name of a case's pod in the cluster. For a static pod, this is the name of its mirror pod, which ends with the
/// name of its node.
#[must_use]
pub fn pod_name(case: &Case, key: &str) -> String {
    let name = name_in_manifest(case, key);
    match case.pods.get(key).and_then(|pod| pod.node.as_ref()) {
        Some(node) => format!("{name}-{node}"),
        None => name,
    }
}

/// The name of a case's pod in its manifest.
fn name_in_manifest(case: &Case, key: &str) -> String {
    if key == ONLY { case.name.slug() } else { object_name(case, key) }
}

/// The name of another object of a case.
#[must_use]
pub fn object_name(case: &Case, name: &str) -> String {
    format!("{}-{name}", case.name.slug())
}

/// The name of an object of a kind. The name of a cluster-scoped object contains the name of the run too, because other
/// runs can have the same case.
#[must_use]
pub fn name_of_kind(case: &Case, kind: &str, name: &str, run: &str) -> String {
    let own = object_name(case, name);
    if WIDE_KINDS.contains(&kind) { format!("{run}-{own}") } else { own }
}

/// The name that an object under `objects` has in the cluster.
#[must_use]
pub fn name_of_object(case: &Case, object: &Value, run: &str) -> String {
    let name = object["metadata"]["name"].as_str().unwrap_or("object");
    name_of_kind(case, object["kind"].as_str().unwrap_or_default(), name, run)
}

/// The control port of a container of a pod.
#[must_use]
pub fn control_port(pod: &CasePod, container: &str) -> Option<u16> {
    port_of(&pod.target, container)
}

fn port_of(plans: &BTreeMap<String, Plan>, container: &str) -> Option<u16> {
    let at = plans.keys().position(|name| name == container)?;
    CONTROL_PORT.checked_add(u16::try_from(at).ok()?)
}

/// A pod of a case, as it is sent to the API server.
#[must_use]
pub fn pod(case: &Case, key: &str, of: &CasePod, setting: &Setting) -> Value {
    let mut pod = of.pod.clone();
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    label(&mut pod, case, key, &name_in_manifest(case, key), setting);
    if of.is_static {
        // The scheduler does not place a static pod.
        let setting = Setting { placement: Placement::default(), ..setting.clone() };
        prepare_spec(&mut pod["spec"], &of.target, &setting);
    } else {
        prepare_spec(&mut pod["spec"], &of.target, setting);
    }
    fill(pod, case, setting)
}

/// A workload of a case, as it is sent to the API server. Its pods have the same labels as a pod of the case with that
/// key would have. Two of these labels are the workload's selector.
#[must_use]
pub fn workload(case: &Case, key: &str, of: &Workload, setting: &Setting) -> Value {
    let mut workload = of.workload.clone();
    workload["apiVersion"] = json!(of.api_version());
    workload["kind"] = json!(of.kind());
    label(&mut workload, case, key, &object_name(case, key), setting);
    let spec = entry(&mut workload, "spec");
    // The API server generates the selector of a Job.
    if of.kind() != "Job" {
        let selected = json!({ "matchLabels": { CASE: case.name.slug(), POD: key } });
        default(spec, "selector", selected);
    }
    let template = entry(spec, "template");
    add_labels(entry(template, "metadata"), case, key, setting);
    prepare_spec(entry(template, "spec"), &of.target, setting);
    fill(workload, case, setting)
}

/// The patch of a workload that an update sends: the patch in the case, and the new plans of targets.
#[must_use]
pub fn update(case: &Case, of: &Workload, update: &UpdateStep, setting: &Setting) -> Value {
    let mut patch = update.patch.clone().unwrap_or_else(|| json!({}));
    for (name, plan) in &update.target {
        let spec = entry(entry(entry(&mut patch, "spec"), "template"), "spec");
        let named = |container: &Value| container["name"] == name.as_str();
        let init = of.pod_spec()["initContainers"].as_array().is_some_and(|list| list.iter().any(named));
        let list = if init { "initContainers" } else { "containers" };
        let at = spec.get(list).and_then(Value::as_array).and_then(|list| list.iter().position(named));
        let at = at.unwrap_or_else(|| {
            push(spec, list, json!({ "name": name }));
            spec[list].as_array().map_or(0, |list| list.len() - 1)
        });
        let plan = serde_json::to_string(plan).unwrap_or_default();
        push(&mut spec[list][at], "env", json!({ "name": PLAN, "value": plan }));
    }
    fill(patch, case, setting)
}

/// The patch of a step, as it is sent to the API server.
#[must_use]
pub fn patch(case: &Case, patch: &Value, setting: &Setting) -> Value {
    fill(patch.clone(), case, setting)
}

/// An ephemeral container, as it is sent to the API server. If the pod has targets, the container's journal is in their
/// volume.
#[must_use]
pub fn ephemeral(case: &Case, step: &EphemeralStep, pod: Option<&CasePod>, setting: &Setting) -> Value {
    let mut container = step.container.clone();
    let name = container["name"].as_str().unwrap_or_default().to_owned();
    match &step.target {
        Some(plan) => {
            let plan = serde_json::to_string(plan).unwrap_or_default();
            make_target(&mut container, &name, &plan, None, setting);
            if pod.is_none_or(|pod| pod.target.is_empty()) {
                unmount_journal(&mut container);
            }
        }
        None => fill_image(&mut container, setting),
    }
    restrict_container(&mut container);
    fill(container, case, setting)
}

/// Another object of a case, as it is sent to the API server. A Service without a selector selects the case's pods.
#[must_use]
pub fn object(case: &Case, object: &Value, setting: &Setting) -> Value {
    let mut object = object.clone();
    let name = object["metadata"]["name"].as_str().unwrap_or("object").to_owned();
    let full = name_of_object(case, &object, &setting.run);
    label(&mut object, case, &name, &full, setting);
    if is_wide(&object) {
        belong_to_cluster(&mut object, setting);
    }
    if object["kind"] == "Service" && object["spec"].get("selector").is_none() {
        object["spec"]["selector"] = json!({ CASE: case.name.slug() });
    }
    fill(object, case, setting)
}

/// A manifest for a dry run. The harness adds a namespace and, if they are missing, a name, an image and the settings
/// that the restricted Pod Security Standard requires, so that the manifest can fail only for its own faults.
#[must_use]
pub fn trial(case: &Case, name: &str, manifest: &Value, setting: &Setting) -> Value {
    let mut manifest = manifest.clone();
    if manifest.get("kind").is_none() {
        manifest["apiVersion"] = json!("v1");
        manifest["kind"] = json!("Pod");
    }
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let own = manifest["metadata"]["name"].as_str().map(str::to_owned);
    let name = own.unwrap_or_else(|| object_name(case, plain.trim_matches('-')));
    label(&mut manifest, case, "trial", &name, setting);
    if manifest["kind"] == "Pod" {
        for_each_container(&mut manifest["spec"], |container| {
            default(container, "image", json!(setting.image))
        });
        restrict(&mut manifest["spec"]);
    }
    fill(manifest, case, setting)
}

fn label(object: &mut Value, case: &Case, key: &str, name: &str, setting: &Setting) {
    let metadata = entry(object, "metadata");
    metadata["name"] = json!(name);
    metadata["namespace"] = json!(setting.namespace);
    add_labels(metadata, case, key, setting);
}

/// A cluster-scoped object has no namespace. A label states to which run it belongs.
fn belong_to_cluster(object: &mut Value, setting: &Setting) {
    let metadata = entry(object, "metadata");
    if let Some(fields) = metadata.as_object_mut() {
        fields.remove("namespace");
    }
    entry(metadata, "labels")[NAMESPACE] = json!(setting.namespace);
}

fn add_labels(metadata: &mut Value, case: &Case, key: &str, setting: &Setting) {
    let labels = entry(metadata, "labels");
    for (label, value) in [
        (RUN, setting.run.as_str()),
        (CASE, &case.name.slug()),
        (POD, key),
        ("app.kubernetes.io/managed-by", "probity"),
    ] {
        labels[label] = json!(value);
    }
}

fn prepare_spec(spec: &mut Value, plans: &BTreeMap<String, Plan>, setting: &Setting) {
    default(spec, "automountServiceAccountToken", json!(false));
    default(spec, "enableServiceLinks", json!(false));
    setting.placement.write(spec);
    if !plans.is_empty() {
        push(spec, "volumes", json!({ "name": VOLUME.0, "emptyDir": {} }));
    }
    for_each_container(spec, |container| {
        let name = container["name"].as_str().unwrap_or_default().to_owned();
        if let Some(port) = port_of(plans, &name) {
            let plan = serde_json::to_string(&plans[&name]).unwrap_or_default();
            make_target(container, &name, &plan, Some(port), setting);
        } else {
            fill_image(container, setting);
        }
    });
    restrict(spec);
}

/// Makes a container without an image do nothing.
fn fill_image(container: &mut Value, setting: &Setting) {
    if container.get("image").is_none() || variants::is_asked_by(container) {
        choose_image(container, setting);
        default(container, "imagePullPolicy", json!(setting.pull_policy));
        default(container, "args", json!(["pause"]));
    }
}

/// Sets the target's image, unless the container requests a variant of it. The placeholder for a variant is filled in
/// with all other placeholders.
fn choose_image(container: &mut Value, setting: &Setting) {
    if !variants::is_asked_by(container) {
        container["image"] = json!(setting.image);
    }
}

fn make_target(container: &mut Value, name: &str, plan: &str, port: Option<u16>, setting: &Setting) {
    choose_image(container, setting);
    container["imagePullPolicy"] = json!(setting.pull_policy);
    if let Some(fields) = container.as_object_mut() {
        fields.remove("command");
    }
    if !serves(container) {
        container["args"] = json!(["serve"]);
    }
    let journal = format!("{}/{name}", VOLUME.1);
    let port = port.map(|port| port.to_string()).unwrap_or_default();
    for (variable, value) in [
        (PLAN, plan),
        ("AGNHOST_JOURNAL", &journal),
        ("AGNHOST_RECORDER", &setting.recorder),
        ("AGNHOST_CONTROL", &port),
        ("AGNHOST_TOKEN", &setting.token),
        ("CONTAINER_NAME", name),
    ] {
        if !value.is_empty() {
            push(container, "env", json!({ "name": variable, "value": value }));
        }
    }
    for (variable, field) in [
        ("POD_NAME", "metadata.name"),
        ("POD_UID", "metadata.uid"),
        ("POD_IP", "status.podIP"),
        ("NODE_NAME", "spec.nodeName"),
    ] {
        push(
            container,
            "env",
            json!({ "name": variable, "valueFrom": { "fieldRef": { "fieldPath": field } } }),
        );
    }
    push(container, "volumeMounts", json!({ "name": VOLUME.0, "mountPath": VOLUME.1 }));
}

/// Whether a container has arguments with which the target serves its plan.
#[must_use]
pub fn serves(container: &Value) -> bool {
    container["args"][0] == "serve" && container.get("command").is_none()
}

/// Removes the mount of the journal, because a pod without targets has no volume for it. Lines that the recorder does
/// not receive are then only in the log.
fn unmount_journal(container: &mut Value) {
    for (list, name) in [("volumeMounts", VOLUME.0), ("env", "AGNHOST_JOURNAL")] {
        if let Some(entries) = container.get_mut(list).and_then(Value::as_array_mut) {
            entries.retain(|entry| entry["name"] != name);
        }
    }
}

/// Adds the settings that the restricted Pod Security Standard requires of a pod, unless the pod sets them. Pods for
/// another operating system can have only one of these settings.
pub fn restrict(spec: &mut Value) {
    let foreign = spec["os"]["name"].as_str().is_some_and(|name| name != "linux");
    let context = entry(spec, "securityContext");
    default(context, "runAsNonRoot", json!(true));
    if foreign {
        return;
    }
    default(context, "runAsUser", json!(65532));
    default(context, "seccompProfile", json!({ "type": "RuntimeDefault" }));
    for_each_container(spec, restrict_container);
}

fn restrict_container(container: &mut Value) {
    let context = entry(container, "securityContext");
    default(context, "allowPrivilegeEscalation", json!(false));
    default(context, "readOnlyRootFilesystem", json!(true));
    default(context, "capabilities", json!({ "drop": ["ALL"] }));
}

fn for_each_container(spec: &mut Value, mut each: impl FnMut(&mut Value)) {
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            each(container);
        }
    }
}

/// The map in this field. It is created if it does not exist.
pub(crate) fn entry<'v>(object: &'v mut Value, field: &str) -> &'v mut Value {
    let value = &mut object[field];
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value
}

fn default(object: &mut Value, field: &str, value: Value) {
    if object.get(field).is_none() {
        object[field] = value;
    }
}

fn push(object: &mut Value, list: &str, value: Value) {
    match object.get_mut(list).and_then(Value::as_array_mut) {
        Some(values) => values.push(value),
        None => object[list] = json!([value]),
    }
}

/// Replaces the placeholders in every string with their values: `{ip:KEY}`, `{uid:KEY}`, `{node:KEY}`,
/// `{most-memory:KEY}`, `{service-ip:NAME}`, `{image:VARIANT}` and, with names, `{object:NAME}`. IPv6 addresses get
/// brackets where a URL or an address with a port needs them.
fn fill(value: Value, case: &Case, setting: &Setting) -> Value {
    let names = case.objects.iter().filter_map(|object| {
        let name = object["metadata"]["name"].as_str()?;
        Some((format!("object:{name}"), name_of_object(case, object, &setting.run)))
    });
    let addresses = setting.addresses.iter().map(|(name, address)| (name.clone(), address.clone()));
    fill_with(value, &names.chain(addresses).collect())
}

fn fill_with(value: Value, words: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) => Value::String(words.iter().fold(text, |text, (name, word)| {
            if text.contains('{') { known_later::fill_one(&text, &format!("{{{name}}}"), word) } else { text }
        })),
        Value::Array(values) => values.into_iter().map(|value| fill_with(value, words)).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, fill_with(value, words))).collect(),
        other => other,
    }
}
