//! Changes of a plan while the target runs, through its control port.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::answer::{ConnectionAnswer, ExecAnswer, GrpcAnswer, HttpAnswer, ListenState, TerminationAnswer};
use crate::problem::{nearest, pin, unpin};
use crate::{Endpoint, Plan, Script};

/// New scripts for some endpoints, all of which take effect at the same instant or not at all.
///
/// It has the same structure as a plan: listeners with the parts that change, `exec`, `on-stop`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Change {
    /// The parts of listeners that change, by the listener's name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub listeners: BTreeMap<String, ListenerChange>,
    /// Commands that change, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub exec: BTreeMap<String, Script<ExecAnswer>>,
    /// A new answer to stop signals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_stop: Option<Script<TerminationAnswer>>,
}

/// The parts of a listener that change. All other parts stay the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ListenerChange {
    /// Whether the port is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<Script<ListenState>>,
    /// What happens to connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Script<ConnectionAnswer>>,
    /// Paths, new ones included.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub paths: BTreeMap<String, Script<HttpAnswer>>,
    /// Services, new ones included.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub services: BTreeMap<String, Script<GrpcAnswer>>,
}

/// The answer to a change: what changed and exactly when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Changed {
    /// The sequence number of the witness line that records it.
    pub seq: u64,
    /// The instant, on the target's monotonic clock.
    pub mono_us: u64,
    /// The instant, on the target's wall clock.
    pub wall_us: u64,
    /// The endpoints that have a new script.
    pub endpoints: Vec<Endpoint>,
}

impl Change {
    /// The plan with this change, and the changed endpoints.
    ///
    /// # Errors
    ///
    /// If the change names a listener that does not exist, or gives a listener a script that it cannot have.
    pub fn apply(self, plan: &Plan) -> Result<(Plan, Vec<Endpoint>), String> {
        let mut plan = plan.clone();
        let known: Vec<_> = plan.listeners.keys().cloned().collect();
        let mut touched = Vec::new();
        for (name, change) in self.listeners {
            let listener = plan.listeners.get_mut(&name).ok_or_else(|| unknown(&name, &known))?;
            if let Some(listen) = change.listen {
                listener.listen = listen;
                touched.push(Endpoint::Listen(name.clone()));
            }
            if let Some(connections) = change.connections {
                listener.connections = connections;
                touched.push(Endpoint::Connections(name.clone()));
            }
            let of = |part: &String| Endpoint::Of { listener: name.clone(), name: part.clone() };
            touched.extend(change.paths.keys().chain(change.services.keys()).map(of));
            listener.paths.extend(change.paths);
            listener.services.extend(change.services);
            if let Some(problem) = listener.contradiction() {
                let (why, path) = unpin(&problem);
                let path: Vec<_> = ["listeners".to_owned(), name.clone()].into_iter().chain(path).collect();
                return Err(pin(&format!("listener `{name}`: {why}"), &path));
            }
        }
        touched.extend(self.exec.keys().cloned().map(Endpoint::Exec));
        plan.exec.extend(self.exec);
        if let Some(on_stop) = self.on_stop {
            plan.process.on_stop = on_stop;
            touched.push(Endpoint::Stop);
        }
        if touched.is_empty() {
            return Err("the change is empty".to_owned());
        }
        Ok((plan, touched))
    }
}

/// The error for a listener that does not exist.
fn unknown(name: &str, known: &[String]) -> String {
    let hint = nearest(name, known.iter().map(String::as_str));
    let hint = hint.map(|word| format!("; did you mean `{word}`?")).unwrap_or_default();
    let why = format!("there is no listener `{name}` (the plan has: {}){hint}", known.join(", "));
    pin(&why, &["listeners", name])
}
