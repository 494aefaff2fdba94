//! The two clocks of the witness, read together.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};
use probity_script::Span;

/// One reading of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// CLOCK_MONOTONIC of the node in microseconds. All containers of a node share it.
    pub mono_us: u64,
    /// Wall clock in microseconds since 1970.
    pub wall_us: u64,
}

/// Reads the clocks, and stores when the process started.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
    origin_mono_us: u64,
}

impl Clock {
    /// Takes the current time as the start of the process. `main` calls this first.
    #[must_use]
    pub fn start() -> Self {
        let origin = Instant::now();
        let origin_mono_us = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |time| {
            u64::try_from(time.tv_sec()).unwrap_or(0) * 1_000_000
                + u64::try_from(time.tv_nsec()).unwrap_or(0) / 1_000
        });
        Self { origin, origin_mono_us }
    }

    /// Both clocks now.
    #[must_use]
    pub fn read(&self) -> Reading {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Reading { mono_us: self.mono_us(), wall_us: u64::try_from(wall.as_micros()).unwrap_or(u64::MAX) }
    }

    /// The monotonic clock now, in microseconds.
    #[must_use]
    pub fn mono_us(&self) -> u64 {
        self.origin_mono_us + u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// When the process started, on the monotonic clock.
    #[must_use]
    pub fn began_mono_us(&self) -> u64 {
        self.origin_mono_us
    }

    /// The time since the process started.
    #[must_use]
    pub fn elapsed(&self) -> Span {
        Span(self.origin.elapsed())
    }
}
