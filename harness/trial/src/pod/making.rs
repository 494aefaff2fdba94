//! How a pod is made for a trial, container by container.

use std::collections::{BTreeMap, BTreeSet};

use probity_script::Plan;
use probity_script::problem::pin;
use serde_json::{Map, Value, json};

use super::fields::{DROPPED, DROPPED_OF_CONTAINER, KEPT, KEPT_OF_CONTAINER, REPLACED_OF_CONTAINER, unknown};
use super::{Note, Traffic, What, listener_at};
use probity_case::manifest::CONTROL_PORT;
use probity_model::timeline::{Handler, ProbeKind, ProbeSpec};

/// The largest number that a field of a probe can have.
const MOST: i64 = i32::MAX as i64;
/// The port at which a target is called if the pod has none that a client can use.
const CALLED: u16 = 7000;

/// A container in the making.
pub(super) struct Made {
    pub(super) list: &'static str,
    pub(super) name: String,
    pub(super) made: Value,
    pub(super) probes: Vec<ProbeSpec>,
    pub(super) stays: bool,
    pub(super) listeners: BTreeMap<u16, Value>,
    /// What probes and hooks speak at a port.
    pub(super) spoken: BTreeMap<u16, &'static str>,
    pub(super) commands: BTreeMap<String, Value>,
    /// The name in the plan of each command as it was written.
    pub(super) named: BTreeMap<String, String>,
    pub(super) hooks: Vec<(&'static str, Handler)>,
    pub(super) pre_stop: Option<i64>,
    pub(super) post_start: i64,
}

impl Made {
    pub(super) fn plan(&self) -> Result<Plan, String> {
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
pub(super) struct Making {
    pub(super) base: Vec<String>,
    pub(super) notes: Vec<Note>,
    pub(super) taken: BTreeSet<u16>,
    /// Which container declares a port; the first, if several do.
    pub(super) declared: BTreeMap<u16, String>,
    pub(super) names: BTreeSet<String>,
}

impl Making {
    pub(super) fn at(&self, path: &[&str]) -> Vec<String> {
        self.base.iter().cloned().chain(path.iter().map(|part| (*part).to_owned())).collect()
    }

    pub(super) fn note(&mut self, what: What, field: impl Into<String>, why: impl Into<String>) {
        self.notes.push(Note { what, field: field.into(), why: why.into() });
    }

    /// Says that the pod's labels and annotations are left out.
    pub(super) fn labels(&mut self, metadata: &Value) {
        let has = |field: &&str| metadata[*field].as_object().is_some_and(|pairs| !pairs.is_empty());
        let fields: Vec<String> = ["labels", "annotations"]
            .into_iter()
            .filter(has)
            .map(|field| format!("metadata.{field}"))
            .collect();
        if !fields.is_empty() {
            self.note(What::Dropped, fields.join(", "), "the pod of the trial has its own");
        }
    }

    /// Looks which container declares which ports, before any of them is made.
    pub(super) fn declare(&mut self, spec: &Map<String, Value>) {
        for list in ["initContainers", "containers"] {
            for container in spec.get(list).and_then(Value::as_array).into_iter().flatten() {
                let name = container["name"].as_str().unwrap_or_default();
                for port in container["ports"].as_array().into_iter().flatten() {
                    if let Some(number) = tcp_port(port) {
                        self.declared.entry(number).or_insert_with(|| name.to_owned());
                    }
                }
            }
        }
    }

    /// A whole number as Kubernetes takes it, which arithmetic can take as well.
    pub(super) fn whole(&self, field: &str, value: &Value, path: &[&str]) -> Result<i64, String> {
        match value.as_i64() {
            Some(number) if (0..=MOST).contains(&number) => Ok(number),
            Some(number) if number > MOST => {
                Err(pin(&format!("`{field}` is {number}; it is {MOST} at most"), &self.at(path)))
            }
            _ => Err(pin(&format!("`{field}` is a whole number, and not negative"), &self.at(path))),
        }
    }

    pub(super) fn spec(&mut self, spec: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut made = Map::new();
        for (field, value) in spec {
            let word = field.as_str();
            if word == "terminationGracePeriodSeconds" {
                self.whole(word, value, &[word])?;
            }
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

    pub(super) fn container(
        &mut self,
        list: &'static str,
        at: usize,
        written: &Value,
    ) -> Result<Made, String> {
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
            spoken: BTreeMap::new(),
            commands: BTreeMap::new(),
            named: BTreeMap::new(),
            hooks: Vec::new(),
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
    pub(super) fn ports(&mut self, container: &mut Made, path: &[&str]) -> Result<(), String> {
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
            if let Some(number) = tcp_port(port) {
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
    pub(super) fn listen(&mut self, container: &mut Made, port: u16, path: &[&str]) -> Result<(), String> {
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

    /// Where clients call: a plain HTTP port of the subject, or one that is added.
    pub(super) fn traffic(&mut self, subject: &mut Made) -> Traffic {
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
    pub(super) fn low_ports(&mut self, containers: &[Made], spec: &mut Map<String, Value>) {
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

/// The number of a declared port, if it is one for TCP.
fn tcp_port(port: &Value) -> Option<u16> {
    let tcp = port["protocol"].as_str().is_none_or(|protocol| protocol == "TCP");
    let number = port["containerPort"].as_u64().and_then(|number| u16::try_from(number).ok())?;
    (tcp && number > 0).then_some(number)
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
