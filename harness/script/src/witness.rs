//! The witness line: one fact that the target saw, with the time at which it saw it.
//!
//! Lines are JSON, one to a row, and carry the version of their format. Sequence numbers begin at 0 with each
//! process and have no holes, so a missing line is noticed; `boot` tells the processes apart.

mod network;
mod process;
mod recorder;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Endpoint;

pub use network::{Accepted, Answered, Closed, Ending, Listening, Request, TlsSeen};
pub use process::{
    Call, ChildSeen, Command, Consumed, Dump, ExecEnded, ExecSeen, NOTED, ProcessSeen, SignalSeen, TrialSeen,
    Waited,
};
pub use recorder::{Beat, Entry, Greeting, Hello, Recorded, Want};

/// The version of the line's format. Readers refuse a larger one; fields may be added without a new version.
pub const VERSION: u32 = 1;

/// One line of the witness.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WitnessLine {
    /// The version of the format.
    pub v: u32,
    /// A random name for this life of the process.
    pub boot: String,
    /// Which life of the container this is, counted from 0; see [`Started::attempt_known`].
    pub attempt: u64,
    /// The number of the line in this life of the process, counted from 0 without holes.
    pub seq: u64,
    /// The monotonic clock of the node (CLOCK_MONOTONIC), shared by all its containers, in microseconds.
    pub mono_us: u64,
    /// The wall clock of the node in microseconds since 1970.
    pub wall_us: u64,
    /// What happened.
    pub fact: Fact,
}

/// What can be seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Fact {
    /// The process started.
    Started(Started),
    /// A port was opened, closed or blocked.
    Listening(Listening),
    /// A connection was accepted.
    Accepted(Accepted),
    /// A TLS handshake ended, well or badly.
    Tls(TlsSeen),
    /// A request arrived: written before its answer is sent.
    Request(Request),
    /// A request was answered, or its answer broke off.
    Answer(Answered),
    /// A connection ended.
    Closed(Closed),
    /// A command run by a probe or a hook began.
    Exec(ExecSeen),
    /// Such a command ended, or was cut off.
    ExecEnded(ExecEnded),
    /// A signal arrived.
    Signal(SignalSeen),
    /// An event that scripts can refer to happened.
    Mark(Mark),
    /// The plan was changed by the control port.
    Change(ChangeSeen),
    /// The plan was set back to what it was at the start.
    Reset(ResetSeen),
    /// The control port turned a request away.
    Refused(Refused),
    /// A child process started or ended, or an orphan was reaped.
    Child(ChildSeen),
    /// Something that the process waited for is there.
    Waited(Waited),
    /// A request that this process sent as a client, or for the sake of a dependency.
    Call(Call),
    /// A consumer took or released a resource.
    Consumed(Consumed),
    /// What the container looks like from inside.
    Dump(Dump),
    /// Something was tried that may be forbidden.
    Tried(TrialSeen),
    /// The process itself was held up: its ticker came late.
    Stall(Stall),
    /// All processors of the node were busy until now.
    Saturated(Saturated),
    /// Lines that some reader will never get.
    Lost(Lost),
    /// Something about the target itself went wrong; the reader should not trust what depends on it.
    Trouble(Trouble),
    /// The process looked for its file on a volume of the pod, because it is about to end.
    Volume(VolumeSeen),
    /// The process is about to end by its own will.
    Exiting(Exiting),
}

/// The process started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Started {
    /// The version of the program.
    pub version: String,
    /// The process's id as it sees it; 1 if it is the container's first.
    pub pid: u32,
    /// Its arguments.
    pub args: Vec<String>,
    /// The host name, which is the pod's name unless the pod says otherwise.
    pub host: String,
    /// A digest of the plan in force.
    pub plan: String,
    /// The seed of its chances.
    pub seed: u64,
    /// Whether the attempt was counted on a volume. If not, it is 0 for want of a place to count.
    pub attempt_known: bool,
    /// The instant at which `main` began, on the monotonic clock. Times in the plan count from here.
    pub began_mono_us: u64,
    /// Selected environment: the downward API's usual names (`POD_NAME`, `POD_UID`, `NODE_NAME`, `CONTAINER_NAME`…), as far as they are set.
    pub identity: BTreeMap<String, String>,
}

/// What the process found on a volume of the pod just before its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VolumeSeen {
    /// Whether the file was there in which it had counted its attempt.
    pub kept: bool,
}

/// An event happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mark {
    /// Its name.
    pub name: String,
    /// What made it: an endpoint, a signal, or `control`.
    pub by: String,
}

/// The plan was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeSeen {
    /// The endpoints with a new script.
    pub endpoints: Vec<Endpoint>,
    /// The change as it was sent, in JSON.
    pub change: String,
}

/// The plan was set back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResetSeen {
    /// How many changes were undone.
    pub changes: u64,
}

/// A control request was turned away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refused {
    /// Who asked.
    pub peer: String,
    /// What was asked: method and target.
    pub request: String,
    /// Why it was refused.
    pub why: String,
}

/// The process was held up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stall {
    /// How late the ticker came, in microseconds.
    pub late_us: u64,
}

/// All processors of the node were busy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Saturated {
    /// For how long, in microseconds.
    pub for_us: u64,
    /// Many tasks were waiting for each of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overloaded: bool,
}

/// Lines that did not get through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lost {
    /// Which way: `stdout`, `journal` or `recorder`.
    pub to: String,
    /// How many lines.
    pub lines: u64,
    /// The number of the first of them.
    pub first: u64,
}

/// Something about the target itself went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trouble {
    /// What was being done.
    pub doing: String,
    /// What went wrong.
    pub error: String,
}

/// The process ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Exiting {
    /// The exit status.
    pub code: u8,
    /// Why: `plan`, `stop`, `control`, or what was missing.
    pub why: String,
}
