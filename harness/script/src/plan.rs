//! The plan: the complete configuration of the target, in one document.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::answer::{ExecAnswer, HttpAnswer};
use crate::problem::pin;
use crate::{Endpoint, Listener, Process, Script};

/// The behavior of the target. All times count from the start of its process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "WrittenPlan", rename_all = "kebab-case")]
pub struct Plan {
    /// The seed of every `chance`.
    pub seed: u64,
    /// The listening ports, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub listeners: BTreeMap<String, Listener>,
    /// What the command `agnhost-rs exec NAME` does, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub exec: BTreeMap<String, Script<ExecAnswer>>,
    /// What the process itself does.
    pub process: Process,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
#[derive(Default)]
struct WrittenPlan {
    seed: u64,
    listeners: BTreeMap<String, Listener>,
    exec: BTreeMap<String, Script<ExecAnswer>>,
    process: Process,
}

impl TryFrom<WrittenPlan> for Plan {
    type Error = String;

    fn try_from(written: WrittenPlan) -> Result<Self, String> {
        let WrittenPlan { seed, listeners, exec, process } = written;
        if let Some(name) = listeners.keys().find(|name| !is_name(name)) {
            let why = format!("`{name}` is not a valid listener name: use letters, digits and dashes");
            return Err(pin(&why, &["listeners", name]));
        }
        let mut taken: BTreeMap<(u16, Option<_>), &str> = BTreeMap::new();
        for (name, listener) in listeners.iter().filter(|(_, listener)| listener.port != 0) {
            if let Some(other) = taken.insert((listener.port, listener.bind), name) {
                let why = format!("listeners `{other}` and `{name}` both use port {}", listener.port);
                return Err(pin(&why, &["listeners", name, "port"]));
            }
        }
        Ok(Self { seed, listeners, exec, process })
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

impl Plan {
    /// The answer of a step of an HTTP path.
    #[must_use]
    pub fn http_answer(&self, endpoint: &Endpoint, step: usize) -> Option<&HttpAnswer> {
        let Endpoint::Of { listener, name } = endpoint else { return None };
        let (_, script) = self.listeners.get(listener)?.path(name)?;
        script.steps().get(step).map(|step| &step.answer)
    }

    /// The seed combined with the name of an endpoint (FNV-1a), so that the random numbers of endpoints are
    /// independent.
    #[must_use]
    pub fn dice(&self, endpoint: &str) -> u64 {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        endpoint.bytes().fold(0xCBF2_9CE4_8422_2325 ^ self.seed.rotate_left(32), step)
    }
}
