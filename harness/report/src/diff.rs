//! What changed between two reports: verdicts, measured numbers, and the results of facets.

mod measured;
mod words;

use probity_model::ClauseId;
use probity_model::facets::{Facet, FacetSeen, Sight};
use serde::{Deserialize, Serialize};

use crate::document::{API_VERSION, ClauseReport, Report};
use crate::report_facts::{ReportFacts, names_of};
use crate::turn::Turn;
use crate::word::Word;

pub use measured::MovedMeasurement;

/// The kind of the document.
const KIND: &str = "ConformanceDiff";

/// The version of the format. Readers ignore unknown fields and reject unknown verdicts.
const SCHEMA_VERSION: &str = "1.0.0";

/// What changed from one report to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    /// The name and version of the format's family.
    pub api_version: String,
    /// `ConformanceDiff`.
    pub kind: String,
    /// The version of the format.
    pub schema_version: String,
    /// The older report.
    pub older: ReportFacts,
    /// The newer report.
    pub newer: ReportFacts,
    /// Clauses that only the newer report has.
    pub added: Vec<ClauseFound>,
    /// Clauses that only the older report has.
    pub dropped: Vec<ClauseFound>,
    /// Clauses whose verdict changed, new violations first.
    pub changed: Vec<Moved>,
    /// How many clauses have the same verdict.
    pub unchanged: usize,
    /// Clauses whose measured numbers changed, the most serious first. For each clause, only the measurement that
    /// changed most is listed.
    pub measured: Vec<MovedMeasurement>,
    /// How many clauses have measurements in both reports that changed too little to be listed.
    pub steady: usize,
    /// Clauses with facets whose result changed.
    pub facets: Vec<MovedFacets>,
}

/// A clause that only one of two reports has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClauseFound {
    /// The clause.
    pub id: ClauseId,
    /// Its verdict in that report.
    pub verdict: Word,
    /// What happened. Empty if the clause holds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub finding: String,
}

/// A clause whose verdict changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Moved {
    /// The clause.
    pub id: ClauseId,
    /// Its verdict in the older report.
    pub from: Word,
    /// Its verdict in the newer report.
    pub to: Word,
    /// The kind of change.
    pub turn: Turn,
    /// What happened in the newer run. Empty if the clause holds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub finding: String,
}

/// A clause with facets whose result changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MovedFacets {
    /// The clause.
    pub id: ClauseId,
    /// The facets whose result changed.
    pub facets: Vec<MovedFacet>,
}

/// A facet whose result changed. A result is absent if the book does not require the facet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MovedFacet {
    /// The facet.
    pub facet: Facet,
    /// Its result before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Sight>,
    /// Its result now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Sight>,
}

impl Diff {
    /// Compares two reports by their clauses.
    #[must_use]
    pub fn between(older: &Report, newer: &Report) -> Self {
        let names = names_of(&[older, newer]);
        let name = |at: usize| names.get(at).map_or("", String::as_str);
        let mut diff = Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            schema_version: SCHEMA_VERSION.to_owned(),
            older: ReportFacts::of(name(0), older),
            newer: ReportFacts::of(name(1), newer),
            added: missing(older, newer),
            dropped: missing(newer, older),
            changed: Vec::new(),
            unchanged: 0,
            measured: Vec::new(),
            steady: 0,
            facets: Vec::new(),
        };
        for now in &newer.clauses {
            if let Some(then) = older.clause(&now.id) {
                diff.compare(then, now);
            }
        }
        diff.changed.sort_by_key(|moved| moved.turn);
        diff.measured.sort_by_key(|moved| std::cmp::Reverse(moved.weight()));
        diff
    }

    fn compare(&mut self, then: &ClauseReport, now: &ClauseReport) {
        match Turn::between(then.verdict, now.verdict) {
            None => self.unchanged += 1,
            Some(turn) => self.changed.push(Moved {
                id: now.id.clone(),
                from: then.verdict,
                to: now.verdict,
                turn,
                finding: now.finding.clone(),
            }),
        }
        match measured::moved(then, now) {
            measured::Compared::Moved(moved) => self.measured.push(*moved),
            measured::Compared::Steady => self.steady += 1,
            measured::Compared::Nothing => {}
        }
        let facets = moved_facets(&then.facets, &now.facets);
        if !facets.is_empty() {
            self.facets.push(MovedFacets { id: now.id.clone(), facets });
        }
    }

    /// The clauses that are violated now, and were not violated or not in the book before.
    pub fn new_violations(&self) -> impl Iterator<Item = (&ClauseId, &str)> {
        let changed = self.changed.iter().filter(|moved| moved.turn == Turn::NewViolation);
        let added = self.added.iter().filter(|found| found.verdict == Word::Violated);
        let changed = changed.map(|moved| (&moved.id, moved.finding.as_str()));
        changed.chain(added.map(|found| (&found.id, found.finding.as_str())))
    }

    /// How many clauses changed in this way.
    #[must_use]
    pub fn count(&self, turn: Turn) -> usize {
        self.changed.iter().filter(|moved| moved.turn == turn).count()
    }

    /// Whether a clause is newly violated.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.new_violations().next().is_some()
    }
}

/// The clauses of a report that another does not have.
fn missing(of: &Report, from: &Report) -> Vec<ClauseFound> {
    let found = |clause: &ClauseReport| ClauseFound {
        id: clause.id.clone(),
        verdict: clause.verdict,
        finding: clause.finding.clone(),
    };
    from.clauses.iter().filter(|clause| of.clause(&clause.id).is_none()).map(found).collect()
}

fn moved_facets(then: &[FacetSeen], now: &[FacetSeen]) -> Vec<MovedFacet> {
    let facet = |of: &FacetSeen| Facet::new(of.of.clone(), of.value.clone());
    let sight =
        |all: &[FacetSeen], wanted: &Facet| all.iter().find(|of| facet(of) == *wanted).map(|of| of.seen);
    let gone = then.iter().map(facet).filter(|of| sight(now, of).is_none());
    let all: Vec<Facet> = now.iter().map(facet).chain(gone).collect();
    let moved = all.into_iter().map(|facet| {
        let (from, to) = (sight(then, &facet), sight(now, &facet));
        MovedFacet { facet, from, to }
    });
    moved.filter(|moved| moved.from != moved.to).collect()
}
