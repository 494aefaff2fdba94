//! Measured numbers of two reports, side by side.
//!
//! A number is compared with the same number of the same case, because other cases have other probe settings. Two runs
//! never measure exactly the same numbers. So a number is not listed if it changed by less than a tenth of its bound,
//! or by no more than two runs of the same kubelet can differ.

use probity_case::CaseName;
use probity_model::measure::{Fit, Unit};
use probity_model::{Bound, ClauseId, Measurement};
use serde::{Deserialize, Serialize};

use crate::document::{ClauseReport, MeasuredIn};
use crate::quantity::likened;

/// How much a number must change to be listed, in percent of its bound.
const NOTABLE_PERCENT: i64 = 10;

/// How much a time must change to be listed, in microseconds. Scheduling alone causes smaller changes.
const NOTABLE_US: i64 = 50_000;

/// A measured number that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MovedMeasurement {
    /// The clause.
    pub id: ClauseId,
    /// The case that measured it.
    pub case: CaseName,
    /// What was measured, without the names and numbers that differ from pod to pod.
    pub quantity: String,
    /// The measurement in the older report.
    pub from: Measurement,
    /// The measurement in the newer report.
    pub to: Measurement,
    /// The change, in percent of the bound.
    pub percent: i64,
    /// How many more numbers of the clause changed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// What a comparison of a clause's measurements shows.
pub(super) enum Compared {
    /// At least one measurement changed. This one changed most.
    Moved(Box<MovedMeasurement>),
    /// All measurements stayed about the same.
    Steady,
    /// The reports have no measurement in common.
    Nothing,
}

/// Compares the measurements of a clause.
pub(super) fn moved(then: &ClauseReport, now: &ClauseReport) -> Compared {
    let (then, after) = (kinds(&then.measurements), kinds(&now.measurements));
    let mut compared = 0;
    let mut moved: Vec<MovedMeasurement> = Vec::new();
    for kind in &after {
        let Some(from) = counterpart(kind, &after, &then) else { continue };
        compared += 1;
        let (from, to) = (&from.tightest.measured, &kind.tightest.measured);
        let percent = percent(from, to);
        if is_notable(from, to, percent) {
            moved.push(MovedMeasurement {
                id: now.id.clone(),
                case: kind.tightest.case.clone(),
                quantity: kind.quantity.clone(),
                from: from.clone(),
                to: to.clone(),
                percent,
                more: 0,
            });
        }
    }
    let more = moved.len().saturating_sub(1);
    match moved.into_iter().max_by_key(MovedMeasurement::weight) {
        Some(most) => Compared::Moved(Box::new(MovedMeasurement { more, ..most })),
        None if compared > 0 => Compared::Steady,
        None => Compared::Nothing,
    }
}

impl MovedMeasurement {
    /// Whether the number is closer to its bound than before, or further beyond it.
    #[must_use]
    pub fn is_closer(&self) -> bool {
        self.to.room() < self.from.room()
    }

    /// How important the change is for a reader. Numbers that miss their bound now come first, then numbers that came
    /// closer to their bound, then the rest.
    pub(super) fn weight(&self) -> (bool, bool, i64) {
        let misses = self.to.fit() == Fit::Missed && self.from.fit() != Fit::Missed;
        (misses, self.is_closer(), self.percent)
    }

    /// The bound in words, or both bounds if they differ.
    #[must_use]
    pub fn bounds_in_words(&self) -> String {
        let (from, to) = (self.from.bound_in_words(), self.to.bound_in_words());
        if from == to { to } else { format!("{to} (was {from})") }
    }
}

/// Measurements of similar quantities in one case, with the same bound.
struct Kind<'r> {
    quantity: String,
    tightest: &'r MeasuredIn,
}

impl Kind<'_> {
    fn is_like(&self, other: &Self) -> bool {
        let (of, other_of) = (self.tightest, other.tightest);
        (&of.case, &self.quantity, of.measured.unit)
            == (&other_of.case, &other.quantity, other_of.measured.unit)
    }

    fn bound(&self) -> &Bound {
        &self.tightest.measured.bound
    }
}

fn kinds(all: &[MeasuredIn]) -> Vec<Kind<'_>> {
    let mut kinds: Vec<Kind<'_>> = Vec::new();
    for tightest in all {
        let kind = Kind { quantity: likened(&tightest.measured.quantity), tightest };
        match kinds.iter_mut().find(|known| known.is_like(&kind) && known.bound() == kind.bound()) {
            Some(known) if kind.tightest.measured.room() < known.tightest.measured.room() => *known = kind,
            Some(_) => {}
            None => kinds.push(kind),
        }
    }
    kinds
}

/// The same kind in the older report: with the same bound, or with another bound if only one kind is possible.
fn counterpart<'k, 'r>(of: &Kind<'_>, now: &[Kind<'_>], then: &'k [Kind<'r>]) -> Option<&'k Kind<'r>> {
    let like: Vec<&Kind<'r>> = then.iter().filter(|kind| kind.is_like(of)).collect();
    let is_only = now.iter().filter(|kind| kind.is_like(of)).count() == 1;
    let same = like.iter().find(|kind| kind.bound() == of.bound());
    same.or(like.first().filter(|_| is_only && like.len() == 1)).copied()
}

/// The change of a number, in percent of its bound or, if there is no bound, in percent of the number itself.
fn percent(from: &Measurement, to: &Measurement) -> i64 {
    let limits =
        [&to.bound.upper, &to.bound.lower].into_iter().flatten().map(|limit| limit.value.saturating_abs());
    let scale = limits.chain([from.observed.hi.saturating_abs()]).find(|value| *value > 0).unwrap_or(1);
    distance(from, to).saturating_mul(100) / scale
}

fn distance(from: &Measurement, to: &Measurement) -> i64 {
    let ends = [(from.observed.lo, to.observed.lo), (from.observed.hi, to.observed.hi)];
    ends.into_iter().map(|(from, to)| to.saturating_sub(from).saturating_abs()).max().unwrap_or(0)
}

fn is_notable(from: &Measurement, to: &Measurement, percent: i64) -> bool {
    let far = match to.unit {
        Unit::Count => from.observed != to.observed,
        Unit::Us => percent >= NOTABLE_PERCENT && distance(from, to) >= NOTABLE_US,
    };
    far || from.fit() != to.fit()
}

#[cfg(test)]
mod tests {
    use probity_model::Interval;

    use super::*;

    fn measured(us: i64, bound: Bound) -> Measurement {
        Measurement {
            quantity: "from pod-1/target to its stop".to_owned(),
            unit: Unit::Us,
            observed: Interval::point(us),
            bound,
            noise: 0,
            blur: probity_model::measure::Blur::default(),
            events: Vec::new(),
        }
    }

    #[test]
    fn a_time_is_listed_from_a_tenth_of_its_bound_on() {
        let (bound, wide) = (Bound::at_most(1_000_000, "1 s"), Bound::at_most(400_000, "0.4 s"));
        let is_notable = |from: i64, to: i64, bound: &Bound| {
            let (from, to) = (measured(from, bound.clone()), measured(to, bound.clone()));
            super::is_notable(&from, &to, percent(&from, &to))
        };
        assert!(!is_notable(500_000, 599_000, &bound) && is_notable(500_000, 600_000, &bound));
        assert!(!is_notable(300_000, 345_000, &wide), "less than what scheduling alone makes of a time");
        assert!(is_notable(999_999, 1_000_001, &bound), "it misses its bound now");
    }

    #[test]
    fn a_number_is_compared_with_its_own_past_only() {
        let of = |case: &str, us: i64, bound: i64| MeasuredIn {
            case: CaseName(case.to_owned()),
            measured: measured(us, Bound::at_most(bound, "")),
        };
        let then = [of("a", 1, 10), of("b", 2, 20), of("b", 3, 30)];
        let now = [of("a", 4, 11), of("b", 5, 30), of("b", 6, 40), of("c", 7, 10)];
        let (then, now) = (kinds(&then), kinds(&now));
        let found =
            |at: usize| counterpart(&now[at], &now, &then).map(|kind| kind.tightest.measured.observed.lo);
        assert_eq!(found(0), Some(1), "its bound changed, and there is no other");
        assert_eq!(found(1), Some(3), "the same bound");
        assert_eq!(found(2), None, "which of two is not known");
        assert_eq!(found(3), None, "another case");
    }
}
