//! The two clocks of the witness, read together.

use std::time::Instant;

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
        Self { origin: Instant::now(), origin_mono_us: micros(ClockId::CLOCK_MONOTONIC) }
    }

    /// Both clocks now.
    #[must_use]
    pub fn read(&self) -> Reading {
        Reading { mono_us: self.mono_us(), wall_us: micros(ClockId::CLOCK_REALTIME) }
    }

    /// The monotonic clock now, in microseconds.
    #[must_use]
    pub fn mono_us(&self) -> u64 {
        micros(ClockId::CLOCK_MONOTONIC).max(self.origin_mono_us)
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

/// A clock of the system in microseconds. Every request reads the clocks several times, so this avoids the arithmetic of
/// `Instant` and `Duration`.
fn micros(clock: ClockId) -> u64 {
    clock_gettime(clock).map_or(0, |time| {
        let whole = |part| u64::try_from(part).unwrap_or(0);
        whole(time.tv_sec()) * 1_000_000 + whole(time.tv_nsec()) / 1_000
    })
}
