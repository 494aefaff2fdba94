//! From someone's manifest to a pod that can run as a trial: the target stands in for every image, and what speaks of
//! probes stays as it is.
//!
//! Nothing is changed in silence: what was replaced and what was left out is noted. A field that nobody knows is
//! refused, since it may be a probe that is misspelt. All refusals are sentences pinned to their place.

use std::collections::{BTreeMap, BTreeSet};

use probity_script::Plan;
use probity_script::problem::{nearest, pin};
use serde_json::{Map, Value, json};

use crate::case::CasePod;
use crate::manifest::{CONTROL_PORT, PROGRAM};
use crate::timeline::{Handler, ProbeKind, ProbeSpec};

/// The port at which a target is called if the pod has none that a client can use.
const CALLED: u16 = 7000;
/// The label by which the trial's service finds the pod.
pub(super) const LABEL: (&str, &str) = ("try", "app");

/// What is kept of a pod's spec besides its containers.
const KEPT: [&str; 2] = ["restartPolicy", "terminationGracePeriodSeconds"];
/// What is left out of it.
const DROPPED: [&str; 37] = [
    "activeDeadlineSeconds",
    "affinity",
    "automountServiceAccountToken",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "ephemeralContainers",
    "hostAliases",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostUsers",
    "hostname",
    "hostnameOverride",
    "imagePullSecrets",
    "nodeName",
    "nodeSelector",
    "os",
    "overhead",
    "preemptionPolicy",
    "priority",
    "priorityClassName",
    "readinessGates",
    "resourceClaims",
    "resources",
    "runtimeClassName",
    "schedulerName",
    "schedulingGates",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "subdomain",
    "tolerations",
    "topologySpreadConstraints",
    "volumes",
];
/// What is kept of a container.
const KEPT_OF_CONTAINER: [&str; 7] =
    ["name", "ports", "startupProbe", "livenessProbe", "readinessProbe", "lifecycle", "restartPolicy"];
/// What is left out of it.
const DROPPED_OF_CONTAINER: [&str; 15] = [
    "env",
    "envFrom",
    "imagePullPolicy",
    "resizePolicy",
    "resources",
    "restartPolicyRules",
    "securityContext",
    "stdin",
    "stdinOnce",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "tty",
    "volumeDevices",
    "volumeMounts",
    "workingDir",
];
/// What the target's own replaces.
const REPLACED_OF_CONTAINER: [&str; 3] = ["image", "command", "args"];
/// The fields of a probe.
const OF_PROBE: [&str; 10] = [
    "httpGet",
    "tcpSocket",
    "grpc",
    "exec",
    "initialDelaySeconds",
    "periodSeconds",
    "timeoutSeconds",
    "successThreshold",
    "failureThreshold",
    "terminationGracePeriodSeconds",
];

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
        let Some(template) = template else {
            return Err(pin(&format!("this {kind} has no pod template at {}", path.join(".")), &["spec"]));
        };
        Ok(Some(Self {
            kind: kind.to_owned(),
            name: document["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
            template: template.clone(),
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
    /// Its lifecycle hooks and the like.
    pub container: Value,
    /// How long its preStop hook takes, in microseconds; none without one.
    pub pre_stop: Option<i64>,
    /// How long its postStart hook takes, in microseconds.
    pub post_start: i64,
    /// The pod's grace period in microseconds.
    pub grace: i64,
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
            container: subject.made.clone(),
            pre_stop: subject.pre_stop,
            post_start: subject.post_start,
            grace: grace * 1_000_000,
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

    /// Whether two probes of the subject ask the same thing, so that one answer serves both.
    #[must_use]
    pub fn share(&self, one: ProbeKind, other: ProbeKind) -> bool {
        let asks = |kind| self.probe(kind).map(|probe| endpoint(&probe.handler));
        asks(one).is_some_and(|asked| Some(asked) == asks(other))
    }
}

/// What a probe asks, without its headers: the part of the plan that answers it.
pub(super) fn endpoint(handler: &Handler) -> (Option<u16>, String) {
    match handler {
        Handler::Http { path, .. } => (handler.port(), plain_path(path)),
        Handler::Tcp { .. } => (handler.port(), String::new()),
        Handler::Grpc { service, .. } => (handler.port(), service.clone()),
        Handler::Exec { command } => (None, command.join(" ")),
    }
}

/// A path as a plan has it: with a slash, and without query and fragment.
pub(super) fn plain_path(path: &str) -> String {
    let plain = path.split(['?', '#']).next().unwrap_or_default();
    if plain.starts_with('/') { plain.to_owned() } else { format!("/{plain}") }
}

/// The name of the listener at a port.
pub(super) fn listener_at(port: u16) -> String {
    format!("port-{port}")
}

/// A container in the making.
struct Made {
    list: &'static str,
    name: String,
    made: Value,
    probes: Vec<ProbeSpec>,
    stays: bool,
    listeners: BTreeMap<u16, Value>,
    commands: BTreeMap<String, Value>,
    pre_stop: Option<i64>,
    post_start: i64,
}

impl Made {
    fn plan(&self) -> Result<Plan, String> {
        let listeners: Map<String, Value> =
            self.listeners.iter().map(|(port, listener)| (listener_at(*port), listener.clone())).collect();
        let mut plan = json!({ "listeners": listeners, "exec": self.commands });
        if !self.stays {
            plan["process"] = json!({ "exit": [{ "after": "100ms", "code": 0 }] });
        }
        serde_json::from_value(plan)
            .map_err(|error| format!("no plan can be made for `{}`: {error}", self.name))
    }
}

/// What is gathered while a pod is made.
#[derive(Default)]
struct Making {
    base: Vec<String>,
    notes: Vec<Note>,
    taken: BTreeSet<u16>,
    names: BTreeSet<String>,
}

impl Making {
    fn at(&self, path: &[&str]) -> Vec<String> {
        self.base.iter().cloned().chain(path.iter().map(|part| (*part).to_owned())).collect()
    }

    fn note(&mut self, what: What, field: impl Into<String>, why: impl Into<String>) {
        self.notes.push(Note { what, field: field.into(), why: why.into() });
    }

    fn spec(&mut self, spec: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut made = Map::new();
        for (field, value) in spec {
            let word = field.as_str();
            if KEPT.contains(&word) {
                made.insert(field.clone(), value.clone());
            } else if DROPPED.contains(&word) {
                let why = match word {
                    "readinessGates" => "nobody would set their conditions",
                    _ => "it says nothing about probes, and the cluster may lack it",
                };
                self.note(What::Dropped, word, why);
            } else if !matches!(word, "containers" | "initContainers") {
                let known = KEPT.iter().chain(&DROPPED).chain(&["containers", "initContainers"]);
                return Err(unknown("a pod's spec", word, known, &self.at(&[word])));
            }
        }
        Ok(made)
    }

    fn container(&mut self, list: &'static str, at: usize, written: &Value) -> Result<Made, String> {
        let index = at.to_string();
        let here = Place { list, index: &index };
        let Some(fields) = written.as_object() else {
            return Err(pin("a container is a map with a `name`", &self.at(&here.to(&[]))));
        };
        let Some(name) = fields.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) else {
            return Err(pin("a container needs a `name`", &self.at(&here.to(&[]))));
        };
        if !self.names.insert(name.to_owned()) {
            return Err(pin(&format!("two containers are called `{name}`"), &self.at(&here.to(&["name"]))));
        }
        let mut made = json!({});
        let mut replaced = Vec::new();
        for (field, value) in fields {
            let word = field.as_str();
            if KEPT_OF_CONTAINER.contains(&word) {
                made[word] = value.clone();
            } else if REPLACED_OF_CONTAINER.contains(&word) {
                replaced.push(word);
            } else if DROPPED_OF_CONTAINER.contains(&word) {
                let why = "it says nothing about probes, and the target has no use for it";
                self.note(What::Dropped, format!("containers[{name}].{word}"), why);
            } else {
                let known =
                    KEPT_OF_CONTAINER.iter().chain(&REPLACED_OF_CONTAINER).chain(&DROPPED_OF_CONTAINER);
                return Err(unknown("a container", word, known, &self.at(&here.to(&[word]))));
            }
        }
        if !replaced.is_empty() {
            self.note(What::Replaced, format!("containers[{name}].{}", replaced.join(", ")), "by the target");
        }
        let stays = list == "containers" || made["restartPolicy"] == "Always";
        let mut making = Made {
            list,
            name: name.to_owned(),
            made,
            probes: Vec::new(),
            stays,
            listeners: BTreeMap::new(),
            commands: BTreeMap::new(),
            pre_stop: None,
            post_start: 0,
        };
        self.ports(&mut making, &here.to(&["ports"]))?;
        for kind in ProbeKind::ALL {
            self.probe(&mut making, kind, &here.to(&[kind.field()]))?;
        }
        self.hooks(&mut making, &here.to(&["lifecycle"]))?;
        making.probes = ProbeKind::ALL.iter().filter_map(|kind| ProbeSpec::of(&making.made, *kind)).collect();
        if !stays && !making.probes.is_empty() {
            return Err(pin("an init container that ends has no probes", &self.at(&here.to(&["name"]))));
        }
        Ok(making)
    }

    /// Declared ports answer by HTTP, until a probe says otherwise.
    fn ports(&mut self, container: &mut Made, path: &[&str]) -> Result<(), String> {
        let Some(ports) = container.made.get_mut("ports").and_then(Value::as_array_mut) else {
            return Ok(());
        };
        let mut listens = Vec::new();
        for (at, port) in ports.iter_mut().enumerate() {
            if let Some(fields) = port.as_object_mut() {
                for field in ["hostPort", "hostIP"] {
                    if fields.remove(field).is_some() {
                        let field = format!("containers[{}].ports[{at}].{field}", container.name);
                        self.note(What::Dropped, field, "the node's ports are not ours to take");
                    }
                }
            }
            let tcp = port["protocol"].as_str().is_none_or(|protocol| protocol == "TCP");
            let number = port["containerPort"].as_u64().and_then(|number| u16::try_from(number).ok());
            if let (true, Some(number @ 1..)) = (tcp, number) {
                listens.push((at, number));
            }
        }
        for (at, number) in listens {
            let (at, path) = (at.to_string(), path.to_vec());
            self.listen(container, number, &[path, vec![at.as_str(), "containerPort"]].concat())?;
        }
        Ok(())
    }

    /// Makes the container listen at a port.
    fn listen(&mut self, container: &mut Made, port: u16, path: &[&str]) -> Result<(), String> {
        if container.listeners.contains_key(&port) {
            return Ok(());
        }
        if (CONTROL_PORT..CONTROL_PORT + 64).contains(&port) {
            let why = format!(
                "port {port} is one of those by which targets are controlled; choose another for the trial"
            );
            return Err(pin(&why, &self.at(path)));
        }
        if !self.taken.insert(port) {
            let why = format!("port {port} is taken by another container of the pod");
            return Err(pin(&why, &self.at(path)));
        }
        container.listeners.insert(port, json!({ "port": port, "paths": { "*": 200 } }));
        Ok(())
    }

    fn probe(&mut self, container: &mut Made, kind: ProbeKind, path: &[&str]) -> Result<(), String> {
        let Some(probe) = container.made.get(kind.field()).cloned() else { return Ok(()) };
        let Some(fields) = probe.as_object() else {
            return Err(pin("a probe is a map", &self.at(path)));
        };
        if let Some(wrong) = fields.keys().find(|field| !OF_PROBE.contains(&field.as_str())) {
            return Err(unknown("a probe", wrong, OF_PROBE.iter(), &self.at(&[path, &[wrong]].concat())));
        }
        let whole =
            |field: &&str| fields.get(*field).is_some_and(|value| value.as_i64().is_none_or(|n| n < 0));
        if let Some(wrong) = OF_PROBE[4..].iter().find(|field| whole(field)) {
            let why = format!("`{wrong}` is a whole number, and not negative");
            return Err(pin(&why, &self.at(&[path, &[wrong]].concat())));
        }
        let handlers = OF_PROBE[..4].iter().filter(|handler| fields.contains_key(**handler)).count();
        if handlers != 1 {
            let why =
                format!("a probe has one of httpGet, tcpSocket, grpc and exec; this one has {handlers}");
            return Err(pin(&why, &self.at(path)));
        }
        self.forget_host(container, &[kind.field()]);
        self.name_command(container, kind.field(), &format!("{}-{}", kind.word(), container.name));
        let Some(spec) = ProbeSpec::of(&container.made, kind) else { return Ok(()) };
        let handler =
            OF_PROBE[..4].iter().find(|handler| fields.contains_key(**handler)).copied().unwrap_or_default();
        self.answer(container, &spec.handler, &[path, &[handler, "port"]].concat())
    }

    /// Gives the plan an answer for what a probe or a hook asks.
    fn answer(&mut self, container: &mut Made, handler: &Handler, path: &[&str]) -> Result<(), String> {
        let port = match handler {
            Handler::Exec { command } => {
                if let Some(name) = command.get(2) {
                    container.commands.entry(name.clone()).or_insert_with(|| json!("succeed"));
                }
                return Ok(());
            }
            Handler::Http { port, .. } | Handler::Tcp { port, .. } | Handler::Grpc { port, .. } => port,
        };
        let Some(number @ 1..) = port.number else {
            let names = container.made["ports"].as_array().into_iter().flatten();
            let names: Vec<&str> = names.filter_map(|port| port["name"].as_str()).collect();
            let near = nearest(&port.written, names.iter().copied());
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let has = if names.is_empty() { "none with a name".to_owned() } else { names.join(", ") };
            let why =
                format!("container `{}` has no port `{}`{hint} It has {has}", container.name, port.written);
            return Err(pin(&why.replace("`?", "`?").replace("` It", "`; it"), &self.at(path)));
        };
        self.listen(container, number, path)?;
        let Some(listener) = container.listeners.get_mut(&number) else { return Ok(()) };
        match handler {
            Handler::Http { path, scheme, .. } => {
                listener["paths"][plain_path(path)] = json!(200);
                if scheme == "HTTPS" {
                    listener["tls"] = json!({});
                }
            }
            Handler::Grpc { service, .. } => {
                listener["protocol"] = json!("grpc");
                listener["services"][service.as_str()] = json!("serving");
                listener["services"]["*"] = json!("serving");
                listener.as_object_mut().into_iter().for_each(|listener| {
                    listener.remove("paths");
                });
            }
            Handler::Tcp { .. } | Handler::Exec { .. } => {}
        }
        Ok(())
    }

    fn hooks(&mut self, container: &mut Made, path: &[&str]) -> Result<(), String> {
        let Some(hooks) = container.made.get("lifecycle").cloned() else { return Ok(()) };
        let known = ["postStart", "preStop", "stopSignal"];
        if let Some(wrong) =
            hooks.as_object().and_then(|all| all.keys().find(|key| !known.contains(&key.as_str())))
        {
            return Err(unknown("a lifecycle", wrong, known.iter(), &self.at(&[path, &[wrong]].concat())));
        }
        if hooks.get("stopSignal").is_some() {
            let field = format!("containers[{}].lifecycle.stopSignal", container.name);
            self.note(What::Dropped, field, "the target notes SIGTERM");
            container.made["lifecycle"].as_object_mut().into_iter().for_each(|lifecycle| {
                lifecycle.remove("stopSignal");
            });
        }
        for hook in ["postStart", "preStop"] {
            let Some(written) = hooks.get(hook) else { continue };
            let mut takes = written["sleep"]["seconds"].as_i64().unwrap_or(0);
            if let Some(command) = written["exec"]["command"].as_array() {
                let words: Vec<&str> = command.iter().filter_map(Value::as_str).collect();
                takes = slept(&words);
                let name = format!(
                    "{}-{}",
                    if hook == "preStop" { "pre-stop" } else { "post-start" },
                    container.name
                );
                container.commands.insert(name.clone(), json!({ "exit": 0, "sleep": format!("{takes}s") }));
                container.made["lifecycle"][hook]["exec"]["command"] = json!([PROGRAM, "exec", name]);
                let why = match takes {
                    0 => "by one of the target that succeeds at once".to_owned(),
                    _ => format!("by one of the target that takes {takes} s"),
                };
                self.note(
                    What::Replaced,
                    format!("containers[{}].lifecycle.{hook}.exec", container.name),
                    why,
                );
            }
            if written.get("httpGet").is_some() {
                self.forget_host(container, &["lifecycle", hook]);
                let asked = json!({
                    "ports": container.made["ports"],
                    "livenessProbe": { "httpGet": container.made["lifecycle"][hook]["httpGet"] }
                });
                if let Some(spec) = ProbeSpec::of(&asked, ProbeKind::Liveness) {
                    self.answer(container, &spec.handler, &[path, &[hook, "httpGet", "port"]].concat())?;
                }
            }
            match hook {
                "preStop" => container.pre_stop = Some(takes * 1_000_000),
                _ => container.post_start = takes * 1_000_000,
            }
        }
        Ok(())
    }

    /// A probe of another host would not ask the target.
    fn forget_host(&mut self, container: &mut Made, path: &[&str]) {
        for handler in ["httpGet", "tcpSocket"] {
            let part = path.iter().try_fold(&mut container.made, |value, part| value.get_mut(*part));
            let Some(asks) = part.and_then(|part| part.get_mut(handler)).and_then(Value::as_object_mut)
            else {
                continue;
            };
            if let Some(host) = asks.remove("host").filter(|host| host.as_str() != Some("")) {
                let field = format!("containers[{}].{}.{handler}.host", container.name, path.join("."));
                self.note(What::Dropped, field, format!("so the target is asked and not {host}"));
            }
        }
    }

    /// A command becomes one of the target; two probes with the same command keep sharing it.
    fn name_command(&mut self, container: &mut Made, field: &str, name: &str) {
        let Some(written) = container.made[field]["exec"].get("command").cloned() else { return };
        let shared = self.notes.iter().find_map(|note| {
            let (what, by) = note.why.split_once(" by ")?;
            let own = note.field.starts_with(&format!("containers[{}].", container.name));
            (own && what == written.to_string()).then(|| by.trim_start_matches("exec ").to_owned())
        });
        let name = shared.unwrap_or_else(|| name.to_owned());
        container.made[field]["exec"]["command"] = json!([PROGRAM, "exec", name]);
        let field = format!("containers[{}].{field}.exec", container.name);
        self.note(What::Replaced, field, format!("{written} by exec {name}"));
    }

    /// Where clients call: a plain HTTP port of the subject, or one that is added.
    fn traffic(&mut self, subject: &mut Made) -> Traffic {
        let plain = |port: &u16| {
            let listener = &subject.listeners[port];
            listener.get("tls").is_none() && listener.get("services").is_none()
        };
        let declared = subject.made["ports"].as_array().into_iter().flatten();
        let declared: Vec<u16> = declared
            .filter_map(|port| port["containerPort"].as_u64().and_then(|number| u16::try_from(number).ok()))
            .collect();
        let first = declared
            .iter()
            .chain(subject.listeners.keys())
            .find(|port| subject.listeners.contains_key(port) && plain(port));
        let port = first.copied().unwrap_or_else(|| {
            let port = (CALLED..).find(|port| !self.taken.contains(port)).unwrap_or(CALLED);
            subject.listeners.insert(port, json!({ "port": port, "paths": { "*": 200 } }));
            let field = format!("containers[{}]: a listener at port {port}", subject.name);
            self.notes.push(Note {
                what: What::Added,
                field,
                why: "clients need a port that speaks plain HTTP".to_owned(),
            });
            port
        });
        let probed = ProbeKind::ALL
            .iter()
            .filter_map(|kind| ProbeSpec::of(&subject.made, *kind))
            .any(|probe| probe.handler.port() == Some(port));
        Traffic { listener: listener_at(port), port, probed }
    }

    /// The target has no rights of its own, so the pod has to allow it low ports.
    fn low_ports(&mut self, containers: &[Made], spec: &mut Map<String, Value>) {
        if containers.iter().flat_map(|container| container.listeners.keys()).any(|port| *port < 1024) {
            let name = "net.ipv4.ip_unprivileged_port_start";
            spec.insert("securityContext".to_owned(), json!({ "sysctls": [{ "name": name, "value": "0" }] }));
            self.note(
                What::Added,
                format!("securityContext.sysctls: {name} 0"),
                "the target has no privileges",
            );
        }
    }
}

/// How many seconds a command sleeps, as far as it says so: `sleep 15`, or a shell that is told to.
fn slept(words: &[&str]) -> i64 {
    let text = words.join(" ");
    let parts: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '"' | '\'')).collect();
    let seconds = |pair: &[&str]| -> Option<i64> {
        let sleeps = pair[0] == "sleep" || pair[0].ends_with("/sleep");
        if sleeps { pair[1].parse().ok() } else { None }
    };
    parts.windows(2).filter_map(seconds).sum::<i64>().clamp(0, 3600)
}

/// Where a container stands.
#[derive(Clone, Copy)]
struct Place<'p> {
    list: &'p str,
    index: &'p str,
}

impl<'p> Place<'p> {
    fn to(self, rest: &[&'p str]) -> Vec<&'p str> {
        [&[self.list, self.index], rest].concat()
    }
}

fn unknown<'k>(of: &str, wrong: &str, known: impl Iterator<Item = &'k &'k str>, path: &[String]) -> String {
    let near = nearest(wrong, known.copied());
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    pin(&format!("{of} has no field `{wrong}`{hint}"), path)
}
