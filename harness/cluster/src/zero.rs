//! The run's zero: the instant from which the harness's clock counts.

use std::time::{Duration, Instant, SystemTime};

/// A monotonic clock with a beginning.
#[derive(Clone, Copy, Debug)]
pub struct Zero {
    began: Instant,
    wall_us: i64,
}

impl Zero {
    /// Begins now.
    #[must_use]
    pub fn now() -> Self {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { began: Instant::now(), wall_us: micros(wall) }
    }

    /// Microseconds since then.
    #[must_use]
    pub fn us(&self) -> i64 {
        micros(self.began.elapsed())
    }

    /// The wall clock at the beginning, in microseconds since 1970.
    #[must_use]
    pub fn wall_us(&self) -> i64 {
        self.wall_us
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}
