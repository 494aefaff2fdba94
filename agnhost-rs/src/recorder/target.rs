//! What the recorder knows about a process of a target, and the totals over all of them. These are plain values, which
//! the merged stream changes.

use probity_script::witness::Hello;
use serde::Serialize;

use crate::clock::Reading;

/// The right of one connection to send messages for a process, until another connection takes it over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionClaim {
    pub(super) boot: String,
    pub(super) turn: u64,
}

/// The counts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderCounts {
    /// Accepted lines.
    pub lines: u64,
    /// Accepted beats.
    pub beats: u64,
    /// Lines that will never arrive.
    pub missing: u64,
    /// Duplicate lines that were dropped.
    pub duplicates: u64,
    /// Connections that greeted.
    pub joined: u64,
    /// Connections that greeted and have ended.
    pub left: u64,
    /// How many times a target became silent.
    pub silences: u64,
    /// Connections that were closed because of invalid bytes.
    pub nonsense: u64,
    /// How many times the recorder itself was late.
    pub stalls: u64,
    /// The longest of these delays, in microseconds.
    pub worst_stall_us: u64,
}

/// What is known about a process of a target. It is an element of the answer to `/v1/targets`.
#[derive(Clone, Debug, Serialize)]
pub struct Target {
    /// Its last greeting.
    pub(super) hello: Hello,
    /// Its address.
    pub(super) peer: String,
    /// Whether its connection is open.
    pub(super) connected: bool,
    /// Whether it is silent although it is connected.
    pub(super) silent: bool,
    /// How its last connection ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) left: Option<String>,
    /// Accepted lines.
    pub(super) lines: u64,
    /// Accepted beats.
    pub(super) beats: u64,
    /// The number of the first line that has not arrived.
    pub(super) next: u64,
    /// The number of its next line, as it last reported.
    pub(super) told: u64,
    /// Lines that will never arrive.
    pub(super) missing: u64,
    /// Duplicate lines that were dropped.
    pub(super) duplicates: u64,
    /// When it last greeted, on the recorder's monotonic clock.
    pub(super) joined_mono_us: u64,
    /// When its last beat or line arrived.
    pub(super) last_mono_us: u64,
    #[serde(skip)]
    pub(super) turn: u64,
    /// The line that was due when it last sent nonsense, and how many times this happened at that line.
    #[serde(skip)]
    pub(super) stumbled: (u64, u32),
}

impl Target {
    pub(super) fn new(hello: Hello, peer: &str, turn: u64, at: Reading) -> Self {
        let told = hello.hello;
        Self {
            hello,
            peer: peer.to_owned(),
            connected: true,
            silent: false,
            left: None,
            lines: 0,
            beats: 0,
            next: 0,
            told,
            missing: 0,
            duplicates: 0,
            joined_mono_us: at.mono_us,
            last_mono_us: at.mono_us,
            turn,
            stumbled: (0, 0),
        }
    }

    pub(super) fn greet(&mut self, hello: Hello, peer: &str, turn: u64, at: Reading) {
        self.told = self.told.max(hello.hello);
        self.hello = hello;
        peer.clone_into(&mut self.peer);
        self.connected = true;
        self.left = None;
        self.joined_mono_us = at.mono_us;
        self.last_mono_us = at.mono_us;
        self.turn = turn;
    }

    pub(super) fn holds(&self, claim: &ConnectionClaim) -> bool {
        self.connected && self.turn == claim.turn
    }

    /// About how many bytes are kept for this target.
    pub(super) fn weight(&self) -> usize {
        let identity: usize =
            self.hello.identity.iter().map(|(name, value)| name.len() + value.len() + 64).sum();
        size_of::<Self>() + 2 * self.hello.boot.len() + self.peer.len() + identity
    }
}
