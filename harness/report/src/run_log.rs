//! The run's log: `events.ndjson`, one line for each event of the run.
//!
//! The first line has the request, the program and the selected cases. The other lines have the results. A report is
//! generated only from the log and the histories, so everything in a report that is not in a history must be in the log.
//! The log contains no conclusions.

use std::collections::BTreeMap;
use std::fmt;

use probity_case::{Case, CaseName, Profile};
use probity_model::ClauseId;
use probity_model::history::{NodeFacts, in_line};
use probity_model::verdict::Skip;
use serde::{Deserialize, Serialize};

/// The name of the format.
pub const SCHEMA: &str = "probity.dev/run";

/// The version of the format. Readers reject a larger version. Fields may be added without a new version.
pub const VERSION: u32 = 1;

/// One line of the log. Times are microseconds since the run's zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum LogLine {
    /// The first line: the request.
    Began(Box<RunFacts>),
    /// The preparation is complete, and cases start.
    Ready(ClusterFacts),
    /// A case began.
    CaseBegan {
        /// The case.
        case: CaseName,
        /// When.
        us: i64,
    },
    /// A case ended, and its history is written.
    CaseEnded {
        /// The case.
        case: CaseName,
        /// Its history, below the run's folder.
        history: String,
        /// The digest of the history's lines, before compression.
        sha256: String,
        /// When it began.
        began_us: i64,
        /// When it ended.
        us: i64,
    },
    /// These cases left a clause undecided for which they were written, so they run again.
    TriedAgain {
        /// The cases.
        cases: Vec<CaseName>,
    },
    /// A case did not run.
    CaseSkipped {
        /// The case.
        case: CaseName,
        /// Why.
        reason: Skip,
        /// Why, in a sentence.
        why: String,
    },
    /// A case could not be set up, because the harness or the cluster failed.
    CaseBroken {
        /// The case.
        case: CaseName,
        /// Why, in a sentence.
        why: String,
    },
    /// Something that the user should know.
    Warning {
        /// The warning.
        what: String,
    },
    /// An object could not be removed.
    Leftover(Leftover),
    /// The run is complete and cleaned up.
    Finished(Usage),
}

/// What is known about a run before it begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RunFacts {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`VERSION`].
    pub version: u32,
    /// The run's name, which is a label of its objects.
    pub run_id: String,
    /// The harness's wall clock at the run's zero, in microseconds since 1970.
    pub began_wall_us: i64,
    /// The command as it was given, without secrets.
    pub command: Vec<String>,
    /// The program.
    pub tool: Tool,
    /// The book of clauses and cases.
    pub suite: Suite,
    /// The requested profiles.
    pub profiles: Vec<Profile>,
    /// How many times each case was to run.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub repeat: u32,
    /// The labels that the user gave the run, such as the product under test.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Which part of a run this is, if the run was divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The runs that this run was merged from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<MergedFrom>,
    /// The cases that were meant to run, and the cases that the user's filter left out.
    pub cases: Vec<Planned>,
}

/// A part of a run that was divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Shard {
    /// The index of the shard, counted from 0.
    pub index: u32,
    /// How many shards there are.
    pub of: u32,
}

/// A run that was merged with others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MergedFrom {
    /// Its name.
    pub run_id: String,
    /// When it began, in microseconds since 1970.
    pub began_wall_us: i64,
    /// Its command.
    pub command: Vec<String>,
    /// Which shard it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

/// The program that ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The commit that it was built from; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// The platform that it was built for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// The digest of the program itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// Whether it was built from sources that differ from the commit.
    #[serde(default)]
    pub modified: bool,
}

/// The book that was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The digest of its version, its clauses and cases, and the sources of its judges.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// Case files that the user added to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
}

/// A case that a run knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Planned {
    /// Its name.
    pub case: CaseName,
    /// The file that it is written in.
    pub source: String,
    /// Which runs it belongs to.
    pub profile: Profile,
    /// The clauses that it must give evidence for.
    pub judges: Vec<ClauseId>,
    /// Why the arrangement would expose a fault.
    pub story: String,
}

impl Planned {
    /// The facts that the log has about a case in the file `source`.
    #[must_use]
    pub fn of(case: &Case, source: &str) -> Self {
        Self {
            case: case.name.clone(),
            source: source.to_owned(),
            profile: case.profile,
            judges: case.judges.clone(),
            story: case.story.clone(),
        }
    }
}

/// Where a run takes place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterFacts {
    /// The name of the context.
    pub context: String,
    /// The UID of the namespace kube-system, which distinguishes clusters. Empty without permission to read it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cluster_uid: String,
    /// The version of the API server.
    pub server: String,
    /// The namespace.
    pub namespace: String,
    /// The nodes. Empty without permission to read them.
    pub nodes: BTreeMap<String, NodeFacts>,
    /// The digest of the running image, from a pod's status.
    pub image: String,
    /// When the preparation was complete.
    pub us: i64,
}

/// An object that could not be removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Leftover {
    /// The object.
    pub what: String,
    /// Why it still exists.
    pub why: String,
}

/// The time and the resources that a run used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// The time from the run's zero to the end of the cleanup.
    pub wall_us: i64,
    /// The time from the run's zero to the first case.
    pub laid_us: i64,
    /// The longest single case, from its beginning to its end.
    pub longest_us: i64,
    /// How many cases ran.
    pub cases: u64,
    /// Requests to the API server.
    pub requests: u64,
    /// The harness's own CPU time.
    pub cpu_us: i64,
    /// The harness's peak resident memory in bytes.
    pub peak_memory: u64,
    /// How often the harness itself was stalled for more than 50 ms.
    pub stalls: u64,
    /// How long the harness was stalled in total.
    pub stalled_us: i64,
    /// Whether the run was interrupted.
    pub interrupted: bool,
}

/// Why a text is not the log of a run.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The text is empty.
    #[error("the log of the run is empty: its first line should say what was requested")]
    Empty,
    /// The first line is something else.
    #[error("line 1 is not the first line of a run log ({SCHEMA}): {0}")]
    Beginning(String),
    /// The format is newer.
    #[error("the log has version {0} of the format; this program reads up to {VERSION}; use a newer program")]
    Version(u32),
    /// A line is not a line of a log.
    #[error("line {line} is not a line of a run log: {error}")]
    Line {
        /// The line's number, counted from 1.
        line: usize,
        /// What is wrong with it.
        error: String,
    },
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl RunFacts {
    /// The facts with the format's name and version filled in.
    #[must_use]
    pub fn versioned(self) -> Self {
        Self { schema: SCHEMA.to_owned(), version: VERSION, ..self }
    }
}

impl LogLine {
    /// The line as it is written to the file, including the line break.
    ///
    /// # Errors
    ///
    /// Never for values that can be built here. JSON cannot express some Rust values.
    pub fn write(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string(self)? + "\n")
    }
}

/// Reads a log from its lines.
///
/// # Errors
///
/// If the text is not a log of a known version. An incomplete last line, which a killed run leaves behind, is
/// ignored.
pub fn read(text: &str) -> Result<Vec<LogLine>, LogError> {
    let mut lines = text.lines().enumerate().peekable();
    let (_, first) = lines.next().ok_or(LogError::Empty)?;
    let first: LogLine =
        serde_json::from_str(first).map_err(|error| LogError::Beginning(error.to_string()))?;
    let LogLine::Began(facts) = &first else {
        return Err(LogError::Beginning("it describes something else".to_owned()));
    };
    if facts.schema != SCHEMA {
        return Err(LogError::Beginning(format!("its schema is `{}`", facts.schema)));
    }
    if facts.version > VERSION {
        return Err(LogError::Version(facts.version));
    }
    let mut log = vec![first];
    while let Some((at, line)) = lines.next() {
        match serde_json::from_str(line) {
            Ok(line) => log.push(line),
            Err(_) if lines.peek().is_none() && !text.ends_with('\n') => break,
            Err(error) => return Err(LogError::Line { line: at + 1, error: in_line(&error) }),
        }
    }
    Ok(log)
}

fn once() -> u32 {
    1
}

fn is_once(times: &u32) -> bool {
    *times <= 1
}

#[cfg(test)]
mod tests;
