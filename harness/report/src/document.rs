//! The report as a document: every field that a reader can meet.

use std::collections::BTreeMap;

use probity_case::{CaseName, Profile};
use probity_model::clause::{ClauseId, Level, Source};
use probity_model::expect::Expected;
use probity_model::facets::FacetSeen;
use probity_model::verdict::Doubt;
use probity_model::{EventId, Judgement, Measurement};
use serde::{Deserialize, Serialize};

use crate::certificate::Certificate;
use crate::fleet::NodeGroup;
use crate::run_log::{ClusterFacts, Leftover, MergedFrom, Shard, Suite, Tool, Usage};
use crate::word::{Reason, Word};

/// The name and version of the format's family.
pub const API_VERSION: &str = "probity.dev/v1";

/// The kind of the document.
pub const KIND: &str = "ConformanceReport";

/// The version of the format. Readers ignore unknown fields and refuse unknown verdicts.
pub const SCHEMA_VERSION: &str = "1.0.0";

/// What a run says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// [`API_VERSION`].
    pub api_version: String,
    /// [`KIND`].
    pub kind: String,
    /// [`SCHEMA_VERSION`].
    pub schema_version: String,
    /// The run's name.
    pub run_id: String,
    /// When the run started, by the harness's clock.
    pub began: String,
    /// The command as it was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// What the user wrote on the run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Which part of a run this is, if the run was divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The runs that this one was merged from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<MergedFrom>,
    /// The program that ran.
    pub tool: Tool,
    /// The book that was run.
    pub suite: Suite,
    /// The book that the histories were judged by, if it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_by: Option<Suite>,
    /// Where it took place; absent if it ended before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<ClusterFacts>,
    /// Where cases ran on each of several nodes: the nodes, grouped by what differs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fleet: Vec<NodeGroup>,
    /// Its totals.
    pub result: RunResult,
    /// The conformance level that the run reached, and what that rests on; absent in reports of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Certificate>,
    /// Each clause of the book that can be judged, in the book's order.
    pub clauses: Vec<ClauseReport>,
    /// Each case of the run, in the run's order.
    pub cases: Vec<CaseReport>,
    /// What the user should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Objects that could not be removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leftovers: Vec<Leftover>,
    /// The resources that the run used; absent if it did not finish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// The sum of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RunResult {
    /// The clauses by verdict.
    pub clauses: Counts,
    /// The cases by verdict.
    pub cases: Counts,
    /// Each requested profile.
    pub profiles: Vec<ProfileReport>,
    /// How many parts in a hundred of the cases' time their node was overloaded: targets were stalled, or many tasks waited for each
    /// processor.
    #[serde(default, skip_serializing_if = "is_none_of_it")]
    pub overloaded_percent: i64,
}

/// How many there are of each verdict. The parts add up to the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// All.
    pub total: u64,
    /// Kept promises.
    pub holds: u64,
    /// Catalogued differences from the document.
    pub diverges: u64,
    /// Broken promises.
    pub violated: u64,
    /// Nothing can be said.
    pub inconclusive: u64,
    /// Faults of the harness or its surroundings.
    pub error: u64,
    /// Not run.
    pub skipped: u64,
}

/// The result of a profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProfileReport {
    /// Which.
    pub profile: Profile,
    /// Its result.
    pub result: ProfileOutcome,
    /// Why, in a sentence.
    pub why: String,
    /// Its clauses by verdict: those that a case of the profile was written for, and any that was violated in one.
    pub counts: Counts,
    /// Their names by verdict.
    pub clauses: BTreeMap<Word, Vec<ClauseId>>,
}

/// The outcomes of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProfileOutcome {
    /// Every clause holds or diverges.
    Success,
    /// None was violated, and some are not decided.
    Partial,
    /// A clause was violated.
    Failure,
    /// It is no statement about the cluster: something of ours failed, nothing ran, the nodes were too noisy, or the program
    /// was modified.
    Invalid,
}

/// What a run says about one clause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClauseReport {
    /// Its name.
    pub id: ClauseId,
    /// How strong it is.
    pub level: Level,
    /// What the documentation promises.
    pub text: String,
    /// Where.
    pub source: Source,
    /// The known deviation of upstream, if there is one: what it does instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    /// The verdict over all histories.
    pub verdict: Word,
    /// Why, for those verdicts that have a closed set of reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The violated clause that likely explains this violation: it was violated in the same cases, for the same pods, at an
    /// earlier stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows_from: Option<ClauseId>,
    /// What happened, in a sentence. Empty where it holds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub finding: String,
    /// The histories with the evidence for the verdict, and their events; the decisive one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceRef>,
    /// The facets that must be observed before it holds, and the result of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facets: Vec<FacetSeen>,
    /// What was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measurements: Vec<MeasuredIn>,
    /// How the measurements of all cases lie to their upper bounds; absent where there are few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// Every case that said something about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged_in: Vec<JudgedIn>,
    /// Doubts that do not count, since a case that was written for the clause decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_undecided_in: Vec<UndecidedIn>,
}

/// Events of one history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EvidenceRef {
    /// The case.
    pub case: CaseName,
    /// Its history, below the run's folder.
    pub history: String,
    /// The first events that are cited.
    pub events: Vec<Cited>,
    /// How many more there are; the judgement in the case names them all.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: usize,
}

/// An event, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Cited {
    /// Its position in the history.
    pub id: EventId,
    /// What it is, and when the harness received it.
    pub what: String,
}

/// A measurement and the case that it was taken in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MeasuredIn {
    /// The case.
    pub case: CaseName,
    /// The measurement.
    pub measured: Measurement,
}

/// How many parts in a hundred of their upper bounds the measured times take: half of them take at most `median`, nine in
/// ten at most `nine_in_ten`, and all at most `most`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Spread {
    /// How many measurements there are.
    pub count: usize,
    /// The median.
    pub median: i64,
    /// Nine in ten.
    pub nine_in_ten: i64,
    /// The most.
    pub most: i64,
}

/// What one case said about a clause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JudgedIn {
    /// The case.
    pub case: CaseName,
    /// Whether it was written for the clause.
    pub intended: bool,
    /// What it said.
    pub verdict: Word,
}

/// A doubt that does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UndecidedIn {
    /// The case.
    pub case: CaseName,
    /// The doubt, in a sentence.
    pub why: String,
}

/// What a run says about one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CaseReport {
    /// Its name.
    pub case: CaseName,
    /// Which time this was, if it was to run several times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetition: Option<u32>,
    /// Whether it left something undecided and ran once more: then the later time counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tried_again: bool,
    /// The file that it is written in.
    pub source: String,
    /// Which runs it belongs to.
    pub profile: Profile,
    /// The clauses that it was written for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<ClauseId>,
    /// The verdict over all that was judged in it.
    pub verdict: Word,
    /// Why, for those verdicts that have a closed set of reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// What happened, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub finding: String,
    /// When it began, in microseconds since the run's zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_us: Option<i64>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_us: Option<i64>,
    /// Its history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<HistoryRef>,
    /// What was concluded about each clause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judgements: Vec<Judgement>,
    /// The results of the case's own expectations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<Expected>,
}

/// A history's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HistoryRef {
    /// Its path relative to the run's folder.
    pub file: String,
    /// The digest of its lines, before compression.
    pub sha256: String,
    /// How many events it has.
    pub events: usize,
}

impl ClauseReport {
    /// Whether it held wherever it was seen, and was not seen in all that it speaks of.
    #[must_use]
    pub fn is_half_seen(&self) -> bool {
        self.reason == Some(Reason::Doubt(Doubt::HalfSeen))
    }

    /// The measurement that is nearest to its bound, or furthest beyond.
    #[must_use]
    pub fn tightest(&self) -> Option<&MeasuredIn> {
        self.measurements.iter().min_by_key(|one| one.measured.room())
    }
}

impl Report {
    /// What is said about a clause.
    #[must_use]
    pub fn clause(&self, id: &ClauseId) -> Option<&ClauseReport> {
        self.clauses.iter().find(|clause| clause.id == *id)
    }

    /// The report, saying that the histories were judged by another book than the one that was run. Files of cases that
    /// the user added judge nothing.
    #[must_use]
    pub fn judged_by(self, suite: &Suite) -> Self {
        let book = |suite: &Suite| (suite.name.clone(), suite.version.clone(), suite.digest.clone());
        let judged_by = (book(&self.suite) != book(suite)).then(|| suite.clone());
        Self { judged_by, ..self }
    }
}

fn is_none_of_it(percent: &i64) -> bool {
    *percent == 0
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}
