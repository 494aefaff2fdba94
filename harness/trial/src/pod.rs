//! Turns a user's manifest into a pod that can run as a trial. The target replaces every image, and the probes stay
//! unchanged.
//!
//! Every field that is replaced or left out is noted. A pod that every API server would reject is rejected here, by the
//! same rules as in cases. All errors are sentences that are pinned to their places in the file.

mod container;
mod draft;
mod fields;
mod probes;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use probity_case::{CasePod, pod_rules};
use probity_model::timeline::{Handler, ProbeKind, ProbeSpec};
use probity_script::Plan;
use probity_script::problem::pin;
use serde_json::{Map, Value, json};

use crate::promise::{self, Promise, SECOND};
use container::ContainerDraft;
use draft::PodDraft;

pub use probes::unknown_port;

/// The label with which the trial's Service selects the pod.
pub(crate) const LABEL: (&str, &str) = ("try", "app");

/// The lists of containers of a pod.
const LISTS: [&str; 2] = ["initContainers", "containers"];

/// A workload from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its kind.
    pub kind: String,
    /// Its name. Empty if the workload has no name.
    pub name: String,
    /// The pod or the pod template, which has a `spec` with containers.
    pub template: Value,
    /// Its place in the document.
    pub path: Vec<String>,
}

impl Workload {
    /// Finds the pod or pod template of a document. `None` if its kind has no pods.
    ///
    /// # Errors
    ///
    /// If the document is not a Kubernetes object, or has no pod where its kind should have one.
    pub fn of(document: &Value) -> Result<Option<Self>, String> {
        if !document.is_object() {
            return Err("this is not a Kubernetes object: it has no `kind`".to_owned());
        }
        let Some(kind) = document["kind"].as_str() else {
            return Err("there is no `kind`; give a Pod or a workload with a pod template".to_owned());
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

/// How a pod differs from the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// It was replaced.
    Replaced,
    /// It was left out.
    Dropped,
    /// It is new.
    Added,
}

/// A difference from the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// How.
    pub kind: NoteKind,
    /// The field, such as `containers[web].env`.
    pub field: String,
    /// What replaces the field, or why it differs.
    pub why: String,
}

/// The port to which clients send requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// The listener's name in the plan.
    pub listener: String,
    /// Its port.
    pub port: u16,
    /// Whether the pod's probes use the same port, so that they wait behind these requests.
    pub probed: bool,
}

/// A pod that replaces the user's own.
#[derive(Clone, Debug, PartialEq)]
pub struct StandIn {
    /// The pod, without a fault.
    pub pod: CasePod,
    /// The container that has the faults in the trials.
    pub subject: String,
    /// Its probes.
    pub probes: Vec<ProbeSpec>,
    /// The HTTP requests of its lifecycle hooks, each with the hook's name.
    pub hooks: Vec<(&'static str, Handler)>,
    /// How long its preStop hook takes, in microseconds. `None` without a hook.
    pub pre_stop: Option<i64>,
    /// How long its postStart hook takes, in microseconds.
    pub post_start: i64,
    /// The pod's grace period in microseconds.
    pub grace: i64,
    /// The maximum time in microseconds from the readiness of the subject to the readiness of the whole pod. It covers
    /// containers that start before the subject, and slower containers.
    pub slower: i64,
    /// The restart policy that applies to the subject.
    pub policy: String,
    /// The port to which clients send requests.
    pub traffic: Traffic,
    /// The differences from the original.
    pub notes: Vec<Note>,
}

impl StandIn {
    /// Creates a pod that replaces the workload's pod.
    ///
    /// # Errors
    ///
    /// If the pod could not run, or something in it cannot be intended.
    pub fn of(workload: &Workload) -> Result<Self, String> {
        Self::made(workload, false)
    }

    /// Creates a pod that replaces the workload's, and keeps more of its fields: the fields on which a lifecycle bug
    /// may depend.
    ///
    /// # Errors
    ///
    /// As for [`StandIn::of`].
    pub fn reproducing(workload: &Workload) -> Result<Self, String> {
        Self::made(workload, true)
    }

    fn made(workload: &Workload, reproduces: bool) -> Result<Self, String> {
        pod_rules::check(&workload.template, workload.kind != "Pod", &workload.path)?;
        let mut draft = PodDraft::at(&workload.path, reproduces);
        let Some(spec) = workload.template["spec"].as_object() else {
            return draft.refuse("a pod needs a `spec`", &[]);
        };
        draft.labels(&workload.template["metadata"]);
        draft.declare(spec);
        let mut made = draft.spec(spec);
        let mut containers = draft.containers(spec)?;
        let at = subject_of(&containers);
        let traffic = draft.traffic(&mut containers[at]);
        draft.low_ports(&containers, &mut made);
        let mut target = BTreeMap::new();
        for container in &containers {
            target.insert(container.name.clone(), container.plan()?);
            let list = made.entry(container.list).or_insert_with(|| json!([]));
            list.as_array_mut().into_iter().for_each(|list| list.push(container.made.clone()));
        }
        let slower = slower(&containers, at);
        let subject = containers.swap_remove(at);
        let policy = match subject.list {
            "containers" => spec.get("restartPolicy").and_then(Value::as_str).unwrap_or("Always"),
            _ => "Always",
        };
        let grace = spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(30);
        Ok(Self {
            subject: subject.name,
            probes: subject.probes,
            hooks: subject.hooks,
            pre_stop: subject.pre_stop,
            post_start: subject.post_start,
            grace: grace * SECOND,
            slower,
            policy: policy.to_owned(),
            traffic,
            pod: CasePod {
                pod: json!({ "metadata": { "labels": { LABEL.0: LABEL.1 } }, "spec": made }),
                target,
                ..CasePod::default()
            },
            notes: draft.notes,
        })
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

    /// The grace period of the container when this probe kills it.
    #[must_use]
    pub fn grace_of(&self, killer: &ProbeSpec) -> i64 {
        killer.grace.unwrap_or(self.grace)
    }

    /// How long the preStop hook takes if the container has this grace period.
    pub(crate) fn pre_stop_within(&self, grace: i64) -> i64 {
        self.pre_stop.unwrap_or(0).min(grace)
    }

    /// How long the subject may take to answer successfully before this probe kills it.
    pub(crate) fn patience(&self, probe: &ProbeSpec) -> Promise {
        self.after_post_start(promise::patience(probe))
    }

    /// Extends a promise that counts from the start of the subject, because the kubelet probes it only after its
    /// postStart hook.
    pub(crate) fn after_post_start(&self, promise: Promise) -> Promise {
        match self.post_start {
            0 => promise,
            hook => promise.or_later(hook, ", after the postStart hook"),
        }
    }

    /// Whether the subject's postStart hook uses one of the subject's ports.
    pub(crate) fn post_start_asks(&self) -> bool {
        self.hooks.iter().any(|(hook, _)| *hook == "postStart")
    }

    /// Whether only hooks, and no probes, use a path of a listener.
    pub(crate) fn hooks_alone_ask(&self, listener: &str, path: &str) -> bool {
        let asks = |handler: &Handler| {
            let Handler::Http { path: of, .. } = handler else { return false };
            plain_path(of) == path && handler.port().is_some_and(|port| listener_at(port) == listener)
        };
        self.hooks.iter().any(|(_, handler)| asks(handler))
            && !self.probes.iter().any(|probe| asks(&probe.handler))
    }

    /// Whether two probes of the subject use the same endpoint, so that one answer serves both.
    #[must_use]
    pub fn share(&self, one: ProbeKind, other: ProbeKind) -> bool {
        let asks = |kind| self.probe(kind).map(|probe| endpoint(&probe.handler));
        asks(one).is_some_and(|asked| Some(asked) == asks(other))
    }
}

/// The request of a probe, without its headers: the part of the plan that answers it.
fn endpoint(handler: &Handler) -> (&'static str, Option<u16>, String) {
    match handler {
        Handler::Http { path, .. } => ("httpGet", handler.port(), plain_path(path)),
        Handler::Tcp { .. } => ("tcpSocket", handler.port(), String::new()),
        Handler::Grpc { service, .. } => ("grpc", handler.port(), service.clone()),
        Handler::Exec { command } => ("exec", None, command.join(" ")),
    }
}

/// Which container has the faults. Among the containers that keep running, a container with probes is preferred, then a
/// main container over a sidecar, then the container with the most probes, then the first container.
fn subject_of(containers: &[ContainerDraft]) -> usize {
    let stay = containers.iter().enumerate().filter(|(_, one)| one.stays);
    let best = stay.max_by_key(|(at, one)| {
        (!one.probes.is_empty(), one.list == "containers", one.probes.len(), Reverse(*at))
    });
    best.map(|(at, _)| at).unwrap_or_default()
}

/// The maximum time from the readiness of the subject to the readiness of the whole pod. Sidecars start one after the
/// other, and a postStart hook delays all later containers.
fn slower(containers: &[ContainerDraft], subject: usize) -> i64 {
    let probe = |one: &ContainerDraft, kind| one.probes.iter().find(|probe| probe.kind == kind).cloned();
    let ready = |one: &ContainerDraft| {
        let [startup, _, readiness] = ProbeKind::ALL.map(|kind| probe(one, kind));
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
    (whole - ready(&containers[subject])).max(0)
}

/// The same value without fields that are null. Templates write null for unset fields, so null fields count as absent.
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

/// A path as it is written in a plan: with a slash, and without query and fragment.
#[must_use]
pub fn plain_path(path: &str) -> String {
    let plain = path.split(['?', '#']).next().unwrap_or_default();
    if plain.starts_with('/') { plain.to_owned() } else { format!("/{plain}") }
}

/// The name of the listener at a port.
pub(crate) fn listener_at(port: u16) -> String {
    format!("port-{port}")
}
