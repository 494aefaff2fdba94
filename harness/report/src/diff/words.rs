//! A difference in words, for a terminal: a line for each change, the worst first, and the totals last.

use probity_model::facets::Sight;

use super::{ClauseFound, Diff, Moved, MovedFacet, MovedFacets, MovedMeasurement};
use crate::turn::Turn;
use crate::word::Word;
use crate::words::{counted, sight_in_words};

impl Diff {
    /// The difference in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        let (worse, others): (Vec<_>, Vec<_>) =
            self.added.iter().partition(|of| of.verdict == Word::Violated);
        let (new, changed): (Vec<_>, Vec<_>) =
            self.changed.iter().partition(|moved| moved.turn == Turn::NewViolation);
        let mut lines: Vec<String> = Vec::new();
        lines.extend(new.into_iter().map(changed_line));
        lines.extend(
            worse
                .into_iter()
                .map(|of| line("violated", &format!("{}: added{}", of.id, because(&of.finding)))),
        );
        lines.extend(changed.into_iter().map(changed_line));
        lines.extend(
            others
                .into_iter()
                .map(|ClauseFound { id, verdict, .. }| line("added", &format!("{id}: {verdict}"))),
        );
        let was =
            |ClauseFound { id, verdict, .. }: &ClauseFound| line("dropped", &format!("{id}: was {verdict}"));
        lines.extend(self.dropped.iter().map(was));
        lines.extend(self.measured.iter().map(measured_line));
        lines.extend(self.facets.iter().map(facets_line));
        lines.concat() + &self.headline() + "\n"
    }

    /// The totals in one line.
    #[must_use]
    pub fn headline(&self) -> String {
        format!(
            "{} added, {} dropped, {} changed, {} unchanged; numbers of {} changed, facets of {}",
            self.added.len(),
            self.dropped.len(),
            self.changed.len(),
            self.unchanged,
            counted(self.measured.len(), "clause", "clauses"),
            self.facets.len(),
        )
    }
}

fn line(kind: &str, what: &str) -> String {
    format!("{kind:<10} {what}\n")
}

fn because(finding: &str) -> String {
    if finding.is_empty() { String::new() } else { format!(" ({finding})") }
}

fn changed_line(Moved { id, from, to, turn, finding }: &Moved) -> String {
    let kind = match turn {
        Turn::NewViolation => "violated",
        Turn::ViolationEnded => "ended",
        _ => "changed",
    };
    line(kind, &format!("{id}: {from} -> {to}{}", because(finding)))
}

fn measured_line(moved: &MovedMeasurement) -> String {
    let MovedMeasurement { id, case, quantity, from, to, more, .. } = moved;
    let more = if *more > 0 { format!("; {more} more changed") } else { String::new() };
    let (from, to, bound) = (from.observed_in_words(), to.observed_in_words(), moved.bounds_in_words());
    let bound = if bound.is_empty() { String::new() } else { format!(", {bound}") };
    line("measured", &format!("{id}: {quantity}: {from} -> {to}{bound}, in {case}{more}"))
}

fn facets_line(MovedFacets { id, facets }: &MovedFacets) -> String {
    let facets: Vec<String> = facets.iter().map(MovedFacet::in_words).collect();
    line("facets", &format!("{id}: {}", facets.join("; ")))
}

impl MovedFacet {
    /// The facet and its results: `status 204: seen -> not seen`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let sight = |of: Option<Sight>| of.map_or("not asked", sight_in_words);
        format!("{}: {} -> {}", self.facet, sight(self.from), sight(self.to))
    }
}
