//! The draft of a pod: its own fields, its ports, and notes from the creation of its containers.

use std::collections::{BTreeMap, BTreeSet};

use probity_case::manifest::CONTROL_PORT;
use probity_model::timeline::ProbeSpec;
use probity_script::problem::pin;
use serde_json::{Map, Value, json};

use super::container::{ContainerDraft, declared_ports};
use super::fields::{KEPT, KEPT_TO_REPRODUCE};
use super::{LISTS, Note, NoteKind, Traffic, listener_at};

/// The port at which a target is called if the pod has no port that a client can use.
const CALLED: u16 = 7000;

/// The data that is collected while a pod is created.
#[derive(Default)]
pub(super) struct PodDraft {
    /// The place of the pod's spec in the document.
    base: Vec<String>,
    /// The place of the part that is being read.
    here: Vec<String>,
    /// Whether the draft is for a reproduction, which keeps more fields than a trial.
    pub(super) reproduces: bool,
    pub(super) notes: Vec<Note>,
    taken: BTreeSet<u16>,
    /// Which container declares a port; the first, if several do.
    pub(super) declared: BTreeMap<u16, String>,
}

impl PodDraft {
    /// A draft of the pod at this place of the document.
    pub(super) fn at(pod: &[String], reproduces: bool) -> Self {
        let base = [pod, &["spec".to_owned()]].concat();
        Self { here: base.clone(), base, reproduces, ..Self::default() }
    }

    /// Enters a part of the pod's spec. The paths of later errors are relative to it.
    pub(super) fn enter(&mut self, part: &[&str]) {
        self.here = self.base.iter().cloned().chain(part.iter().map(|part| (*part).to_owned())).collect();
    }

    /// Rejects something at a path below the part that is being read.
    pub(super) fn refuse<T>(&self, why: impl AsRef<str>, path: &[&str]) -> Result<T, String> {
        let path: Vec<&str> = self.here.iter().map(String::as_str).chain(path.iter().copied()).collect();
        Err(pin(why.as_ref(), &path))
    }

    pub(super) fn note(&mut self, kind: NoteKind, field: impl Into<String>, why: impl Into<String>) {
        self.notes.push(Note { kind, field: field.into(), why: why.into() });
    }

    /// Notes that the pod's labels and annotations are left out.
    pub(super) fn labels(&mut self, metadata: &Value) {
        let has = |field: &&str| metadata[*field].as_object().is_some_and(|pairs| !pairs.is_empty());
        let fields = ["labels", "annotations"].into_iter().filter(has);
        let fields: Vec<String> = fields.map(|field| format!("metadata.{field}")).collect();
        if !fields.is_empty() {
            self.note(NoteKind::Dropped, fields.join(", "), "the pod of the trial has its own");
        }
    }

    /// Determines which container declares which ports, before any container is created.
    pub(super) fn declare(&mut self, spec: &Map<String, Value>) {
        for container in LISTS.iter().filter_map(|list| spec.get(*list)?.as_array()).flatten() {
            let name = container["name"].as_str().unwrap_or_default();
            for port in declared_ports(container) {
                self.declared.entry(port).or_insert_with(|| name.to_owned());
            }
        }
    }

    /// The fields of the pod's spec that are kept, apart from its containers.
    pub(super) fn spec(&mut self, spec: &Map<String, Value>) -> Map<String, Value> {
        let mut made = Map::new();
        for (field, value) in spec {
            let word = field.as_str();
            if KEPT.contains(&word) || (self.reproduces && KEPT_TO_REPRODUCE.contains(&word)) {
                made.insert(field.clone(), value.clone());
            } else if !LISTS.contains(&word) {
                let why = match word {
                    "readinessGates" => "nothing would set their conditions",
                    _ => "it does not affect probes, and the cluster may not have it",
                };
                self.note(NoteKind::Dropped, word, why);
            }
        }
        made
    }

    /// All containers, in the order in which they start.
    pub(super) fn containers(&mut self, spec: &Map<String, Value>) -> Result<Vec<ContainerDraft>, String> {
        let mut containers = Vec::new();
        for list in LISTS {
            self.enter(&[list]);
            let written = spec.get(list).and_then(Value::as_array);
            for (at, container) in written.into_iter().flatten().enumerate() {
                self.enter(&[list, &at.to_string()]);
                containers.push(self.container(list, container)?);
            }
        }
        self.enter(&[]);
        if containers.iter().any(|container| container.list == "containers") {
            Ok(containers)
        } else {
            self.refuse("a pod needs at least one container", &[])
        }
    }

    /// Adds a listener at a port to a container.
    pub(super) fn listen(
        &mut self,
        container: &mut ContainerDraft,
        port: u16,
        path: &[&str],
    ) -> Result<(), String> {
        if container.listeners.contains_key(&port) {
            return Ok(());
        }
        if (CONTROL_PORT..CONTROL_PORT + 64).contains(&port) {
            let why = format!(
                "port {port} is reserved for the control of targets; choose another one for the trial"
            );
            return self.refuse(why, path);
        }
        if !self.taken.insert(port) {
            return self.refuse(format!("another container of the pod uses port {port}"), path);
        }
        container.answer_all(port);
        Ok(())
    }

    /// The port to which clients send requests: a plain HTTP port of the subject, or an added one.
    pub(super) fn traffic(&mut self, subject: &mut ContainerDraft) -> Traffic {
        let plain = |port: &u16| {
            let listener = subject.listeners.get(port);
            listener.is_some_and(|it| it.get("tls").is_none() && it.get("services").is_none())
        };
        let known = declared_ports(&subject.made).chain(subject.listeners.keys().copied()).find(plain);
        let port = known.unwrap_or_else(|| {
            let port = (CALLED..).find(|port| !self.taken.contains(port)).unwrap_or(CALLED);
            let field = format!("containers[{}]: a listener at port {port}", subject.name);
            self.note(NoteKind::Added, field, "clients need a port with plain HTTP");
            port
        });
        if !subject.listeners.contains_key(&port) {
            subject.answer_all(port);
        }
        let asks = |probe: &ProbeSpec| probe.handler.port() == Some(port);
        Traffic { listener: listener_at(port), port, probed: subject.probes.iter().any(asks) }
    }

    /// Allows low ports in the pod if a container needs one, because the target has no privileges.
    pub(super) fn low_ports(&mut self, containers: &[ContainerDraft], spec: &mut Map<String, Value>) {
        if containers.iter().flat_map(|container| container.listeners.keys()).any(|port| *port < 1024) {
            let name = "net.ipv4.ip_unprivileged_port_start";
            spec.insert("securityContext".to_owned(), json!({ "sysctls": [{ "name": name, "value": "0" }] }));
            let field = format!("securityContext.sysctls: {name} 0");
            self.note(NoteKind::Added, field, "the target has no privileges");
        }
    }
}
