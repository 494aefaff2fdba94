//! Measurements: an interval against a bound.
//!
//! A single number would be wrong, because clocks differ, timestamps have whole seconds, and a busy machine delays
//! everything. So a quantity is measured as an interval. If the interval is inside its bound, the bound is met. If the
//! interval is entirely outside, the bound is missed. If the interval straddles an end of the bound, the result is
//! undecided.

use serde::{Deserialize, Serialize};

use crate::mechanisms::MOSTLY;
use crate::stamp::EventId;

pub use crate::stamp::Interval;

/// A second in microseconds, the unit of all times.
pub const SECOND: i64 = 1_000_000;

/// Whole seconds, as the API writes times, in microseconds.
#[must_use]
pub fn whole_seconds(seconds: i64) -> i64 {
    seconds.saturating_mul(SECOND)
}

/// The allowed range of a quantity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bound {
    /// Not less than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<Limit>,
    /// Not more than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<Limit>,
}

/// One end of a bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// Its value.
    pub value: i64,
    /// How the limit follows from the probe's fields and the clause's slack, such as
    /// `failureThreshold × periodSeconds + 2 s`.
    pub formula: String,
}

impl Bound {
    /// At most `value`.
    #[must_use]
    pub fn at_most(value: i64, formula: impl Into<String>) -> Self {
        Self { lower: None, upper: Some(Limit { value, formula: formula.into() }) }
    }

    /// At least `value`.
    #[must_use]
    pub fn at_least(value: i64, formula: impl Into<String>) -> Self {
        Self { lower: Some(Limit { value, formula: formula.into() }), upper: None }
    }

    /// The same bound, with the lower end `value`.
    #[must_use]
    pub fn and_at_least(self, value: i64, formula: impl Into<String>) -> Self {
        Self { lower: Some(Limit { value, formula: formula.into() }), ..self }
    }
}

/// The unit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Microseconds.
    Us,
    /// A number of things.
    Count,
}

/// How a measured interval compares with its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// The interval is inside its bound.
    Met,
    /// The interval is entirely outside its bound.
    Missed,
    /// The interval straddles an end of its bound, with or without an allowance for noise.
    Undecided,
}

impl Fit {
    /// The worse of two results: one miss is enough, and a doubt outweighs a met bound.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        match (self, other) {
            (Self::Missed, _) | (_, Self::Missed) => Self::Missed,
            (Self::Undecided, _) | (_, Self::Undecided) => Self::Undecided,
            (Self::Met, Self::Met) => Self::Met,
        }
    }
}

/// How much earlier the start and the end of a measured time may have happened, because the recording processes were
/// stalled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Blur {
    /// The start: the time may be this much longer.
    pub from: i64,
    /// The end: the time may be this much shorter.
    pub to: i64,
    /// The start, as a kubelet on a saturated node knows it: for the kubelet, the time may be this much longer. This
    /// matters only for lower bounds.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub begun: i64,
}

fn is_no_time(time: &i64) -> bool {
    *time == 0
}

impl Blur {
    /// Whether nothing was stalled.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// An observed quantity, with all data that is needed to judge it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measurement {
    /// What was measured, in words.
    pub quantity: String,
    /// Its unit.
    pub unit: Unit,
    /// What it was.
    pub observed: Interval,
    /// Its bound.
    pub bound: Bound,
    /// How long the node, the harness or the path to the watch was stalled at the time: lateness that may not be the
    /// kubelet's.
    pub noise: i64,
    /// How much earlier the start and the end may have happened than they were recorded.
    #[serde(default, skip_serializing_if = "Blur::is_none")]
    pub blur: Blur,
    /// The events at the start and the end.
    pub events: Vec<EventId>,
}

impl Measurement {
    /// A number of things, without noise.
    #[must_use]
    pub fn count(quantity: impl Into<String>, number: usize, bound: Bound, events: Vec<EventId>) -> Self {
        let observed = Interval::point(i64::try_from(number).unwrap_or(i64::MAX));
        let (noise, blur) = (0, Blur::default());
        Self { quantity: quantity.into(), unit: Unit::Count, observed, bound, noise, blur, events }
    }

    /// How the measurement compares with its bound. Noise only delays, so it can excuse a value above an upper bound,
    /// by at most the noise's duration, but never a value below a lower bound. If noise filled most of the time, what is
    /// left of it proves nothing. A blurred end widens the interval.
    #[must_use]
    pub fn fit(&self) -> Fit {
        let Interval { lo, hi } = self.observed;
        let Blur { from, to, begun } = self.blur;
        let (lo, latest) = (lo.saturating_sub(to), hi.saturating_add(from));
        self.fit_of(Interval { lo, hi: latest }, hi.saturating_add(from.max(begun)))
    }

    /// Whether only the blurred start or end prevents the bound from being met. Such a measurement counts neither for
    /// nor against the clause.
    #[must_use]
    pub fn is_blurred(&self) -> bool {
        self.fit() == Fit::Undecided && self.fit_of(self.observed, self.observed.hi) == Fit::Met
    }

    /// How an interval compares with the bound; `longest` is the longest time that can have passed for the kubelet.
    fn fit_of(&self, observed: Interval, longest: i64) -> Fit {
        let lower = self.bound.lower.as_ref().map_or(Fit::Met, |limit| {
            if observed.lo >= limit.value {
                Fit::Met
            } else if longest < limit.value {
                Fit::Missed
            } else {
                Fit::Undecided
            }
        });
        let upper = self.bound.upper.as_ref().map_or(Fit::Met, |limit| {
            if observed.hi <= limit.value {
                Fit::Met
            } else if observed.lo.saturating_sub(self.noise) > limit.value
                && self.noise < MOSTLY.of(observed.lo)
            {
                Fit::Missed
            } else {
                Fit::Undecided
            }
        });
        lower.worse(upper)
    }

    /// The distance to the nearest end of the bound; negative if the value is outside the bound.
    #[must_use]
    pub fn room(&self) -> i64 {
        let lower = self.bound.lower.as_ref().map(|limit| self.observed.lo.saturating_sub(limit.value));
        let upper = self.bound.upper.as_ref().map(|limit| limit.value.saturating_sub(self.observed.hi));
        lower.into_iter().chain(upper).min().unwrap_or(i64::MAX)
    }

    /// The observed value: `1.20 s`, `1.20 s to 1.30 s`.
    #[must_use]
    pub fn observed_in_words(&self) -> String {
        let (lo, hi) = (self.show(self.observed.lo), self.show(self.observed.hi));
        if lo == hi { lo } else { format!("{lo} to {hi}") }
    }

    /// The allowed value: `at most 3.00 s (periodSeconds + 2 s)`. Empty if there is no bound.
    #[must_use]
    pub fn bound_in_words(&self) -> String {
        let ends = [("at least", &self.bound.lower), ("at most", &self.bound.upper)];
        let words = ends.into_iter().filter_map(|(name, limit)| {
            let Limit { value, formula } = limit.as_ref()?;
            Some(format!("{name} {} ({formula})", self.show(*value)))
        });
        words.collect::<Vec<_>>().join(", ")
    }

    fn show(&self, value: i64) -> String {
        match self.unit {
            Unit::Us => seconds(value),
            Unit::Count => value.to_string(),
        }
    }

    /// The measurement as a fragment of a sentence: `1.20 s, at most 3.00 s (periodSeconds + 2 s)`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let bound = self.bound_in_words();
        let mut words = self.observed_in_words() + if bound.is_empty() { "" } else { ", " } + &bound;
        let Blur { from, to, begun } = self.blur;
        for (end, by, cause) in
            [("beginning", from, "a stall"), ("end", to, "a stall"), ("beginning", begun, "a busy node")]
        {
            if by > 0 {
                words += &format!("; its {end} may be {} earlier because of {cause}", seconds(by));
            }
        }
        if self.noise > 0 {
            words += &format!("; stalled for {} at the time", seconds(self.noise));
        }
        words
    }
}

/// Microseconds as seconds, to the millisecond.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "only known to the millisecond")]
pub fn seconds(us: i64) -> String {
    format!("{:.3} s", us as f64 / 1e6)
}
