//! What the recorder knows about an instance of a target, and the totals over all of them. Plain values; the merged
//! stream changes them.

use probity_script::witness::Hello;
use serde::Serialize;

use crate::clock::Reading;

/// The right of one connection to speak for a life, until another connection takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionClaim {
    pub(super) boot: String,
    pub(super) turn: u64,
}

/// What was counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderCounts {
    /// Lines taken.
    pub lines: u64,
    /// Beats taken.
    pub beats: u64,
    /// Lines that will never arrive.
    pub missing: u64,
    /// Duplicate lines that were dropped.
    pub duplicates: u64,
    /// Connections that greeted.
    pub joined: u64,
    /// Of those, the ones that ended.
    pub left: u64,
    /// Times that a target fell silent.
    pub silences: u64,
    /// Connections closed for bytes that are not ours.
    pub nonsense: u64,
    /// How often we came late ourselves.
    pub stalls: u64,
    /// The worst of these, in microseconds.
    pub worst_stall_us: u64,
}

/// A target's life as far as it is known; an element of the answer to `/v1/targets`.
#[derive(Clone, Debug, Serialize)]
pub struct Target {
    /// What it said of itself when it last greeted.
    pub(super) hello: Hello,
    /// Its address.
    pub(super) peer: String,
    /// Whether its connection is open.
    pub(super) connected: bool,
    /// Whether it is silent in spite of that.
    pub(super) silent: bool,
    /// How its last connection ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) left: Option<String>,
    /// Lines taken.
    pub(super) lines: u64,
    /// Beats taken.
    pub(super) beats: u64,
    /// The number of the first line that has not arrived.
    pub(super) next: u64,
    /// The number of its next line, as it last told.
    pub(super) told: u64,
    /// Lines that will never arrive.
    pub(super) missing: u64,
    /// Duplicate lines that were dropped.
    pub(super) duplicates: u64,
    /// When it last greeted, on the recorder's monotonic clock.
    pub(super) joined_mono_us: u64,
    /// Its last sign of life.
    pub(super) last_mono_us: u64,
    #[serde(skip)]
    pub(super) turn: u64,
    /// The line that was due when it last sent nonsense, and how often that happened there.
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

    /// About how many bytes are kept for it.
    pub(super) fn weight(&self) -> usize {
        let identity: usize =
            self.hello.identity.iter().map(|(name, value)| name.len() + value.len() + 64).sum();
        size_of::<Self>() + 2 * self.hello.boot.len() + self.peer.len() + identity
    }
}
