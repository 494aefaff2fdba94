//! Facts about commands, signals, children and what the container looks like from inside.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Endpoint;

/// A command began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExecSeen {
    /// The command's number in this process.
    pub exec: u64,
    /// The endpoint that answers.
    pub endpoint: Endpoint,
    /// The probe's number at the endpoint, counted from 1.
    pub probe: u64,
    /// The step of its script.
    pub step: usize,
    /// The answer in short.
    pub answer: String,
    /// What the command reported about itself.
    pub command: Command,
}

/// The facts that a command knows about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Command {
    /// Its arguments, as it received them.
    pub args: Vec<String>,
    /// Its process id.
    pub pid: u32,
    /// The ID of its parent. 0 if the parent is in another namespace.
    pub parent: u32,
    /// Its working directory.
    pub cwd: String,
    /// The host name that it sees.
    pub host: String,
    /// Its user and group id.
    pub ids: (u32, u32),
    /// Its namespaces by kind, as inode numbers.
    pub namespaces: BTreeMap<String, u64>,
    /// Its environment.
    pub env: BTreeMap<String, String>,
    /// When it began, on the monotonic clock.
    pub began_mono_us: u64,
}

/// A command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExecEnded {
    /// The command's number.
    pub exec: u64,
    /// Its exit status. Absent if it was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<u8>,
    /// The signals that it recorded while it ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<String>,
    /// How long it ran, in microseconds.
    pub lived_us: u64,
}

/// A signal arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SignalSeen {
    /// Its name, such as `SIGTERM`.
    pub signal: String,
    /// The child that received it. Absent if this process received it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<String>,
    /// The reaction to it, in short.
    pub answer: String,
}

/// The reaction to a signal that is only recorded.
pub const NOTED: &str = "noted";

impl SignalSeen {
    /// Whether the signal requests that the process stops. SIGTERM always requests this; other signals do if the
    /// process answers them.
    #[must_use]
    pub fn means_stop(&self) -> bool {
        self.signal == "SIGTERM" || self.answer != NOTED
    }
}

/// Something about a child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChildSeen {
    /// Its name. `orphan` for an adopted process.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// `started`, `ended` or `reaped`.
    pub event: String,
    /// Its exit status or signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// A wait ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waited {
    /// What was waited for.
    pub what: String,
    /// How many times the process checked for the dependency.
    pub tries: u64,
    /// How long it took, in microseconds.
    pub took_us: u64,
}

/// A request that this process sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Call {
    /// The client's name, or the endpoint that depends on the answer.
    pub by: String,
    /// The requested URL.
    pub url: String,
    /// The status of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The host that the answer names, if the answer is a target's identity report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// Why there was no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it took, in microseconds.
    pub took_us: u64,
}

impl Call {
    /// Whether it got an answer that is not an error. From status 400 on, an answer is an error: RFC 9110, section 15.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status < 400)
    }
}

/// A consumer took or released a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Consumed {
    /// `memory`, `cpu` or `disk`.
    pub resource: String,
    /// The number of bytes that are held, or of threads that use the CPU.
    pub amount: u64,
    /// Why the consumer could not consume more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What the container looks like from inside, as raw texts of the system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dump {
    /// The host name.
    pub host: String,
    /// User, group and supplementary group ids.
    pub ids: Vec<u32>,
    /// The environment.
    pub env: BTreeMap<String, String>,
    /// Interfaces with their addresses.
    pub interfaces: BTreeMap<String, Vec<String>>,
    /// Texts by path: cgroup files, id maps, mounts, limits, and every file of the downward API volume if there is one.
    pub files: BTreeMap<String, String>,
    /// Namespaces by kind, as inode numbers.
    pub namespaces: BTreeMap<String, u64>,
    /// The visible processes.
    pub processes: Vec<ProcessSeen>,
}

/// A process in a dump.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessSeen {
    /// Its id.
    pub pid: u32,
    /// Its parent's id.
    pub parent: u32,
    /// The letter of its state, such as `R`, `S`, or `Z` for a zombie.
    pub state: String,
    /// Its name.
    pub name: String,
    /// Its user, as the reader sees it. Absent if the process no longer existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// Its user namespace, as an inode number. Absent if the reader is not permitted to see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<u64>,
}

/// Something was tried that may be forbidden.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialSeen {
    /// What, in a word: `mount`, `owner`.
    pub trial: String,
    /// The file that was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether it succeeded.
    pub ok: bool,
    /// What was found, such as the IDs of an owner, as `user:group`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether the action failed because it is not permitted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
