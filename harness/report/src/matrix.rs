//! Many reports side by side: a row for each clause, a column for each report.
//!
//! The columns are in the given order, so a change of verdict is marked where it occurs. Reports of different books can
//! be compared: a clause that a book does not have is missing there, which is not a verdict.

mod column;
mod words;

use std::collections::BTreeSet;

use probity_model::facets::FacetSeen;
use probity_model::{ClauseId, Level};
use serde::{Deserialize, Serialize};

use crate::chapters::BookChapter;
use crate::document::{API_VERSION, MeasuredIn, Report, Spread};
use crate::report_facts::ReportFacts;
use crate::turn::Turn;
use crate::word::Word;
use column::ColumnClause;

pub use column::MatrixColumn;

/// The kind of the document.
const KIND: &str = "ConformanceMatrix";

/// The version of the format. Readers ignore unknown fields and reject unknown verdicts.
const SCHEMA_VERSION: &str = "1.0.0";

/// Reports side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Matrix {
    /// The name and version of the format's family.
    pub api_version: String,
    /// `ConformanceMatrix`.
    pub kind: String,
    /// The version of the format.
    pub schema_version: String,
    /// The reports, in the order in which they are compared.
    pub reports: Vec<ReportFacts>,
    /// Its totals.
    pub counts: MatrixCounts,
    /// Warnings for the reader of a comparison.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// A row for each clause, chapter by chapter.
    pub clauses: Vec<MatrixRow>,
}

/// The totals of a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MatrixCounts {
    /// All clauses that any report has.
    pub clauses: usize,
    /// The clauses whose verdict differs between the reports that have them.
    pub differing: usize,
    /// The clauses that at least one report does not have.
    pub missing: usize,
    /// The clauses whose verdict gets worse in at least one report.
    pub regressions: usize,
    /// The clauses whose verdict gets better in at least one report.
    pub recoveries: usize,
}

/// A clause and what each report says about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MatrixRow {
    /// Its name.
    pub id: ClauseId,
    /// The title of its chapter.
    pub chapter: String,
    /// How strong it is.
    pub level: Level,
    /// What the documentation promises, from the last report that has the clause.
    pub text: String,
    /// Whether the verdict differs between the reports that have the clause.
    pub differs: bool,
    /// What each report says, in the order of the reports.
    pub cells: Vec<MatrixCell>,
}

/// What a report says about a clause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MatrixCell {
    /// The verdict; absent if the report's book does not have the clause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Word>,
    /// How the verdict differs from the previous reports. Absent if the verdict does not differ, or if no previous
    /// report has the clause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Turn>,
    /// What happened, in a sentence. Empty if the clause holds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub finding: String,
    /// The measurement that is closest to its bound, or furthest beyond it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredIn>,
    /// How its measurements compare with their upper bounds. Absent if there are only a few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// The facets for which the clause was not observed, although it holds only after such an observation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<FacetSeen>,
}

impl Matrix {
    /// The matrix of reports with their names, in this order.
    #[must_use]
    pub fn of(reports: &[(String, &Report)], chapters: &[BookChapter]) -> Self {
        let columns = reports.iter().map(|(name, report)| MatrixColumn::of(name, report));
        Self::of_columns(columns.collect(), chapters)
    }

    /// The matrix of columns, in this order.
    #[must_use]
    pub fn of_columns(mut columns: Vec<MatrixColumn>, chapters: &[BookChapter]) -> Self {
        let ids = merged(&columns);
        let clauses: Vec<MatrixRow> = BookChapter::group(chapters, &ids, |id| id)
            .into_iter()
            .flat_map(|(chapter, ids)| ids.into_iter().map(move |id| (chapter.clone(), id)))
            .filter_map(|(chapter, id)| row(&chapter, id, &mut columns))
            .collect();
        let count = |is: fn(&MatrixRow) -> bool| clauses.iter().filter(|row| is(row)).count();
        let counts = MatrixCounts {
            clauses: clauses.len(),
            differing: count(|row| row.differs),
            missing: count(MatrixRow::is_missing_somewhere),
            regressions: count(MatrixRow::is_regression),
            recoveries: count(MatrixRow::is_recovery),
        };
        let facts: Vec<ReportFacts> = columns.into_iter().map(|column| column.facts).collect();
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            schema_version: SCHEMA_VERSION.to_owned(),
            notes: notes(&facts, counts.missing),
            reports: facts,
            counts,
            clauses,
        }
    }

    /// The matrix without the clauses on which all reports agree. The totals do not change.
    #[must_use]
    pub fn only_differing(mut self) -> Self {
        self.clauses.retain(|row| row.differs || row.is_missing_somewhere());
        self
    }

    /// The rows by chapter.
    #[must_use]
    pub fn chapters(&self) -> Vec<(&str, Vec<&MatrixRow>)> {
        let mut chapters: Vec<(&str, Vec<&MatrixRow>)> = Vec::new();
        for row in &self.clauses {
            match chapters.last_mut() {
                Some((title, rows)) if *title == row.chapter => rows.push(row),
                _ => chapters.push((&row.chapter, vec![row])),
            }
        }
        chapters
    }
}

impl MatrixRow {
    /// Whether a report does not have the clause.
    #[must_use]
    pub fn is_missing_somewhere(&self) -> bool {
        self.cells.iter().any(|cell| cell.verdict.is_none())
    }

    /// Whether the verdict gets worse in any report.
    #[must_use]
    pub fn is_regression(&self) -> bool {
        self.cells.iter().filter_map(|cell| cell.turn).any(Turn::is_regression)
    }

    /// Whether the verdict gets better in any report.
    #[must_use]
    pub fn is_recovery(&self) -> bool {
        self.cells.iter().filter_map(|cell| cell.turn).any(Turn::is_recovery)
    }
}

/// All clauses of all reports, in the order of the last report. A clause that the last report does not have comes after
/// the clause that it follows in its own report.
fn merged(columns: &[MatrixColumn]) -> Vec<ClauseId> {
    let mut merged: Vec<ClauseId> = Vec::new();
    let mut later: &[ClauseId] = &[];
    for column in columns.iter().rev().filter(|column| !column.order.is_empty()) {
        // Most reports have the same clauses in the same order, so a second one adds nothing.
        if column.order == later {
            continue;
        }
        later = &column.order;
        let mut after = 0;
        for clause in &column.order {
            match merged.iter().position(|id| id == clause) {
                Some(at) => after = at + 1,
                None => {
                    merged.insert(after, clause.clone());
                    after += 1;
                }
            }
        }
    }
    merged
}

/// The row of a clause. Its cells are taken from the columns.
fn row(chapter: &str, id: &ClauseId, columns: &mut [MatrixColumn]) -> Option<MatrixRow> {
    let all: Vec<Option<ColumnClause>> = columns.iter_mut().map(|column| column.clauses.remove(id)).collect();
    let latest = all.iter().rev().find_map(Option::as_ref)?;
    let (level, text) = (latest.level, latest.text.clone());
    let verdicts: BTreeSet<Word> = all.iter().flatten().filter_map(|clause| clause.cell.verdict).collect();
    let mut before = Before::default();
    let cells = all.into_iter().map(|clause| cell(clause, &mut before)).collect();
    let (id, chapter) = (id.clone(), chapter.to_owned());
    Some(MatrixRow { id, chapter, level, text, differs: verdicts.len() > 1, cells })
}

/// The verdicts of the previous reports on a clause.
#[derive(Default)]
struct Before {
    last: Option<Word>,
    decided: Option<Word>,
}

impl Before {
    /// How a verdict differs from the previous verdicts. A verdict is compared with the last decided verdict, because
    /// skipped and undecided verdicts in between say nothing about the cluster.
    fn turn(&self, now: Word) -> Option<Turn> {
        let from = if now.decided() { self.decided.or(self.last) } else { self.last };
        Turn::between(from?, now)
    }
}

fn cell(clause: Option<ColumnClause>, before: &mut Before) -> MatrixCell {
    let Some((word, cell)) = clause.and_then(|clause| Some((clause.cell.verdict?, clause.cell))) else {
        return MatrixCell::default();
    };
    let turn = before.turn(word);
    before.last = Some(word);
    if word.decided() {
        before.decided = Some(word);
    }
    MatrixCell { turn, ..cell }
}

/// Differences between the reports other than their results.
fn notes(reports: &[ReportFacts], missing: usize) -> Vec<String> {
    let mut notes = Vec::new();
    let books: BTreeSet<String> = reports.iter().map(ReportFacts::book_in_words).collect();
    if books.len() > 1 {
        let books = books.into_iter().collect::<Vec<_>>().join("; ");
        notes.push(format!(
            "the reports come from different books ({books}), which may explain different verdicts; `probity report FOLDER` judges a run again with the book of this program"
        ));
    }
    if missing > 0 {
        let (clauses, are) = if missing == 1 { ("clause", "is") } else { ("clauses", "are") };
        notes.push(format!("{missing} {clauses} {are} not in the book of every report"));
    }
    for report in reports {
        if report.took_us.is_none() {
            notes.push(format!("the run of {} did not finish", report.name));
        }
        if report.tool.modified {
            notes.push(format!("the program of {} was built from modified sources", report.name));
        }
    }
    notes
}
