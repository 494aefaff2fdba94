//! The history: everything that happened in one case, in the order in which the harness received it.
//!
//! It has three sources: *deeds* (what the harness did), *sightings* (what the API server showed, every revision), and
//! *witness* lines (what the target saw). It also contains *gaps* (what may have been missed), *noise* (what was
//! stalled, and when) and clock *readings*. A stored history has one JSON object on each line, the header first. Events
//! are only appended, and an event's id is its position.

mod deed;
mod line;
mod node_verb;
mod sighting;

use std::collections::BTreeMap;

use probity_script::witness::Entry;
use serde::{Deserialize, Serialize};

use crate::clause::ClauseId;
use crate::expectation::Expectation;
use crate::mechanisms::CATCH_UP;
use crate::stamp::Clock;
use crate::version::minor;

pub use crate::stamp::EventId;
pub use deed::{Deed, Did, Printed, ProbeCount, Tried};
pub use node_verb::{
    ANNOUNCE_SHUTDOWN, CANCEL_SHUTDOWN, CONFIGURE_CONTROLLERS, CONFIGURE_KUBELET, DESCRIBE_POD, KubeletSigns,
    NODE_VERBS, NodeProof, NodeVerb, PLACE_STATIC_POD, REMOVE_SANDBOX, REMOVE_STATIC_PODS, RESTART_KUBELET,
    brings_back,
};
pub use sighting::{Change, Sighting};

/// The name of the format.
pub const SCHEMA: &str = "probity.dev/history";

/// The version of the format. Readers reject a larger version. Fields may be added without a new version.
pub const VERSION: u32 = 1;

/// The feature gate of kubelets since 1.36 that lets a rule restart all containers of a pod. Only with this gate do these
/// kubelets remember the last states of containers. The nodes declare whether the gate is on.
pub const RESTART_ALL_GATE: &str = "RestartAllContainersOnContainerExits";

/// What is known before the first event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`VERSION`].
    pub version: u32,
    /// The run.
    pub run: String,
    /// The case, including its variant.
    pub case: String,
    /// The clauses that the case was written to give evidence for.
    pub judges: Vec<ClauseId>,
    /// Expectations of the case beyond the clauses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Expectation>,
    /// The version of the API server, such as `v1.36.3`.
    pub server: String,
    /// The nodes, by name.
    pub nodes: BTreeMap<String, NodeFacts>,
    /// The harness's wall clock at its zero, in microseconds since 1970.
    pub began_wall_us: i64,
}

/// Facts about a node that affect what is expected of its kubelet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeFacts {
    /// The kubelet's version; empty if the harness may not read nodes.
    pub kubelet: String,
    /// The container runtime and its version.
    pub runtime: String,
    /// The operating system's image.
    pub os_image: String,
    /// The kernel.
    pub kernel: String,
    /// The architecture.
    pub architecture: String,
    /// The resources that pods can use on the node.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub allocatable: std::collections::BTreeMap<String, String>,
    /// The internal and external IP addresses of the node; absent in older recordings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// The features in the node's status, each with whether the runtime supports it. For a kubelet since 1.36, also
    /// [`RESTART_ALL_GATE`], with whether the node declares it.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub features: std::collections::BTreeMap<String, bool>,
    /// The settings of the kubelet that matter and that do not have their defaults; see [`crate::kubelet_settings`].
    /// Absent if the harness could not read them. Older recordings also leave it out if all settings have their defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<BTreeMap<String, String>>,
}

impl NodeFacts {
    /// The minor version of the kubelet, such as 1.36, if it is known.
    #[must_use]
    pub fn kubelet_minor(&self) -> Option<(u32, u32)> {
        minor(self.kubelet.trim_start_matches('v'))
    }
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// When the harness received the event, in microseconds since the run's zero on the harness's monotonic clock.
    pub us: i64,
    /// What it is.
    #[cfg_attr(feature = "schema", schemars(flatten))]
    pub what: Happening,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename_all = "kebab-case"))]
pub enum Happening {
    /// The harness did something.
    Deed(Deed),
    /// The API server showed a revision of an object.
    Sighting(Sighting),
    /// The target saw something.
    Witness(Heard),
    /// Something may have been missed.
    Gap(Gap),
    /// Something was stalled.
    Noise(Noise),
    /// A clock was read.
    Reading(Reading),
}

/// An entry of the recorder's stream, or a line of a container's log, that belongs to this case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Heard {
    /// The pod.
    pub pod: String,
    /// The pod's UID, if the target knows it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The container.
    pub container: String,
    /// The node, which identifies the clock.
    pub node: String,
    /// The path on which it arrived.
    pub by: Way,
    /// When the recorder received the line, on the monotonic clock of the recorder's node; absent if the line arrived
    /// on another path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_us: Option<u64>,
    /// The entry.
    pub entry: Entry,
}

/// The path on which a witness line arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Over the recorder.
    Recorder,
    /// From the container's log, to fill a hole.
    Log,
}

/// A period in which something may have been missed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gap {
    /// The source from which events may be missing.
    pub of: Source,
    /// Its start, on the harness's clock.
    pub from_us: i64,
    /// Its end.
    pub to_us: i64,
    /// Why.
    pub why: String,
}

/// A source of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The watch of this kind of object, such as `Pod`.
    Watch(String),
    /// The recorder's stream.
    Recorder,
    /// Lines of one container.
    Witness {
        /// The pod.
        pod: String,
        /// The container.
        container: String,
    },
}

/// Something was stalled, so lateness at that time may not be the kubelet's fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Noise {
    /// Who noticed.
    pub by: Listener,
    /// The clock of the following times.
    pub clock: Clock,
    /// Its start.
    pub from_us: i64,
    /// Its end.
    pub to_us: i64,
}

impl Noise {
    /// The same noise, and the time that was needed afterwards to catch up.
    #[must_use]
    pub fn until_caught_up(&self) -> Self {
        let lasted = self.to_us.saturating_sub(self.from_us);
        Self { to_us: self.to_us.saturating_add(CATCH_UP.of(lasted)), ..self.clone() }
    }
}

/// Who notices noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Listener {
    /// The harness itself: its ticker was late, or one of its watches was interrupted.
    Harness,
    /// A target's ticker.
    Target,
    /// The metronome: plain probes of an idle pod arrived late on this node. Such lateness is the kubelet's own and
    /// does not excuse the kubelet: see [`Listener::is_excuse`].
    Metronome,
    /// The node: all its processors were busy, according to the kernel's idle time.
    Node,
    /// The node: its processors were busy, and many tasks waited for each processor.
    Overload,
    /// The path to the watch: the harness's own writes to the API server arrived late.
    Echo,
}

impl Listener {
    /// Whether this noise can excuse lateness, because the kubelet cannot cause it. Lateness of the kubelet alone is a
    /// finding.
    #[must_use]
    pub fn is_excuse(self) -> bool {
        self != Self::Metronome
    }

    /// Whether the processors of a node were busy.
    #[must_use]
    pub fn is_saturation(self) -> bool {
        matches!(self, Self::Node | Self::Overload)
    }

    /// Whether processes on a node were not scheduled in time, so that lateness cannot be distinguished from a fault.
    #[must_use]
    pub fn is_overload(self) -> bool {
        matches!(self, Self::Target | Self::Overload)
    }

    /// Whether a recording process was stalled: what it recorded then may have happened earlier.
    #[must_use]
    pub fn is_stall(self) -> bool {
        matches!(self, Self::Harness | Self::Target)
    }
}

/// A clock was read with a round trip: it was read at some time between sending and receiving.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reading {
    /// The node whose clocks these are.
    pub node: String,
    /// When the request was sent, on the harness's clock.
    pub sent_us: i64,
    /// When the answer arrived, on the harness's clock.
    pub received_us: i64,
    /// The node's monotonic clock.
    pub mono_us: i64,
    /// The node's wall clock, in microseconds since 1970.
    pub wall_us: i64,
}

/// A header and events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// What is known before the first event.
    pub header: Header,
    events: Vec<Event>,
}

/// Why a text is not a history.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The text is empty.
    #[error("the history is empty: its first line should be a header")]
    Empty,
    /// The first line is something else.
    #[error("the first line is not the header of a history ({SCHEMA}): {0}")]
    Header(String),
    /// The format is newer.
    #[error(
        "the history has format version {0}, but this program reads only up to {VERSION}; use a newer program"
    )]
    Version(u32),
    /// A line is not an event.
    #[error("line {line} is not an event of a history: {error}")]
    Line {
        /// The line's number, counted from 1.
        line: usize,
        /// What is wrong with it.
        error: String,
    },
}

/// An error in a line of JSON, without the number of the line. Serde counts the lines of the text that it reads, which
/// is always the first one here.
#[must_use]
pub fn in_line(error: &serde_json::Error) -> String {
    error.to_string().replacen(" at line 1 column ", " at column ", 1)
}

impl History {
    /// A history without events.
    #[must_use]
    pub fn new(header: Header) -> Self {
        Self { header: Header { schema: SCHEMA.to_owned(), version: VERSION, ..header }, events: Vec::new() }
    }

    /// Adds an event.
    pub fn push(&mut self, us: i64, what: Happening) -> EventId {
        let id = EventId(u32::try_from(self.events.len()).unwrap_or(u32::MAX));
        self.events.push(Event { us, what });
        id
    }

    /// The events with their ids.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = (EventId, &Event)> + ExactSizeIterator {
        self.events
            .iter()
            .enumerate()
            .map(|(at, event)| (EventId(u32::try_from(at).unwrap_or(u32::MAX)), event))
    }

    /// The events from an id on.
    pub fn since(&self, first: EventId) -> impl DoubleEndedIterator<Item = (EventId, &Event)> {
        self.events().skip(first.0 as usize)
    }

    /// One event.
    #[must_use]
    pub fn get(&self, id: EventId) -> Option<&Event> {
        self.events.get(id.0 as usize)
    }

    /// The id that the next event will get.
    #[must_use]
    pub fn next_id(&self) -> EventId {
        EventId(u32::try_from(self.events.len()).unwrap_or(u32::MAX))
    }

    /// Reads a history from its lines.
    ///
    /// # Errors
    ///
    /// If the text is not a history of a known version. An incomplete last line, which a killed run leaves behind, is
    /// ignored.
    pub fn read(text: &str) -> Result<Self, HistoryError> {
        let mut lines = text.lines().enumerate().peekable();
        let (_, first) = lines.next().ok_or(HistoryError::Empty)?;
        let header: Header =
            serde_json::from_str(first).map_err(|error| HistoryError::Header(error.to_string()))?;
        if header.schema != SCHEMA {
            return Err(HistoryError::Header(format!("its schema is `{}`", header.schema)));
        }
        if header.version > VERSION {
            return Err(HistoryError::Version(header.version));
        }
        let mut events = Vec::new();
        while let Some((at, line)) = lines.next() {
            match serde_json::from_str(line) {
                Ok(event) => events.push(event),
                Err(_) if lines.peek().is_none() && !text.ends_with('\n') => break,
                Err(error) => return Err(HistoryError::Line { line: at + 1, error: in_line(&error) }),
            }
        }
        Ok(Self { header, events })
    }

    /// The history as lines.
    ///
    /// # Errors
    ///
    /// Never for a history that was read or built here; JSON cannot express some Rust values.
    pub fn write(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string(&self.header)?;
        for event in &self.events {
            text.push('\n');
            text.push_str(&serde_json::to_string(event)?);
        }
        text.push('\n');
        Ok(text)
    }
}
