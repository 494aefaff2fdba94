//! The behavior of the target as a process: its start, the resources that it consumes, the requests that it sends, and
//! its end.

mod trials;

use serde::{Deserialize, Serialize};

use crate::answer::TerminationAnswer;
use crate::{Counts, Script, Size, Span};

pub use trials::PlannedTrial;

/// The behavior of the process, in the order in which it happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Process {
    /// Required environment variables. If one of them is missing, the process exits with status 78 before it does
    /// anything else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub require_env: Vec<String>,
    /// Things to wait for, one after the other, before any port is opened.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wait_for: Vec<Dependency>,
    /// Whether the process records at its start what the container looks like from inside.
    pub dump: bool,
    /// Things to try, one after the other, when everything under `wait_for` is available.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<PlannedTrial>,
    /// Whether orphans are reaped if the process is the container's first process.
    pub reap: bool,
    /// Child processes that run beside the process.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Child>,
    /// Resources that the process consumes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub consume: Vec<Consumer>,
    /// Traffic that the process sends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<Client>,
    /// When the process ends by itself. The first entry for the current attempt counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exit: Vec<ExitPlan>,
    /// What the process does when it receives a stop signal.
    pub on_stop: Script<TerminationAnswer>,
}

impl Default for Process {
    fn default() -> Self {
        Self {
            require_env: Vec::new(),
            wait_for: Vec::new(),
            dump: false,
            trials: Vec::new(),
            reap: true,
            children: Vec::new(),
            consume: Vec::new(),
            clients: Vec::new(),
            exit: Vec::new(),
            on_stop: Script::always(TerminationAnswer::Exit),
        }
    }
}

/// Something that must exist before the process continues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Dependency {
    /// A URL that answers with a status below 400.
    Http(String),
    /// An address (`host:port`) that accepts a connection.
    Tcp(String),
    /// A name that resolves.
    Dns(String),
    /// A file that exists.
    File(String),
}

/// A child process. It records its own signals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Child {
    /// Its name in the witness.
    pub name: String,
    /// How long it runs. Forever if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lives: Option<Span>,
    /// SIGTERM does not end it.
    #[serde(default)]
    pub ignore_term: bool,
}

/// A resource that is consumed, up to a stated bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Consumer {
    /// Memory that is touched and kept.
    #[serde(rename_all = "kebab-case")]
    Memory {
        /// The total amount.
        bytes: Size,
        /// The size of each step. Everything at once if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<Size>,
        /// The pause after each step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        every: Option<Span>,
        /// When it begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Span>,
    },
    /// CPU time.
    #[serde(rename_all = "kebab-case")]
    Cpu {
        /// How many threads use the CPU.
        threads: u16,
        /// For how long.
        #[serde(rename = "for")]
        lasts: Span,
        /// When it begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Span>,
    },
    /// Space in a file system.
    #[serde(rename_all = "kebab-case")]
    Disk {
        /// The file that grows.
        path: String,
        /// How large it gets.
        bytes: Size,
        /// When it begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Span>,
    },
}

/// A client that sends a bounded number of requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Client {
    /// Its name in the witness.
    pub name: String,
    /// The URL that it requests: `http://host:port/path`.
    pub url: String,
    /// The pause between the starts of two requests.
    pub every: Span,
    /// How long it continues.
    #[serde(rename = "for")]
    pub lasts: Span,
    /// How long it waits for each answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// When it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Span>,
    /// The maximum number of simultaneous requests. Further requests are recorded as skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u16>,
}

/// When and how the process ends by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExitPlan {
    /// How long after the instant that `from` names.
    pub after: Span,
    /// The instant from which `after` counts.
    #[serde(default, skip_serializing_if = "ExitFrom::is_start")]
    pub from: ExitFrom,
    /// The exit status.
    #[serde(default)]
    pub code: u8,
    /// The attempts of the container to which this applies, counted from 0. All if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Counts>,
    /// How the process ends.
    #[serde(default)]
    pub way: ExitWay,
}

/// The instant from which the time until the end counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExitFrom {
    /// From the start of the process.
    #[default]
    Start,
    /// From the instant when everything under `wait-for` is available.
    Waited,
}

/// How a process ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExitWay {
    /// It exits with the status.
    #[default]
    Exit,
    /// By SIGABRT.
    Abort,
    /// By SIGSEGV.
    Segfault,
    /// It sends SIGKILL to itself. The first process of a container cannot do that, and exits with 137.
    Kill,
}

impl Client {
    /// The pause between the starts of two requests, never less than a millisecond.
    #[must_use]
    pub fn pace(&self) -> Span {
        self.every.max(Span::from_micros(1_000))
    }

    /// How long an answer may take. The default is 5 s.
    #[must_use]
    pub fn patience(&self) -> Span {
        self.timeout.unwrap_or(Span::from_micros(5_000_000))
    }
}

impl ExitFrom {
    fn is_start(&self) -> bool {
        *self == Self::Start
    }
}

impl ExitWay {
    /// The status that a container runtime reports after such an end, for a process that would exit with `code`.
    #[must_use]
    pub fn status(self, code: u8) -> u8 {
        match self {
            Self::Exit => code,
            Self::Abort => 134,
            Self::Segfault => 139,
            Self::Kill => 137,
        }
    }
}

impl Process {
    /// The planned end in this attempt of the container.
    #[must_use]
    pub fn exit_for(&self, attempt: u64) -> Option<&ExitPlan> {
        self.exit.iter().find(|plan| plan.attempt.as_ref().is_none_or(|attempts| attempts.contains(attempt)))
    }
}
