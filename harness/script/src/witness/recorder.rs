//! The messages between targets, the recorder and its readers, besides witness lines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::WitnessLine;

/// Shows the recorder, between facts, that the process is running. A beat is sent only to the recorder, without a line
/// number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Beat {
    /// The version of the format.
    pub v: u32,
    /// The random name of the process.
    pub boot: String,
    /// The number of lines so far, which is also the number of the next line.
    pub beat: u64,
    /// The monotonic clock in microseconds.
    pub mono_us: u64,
    /// The wall clock in microseconds since 1970.
    pub wall_us: u64,
}

/// The first line on a connection to the recorder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hello {
    /// The version of the format.
    pub v: u32,
    /// The random name of the process.
    pub boot: String,
    /// The attempt of the container.
    pub attempt: u64,
    /// The number that the process's next line will have.
    pub hello: u64,
    /// The environment variables of the downward API with the usual names, if they are set.
    pub identity: BTreeMap<String, String>,
}

/// A [`Hello`] as it is sent. The recorder does not pass on the token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// The target that connects.
    #[serde(flatten)]
    pub hello: Hello,
    /// The token of the run.
    pub token: String,
}

/// The recorder's answer to a [`Greeting`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Want {
    /// The number of the first line that the recorder has not received.
    pub want: u64,
}

/// One line of the recorder's merged stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recorded {
    /// The version of the format.
    pub v: u32,
    /// The line's number in the merged stream, counted from 0 without gaps.
    pub cursor: u64,
    /// When the recorder received the entry, on its node's monotonic clock, in microseconds.
    pub received_mono_us: u64,
    /// When the recorder received the entry, on its wall clock.
    pub received_wall_us: u64,
    /// What it received.
    pub entry: Entry,
}

/// What the recorder reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// A target connected.
    Joined {
        /// What the process reported about itself.
        hello: Hello,
        /// Its address.
        peer: String,
    },
    /// A witness line arrived.
    Line(Box<WitnessLine>),
    /// Lines of a target are missing and will never arrive, because later lines have arrived.
    Missing {
        /// The random name of the process.
        boot: String,
        /// The number of the first missing line.
        first: u64,
        /// How many are missing.
        lines: u64,
    },
    /// No beat or line has arrived for a while, although the connection is still open.
    Silent {
        /// The random name of the process.
        boot: String,
        /// When the last beat or line arrived, on the recorder's monotonic clock.
        last_mono_us: u64,
    },
    /// A beat or line arrived after a silence.
    Resumed {
        /// The random name of the process.
        boot: String,
        /// How long the silence was, in microseconds.
        silent_us: u64,
    },
    /// A target's connection ended, because its process ended or the network failed.
    Left {
        /// The random name of the process.
        boot: String,
        /// How: `closed`, `reset`, or an error.
        how: String,
        /// The last beat or line, on the recorder's monotonic clock.
        last_mono_us: u64,
        /// The number of the next line, as the target last reported it. The lines between the last received line and
        /// this line are unknown.
        told: u64,
    },
    /// Bytes that are not a valid line were dropped.
    Nonsense {
        /// Who sent them.
        peer: String,
        /// How many.
        bytes: u64,
        /// What was wrong with them.
        error: String,
    },
}
