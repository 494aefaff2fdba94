//! How long a change takes from the harness to the API server and back over the watch. Every status update takes this
//! path, too.
//!
//! The harness changes one of its own objects at regular intervals and waits for each change on its watch. If the API
//! server, its storage or the watch is late, it is late for all clients, so the lateness is not the kubelet's fault.

use std::collections::BTreeMap;

use crate::history::{Listener, Noise};
use crate::stamp::Clock;

/// A change that takes longer than this to arrive is noise, in microseconds: on an idle cluster it takes a tenth of
/// this time.
pub const TOLERANCE_US: i64 = 250_000;

/// The changes that have not arrived yet, by number, with the time at which each was sent.
#[derive(Clone, Debug, Default)]
pub struct Echoes(BTreeMap<u64, i64>);

impl Echoes {
    /// A change was sent.
    pub fn sent(&mut self, number: u64, us: i64) {
        self.0.insert(number, us);
    }

    /// The API server refused the change, so the change shows nothing about the watch.
    pub fn refused(&mut self, number: u64) {
        self.0.remove(&number);
    }

    /// The watch showed a change, and therefore all earlier ones. Returns noise if the change was late.
    pub fn heard(&mut self, number: u64, us: i64) -> Option<Noise> {
        let later = self.0.split_off(&(number + 1));
        let back = std::mem::replace(&mut self.0, later);
        let sent_us = back.values().copied().min()?;
        late(sent_us, us)
    }

    /// Changes that are late and have not arrived.
    #[must_use]
    pub fn overdue(&self, us: i64) -> Option<Noise> {
        late(self.0.values().copied().min()?, us)
    }
}

fn late(from_us: i64, to_us: i64) -> Option<Noise> {
    let noise = Noise { by: Listener::Echo, clock: Clock::Harness, from_us, to_us };
    (to_us - from_us > TOLERANCE_US).then_some(noise)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(noise: Option<Noise>) -> Option<(i64, i64)> {
        noise.map(|noise| (noise.from_us, noise.to_us))
    }

    #[test]
    fn a_change_that_comes_back_at_once_is_no_noise() {
        let mut echoes = Echoes::default();
        echoes.sent(1, 1_000_000);
        assert_eq!(span(echoes.overdue(1_100_000)), None);
        assert_eq!(span(echoes.heard(1, 1_040_000)), None);
        assert_eq!(span(echoes.heard(1, 9_000_000)), None, "later revisions still carry the change");
    }

    #[test]
    fn a_late_watch_is_noise_from_the_oldest_change_that_it_shows() {
        let mut echoes = Echoes::default();
        echoes.sent(1, 1_000_000);
        echoes.sent(2, 4_000_000);
        assert_eq!(span(echoes.overdue(3_000_000)), Some((1_000_000, 3_000_000)));
        assert_eq!(span(echoes.heard(2, 7_000_000)), Some((1_000_000, 7_000_000)));
        assert_eq!(span(echoes.overdue(9_000_000)), None);
    }

    #[test]
    fn a_refused_change_is_no_noise() {
        let mut echoes = Echoes::default();
        echoes.sent(1, 1_000_000);
        echoes.refused(1);
        assert_eq!(span(echoes.overdue(9_000_000)), None);
    }
}
