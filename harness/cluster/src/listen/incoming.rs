//! What the listeners hand to the history writer, over one channel.

use probity_model::Clock;
use probity_model::history::{Gap, Happening, Listener, Noise, Source};
use tokio::sync::mpsc::UnboundedSender;

use crate::run_clock::RunClock;

/// A listener learned something.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// Something happened. The time is the time at which the harness learned about it, on the clock of the run.
    Happening {
        /// When.
        us: i64,
        /// What.
        what: Happening,
    },
    /// A source is unreachable. Nothing is lost yet: its events may still arrive later.
    Away {
        /// Which.
        of: Source,
        /// When it last sent something.
        since_us: i64,
    },
    /// The source is reachable again, and has reported everything that happened in the meantime.
    Back {
        /// Which.
        of: Source,
        /// The time that `Away` named. It distinguishes the watches of one kind in several namespaces.
        since_us: i64,
    },
    /// The harness sends its own change, to measure how long it takes to arrive on the watch.
    EchoSent {
        /// When.
        us: i64,
        /// Its number.
        number: u64,
    },
    /// The API server examined the harness's own change and rejected it.
    EchoRefused {
        /// When.
        us: i64,
        /// Its number.
        number: u64,
    },
    /// The harness's own change failed, but the API server did not examine it.
    EchoFailed {
        /// Its number.
        number: u64,
    },
}

/// Forwards the reports of one source, and keeps the time of the last report.
pub(crate) struct Reporter {
    pub(crate) source: Source,
    pub(crate) clock: RunClock,
    /// When the source last sent something.
    pub(crate) heard_us: i64,
    out: UnboundedSender<Incoming>,
    /// While the source is unreachable: when it last sent something.
    away_since_us: Option<i64>,
}

impl Reporter {
    pub(crate) fn new(source: Source, clock: RunClock, out: UnboundedSender<Incoming>) -> Self {
        Self { source, clock, heard_us: clock.us(), out, away_since_us: None }
    }

    /// Whether anybody listens.
    pub(crate) fn is_listened_to(&self) -> bool {
        !self.out.is_closed()
    }

    /// The source sent something now.
    pub(crate) fn heard(&mut self) {
        self.heard_us = self.clock.us();
    }

    /// Sends something that was learned now.
    pub(crate) fn send(&self, what: Happening) {
        let _ = self.out.send(Incoming::Happening { us: self.clock.us(), what });
    }

    /// The source is unreachable.
    pub(crate) fn away(&mut self) {
        if self.away_since_us.is_none() {
            let since_us = self.heard_us;
            self.away_since_us = Some(since_us);
            let _ = self.out.send(Incoming::Away { of: self.source.clone(), since_us });
        }
    }

    /// The source is reachable again.
    pub(crate) fn back(&mut self) {
        if let Some(since_us) = self.away_since_us.take() {
            let _ = self.out.send(Incoming::Back { of: self.source.clone(), since_us });
        }
    }

    /// Something may have been missed since the source last sent something.
    pub(crate) fn gap(&self, why: String) {
        self.gap_until(self.clock.us(), why);
    }

    /// Something may have been missed since the source last sent something, until this time.
    pub(crate) fn gap_until(&self, to_us: i64, why: String) {
        self.gap_between(self.heard_us, to_us, why);
    }

    /// Something may have been missed between these times.
    pub(crate) fn gap_between(&self, from_us: i64, to_us: i64, why: String) {
        self.send(Happening::Gap(Gap { of: self.source.clone(), from_us, to_us, why }));
    }
}

/// The harness itself was stalled.
pub(crate) fn harness_noise(from_us: i64, to_us: i64) -> Happening {
    Happening::Noise(Noise { by: Listener::Harness, clock: Clock::Harness, from_us, to_us })
}
