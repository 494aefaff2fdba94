//! When the API server, its storage, or the network between it and the harness could not be reached.
//!
//! Three things show this: the harness's own changes came back late over its watch (see [`crate::echo`]), the watch was
//! interrupted, or the harness itself was stalled. No kubelet can cause any of them, so a kubelet can't excuse itself.
//! At such a time a kubelet can't report anything, and the harness sees nothing: statuses come late, several come as
//! one, and events get lost. What a target recorded is not affected.

use super::{Timeline, covered};
use crate::EventId;
use crate::history::{Happening, History, Listener, Noise};
use crate::mechanisms::{CATCH_UP, OUTAGE};
use crate::stamp::Interval;

impl Noise {
    /// The outage that this noise shows, if it shows one, on the harness's clock.
    #[must_use]
    pub fn outage(&self) -> Option<Interval> {
        let on_the_way = matches!(self.by, Listener::Echo | Listener::Harness);
        let away = Interval::new(self.from_us, self.to_us);
        (on_the_way && away.hi - away.lo >= OUTAGE).then_some(away)
    }

    /// When the effects of the outage that this noise shows end, if it shows one.
    #[must_use]
    pub fn outage_felt_until(&self) -> Option<i64> {
        self.outage().map(felt_until)
    }
}

/// An outage has effects for as long again, because the clients of the API server wait longer before each new try.
fn felt_until(away: Interval) -> i64 {
    away.hi.saturating_add(CATCH_UP.of(away.hi - away.lo))
}

impl Timeline<'_> {
    /// The outage that had effects between two instants of the harness's clock: the event that shows it, and how long it
    /// lasted.
    #[must_use]
    pub fn outage_between(&self, from_us: i64, to_us: i64) -> Option<(EventId, i64)> {
        let touches = |away: &Interval| away.lo <= to_us && from_us <= felt_until(*away);
        let (id, away) = self.outages.iter().find(|(_, away)| touches(away))?;
        Some((*id, away.hi - away.lo))
    }

    /// For how long outages between two instants of the harness's clock had effects after their ends.
    pub(super) fn effects_of_outages(&self, from_us: i64, to_us: i64) -> i64 {
        let felt = self.outages.iter().filter(|(_, away)| away.lo <= to_us && from_us <= felt_until(*away));
        covered(felt.map(|(_, away)| Interval::new(away.hi, felt_until(*away))).collect())
    }
}

/// The outages of a history, each with the event that shows its end.
pub(super) fn outages(history: &History) -> Vec<(EventId, Interval)> {
    let mut outages: Vec<(EventId, Interval)> = Vec::new();
    for (id, event) in history.events() {
        let Happening::Noise(noise) = &event.what else { continue };
        let Some(away) = noise.outage() else { continue };
        match outages.last_mut().filter(|(_, last)| last.meet(away).is_some()) {
            Some((_, last)) => *last = last.hull(away),
            None => outages.push((id, away)),
        }
    }
    outages
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Header;
    use crate::stamp::Clock;

    #[test]
    fn effects_of_outages_that_overlap_count_once() {
        let mut history = History::new(Header::default());
        for (from_us, to_us) in [(10_000_000, 20_000_000), (25_000_000, 28_000_000)] {
            let noise = Noise { by: Listener::Echo, clock: Clock::Harness, from_us, to_us };
            history.push(to_us, Happening::Noise(noise));
        }
        let run = Timeline::of(&history);
        assert_eq!(run.effects_of_outages(0, 60_000_000), 11_000_000, "from 20 s to 31 s");
    }
}
