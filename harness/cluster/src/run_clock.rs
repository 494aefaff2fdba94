//! The clock of a run: microseconds since its start.

use std::time::{Duration, Instant, SystemTime};

/// A monotonic clock that counts from the beginning of the run.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    began: Instant,
    wall_us: i64,
}

impl RunClock {
    /// Starts now.
    #[must_use]
    pub fn now() -> Self {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { began: Instant::now(), wall_us: micros(wall) }
    }

    /// Microseconds since the start.
    #[must_use]
    pub fn us(&self) -> i64 {
        micros(self.began.elapsed())
    }

    /// The wall clock at the start, in microseconds since 1970.
    #[must_use]
    pub fn wall_us(&self) -> i64 {
        self.wall_us
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}
