//! Measurements with their bounds. A clause's row has its tightest measurement; the details have all its measurements
//! by kind.

use std::fmt::Display;

use probity_model::measure::{Fit, Unit, seconds};
use probity_model::{Bound, Interval, Measurement};
use probity_report::{ClauseReport, MeasuredIn, Spread, likened};

use crate::bars;
use crate::html::Html;
use crate::index::Index;
use crate::words::counted;

/// How many kinds of measurements of a clause are shown.
const KINDS: usize = 10;

/// Measurements of similar quantities with the same bound.
struct Kind<'r> {
    /// The measured quantity, without the names and numbers that differ.
    quantity: String,
    first: &'r MeasuredIn,
    all: Vec<&'r MeasuredIn>,
}

/// The measurement that is closest to its bound, or furthest beyond it.
fn tightest<'r>(all: impl IntoIterator<Item = &'r MeasuredIn>) -> Option<&'r MeasuredIn> {
    all.into_iter().min_by_key(|one| one.measured.room())
}

/// The cell in a clause's row.
pub(crate) fn cell(clause: &ClauseReport) -> Html {
    clause.tightest().map(|one| beside_bound(&one.measured)).unwrap_or_default()
}

/// A measurement as a drawing and as a number beside its bound.
pub(crate) fn beside_bound(measured: &Measurement) -> Html {
    let mut cell = bars::strip(&[measured.observed], &measured.bound, measured.fit());
    cell.put("<span class=\"measure\" title=\"{}: {}\">", &[&measured.quantity, &measured.in_words()]);
    cell.put(
        "{} <span class=\"bound\">{}</span></span>",
        &[&value(measured.unit, measured.observed), &short(measured.unit, &measured.bound)],
    );
    cell
}

/// The section in a clause's details.
pub(crate) fn section(index: &Index<'_>, clause: &ClauseReport) -> Html {
    let mut section = Html::default();
    if clause.measurements.is_empty() {
        return section;
    }
    section.raw("<h4>Measured beside its bound</h4>\n<ul class=\"measured\">\n");
    let kinds = kinds(clause);
    for kind in kinds.iter().take(KINDS) {
        kind.put(index, &mut section);
    }
    if kinds.len() > KINDS {
        let left = &kinds[KINDS..];
        let all: usize = left.iter().map(|kind| kind.all.len()).sum();
        section.put(
            "<li class=\"words\">and {} more, further from their bounds; report.json has them</li>\n",
            &[&counted(all, "measurement")],
        );
    }
    section.raw("</ul>\n");
    spread(&mut section, clause.spread);
    section
}

/// How the measurements compare with their upper bounds.
pub(crate) fn spread(page: &mut Html, spread: Option<Spread>) {
    if let Some(Spread { count, median, nine_in_ten, most }) = spread {
        page.put(
            "<p class=\"quiet\">In {} measurements, half take at most {}% of their bounds, nine in ten {}%, all {}%.</p>\n",
            &[&count, &median, &nine_in_ten, &most],
        );
    }
}

/// The measurements of a clause by kind. The kind that is closest to its bound is first.
fn kinds(clause: &ClauseReport) -> Vec<Kind<'_>> {
    let mut kinds: Vec<Kind<'_>> = Vec::new();
    for one in &clause.measurements {
        let quantity = likened(&one.measured.quantity);
        let same = |kind: &&mut Kind<'_>| {
            let (first, one) = (&kind.first.measured, &one.measured);
            (&kind.quantity, first.unit, &first.bound) == (&quantity, one.unit, &one.bound)
        };
        match kinds.iter_mut().find(same) {
            Some(kind) => kind.all.push(one),
            None => kinds.push(Kind { quantity, first: one, all: vec![one] }),
        }
    }
    kinds.sort_by_key(|kind| kind.all.iter().map(|one| one.measured.room()).min());
    kinds
}

impl Kind<'_> {
    fn put(&self, index: &Index<'_>, section: &mut Html) {
        let observed: Vec<Interval> = self.all.iter().map(|one| one.measured.observed).collect();
        let (first, bound) = (&self.first.measured.quantity, &self.first.measured.bound);
        let is_one = self.all.iter().all(|one| one.measured.quantity == *first);
        let quantity = if is_one { first } else { &self.quantity };
        section.put("<li><span class=\"quantity\">{}</span>", &[quantity]);
        if *bound == Bound::default() {
            section.raw(": ");
        } else {
            let worst = self.all.iter().map(|one| one.measured.fit()).fold(Fit::Met, Fit::worse);
            section.add(&bars::strip(&observed, bound, worst));
        }
        if let Some(one) = tightest(self.all.iter().copied()) {
            let many = counted(self.all.len(), "measurement");
            let tightest = if self.all.len() > 1 { format!("{many}; the tightest: ") } else { String::new() };
            section.put("<span class=\"words\">{}{}, in ", &[&tightest, &one.measured.in_words()]);
            put_case(index, section, &one.case.0);
            section.raw("</span>");
        }
        section.raw("</li>\n");
    }
}

/// A link to a case.
pub(crate) fn put_case(index: &Index<'_>, page: &mut Html, name: &str) {
    put_link(index, page, index.case_of_name(name), &name);
}

/// A link to the case at this place in [`Index::cases`]. Without a place, only the name of the case.
pub(crate) fn put_link(index: &Index<'_>, page: &mut Html, at: Option<usize>, name: &dyn Display) {
    match at.and_then(|at| index.cases.get(at)) {
        Some(entry) => page.put("<a href=\"#{}\">{}</a>", &[&entry.anchor, &entry.name]),
        None => page.put("{}", &[name]),
    };
}

fn value(unit: Unit, observed: Interval) -> String {
    let show = |value: i64| match unit {
        Unit::Us => seconds(value),
        Unit::Count => value.to_string(),
    };
    let (lo, hi) = (show(observed.lo), show(observed.hi));
    if lo == hi { lo } else { format!("{} – {hi}", lo.trim_end_matches(" s")) }
}

fn short(unit: Unit, bound: &Bound) -> String {
    let show = |value: i64| value_of(unit, value);
    match (&bound.lower, &bound.upper) {
        (Some(lower), Some(upper)) if lower.value == upper.value => format!("= {}", show(upper.value)),
        (Some(lower), Some(upper)) => format!("{} to {}", show(lower.value), show(upper.value)),
        (Some(lower), None) => format!("≥ {}", show(lower.value)),
        (None, Some(upper)) => format!("≤ {}", show(upper.value)),
        (None, None) => String::new(),
    }
}

/// A limit without trailing zeros: `3 s`, `0.5 s`.
fn value_of(unit: Unit, value: i64) -> String {
    match unit {
        Unit::Count => value.to_string(),
        Unit::Us => {
            let text = seconds(value);
            let digits = text.trim_end_matches(" s").trim_end_matches('0').trim_end_matches('.');
            format!("{} s", if digits.is_empty() { "0" } else { digits })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_and_its_bound_are_short() {
        assert_eq!(value(Unit::Us, Interval::new(355_059, 355_900)), "0.355 – 0.356 s");
        assert_eq!(short(Unit::Us, &Bound::at_most(3_000_000, "")), "≤ 3 s");
        assert_eq!(
            short(Unit::Us, &Bound::at_most(1_500_000, "").and_at_least(1_000_000, "")),
            "1 s to 1.5 s"
        );
        assert_eq!(short(Unit::Count, &Bound::at_most(10, "").and_at_least(10, "")), "= 10");
    }
}
