//! The witness line: one fact that the target saw, with the time at which it saw it.
//!
//! Lines are JSON, one to a row, and carry the version of their format. Sequence numbers begin at 0 with each
//! process and have no holes, so a missing line is noticed; `boot` tells the processes apart.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Endpoint;

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
    /// What was seen.
    pub fact: Fact,
}

/// A sign of life between facts, sent to the recorder only and outside the sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Beat {
    /// The version of the format.
    pub v: u32,
    /// The name of the process's life.
    pub boot: String,
    /// How many lines have been given a number so far: the next line's number.
    pub beat: u64,
    /// The monotonic clock in microseconds.
    pub mono_us: u64,
    /// The wall clock in microseconds since 1970.
    pub wall_us: u64,
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
    /// The process itself was held up: its ticker came late.
    Stall(Stall),
    /// Lines that some reader will never get.
    Lost(Lost),
    /// Something about the target itself went wrong; the reader should not trust what depends on it.
    Trouble(Trouble),
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

/// A port changed its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Listening {
    /// The listener's name; `control` and `recorder` are the program's own.
    pub listener: String,
    /// The address and port, when bound.
    pub address: String,
    /// `open`, `closed` or `full`.
    pub state: String,
}

/// A connection was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Accepted {
    /// The connection's number in this process, by which later lines refer to it.
    pub conn: u64,
    /// The listener's name.
    pub listener: String,
    /// Who connected.
    pub peer: String,
    /// The address that it connected to.
    pub local: String,
    /// The step of `connections` that applies, and its answer in short.
    pub step: usize,
    /// The answer in short.
    pub answer: String,
}

/// A TLS handshake ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TlsSeen {
    /// The connection.
    pub conn: u64,
    /// The version agreed on; absent if the handshake failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The protocol agreed on by ALPN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpn: Option<String>,
    /// The server name that the client asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Whether the client showed a certificate.
    pub client_certificate: bool,
    /// Why the handshake failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A request arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Request {
    /// The connection.
    pub conn: u64,
    /// The request's number on the connection, counted from 1.
    pub nth: u64,
    /// The endpoint that answers; absent if the plan has none for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// The probe's number at the endpoint, counted from 1; a later hop of a redirect chain has the number of the first.
    pub probe: u64,
    /// The hop of a redirect chain, if it is a later one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hop: Option<u64>,
    /// The method.
    pub method: String,
    /// The request target as sent.
    pub target: String,
    /// The protocol: `HTTP/1.0`, `HTTP/1.1` or `HTTP/2`.
    pub protocol: String,
    /// The headers; in HTTP/1 as they were on the wire: order, case and duplicates.
    pub headers: Vec<(String, String)>,
    /// How many bytes of a body came with the request, as far as it was read before answering.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub body: u64,
    /// When the first byte of the request arrived, on the monotonic clock.
    pub first_byte_us: u64,
    /// The health service that was asked for, in gRPC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
}

/// A request was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answered {
    /// The connection.
    pub conn: u64,
    /// The request's number on the connection.
    pub nth: u64,
    /// The endpoint that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// The step of its script.
    pub step: usize,
    /// The answer in short: a status such as `503`, or a word such as `reset`.
    pub answer: String,
    /// How many bytes of the answer the system took from us, head included (HTTP/2: of the body).
    pub written: u64,
    /// From the arrival of the request to the end of its answer, in microseconds.
    pub took_us: u64,
    /// The first error on writing, or why the answer broke off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A connection ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Closed {
    /// The connection.
    pub conn: u64,
    /// How it ended.
    pub how: Ending,
    /// Bytes received on it, below TLS.
    pub received: u64,
    /// Bytes that the system took from us for it, below TLS.
    pub sent: u64,
    /// From accept to here, in microseconds.
    pub lived_us: u64,
    /// Why, where an error said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The peer closed its side first, in good order (FIN).
    PeerClosed,
    /// The peer aborted it (RST).
    PeerReset,
    /// We closed it first, in good order.
    WeClosed,
    /// We aborted it.
    WeReset,
    /// It broke in another way.
    Broken,
}

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
    /// What the command said of itself.
    pub command: Command,
}

/// What a command knows about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Command {
    /// Its arguments as it got them.
    pub args: Vec<String>,
    /// Its process id.
    pub pid: u32,
    /// The id of its parent; 0 if that lives in another namespace.
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
    /// Its exit status; absent if it was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<u8>,
    /// The signals that it noted meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<String>,
    /// How long it lived, in microseconds.
    pub lived_us: u64,
}

/// A signal arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SignalSeen {
    /// Its name, such as `SIGTERM`.
    pub signal: String,
    /// The child that got it; absent if this process did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<String>,
    /// What is done about it, in short.
    pub answer: String,
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

/// Something about a child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChildSeen {
    /// Its name; `orphan` for a process that was adopted.
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
    /// How often it was looked for.
    pub tries: u64,
    /// How long it took, in microseconds.
    pub took_us: u64,
}

/// A request that this process sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Call {
    /// The client's name, or the endpoint that depends on it.
    pub by: String,
    /// What was asked.
    pub url: String,
    /// The status of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The host that the answer names, where it is a target's identity report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// Why there was no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it took, in microseconds.
    pub took_us: u64,
}

/// A resource was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Consumed {
    /// `memory`, `cpu` or `disk`.
    pub resource: String,
    /// Bytes held, or threads burning.
    pub amount: u64,
    /// Why it could not be more.
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
    /// The processes that are visible.
    pub processes: Vec<ProcessSeen>,
}

/// A process in a dump.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessSeen {
    /// Its id.
    pub pid: u32,
    /// Its parent's id.
    pub parent: u32,
    /// Its state letter: `R`, `S`, `Z` for a zombie.
    pub state: String,
    /// Its name.
    pub name: String,
}

/// The process was held up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stall {
    /// How late the ticker came, in microseconds.
    pub late_us: u64,
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

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The first line on a connection to the recorder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hello {
    /// The version of the format.
    pub v: u32,
    /// The name of the process's life.
    pub boot: String,
    /// Which life of the container this is.
    pub attempt: u64,
    /// The number that its next line will have.
    pub hello: u64,
    /// The downward API's usual names, as far as they are set.
    pub identity: BTreeMap<String, String>,
}

/// The recorder's answer to a [`Hello`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Want {
    /// The number of the first line that it has not got.
    pub want: u64,
}

/// One line of the recorder's merged stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recorded {
    /// The version of the format.
    pub v: u32,
    /// The line's number in the merged stream, counted from 0 without holes.
    pub cursor: u64,
    /// When the recorder received it, on its node's monotonic clock, in microseconds.
    pub received_mono_us: u64,
    /// When the recorder received it, on its wall clock.
    pub received_wall_us: u64,
    /// What it received.
    pub entry: Entry,
}

/// What the recorder has to tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// A target connected.
    Joined {
        /// What it said of itself.
        hello: Hello,
        /// Its address.
        peer: String,
    },
    /// A witness line arrived.
    Line(Box<WitnessLine>),
    /// Lines of a target will never arrive: they were overtaken by later ones.
    Missing {
        /// The name of the process's life.
        boot: String,
        /// The number of the first missing line.
        first: u64,
        /// How many are missing.
        lines: u64,
    },
    /// No sign of life for a while, with the connection still open.
    Silent {
        /// The name of the process's life.
        boot: String,
        /// The last sign of life, on the recorder's monotonic clock.
        last_mono_us: u64,
    },
    /// A sign of life after a silence.
    Resumed {
        /// The name of the process's life.
        boot: String,
        /// How long the silence was, in microseconds.
        silent_us: u64,
    },
    /// A target's connection ended: its process ended, or the way to it did.
    Left {
        /// The name of the process's life.
        boot: String,
        /// How: `closed`, `reset`, or an error.
        how: String,
        /// The last beat or line, on the recorder's monotonic clock.
        last_mono_us: u64,
        /// The next line's number as the target last told it; lines from the last received to here are unknown.
        told: u64,
    },
    /// Bytes that are no line of ours were dropped.
    Nonsense {
        /// Who sent them.
        peer: String,
        /// How many.
        bytes: u64,
        /// What was wrong with them.
        error: String,
    },
}
