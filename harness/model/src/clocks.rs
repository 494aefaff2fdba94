//! The clocks of a history, and the times that can be compared.
//!
//! A history has three kinds of clocks: the harness's clock, each node's clock, and the wall clock in the timestamps of
//! objects, which has only whole seconds. Two stamps of the same clock are compared by value. Stamps of different
//! clocks are converted to the harness's clock, with the accuracy of the round trips. Stamps that differ by less than
//! this accuracy are too close to call.

use std::collections::BTreeMap;

use crate::history::{Happening, History, Reading};
use crate::stamp::Interval;

pub use crate::stamp::{Clock, Stamp};

/// The order of two times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The first is certainly earlier.
    Before,
    /// The first is certainly later.
    After,
    /// The clocks do not show which is earlier.
    TooClose,
}

/// The known offsets of the clocks of a history.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    mono: BTreeMap<String, Interval>,
    wall: BTreeMap<String, Interval>,
}

impl Clocks {
    /// Takes the offsets from the readings of a history.
    #[must_use]
    pub fn of(history: &History) -> Self {
        let mut clocks = Self::default();
        for (_, event) in history.events() {
            if let Happening::Reading(reading) = &event.what {
                clocks.learn(reading);
            }
        }
        clocks
    }

    /// Each reading gives an interval for the offset in harness = node + offset, as wide as the round trip. All
    /// readings apply, so their intervals are intersected. If clocks drifted so far that the intersection is empty, the
    /// hull is used.
    fn learn(&mut self, reading: &Reading) {
        let narrow = |known: &mut BTreeMap<String, Interval>, clock: i64| {
            let new = Interval::new(
                reading.sent_us.saturating_sub(clock),
                reading.received_us.saturating_sub(clock),
            );
            let merged =
                known.get(&reading.node).map_or(new, |old| old.meet(new).unwrap_or_else(|| old.hull(new)));
            known.insert(reading.node.clone(), merged);
        };
        narrow(&mut self.mono, reading.mono_us);
        narrow(&mut self.wall, reading.wall_us);
    }

    /// A stamp on the harness's clock, if the offset of its own clock is known.
    #[must_use]
    pub fn on_harness(&self, stamp: &Stamp) -> Option<Interval> {
        match &stamp.clock {
            Clock::Harness => Some(stamp.at),
            Clock::Node(node) => self.mono.get(node).map(|offset| stamp.at.plus(*offset)),
            Clock::Wall(node) => self.wall.get(node).map(|offset| stamp.at.plus(*offset)),
        }
    }

    /// The order of two stamps.
    #[must_use]
    pub fn order(&self, a: &Stamp, b: &Stamp) -> Order {
        match self.between(a, b) {
            Some(span) if span.lo > 0 => Order::Before,
            Some(span) if span.hi < 0 => Order::After,
            _ => Order::TooClose,
        }
    }

    /// The time from `a` to `b`, as an interval; `None` if a clock's offset is unknown.
    #[must_use]
    pub fn between(&self, a: &Stamp, b: &Stamp) -> Option<Interval> {
        if a.clock == b.clock {
            return Some(b.at.minus(a.at));
        }
        Some(self.on_harness(b)?.minus(self.on_harness(a)?))
    }
}
