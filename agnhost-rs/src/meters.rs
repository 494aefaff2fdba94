//! Numbers about the process that are in neither the plan's counters nor the witness: connections, for `/metrics`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The shared numbers. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Meters {
    connections: Arc<Connections>,
}

#[derive(Debug, Default)]
struct Connections {
    accepted: AtomicU64,
    closed: AtomicU64,
}

/// A connection of a listener, counted as open until it is dropped.
#[derive(Debug)]
#[must_use = "the connection counts as closed when this is dropped"]
pub struct OpenConnection {
    connections: Arc<Connections>,
}

impl Meters {
    /// Counts a connection that was just accepted.
    pub fn connection(&self) -> OpenConnection {
        self.connections.accepted.fetch_add(1, Ordering::Relaxed);
        OpenConnection { connections: Arc::clone(&self.connections) }
    }

    /// How many connections have been accepted so far.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.connections.accepted.load(Ordering::Relaxed)
    }

    /// How many of them are open now.
    #[must_use]
    pub fn open(&self) -> u64 {
        // Closed first: a connection that comes and goes in between must not make the difference negative.
        let closed = self.connections.closed.load(Ordering::Acquire);
        self.accepted().saturating_sub(closed)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.connections.closed.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_open_until_it_is_dropped() {
        let meters = Meters::default();
        let (first, second) = (meters.connection(), meters.connection());
        drop(first);
        assert_eq!((meters.accepted(), meters.open()), (2, 1));
        drop(second);
        assert_eq!((meters.accepted(), meters.open()), (2, 0));
    }
}
