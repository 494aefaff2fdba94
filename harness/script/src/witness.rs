//! The witness line: one fact that the target saw, with the time at which it saw it.
//!
//! Lines are JSON objects, one per row, with the version of their format. Sequence numbers begin at 0 in each process
//! and have no gaps, so a reader notices a missing line. `boot` distinguishes the processes.

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

/// The version of the line's format. Readers reject a larger version. Fields may be added without a new version.
pub const VERSION: u32 = 1;

/// One line of the witness.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WitnessLine {
    /// The version of the format.
    pub v: u32,
    /// A random name of this process.
    pub boot: String,
    /// The attempt of the container, counted from 0; see [`Started::attempt_known`].
    pub attempt: u64,
    /// The number of the line in this process, counted from 0 without gaps.
    pub seq: u64,
    /// The monotonic clock of the node (CLOCK_MONOTONIC), shared by all its containers, in microseconds.
    pub mono_us: u64,
    /// The wall clock of the node in microseconds since 1970.
    pub wall_us: u64,
    /// What happened.
    pub fact: Fact,
}

/// What the target can observe.
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
    /// A TLS handshake succeeded or failed.
    Tls(TlsSeen),
    /// A request arrived. This line is written before the answer is sent.
    Request(Request),
    /// A request was answered, or its answer was cut off.
    Answer(Answered),
    /// A connection ended.
    Closed(Closed),
    /// A command run by a probe or a hook began.
    Exec(ExecSeen),
    /// A command run by a probe or a hook ended, or was cut off.
    ExecEnded(ExecEnded),
    /// A signal arrived.
    Signal(SignalSeen),
    /// An event that scripts can refer to happened.
    Mark(Mark),
    /// The plan was changed through the control port.
    Change(ChangeSeen),
    /// The plan was reset to what it was at the start.
    Reset(ResetSeen),
    /// The control port refused a request.
    Refused(Refused),
    /// A child process started or ended, or an orphan was reaped.
    Child(ChildSeen),
    /// Something that the process waited for is available.
    Waited(Waited),
    /// This process sent a request as a client, or to check a dependency.
    Call(Call),
    /// A consumer took or released a resource.
    Consumed(Consumed),
    /// What the container looks like from inside.
    Dump(Dump),
    /// Something was tried that may be forbidden.
    Tried(TrialSeen),
    /// The process itself was stalled: its ticker was late.
    Stall(Stall),
    /// All processors of the node were busy until now.
    Saturated(Saturated),
    /// Lines that will never arrive at some reader.
    Lost(Lost),
    /// Something about the target itself went wrong. The reader should not trust conclusions that depend on it.
    Trouble(Trouble),
    /// The process looked for its file on a volume of the pod just before it ends.
    Volume(VolumeSeen),
    /// The process is about to end by itself.
    Exiting(Exiting),
}

/// The process started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Started {
    /// The version of the program.
    pub version: String,
    /// The process ID in its own namespace. 1 if it is the first process of the container.
    pub pid: u32,
    /// Its arguments.
    pub args: Vec<String>,
    /// The host name, which is the pod's name unless the pod sets another.
    pub host: String,
    /// A digest of the plan in force.
    pub plan: String,
    /// The seed of the plan's random numbers.
    pub seed: u64,
    /// Whether the attempt was counted on a volume. If not, the attempt is always 0.
    pub attempt_known: bool,
    /// The instant at which `main` began, on the monotonic clock. Times in the plan count from here.
    pub began_mono_us: u64,
    /// The environment variables of the downward API with the usual names (`POD_NAME`, `POD_UID`, `NODE_NAME`,
    /// `CONTAINER_NAME`…), if they are set.
    pub identity: BTreeMap<String, String>,
}

/// What the process found on a volume of the pod just before its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VolumeSeen {
    /// Whether the file in which it had counted its attempt still existed.
    pub kept: bool,
}

/// An event happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mark {
    /// Its name.
    pub name: String,
    /// What caused it: an endpoint, a signal, or `control`.
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

/// The plan was reset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResetSeen {
    /// How many changes were undone.
    pub changes: u64,
}

/// A control request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refused {
    /// Who sent it.
    pub peer: String,
    /// What was requested: method and target.
    pub request: String,
    /// Why it was refused.
    pub why: String,
}

/// The process was stalled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stall {
    /// How late the ticker was, in microseconds.
    pub late_us: u64,
}

/// All processors of the node were busy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Saturated {
    /// How long they were busy, in microseconds.
    pub for_us: u64,
    /// Whether many tasks were waiting for each processor.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overloaded: bool,
}

/// Lines that were lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lost {
    /// The outlet: `stdout`, `journal` or `recorder`.
    pub to: String,
    /// How many lines.
    pub lines: u64,
    /// The number of the first of these lines.
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
