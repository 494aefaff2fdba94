//! The basic types of the crate: the number of an event, an interval, and an instant on a named clock.
//!
//! Nothing here depends on another module of the crate.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The position of an event in its history: `#14` in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventId(pub u32);

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A clock.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// The harness's monotonic clock, from the run's zero.
    Harness,
    /// The monotonic clock of a node.
    Node(String),
    /// The wall clock of a node, as the kubelet writes it into status, counted from 1970.
    Wall(String),
}

/// An instant, as an interval of microseconds on a clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The clock.
    pub clock: Clock,
    /// The earliest and the latest possible time of the instant.
    pub at: Interval,
}

impl Stamp {
    /// An exact instant of the harness's clock.
    #[must_use]
    pub fn harness(us: i64) -> Self {
        Self { clock: Clock::Harness, at: Interval::point(us) }
    }

    /// An exact instant of a node's monotonic clock.
    #[must_use]
    pub fn node(node: &str, us: i64) -> Self {
        Self { clock: Clock::Node(node.to_owned()), at: Interval::point(us) }
    }

    /// A timestamp in an object's status, which is truncated to whole seconds.
    #[must_use]
    pub fn wall_second(node: &str, second: i64) -> Self {
        let from = second.saturating_mul(1_000_000);
        Self { clock: Clock::Wall(node.to_owned()), at: Interval::new(from, from.saturating_add(999_999)) }
    }

    /// This many microseconds later on the same clock.
    #[must_use]
    pub fn later(&self, by_us: i64) -> Self {
        Self { clock: self.clock.clone(), at: self.at.plus(Interval::point(by_us)) }
    }

    /// This many microseconds earlier on the same clock.
    #[must_use]
    pub fn earlier(&self, by_us: i64) -> Self {
        Self { clock: self.clock.clone(), at: self.at.minus(Interval::point(by_us)) }
    }
}

/// The range of a quantity, in microseconds unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// The lowest value.
    pub lo: i64,
    /// The highest value.
    pub hi: i64,
}

/// The farthest instant and the longest span, in microseconds: 18,000 years. Histories come from other people and may
/// contain any number. Judges can add and subtract a few numbers up to this limit without an overflow.
pub const FAR: i64 = i64::MAX / 16;

/// The highest possible count in an object, where counts have 32 bits: restarts, lives, repetitions of an event.
pub const MOST_COUNTED: u64 = i32::MAX as u64;

/// A number from a history, limited to [`FAR`] so that it can be used in calculations.
#[must_use]
pub fn counted(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(FAR).min(FAR)
}

impl Interval {
    /// An interval; the ends may come in either order.
    #[must_use]
    pub fn new(a: i64, b: i64) -> Self {
        let (a, b) = (a.clamp(-FAR, FAR), b.clamp(-FAR, FAR));
        Self { lo: a.min(b), hi: a.max(b) }
    }

    /// Exactly this.
    #[must_use]
    pub fn point(at: i64) -> Self {
        Self::new(at, at)
    }

    /// Sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self::new(self.lo.saturating_add(other.lo), self.hi.saturating_add(other.hi))
    }

    /// Difference.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self::new(self.lo.saturating_sub(other.hi), self.hi.saturating_sub(other.lo))
    }

    /// The intersection; `None` if it is empty.
    #[must_use]
    pub fn meet(self, other: Self) -> Option<Self> {
        let (lo, hi) = (self.lo.max(other.lo), self.hi.min(other.hi));
        (lo <= hi).then_some(Self { lo, hi })
    }

    /// The smallest interval that contains both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }
}
