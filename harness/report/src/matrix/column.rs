//! What a matrix needs of a report. The rest of a report is much larger, so many reports can be compared without holding
//! all of them.

use std::collections::BTreeMap;

use probity_model::facets::Sight;
use probity_model::{ClauseId, Level};

use super::MatrixCell;
use crate::document::{ClauseReport, Report};
use crate::report_facts::ReportFacts;

/// A report, reduced to its column.
#[derive(Clone, Debug)]
pub struct MatrixColumn {
    /// The facts of the report.
    pub facts: ReportFacts,
    /// The clauses, in the order of the report.
    pub(super) order: Vec<ClauseId>,
    pub(super) clauses: BTreeMap<ClauseId, ColumnClause>,
}

/// A clause of a report.
#[derive(Clone, Debug)]
pub(super) struct ColumnClause {
    pub(super) level: Level,
    pub(super) text: String,
    /// The cell, without its turn.
    pub(super) cell: MatrixCell,
}

impl MatrixColumn {
    /// The column of a report that is called `name`.
    #[must_use]
    pub fn of(name: &str, report: &Report) -> Self {
        let mut clauses = BTreeMap::new();
        for clause in &report.clauses {
            clauses.entry(clause.id.clone()).or_insert_with(|| ColumnClause::of(clause));
        }
        let order = report.clauses.iter().map(|clause| clause.id.clone()).collect();
        Self { facts: ReportFacts::of(name, report), order, clauses }
    }

    /// The same column with another name.
    #[must_use]
    pub fn called(mut self, name: String) -> Self {
        self.facts.name = name;
        self
    }

    /// Drops what a later column also has: a row shows the text of the last report that contains its clause.
    pub fn leave_texts_to(&mut self, later: &Self) {
        for (id, clause) in &mut self.clauses {
            if later.clauses.contains_key(id) {
                clause.text = String::new();
            }
        }
        if self.order == later.order {
            self.order = Vec::new();
        }
    }
}

impl ColumnClause {
    fn of(clause: &ClauseReport) -> Self {
        let unseen = clause.facets.iter().filter(|facet| facet.seen == Sight::Unseen).cloned();
        let cell = MatrixCell {
            verdict: Some(clause.verdict),
            turn: None,
            finding: clause.finding.clone(),
            measured: clause.tightest().cloned(),
            spread: clause.spread,
            unseen: unseen.collect(),
        };
        Self { level: clause.level, text: clause.text.clone(), cell }
    }
}
