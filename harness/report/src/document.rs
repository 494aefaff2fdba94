//! The report as a document: every field that it can contain.

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

/// The version of the format. Readers ignore unknown fields and reject unknown verdicts.
pub const SCHEMA_VERSION: &str = "1.0.0";

/// The report of a run.
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
    /// The labels that the user gave the run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Which part of a run this is, if the run was divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The runs that this run was merged from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<MergedFrom>,
    /// The program that ran.
    pub tool: Tool,
    /// The book that was run.
    pub suite: Suite,
    /// The book that judged the histories, if it differs from the book that was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_by: Option<Suite>,
    /// The cluster. Absent if the run never reached it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<ClusterFacts>,
    /// If cases ran on each of several nodes, the nodes, grouped by their properties and verdicts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fleet: Vec<NodeGroup>,
    /// Its totals.
    pub result: RunResult,
    /// The conformance level that the run reached, and what this is based on. Absent in reports of older programs.
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
    /// The resources that the run used. Absent if it did not finish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// The totals of a run.
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
    /// The percentage of the cases' time during which their node was overloaded: targets were stalled, or many tasks
    /// waited for each processor.
    #[serde(default, skip_serializing_if = "is_none_of_it")]
    pub overloaded_percent: i64,
}

/// The number of each verdict. The numbers add up to the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// All.
    pub total: u64,
    /// Kept promises.
    pub holds: u64,
    /// Known divergences from the documentation.
    pub diverges: u64,
    /// Broken promises.
    pub violated: u64,
    /// Undecided.
    pub inconclusive: u64,
    /// Failures of the harness or its environment.
    pub error: u64,
    /// Not run.
    pub skipped: u64,
}

/// The result of a profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProfileReport {
    /// The profile.
    pub profile: Profile,
    /// Its result.
    pub result: ProfileOutcome,
    /// Why, in a sentence.
    pub why: String,
    /// The number of the profile's clauses by verdict: the clauses that a case of the profile was written for, and the
    /// clauses that were violated in such a case.
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
    /// No clause was violated, but some are undecided.
    Partial,
    /// A clause was violated.
    Failure,
    /// The result says nothing about the cluster: the harness failed, nothing ran, the nodes were too noisy, or the
    /// program was modified.
    Invalid,
}

/// The result of a run for one clause.
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
    /// Where it promises this.
    pub source: Source,
    /// The known deviation of upstream, if there is one: what upstream does instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    /// The verdict over all histories.
    pub verdict: Word,
    /// The reason, for verdicts with a closed set of reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The violated clause that likely explains this violation. It was violated in the same cases, for the same pods, at
    /// an earlier stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows_from: Option<ClauseId>,
    /// What happened, in a sentence. Empty if the clause holds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub finding: String,
    /// The histories with the evidence for the verdict, and their events. The deciding history is first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceRef>,
    /// The facets that must be observed before the clause holds, and the result of each facet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facets: Vec<FacetSeen>,
    /// What was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measurements: Vec<MeasuredIn>,
    /// How the measurements of all cases compare with their upper bounds. Absent if there are only a few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// Every case in which the clause was judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged_in: Vec<JudgedIn>,
    /// Doubts that do not count, because a case that was written for the clause decided it.
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
    /// The first of the cited events.
    pub events: Vec<Cited>,
    /// How many more events there are. The judgement in the case names all of them.
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
    /// What happened, and when the harness received the event.
    pub what: String,
}

/// A measurement, and the case in which it was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MeasuredIn {
    /// The case.
    pub case: CaseName,
    /// The measurement.
    pub measured: Measurement,
}

/// The measured times, in percent of their upper bounds: half of them take at most `median`, nine in ten at most
/// `nine_in_ten`, and all at most `most`.
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

/// The verdict of one case on a clause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JudgedIn {
    /// The case.
    pub case: CaseName,
    /// Whether the case was written for the clause.
    pub intended: bool,
    /// Its verdict.
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

/// The result of a run for one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CaseReport {
    /// Its name.
    pub case: CaseName,
    /// The number of the repetition, if the case was to run several times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetition: Option<u32>,
    /// Whether the case left something undecided and ran again. The later run then counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tried_again: bool,
    /// The file that contains it.
    pub source: String,
    /// Which runs it belongs to.
    pub profile: Profile,
    /// The clauses that it was written for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<ClauseId>,
    /// The verdict on everything that was judged in the case.
    pub verdict: Word,
    /// The reason, for verdicts with a closed set of reasons.
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
    /// The judgement on each clause.
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
    /// Whether the clause held wherever it was observed, but was not observed for all its facets.
    #[must_use]
    pub fn is_half_seen(&self) -> bool {
        self.reason == Some(Reason::Doubt(Doubt::HalfSeen))
    }

    /// The measurement that is closest to its bound, or furthest beyond it.
    #[must_use]
    pub fn tightest(&self) -> Option<&MeasuredIn> {
        self.measurements.iter().min_by_key(|one| one.measured.room())
    }
}

impl Report {
    /// The entry of a clause.
    #[must_use]
    pub fn clause(&self, id: &ClauseId) -> Option<&ClauseReport> {
        self.clauses.iter().find(|clause| clause.id == *id)
    }

    /// The report, with the book that judged the histories if it differs from the book of the run. Case files that the
    /// user added do not count, because they contain no judges.
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
