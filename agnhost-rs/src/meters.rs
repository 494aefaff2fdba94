//! Counts of connections for `/metrics`. They are in neither the plan's counters nor the witness.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;

/// The counts. Cheap to clone; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Meters {
    /// How many connections have been accepted so far.
    pub accepted: Counter,
    /// How many of these connections are open now.
    pub open: Gauge,
}

/// A connection of a listener, counted as open until it is dropped.
#[derive(Debug)]
#[must_use = "the connection counts as closed when this is dropped"]
pub struct OpenConnection(Gauge);

impl Meters {
    /// Counts a connection that was just accepted.
    pub fn connection(&self) -> OpenConnection {
        self.accepted.inc();
        self.open.inc();
        OpenConnection(self.open.clone())
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
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
        assert_eq!((meters.accepted.get(), meters.open.get()), (2, 1));
        drop(second);
        assert_eq!((meters.accepted.get(), meters.open.get()), (2, 0));
    }
}
