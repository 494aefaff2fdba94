//! A matrix as text for a terminal: the totals, the reports, the regressions, and a table for each chapter.

use super::{Matrix, MatrixCell, MatrixRow};
use crate::words::counted;

/// The mark of a clause that a report's book does not have.
const MISSING: &str = "·";

impl MatrixCell {
    /// The verdict with its symbol, and the symbol for how it changed: `✗ violated ▼`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let Some(verdict) = self.verdict else { return format!("{MISSING} missing") };
        let turn = self.turn.and_then(super::Turn::sign).map(|sign| format!(" {sign}")).unwrap_or_default();
        format!("{} {verdict}{turn}", verdict.sign())
    }
}

impl Matrix {
    /// The totals in one line: `3 reports, 68 clauses: 2 differ, 1 regression, no recovery`.
    #[must_use]
    pub fn headline(&self) -> String {
        let counts = self.counts;
        format!(
            "{} reports, {}: {} {}, {}, {}",
            self.reports.len(),
            counted(counts.clauses, "clause", "clauses"),
            counts.differing,
            if counts.differing == 1 { "differs" } else { "differ" },
            number_of(counts.regressions, "regression", "regressions"),
            number_of(counts.recoveries, "recovery", "recoveries"),
        )
    }

    /// The matrix as text.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut words = self.headline() + "\n\n";
        let widest = self.reports.iter().map(|report| width(&report.name)).max().unwrap_or(0);
        for report in &self.reports {
            words += &format!("{}  {}\n", padded(&report.name, widest), report.in_words());
        }
        for note in &self.notes {
            words += &format!("note: {note}\n");
        }
        for row in self.clauses.iter().filter(|row| row.is_regression()) {
            words += &self.regression(row);
        }
        words += &self.tables();
        words + "\n▼ worse, ▲ better, each compared with the previous reports; · not in the report's book\n"
    }

    /// The reports in which a verdict got worse, with the findings.
    fn regression(&self, row: &MatrixRow) -> String {
        let mut words = String::new();
        for (report, cell) in self.reports.iter().zip(&row.cells) {
            if let Some(turn) = cell.turn.filter(|turn| turn.is_regression()) {
                words += &format!("\n▼ {}: {} in {}\n", row.id, turn.in_words(), report.name);
                if !cell.finding.is_empty() {
                    words += &format!("  {}\n", cell.finding);
                }
            }
        }
        words
    }

    fn tables(&self) -> String {
        let ids = self.clauses.iter().map(|row| width(row.id.as_str())).max().unwrap_or(0);
        let columns: Vec<usize> = self
            .reports
            .iter()
            .enumerate()
            .map(|(at, report)| {
                let cells = self
                    .clauses
                    .iter()
                    .filter_map(|row| row.cells.get(at))
                    .map(|cell| width(&cell.in_words()));
                cells.chain([width(&report.name)]).max().unwrap_or(0)
            })
            .collect();
        let line = |first: &str, level: &str, cells: &mut dyn Iterator<Item = String>| {
            let cells: Vec<String> = cells.zip(&columns).map(|(cell, width)| padded(&cell, *width)).collect();
            format!("{}  {}  {}", padded(first, ids), padded(level, 6), cells.join("  "))
                .trim_end()
                .to_owned()
                + "\n"
        };
        let mut words = String::new();
        for (title, rows) in self.chapters() {
            words += &format!("\n{title}\n");
            words += &line("", "", &mut self.reports.iter().map(|report| report.name.clone()));
            for row in rows {
                let level = format!("{:?}", row.level).to_lowercase();
                words += &line(row.id.as_str(), &level, &mut row.cells.iter().map(MatrixCell::in_words));
            }
        }
        words
    }
}

/// A number of things, with `no` for none.
fn number_of(number: usize, one: &str, several: &str) -> String {
    if number == 0 { format!("no {one}") } else { counted(number, one, several) }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn padded(text: &str, width: usize) -> String {
    format!("{text:width$}")
}
