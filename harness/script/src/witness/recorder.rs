//! What passes between targets, the recorder and its readers, besides witness lines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::WitnessLine;

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

/// A [`Hello`] as it is sent. The recorder keeps the token to itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// Who greets.
    #[serde(flatten)]
    pub hello: Hello,
    /// The token of the run.
    pub token: String,
}

/// The recorder's answer to a [`Greeting`].
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
