//! The draft of one container: the fields that it keeps, its ports, and the plan that answers for it.

use std::collections::BTreeMap;

use probity_model::timeline::{Handler, ProbeKind, ProbeSpec};
use probity_script::Plan;
use serde_json::{Map, Value, json};

use super::draft::PodDraft;
use super::fields::{KEPT_OF_CONTAINER, KEPT_OF_CONTAINER_TO_REPRODUCE, REPLACED_OF_CONTAINER};
use super::{NoteKind, listener_at};

/// The draft of a container.
#[derive(Default)]
pub(super) struct ContainerDraft {
    /// The list that contains it.
    pub(super) list: &'static str,
    pub(super) name: String,
    pub(super) made: Value,
    pub(super) probes: Vec<ProbeSpec>,
    /// Whether it runs as long as the pod.
    pub(super) stays: bool,
    /// The listeners of its plan, by port.
    pub(super) listeners: BTreeMap<u16, Value>,
    /// The protocol that probes and hooks use at a port.
    pub(super) spoken: BTreeMap<u16, &'static str>,
    pub(super) commands: BTreeMap<String, Value>,
    /// The name in the plan of each original command.
    pub(super) named: BTreeMap<String, String>,
    pub(super) hooks: Vec<(&'static str, Handler)>,
    pub(super) pre_stop: Option<i64>,
    pub(super) post_start: i64,
}

impl ContainerDraft {
    pub(super) fn plan(&self) -> Result<Plan, String> {
        let listeners: Map<String, Value> =
            self.listeners.iter().map(|(port, listener)| (listener_at(*port), listener.clone())).collect();
        let mut plan = json!({ "listeners": listeners, "exec": self.commands });
        if !self.stays {
            plan["process"] = json!({ "exit": [{ "after": "100ms", "code": 0 }] });
        }
        serde_json::from_value(plan)
            .map_err(|error| format!("failed to write a plan for `{}`: {error}", self.name))
    }

    /// Answers all requests at a port with HTTP, unless a probe needs something else.
    pub(super) fn answer_all(&mut self, port: u16) {
        self.listeners.insert(port, json!({ "port": port, "paths": { "*": 200 } }));
    }

    /// Removes a field of a part of the container, and returns it.
    pub(super) fn remove(&mut self, path: &[&str], field: &str) -> Option<Value> {
        let part = path.iter().try_fold(&mut self.made, |value, part| value.get_mut(*part))?;
        part.as_object_mut()?.remove(field)
    }
}

impl PodDraft {
    /// Reads a container of a list.
    pub(super) fn container(
        &mut self,
        list: &'static str,
        written: &Value,
    ) -> Result<ContainerDraft, String> {
        let name = written["name"].as_str().unwrap_or_default();
        let made = self.kept_of_container(name, written);
        let stays = list == "containers" || made["restartPolicy"] == "Always";
        let mut draft =
            ContainerDraft { list, name: name.to_owned(), made, stays, ..ContainerDraft::default() };
        self.ports(&mut draft)?;
        for kind in ProbeKind::ALL {
            self.probe(&mut draft, kind)?;
        }
        self.hooks(&mut draft)?;
        draft.probes = ProbeKind::ALL.iter().filter_map(|kind| ProbeSpec::of(&draft.made, *kind)).collect();
        Ok(draft)
    }

    fn kept_of_container(&mut self, name: &str, written: &Value) -> Value {
        let (mut made, mut replaced) = (json!({}), Vec::new());
        for (field, value) in written.as_object().into_iter().flatten() {
            let word = field.as_str();
            let kept = self.reproduces && KEPT_OF_CONTAINER_TO_REPRODUCE.contains(&word);
            if kept || KEPT_OF_CONTAINER.contains(&word) {
                made[word] = value.clone();
            } else if REPLACED_OF_CONTAINER.contains(&word) {
                replaced.push(word);
            } else {
                let why = "it does not affect probes, and the target does not use it";
                self.note(NoteKind::Dropped, format!("containers[{name}].{word}"), why);
            }
        }
        if !replaced.is_empty() {
            let field = format!("containers[{name}].{}", replaced.join(", "));
            self.note(NoteKind::Replaced, field, "the target runs instead");
        }
        made
    }

    /// Listens at the declared ports.
    fn ports(&mut self, container: &mut ContainerDraft) -> Result<(), String> {
        let Some(ports) = container.made.get_mut("ports").and_then(Value::as_array_mut) else {
            return Ok(());
        };
        let mut listens = Vec::new();
        for (at, port) in ports.iter_mut().enumerate() {
            for field in ["hostPort", "hostIP"] {
                if port.as_object_mut().is_some_and(|fields| fields.remove(field).is_some()) {
                    let field = format!("containers[{}].ports[{at}].{field}", container.name);
                    self.note(NoteKind::Dropped, field, "the trial must not use ports of the node");
                }
            }
            listens.extend(tcp_port(port).map(|number| (at.to_string(), number)));
        }
        listens
            .iter()
            .try_for_each(|(at, number)| self.listen(container, *number, &["ports", at, "containerPort"]))
    }
}

/// The TCP ports that a container declares.
pub(super) fn declared_ports(container: &Value) -> impl Iterator<Item = u16> {
    container["ports"].as_array().into_iter().flatten().filter_map(tcp_port)
}

/// The number of a declared port, if it is a TCP port.
fn tcp_port(port: &Value) -> Option<u16> {
    let tcp = port["protocol"].as_str().is_none_or(|protocol| protocol == "TCP");
    let number = port["containerPort"].as_u64().and_then(|number| u16::try_from(number).ok())?;
    (tcp && number > 0).then_some(number)
}
