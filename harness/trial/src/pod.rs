//! From someone's manifest to a pod that can run as a trial: the target stands in for every image, and what speaks of
//! probes stays as it is.
//!
//! Nothing is changed in silence: what was replaced and what was left out is noted. A field that nobody knows is
//! refused, since it may be a probe that is misspelt. All refusals are sentences pinned to their place.

mod asking;
mod fields;
mod making;

use std::collections::BTreeMap;

use probity_script::Plan;
use probity_script::problem::pin;
use serde_json::{Map, Value, json};

use crate::promise::{self, Promise};
use making::{Made, Making};
use probity_case::CasePod;
use probity_model::timeline::{Handler, ProbeKind, ProbeSpec};

/// The label by which the trial's service finds the pod.
pub(super) const LABEL: (&str, &str) = ("try", "app");

/// A workload as it was found in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its kind.
    pub kind: String,
    /// Its name; empty if it has none.
    pub name: String,
    /// The pod or the pod's template: what has a `spec` with containers.
    pub template: Value,
    /// Where that stands in the document.
    pub path: Vec<String>,
}

impl Workload {
    /// Finds the pod of a document; none if it is of a kind that has no pods.
    ///
    /// # Errors
    ///
    /// If the document is no object of Kubernetes, or has no pod where its kind should have one.
    pub fn of(document: &Value) -> Result<Option<Self>, String> {
        if !document.is_object() {
            return Err("this is no object of Kubernetes: it has no `kind`".to_owned());
        }
        let Some(kind) = document["kind"].as_str() else {
            return Err("there is no `kind`; a Pod, or a workload with a pod template, is wanted".to_owned());
        };
        let path: &[&str] = match kind {
            "Pod" => &[],
            "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "ReplicationController" | "Job" => {
                &["spec", "template"]
            }
            "CronJob" => &["spec", "jobTemplate", "spec", "template"],
            _ => return Ok(None),
        };
        let template = path.iter().try_fold(document, |value, part| value.get(part));
        let Some(template) = template.filter(|template| !template.is_null()) else {
            return Err(pin(&format!("this {kind} has no pod template at {}", path.join(".")), &["spec"]));
        };
        Ok(Some(Self {
            kind: kind.to_owned(),
            name: document["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
            template: without_nulls(template),
            path: path.iter().map(|part| (*part).to_owned()).collect(),
        }))
    }
}

/// What became of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// It is as it was.
    Replaced,
    /// It is not there.
    Dropped,
    /// It was not there.
    Added,
}

/// Something that differs from what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What became of it.
    pub what: What,
    /// The field, such as `containers[web].env`.
    pub field: String,
    /// By what, or why.
    pub why: String,
}

/// Where clients call the pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// The listener's name in the plan.
    pub listener: String,
    /// Its port.
    pub port: u16,
    /// Whether probes of the pod are answered by the same port, so that they wait behind its requests.
    pub probed: bool,
}

/// A pod that stands in for someone's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Stand {
    /// The pod, healthy.
    pub pod: CasePod,
    /// The container that falls ill in the trials.
    pub subject: String,
    /// Its probes.
    pub probes: Vec<ProbeSpec>,
    /// What its lifecycle hooks ask by HTTP, each with the hook's name.
    pub hooks: Vec<(&'static str, Handler)>,
    /// How long its preStop hook takes, in microseconds; none without one.
    pub pre_stop: Option<i64>,
    /// How long its postStart hook takes, in microseconds.
    pub post_start: i64,
    /// The pod's grace period in microseconds.
    pub grace: i64,
    /// How much longer than the subject the whole pod takes to be ready at most, in microseconds: for the containers
    /// that start before it, and for slower ones.
    pub slower: i64,
    /// The restart policy that counts for the subject.
    pub policy: String,
    /// Where clients call it.
    pub traffic: Traffic,
    /// What differs from what was written.
    pub notes: Vec<Note>,
}

impl Stand {
    /// Makes a pod stand in for a workload's.
    ///
    /// # Errors
    ///
    /// If it is no pod that can run, or something in it cannot be what was meant.
    pub fn of(workload: &Workload) -> Result<Self, String> {
        let under = |path: &[&str]| -> Vec<String> {
            workload.path.iter().cloned().chain(path.iter().map(|part| (*part).to_owned())).collect()
        };
        let Some(spec) = workload.template.get("spec").and_then(Value::as_object) else {
            return Err(pin("a pod needs a `spec`", &under(&["spec"])));
        };
        let mut making = Making { base: under(&["spec"]), ..Making::default() };
        making.labels(&workload.template["metadata"]);
        making.declare(spec);
        let mut made = making.spec(spec)?;
        let mut containers = Vec::new();
        for list in ["initContainers", "containers"] {
            let Some(written) = spec.get(list) else { continue };
            let Some(all) = written.as_array() else {
                return Err(pin(&format!("`{list}` is a list"), &making.at(&[list])));
            };
            for (at, container) in all.iter().enumerate() {
                containers.push(making.container(list, at, container)?);
            }
        }
        if !containers.iter().any(|container| container.list == "containers") {
            return Err(pin("a pod needs at least one container", &making.base));
        }
        let at = containers.iter().position(|one| one.stays && one.list == "containers");
        let most = |list: bool| {
            containers
                .iter()
                .enumerate()
                .filter(|(_, one)| one.stays && (one.list == "containers") == list)
                .max_by_key(|(at, one)| (one.probes.len(), std::cmp::Reverse(*at)))
                .filter(|(_, one)| !one.probes.is_empty())
                .map(|(at, _)| at)
        };
        let at = most(true).or_else(|| most(false)).or(at).unwrap_or_default();
        let traffic = making.traffic(&mut containers[at]);
        making.low_ports(&containers, &mut made);
        let mut target = BTreeMap::new();
        for container in &containers {
            target.insert(container.name.clone(), container.plan()?);
            let list = made.entry(container.list).or_insert_with(|| json!([]));
            list.as_array_mut().into_iter().for_each(|list| list.push(container.made.clone()));
        }
        let subject = &containers[at];
        let policy = spec.get("restartPolicy").and_then(Value::as_str).unwrap_or("Always");
        let policy = if subject.list == "initContainers" { "Always" } else { policy };
        let grace = spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(30);
        let stand = Self {
            subject: subject.name.clone(),
            probes: subject.probes.clone(),
            hooks: subject.hooks.clone(),
            pre_stop: subject.pre_stop,
            post_start: subject.post_start,
            grace: grace * 1_000_000,
            slower: slower(&containers, at),
            policy: policy.to_owned(),
            traffic,
            pod: CasePod {
                pod: json!({ "metadata": { "labels": { LABEL.0: LABEL.1 } }, "spec": made }),
                target,
                ..CasePod::default()
            },
            notes: making.notes,
        };
        Ok(stand)
    }

    /// The subject's probe of this kind.
    #[must_use]
    pub fn probe(&self, kind: ProbeKind) -> Option<&ProbeSpec> {
        self.probes.iter().find(|probe| probe.kind == kind)
    }

    /// The subject's plan.
    #[must_use]
    pub fn plan(&self) -> Plan {
        self.pod.target.get(&self.subject).cloned().unwrap_or_default()
    }

    /// The grace that a kill by this probe gives the container.
    #[must_use]
    pub fn grace_of(&self, killer: &ProbeSpec) -> i64 {
        killer.grace.unwrap_or(self.grace)
    }

    /// How long the preStop hook takes if the container is given so much grace.
    pub(super) fn pre_stop_within(&self, grace: i64) -> i64 {
        self.pre_stop.unwrap_or(0).min(grace)
    }

    /// How long the subject may take to answer well before this probe ends it. The kubelet probes a container only after
    /// its postStart hook.
    pub(super) fn patience(&self, probe: &ProbeSpec) -> Promise {
        let mut patience = promise::patience(probe);
        if self.post_start > 0 {
            patience.span.hi += self.post_start;
            patience.formula += ", after the postStart hook";
        }
        patience
    }

    /// Whether its postStart hook asks one of its ports.
    pub(super) fn post_start_asks(&self) -> bool {
        self.hooks.iter().any(|(hook, _)| *hook == "postStart")
    }

    /// Whether a path of a listener is asked by hooks and by no probe.
    pub(super) fn hooks_alone_ask(&self, listener: &str, path: &str) -> bool {
        let asks = |handler: &Handler| {
            let Handler::Http { path: of, .. } = handler else { return false };
            plain_path(of) == path && handler.port().is_some_and(|port| listener_at(port) == listener)
        };
        self.hooks.iter().any(|(_, handler)| asks(handler))
            && !self.probes.iter().any(|probe| asks(&probe.handler))
    }

    /// Whether two probes of the subject ask the same thing, so that one answer serves both.
    #[must_use]
    pub fn share(&self, one: ProbeKind, other: ProbeKind) -> bool {
        let asks = |kind| self.probe(kind).map(|probe| endpoint(&probe.handler));
        asks(one).is_some_and(|asked| Some(asked) == asks(other))
    }
}

/// What a probe asks, without its headers: the part of the plan that answers it.
pub(super) fn endpoint(handler: &Handler) -> (&'static str, Option<u16>, String) {
    match handler {
        Handler::Http { path, .. } => ("httpGet", handler.port(), plain_path(path)),
        Handler::Tcp { .. } => ("tcpSocket", handler.port(), String::new()),
        Handler::Grpc { service, .. } => ("grpc", handler.port(), service.clone()),
        Handler::Exec { command } => ("exec", None, command.join(" ")),
    }
}

/// How much longer than the subject the whole pod takes to be ready at most: sidecars start one after the other, and a
/// postStart hook holds up whatever comes behind it.
fn slower(containers: &[Made], subject: usize) -> i64 {
    let probe = |one: &Made, kind: ProbeKind| one.probes.iter().find(|probe| probe.kind == kind).cloned();
    let ready = |one: &Made| {
        let [startup, readiness] = [ProbeKind::Startup, ProbeKind::Readiness].map(|kind| probe(one, kind));
        promise::ready(startup.as_ref(), readiness.as_ref(), 0).span.hi + one.post_start
    };
    let (mut before, mut whole) = (0, 0);
    for one in containers.iter().filter(|one| one.stays) {
        whole = whole.max(before + ready(one));
        if one.list == "initContainers" {
            before += promise::ready(probe(one, ProbeKind::Startup).as_ref(), None, 0).span.hi;
        }
        before += one.post_start;
    }
    containers.get(subject).map_or(0, |one| (whole - ready(one)).max(0))
}

/// The same without fields that are null, as templates write fields that nobody set: they count as absent.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let set = fields.iter().filter(|(_, value)| !value.is_null());
            set.map(|(field, value)| (field.clone(), without_nulls(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(list) => list.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// A path as a plan has it: with a slash, and without query and fragment.
#[must_use]
pub fn plain_path(path: &str) -> String {
    let plain = path.split(['?', '#']).next().unwrap_or_default();
    if plain.starts_with('/') { plain.to_owned() } else { format!("/{plain}") }
}

/// The name of the listener at a port.
pub(super) fn listener_at(port: u16) -> String {
    format!("port-{port}")
}
