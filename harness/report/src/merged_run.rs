//! Merges several runs into one: the shards of a divided run, or runs on different nodes of the same cluster.
//!
//! Only logs are merged. Histories do not change, and each is judged like a history of the merged run. So the report is
//! the same whether its histories come from one run or from several. Runs that do not belong together (different
//! clusters, books or programs, or a missing shard) are rejected, unless the user allows such a merge.

use std::collections::{BTreeMap, BTreeSet};

use probity_case::CaseName;
use probity_model::verdict::Skip;

use crate::merged_facts::{environment, facts, usage};
use crate::run_log::{LogLine, RunFacts, Shard};

/// A run to merge.
#[derive(Clone, Debug)]
pub struct RunToMerge {
    /// Where it was found, for messages.
    pub place: String,
    /// Its log.
    pub log: Vec<LogLine>,
}

/// The mismatches that are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Different clusters, books and programs.
    pub mixed: bool,
    /// Missing shards. The report states that their cases never ended.
    pub incomplete: bool,
}

/// One log of several runs, and the histories that it names.
#[derive(Clone, Debug, PartialEq)]
pub struct MergedRun {
    /// The log.
    pub log: Vec<LogLine>,
    /// Its histories.
    pub histories: Vec<MovedHistory>,
}

/// Where a history was, and where the merged log says that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedHistory {
    /// The run that it belongs to, in the order in which the runs were given.
    pub run: usize,
    /// Its path relative to the folder of that run.
    pub from: String,
    /// Its path relative to the folder of the merged run.
    pub to: String,
    /// The case.
    pub case: CaseName,
}

/// Why runs are not merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// There is nothing to merge.
    #[error("there is no run to merge")]
    Nothing,
    /// The first line of a log is missing.
    #[error("{0}: the log does not say what was requested")]
    NoBeginning(String),
    /// A run is given twice.
    #[error("{0} and {1} contain the same run")]
    Twice(String, String),
    /// Two runs differ in something that must be the same.
    #[error("{what}: {left} in {left_place}, {right} in {right_place}")]
    Mixed {
        /// What differs, as the beginning of a sentence.
        what: &'static str,
        /// Its value in one run.
        left: String,
        /// The place of this run.
        left_place: String,
        /// Its value in the other run.
        right: String,
        /// The place of the other run.
        right_place: String,
    },
    /// A shard is missing.
    #[error("of the {of} shards of the run, {} {} missing", .missing.join(", "), if .missing.len() == 1 { "is" } else { "are" })]
    Incomplete {
        /// The number of shards that the run was divided into.
        of: u32,
        /// The missing shards.
        missing: Vec<String>,
    },
}

impl MergeError {
    /// What the user can do, as the end of a sentence.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Nothing | Self::NoBeginning(_) => "; give folders that `probity run --out` wrote",
            Self::Twice(..) => "; give each run once",
            Self::Mixed { .. } => "; one report on both would be misleading (--mixed merges them anyway)",
            Self::Incomplete { .. } => "; give all folders (--incomplete merges the existing ones)",
        }
    }
}

/// A run with its facts, and the time from the beginning of the first run to its beginning.
pub(crate) struct Part<'r> {
    pub(crate) run: usize,
    pub(crate) place: &'r str,
    pub(crate) facts: &'r RunFacts,
    pub(crate) log: &'r [LogLine],
    pub(crate) after_us: i64,
}

/// Merges runs. Except for the numbers of the runs, the result does not depend on the order in which they are given.
///
/// # Errors
///
/// If the runs do not belong together and `allowed` does not accept this.
pub fn merge(runs: &[RunToMerge], command: &[String], allowed: Allowed) -> Result<MergedRun, MergeError> {
    let parts = parts(runs)?;
    let mut warnings = mixtures(&parts);
    if let Some(mixed) = warnings.first().filter(|_| !allowed.mixed) {
        return Err(mixed.clone());
    }
    match missing_shards(&parts) {
        Some(incomplete) if !allowed.incomplete => return Err(incomplete),
        incomplete => warnings.extend(incomplete),
    }
    let mut log = vec![LogLine::Began(Box::new(facts(&parts, command)))];
    log.extend(environment(&parts).map(LogLine::Ready));
    let warned = warnings.iter().map(|warning| LogLine::Warning { what: warning.to_string() });
    log.extend(warned);
    let mut histories = Vec::new();
    let places = places(&parts);
    let settled = settled(&parts);
    let mut skipped = BTreeSet::new();
    for part in &parts {
        for (at, line) in part.log.iter().enumerate() {
            match line {
                LogLine::CaseEnded { case, history, sha256, began_us, us } => {
                    let to = places.get(&(part.run, at)).unwrap_or(history).clone();
                    histories.push(MovedHistory {
                        run: part.run,
                        from: history.clone(),
                        to: to.clone(),
                        case: case.clone(),
                    });
                    log.push(LogLine::CaseEnded {
                        case: case.clone(),
                        history: to,
                        sha256: sha256.clone(),
                        began_us: began_us + part.after_us,
                        us: us + part.after_us,
                    });
                }
                LogLine::CaseSkipped { case, reason, .. } => {
                    let elsewhere = *reason == Skip::OtherShard || settled.contains(case);
                    if !elsewhere && skipped.insert(case.clone()) {
                        log.push(line.clone());
                    }
                }
                other => log.extend(shifted(other, part)),
            }
        }
    }
    log.extend(usage(&parts).map(LogLine::Finished));
    Ok(MergedRun { log, histories })
}

/// The runs in the order of their starts.
fn parts(runs: &[RunToMerge]) -> Result<Vec<Part<'_>>, MergeError> {
    let mut parts = Vec::new();
    for (run, RunToMerge { place, log }) in runs.iter().enumerate() {
        let Some(LogLine::Began(facts)) = log.first() else {
            return Err(MergeError::NoBeginning(place.clone()));
        };
        parts.push(Part { run, place, facts, log, after_us: 0 });
    }
    parts.sort_by(|a, b| order(a).cmp(&order(b)));
    let first_us = parts.first().ok_or(MergeError::Nothing)?.facts.began_wall_us;
    for part in &mut parts {
        part.after_us = part.facts.began_wall_us - first_us;
    }
    let same = |pair: &&[Part<'_>]| order(&pair[0]) == order(&pair[1]);
    match parts.windows(2).find(same) {
        Some(pair) => Err(MergeError::Twice(pair[0].place.to_owned(), pair[1].place.to_owned())),
        None => Ok(parts),
    }
}

fn order<'p>(part: &'p Part<'_>) -> (i64, &'p str, Option<Shard>) {
    (part.facts.began_wall_us, &part.facts.run_id, part.facts.shard)
}

/// The facts that must be the same in all runs but differ: the first difference of each kind.
fn mixtures(parts: &[Part<'_>]) -> Vec<MergeError> {
    type Fact = (&'static str, fn(&Part<'_>) -> String);
    let facts: [Fact; 4] = [
        ("the runs used different clusters", cluster),
        ("the runs used different versions of the API server", |part| {
            part.ground().map(|ground| ground.server.clone()).unwrap_or_default()
        }),
        ("the runs used different books", |part| {
            let suite = &part.facts.suite;
            let added = if suite.added.is_empty() {
                String::new()
            } else {
                format!(" with {}", suite.added.join(", "))
            };
            format!("{} {} {}{added}", suite.name, suite.version, suite.digest)
        }),
        ("the runs used different programs", |part| {
            let tool = &part.facts.tool;
            let modified = if tool.modified { " (modified)" } else { "" };
            format!("{} {} {}{modified}", tool.name, tool.version, tool.commit)
        }),
    ];
    facts.into_iter().filter_map(|(what, of)| difference(parts, what, of)).collect()
}

/// Two runs that differ in a fact. An unknown value matches every value.
fn difference(parts: &[Part<'_>], what: &'static str, of: fn(&Part<'_>) -> String) -> Option<MergeError> {
    let mut known = parts.iter().map(|part| (part, of(part))).filter(|(_, fact)| !fact.is_empty());
    let (first, left) = known.next()?;
    let (other, right) = known.find(|(_, right)| *right != left)?;
    let (left_place, right_place) = (first.place.to_owned(), other.place.to_owned());
    let words = |fact: String| fact.trim().to_owned();
    Some(MergeError::Mixed { what, left: words(left), left_place, right: words(right), right_place })
}

/// The identity of a cluster: its UID, or nothing without permission to read it. The name of a context differs between
/// users.
fn cluster(part: &Part<'_>) -> String {
    part.ground().map(|ground| ground.cluster_uid.clone()).unwrap_or_default()
}

/// The maximum number of shards that are named. A log from elsewhere can claim to belong to one of billions of shards.
const NAMED: usize = 20;

/// The error for missing shards, if there are any.
fn missing_shards(parts: &[Part<'_>]) -> Option<MergeError> {
    let shards: BTreeSet<Shard> = parts.iter().filter_map(|part| part.facts.shard).collect();
    let wanted: BTreeSet<u32> = shards.iter().map(|shard| shard.of).collect();
    wanted.into_iter().find_map(|of| {
        let all = (0..of).map(|index| Shard { index, of });
        let missing: Vec<String> =
            all.filter(|shard| !shards.contains(shard)).map(|shard| shard.to_string()).take(NAMED).collect();
        (!missing.is_empty()).then_some(MergeError::Incomplete { of, missing })
    })
}

/// The cases that ran in some run, or were to run there and have no result. It does not matter whether other runs left
/// out these cases.
fn settled(parts: &[Part<'_>]) -> BTreeSet<CaseName> {
    let mut settled = BTreeSet::new();
    for part in parts {
        let mut left_out: BTreeSet<&CaseName> = BTreeSet::new();
        for line in part.log {
            match line {
                LogLine::CaseSkipped { case, .. } => drop(left_out.insert(case)),
                LogLine::CaseEnded { case, .. } | LogLine::CaseBroken { case, .. } => {
                    settled.insert(case.clone());
                }
                _ => {}
            }
        }
        let awaited = part.facts.cases.iter().filter(|planned| !left_out.contains(&planned.case));
        settled.extend(awaited.map(|planned| planned.case.clone()));
    }
    settled
}

/// The new places of histories whose case ran in several runs. They are numbered in the order of the runs.
fn places(parts: &[Part<'_>]) -> BTreeMap<(usize, usize), String> {
    let mut of_case: BTreeMap<&CaseName, Vec<(usize, usize)>> = BTreeMap::new();
    let mut runs_of: BTreeMap<&CaseName, BTreeSet<usize>> = BTreeMap::new();
    for part in parts {
        for (at, line) in part.log.iter().enumerate() {
            if let LogLine::CaseEnded { case, .. } = line {
                of_case.entry(case).or_default().push((part.run, at));
                runs_of.entry(case).or_default().insert(part.run);
            }
        }
    }
    let several =
        of_case.into_iter().filter(|(case, _)| runs_of.get(case).is_some_and(|runs| runs.len() > 1));
    let numbered = several.flat_map(|(case, lines)| {
        let place = move |nth: usize| format!("history/{}.{}.jsonl.zst", case.file(), nth + 1);
        lines.into_iter().enumerate().map(move |(nth, key)| (key, place(nth)))
    });
    numbered.collect()
}

/// The same line for the merged log, with times on its clock. `None` for lines that occur once in a log, which are
/// generated again.
fn shifted(line: &LogLine, part: &Part<'_>) -> Option<LogLine> {
    match line {
        LogLine::CaseBegan { case, us } => {
            Some(LogLine::CaseBegan { case: case.clone(), us: us + part.after_us })
        }
        LogLine::Warning { what } => {
            Some(LogLine::Warning { what: format!("{}: {what}", part.facts.run_id) })
        }
        LogLine::CaseBroken { .. } | LogLine::TriedAgain { .. } | LogLine::Leftover(_) => Some(line.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
