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

/// The changes that have not arrived yet.
#[derive(Clone, Debug, Default)]
pub struct Echoes {
    /// The time at which each change was sent, by its number.
    pending: BTreeMap<u64, i64>,
    /// The time at which the first of the changes that failed was sent. Nobody knows whether they will still arrive.
    failed_us: Option<i64>,
}

impl Echoes {
    /// A change was sent.
    pub fn sent(&mut self, number: u64, us: i64) {
        self.pending.insert(number, us);
    }

    /// The API server refused a change, so it can be reached. Returns noise if an earlier change was late.
    pub fn refused(&mut self, number: u64, us: i64) -> Option<Noise> {
        self.pending.remove(&number);
        self.heard(number, us)
    }

    /// A change failed without an answer of the API server to it. It counts as late until anything passes again.
    pub fn failed(&mut self, number: u64) {
        let sent_us = self.pending.remove(&number);
        self.failed_us = self.failed_us.into_iter().chain(sent_us).min();
    }

    /// The watch showed a change, and therefore all earlier ones. Returns noise if the change was late.
    pub fn heard(&mut self, number: u64, us: i64) -> Option<Noise> {
        let later = number.checked_add(1).map(|next| self.pending.split_off(&next)).unwrap_or_default();
        let back = std::mem::replace(&mut self.pending, later);
        let sent_us = back.into_values().chain(self.failed_us.take()).min()?;
        late(sent_us, us)
    }

    /// The watch showed something else. Returns noise if a change had failed before.
    pub fn passed(&mut self, us: i64) -> Option<Noise> {
        late(self.failed_us.take()?, us)
    }

    /// Changes that are late and have not arrived.
    #[must_use]
    pub fn overdue(&self, us: i64) -> Option<Noise> {
        late(self.pending.values().copied().chain(self.failed_us).min()?, us)
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
    fn a_refused_change_is_no_noise_and_shows_that_the_api_server_can_be_reached() {
        let mut echoes = Echoes::default();
        echoes.sent(1, 1_000_000);
        assert_eq!(span(echoes.refused(1, 1_100_000)), None);
        assert_eq!(span(echoes.overdue(9_000_000)), None);
        echoes.sent(2, 10_000_000);
        echoes.failed(2);
        echoes.sent(3, 13_000_000);
        assert_eq!(span(echoes.refused(3, 13_100_000)), Some((10_000_000, 13_100_000)));
        assert_eq!(
            span(echoes.overdue(90_000_000)),
            None,
            "the outage does not last until the end of the run"
        );
    }

    #[test]
    fn a_change_that_failed_is_late_until_anything_passes() {
        let mut echoes = Echoes::default();
        echoes.sent(1, 1_000_000);
        assert_eq!(span(echoes.passed(3_000_000)), None, "an earlier revision");
        echoes.failed(1);
        echoes.sent(2, 4_000_000);
        echoes.failed(2);
        assert_eq!(span(echoes.overdue(5_000_000)), Some((1_000_000, 5_000_000)));
        assert_eq!(span(echoes.passed(6_000_000)), Some((1_000_000, 6_000_000)));
        assert_eq!(span(echoes.passed(9_000_000)), None);
        assert_eq!(span(echoes.overdue(9_000_000)), None);
    }

    #[test]
    fn the_largest_number_is_a_number_like_any_other() {
        let mut echoes = Echoes::default();
        echoes.sent(1, 1_000_000);
        assert_eq!(span(echoes.heard(u64::MAX, 3_000_000)), Some((1_000_000, 3_000_000)));
    }
}
