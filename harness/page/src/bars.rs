//! Small charts next to numbers: the shares of verdicts, and measurements with their bounds.
//!
//! All positions are whole thousandths of the width, so the same report gives the same drawing everywhere.

use probity_model::measure::Fit;
use probity_model::{Bound, Interval};
use probity_report::{Counts, Word};

use crate::html::Html;

/// The width of a drawing.
const WIDTH: i64 = 1000;

/// The maximum number of measurements of a kind that are drawn.
const DRAWN: usize = 30;

/// Counts of verdicts as one bar, without the verdicts that did not occur.
pub(crate) fn shares(counts: &Counts) -> Html {
    let mut bar = Html::default();
    bar.raw(
        "<svg class=\"shares\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
    );
    let total = i64::try_from(counts.total).unwrap_or(i64::MAX).max(1);
    let mut at = 0;
    for word in Word::ALL {
        let count = i64::try_from(counts.get(word)).unwrap_or(i64::MAX);
        let wide = count.saturating_mul(WIDTH) / total;
        if count > 0 {
            // One of many must still be visible.
            let wide = wide.max(6);
            bar.put("<rect class=\"{}\" x=\"{}\" width=\"{}\" height=\"10\"/>", &[&word, &at, &wide]);
            at += wide;
        }
    }
    bar.raw("</svg>");
    bar
}

/// Measurements of one kind with their bound: the allowed range as an area, its ends as lines, each measurement as a
/// mark.
pub(crate) fn strip(observed: &[Interval], bound: &Bound, worst: Fit) -> Html {
    let scale = Scale::of(observed, bound);
    let lower = bound.lower.as_ref().map(|limit| scale.x(limit.value));
    let upper = bound.upper.as_ref().map(|limit| scale.x(limit.value));
    let from = lower.unwrap_or(0);
    let mut bar = Html::default();
    bar.raw(
        "<svg class=\"strip\" viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
    );
    let allowed = upper.unwrap_or(WIDTH) - from;
    bar.put(
        "<rect class=\"allowed\" x=\"{}\" y=\"7\" width=\"{}\" height=\"6\"/>",
        &[&from, &allowed.max(0)],
    );
    for limit in [lower, upper].into_iter().flatten() {
        bar.put("<path class=\"limit\" d=\"M{} 0V20\"/>", &[&limit]);
    }
    let marks: Vec<String> = drawn(observed)
        .map(|one| {
            let (lo, hi) = (scale.x(one.lo), scale.x(one.hi));
            // The style sheet draws a line around the mark, so that an exact value is visible too.
            format!("M{lo} 5H{hi}V15H{lo}Z")
        })
        .collect();
    let fit = match worst {
        Fit::Met => "met",
        Fit::Missed => "missed",
        Fit::Undecided => "undecided",
    };
    bar.put("<path class=\"mark {}\" d=\"{}\"/></svg>", &[&fit, &marks.concat()]);
    bar
}

/// The smallest and the largest measurement, and as many others as can be distinguished.
fn drawn(observed: &[Interval]) -> impl Iterator<Item = Interval> {
    let mut sorted = observed.to_vec();
    sorted.sort_unstable_by_key(|one| (one.lo, one.hi));
    let (last, step) = (sorted.len().saturating_sub(1), sorted.len().div_ceil(DRAWN).max(1));
    sorted.into_iter().enumerate().filter(move |(at, _)| at % step == 0 || *at == last).map(|(_, one)| one)
}

/// Values as places in a drawing.
struct Scale {
    least: i64,
    most: i64,
}

impl Scale {
    /// A scale from zero, or from the lowest value if it is negative, to slightly more than the highest value.
    fn of(observed: &[Interval], bound: &Bound) -> Self {
        let limits = [&bound.lower, &bound.upper].into_iter().flatten().map(|limit| limit.value);
        let values = observed.iter().flat_map(|one| [one.lo, one.hi]).chain(limits);
        let (least, most) = values.fold((0, 1), |(least, most), value| (least.min(value), most.max(value)));
        Self { least, most: most.saturating_add((most.saturating_sub(least)) / 8 + 1) }
    }

    fn x(&self, value: i64) -> i64 {
        let (value, span) =
            (i128::from(value) - i128::from(self.least), i128::from(self.most) - i128::from(self.least));
        let x = value * i128::from(WIDTH) / span.max(1);
        i64::try_from(x).unwrap_or(WIDTH).clamp(0, WIDTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_beyond_its_bound_is_drawn_beyond_it() {
        let bound = Bound::at_most(3_000_000, "3 s");
        let text = strip(&[Interval::point(4_000_000)], &bound, Fit::Missed).into_text();
        assert!(text.contains("class=\"limit\" d=\"M666 0V20\""), "{text}");
        assert!(text.contains("class=\"mark missed\" d=\"M888 5H888V15H888Z\""), "{text}");
    }

    #[test]
    fn the_widest_numbers_and_negative_ones_have_their_place() {
        let bound = Bound::at_least(-5, "below zero").and_at_least(0, "0");
        let text = strip(&[Interval::new(i64::MIN, i64::MAX)], &bound, Fit::Undecided).into_text();
        assert!(text.contains("class=\"mark undecided\" d=\"M0 5H"), "{text}");
    }

    #[test]
    fn of_many_measurements_the_extremes_are_drawn() {
        let many: Vec<Interval> = (0..1000).map(Interval::point).collect();
        let drawn: Vec<i64> = drawn(&many).map(|one| one.lo).collect();
        assert!(drawn.len() <= DRAWN + 1 && drawn[0] == 0 && drawn.contains(&999), "{drawn:?}");
    }

    #[test]
    fn a_single_violation_among_many_is_seen() {
        let counts = Counts { total: 1000, holds: 999, violated: 1, ..Counts::default() };
        assert!(shares(&counts).into_text().contains("class=\"violated\" x=\"0\" width=\"6\""));
    }
}
