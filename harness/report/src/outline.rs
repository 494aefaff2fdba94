//! The case runs that a log names, in the order of the report.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use probity_case::{CaseName, Profile};
use probity_model::verdict::{Doubt, Skip, Verdict};

use crate::run_log::{ClusterFacts, LogError, LogLine, Planned, RunFacts, Usage};

/// A log, with its case runs in the order of the report.
pub struct Outline<'l> {
    pub(super) log: &'l [LogLine],
    pub(super) facts: &'l RunFacts,
    pub(super) environment: Option<&'l ClusterFacts>,
    pub(super) usage: Option<Usage>,
    pub(super) entries: Vec<OutlineEntry<'l>>,
}

/// One planned run of a case.
pub(super) struct OutlineEntry<'l> {
    pub(super) planned: Cow<'l, Planned>,
    /// Its number, if the case ran several times.
    pub(super) repetition: Option<u32>,
    /// Whether this run is one of several tries of a case that left something undecided.
    pub(super) is_a_try: bool,
    /// Whether another try follows.
    pub(super) tried_again: bool,
    pub(super) fate: Fate<'l>,
}

/// The result of a case in the log.
pub(super) enum Fate<'l> {
    Ended { history: NamedHistory<'l>, began_us: i64, us: i64 },
    Else(Verdict),
}

/// A history that a log names.
#[derive(Clone, Copy)]
pub struct NamedHistory<'l> {
    /// The case.
    pub case: &'l CaseName,
    /// What the log plans for the case, if it does.
    pub planned: Option<&'l Planned>,
    /// The file, relative to the folder of the run.
    pub file: &'l str,
    /// The digest of its lines when it was written.
    pub sha256: &'l str,
    /// The place of the line in the log.
    pub line: usize,
}

impl<'l> Outline<'l> {
    /// The outline of a run.
    ///
    /// # Errors
    ///
    /// If the log lacks its first line.
    pub fn of(log: &'l [LogLine]) -> Result<Self, LogError> {
        let Some(LogLine::Began(facts)) = log.first() else { return Err(LogError::Empty) };
        let environment = log.iter().find_map(|line| match line {
            LogLine::Ready(ground) => Some(ground),
            _ => None,
        });
        let usage = log.iter().find_map(|line| match line {
            LogLine::Finished(usage) => Some(*usage),
            _ => None,
        });
        let interrupted = usage.is_some_and(|usage| usage.interrupted);
        Ok(Self { log, facts, environment, usage, entries: entries(facts, log, interrupted) })
    }

    /// The histories that the log names, in the order of the report.
    #[must_use]
    pub fn histories(&self) -> Vec<NamedHistory<'l>> {
        let ended = self.entries.iter().filter_map(|entry| match &entry.fate {
            Fate::Ended { history, .. } => Some(*history),
            Fate::Else(_) => None,
        });
        ended.collect()
    }
}

fn entries<'l>(facts: &'l RunFacts, log: &'l [LogLine], interrupted: bool) -> Vec<OutlineEntry<'l>> {
    let again: BTreeSet<&CaseName> = log.iter().flat_map(tried_again).collect();
    let planned: BTreeMap<&CaseName, &Planned> =
        facts.cases.iter().rev().map(|planned| (&planned.case, planned)).collect();
    let mut fates: BTreeMap<&CaseName, Vec<Fate<'_>>> = BTreeMap::new();
    let mut strangers: Vec<&CaseName> = Vec::new();
    for (at, line) in log.iter().enumerate() {
        let Some((case, fate)) = fate(at, line, &planned) else { continue };
        if !planned.contains_key(case) && !fates.contains_key(case) {
            strangers.push(case);
        }
        fates.entry(case).or_default().push(fate);
    }
    let all = facts.cases.iter().map(Cow::Borrowed);
    let all = all.chain(strangers.into_iter().map(|case| Cow::Owned(stranger(case))));
    let mut entries = Vec::new();
    for planned in all {
        let mut found = fates.remove(&planned.case).unwrap_or_default();
        found.sort_by_key(by_file);
        let settled = found.iter().any(|fate| matches!(fate, Fate::Else(_)));
        let wanted = usize::try_from(facts.repeat.max(1)).unwrap_or(1);
        if !settled && found.len() < wanted {
            found.push(Fate::Else(never_ended(interrupted)));
        }
        let times = found.len();
        let is_a_try = again.contains(&planned.case);
        for (at, fate) in found.into_iter().enumerate() {
            let repetition = (times > 1).then(|| u32::try_from(at + 1).unwrap_or(u32::MAX));
            let tried_again = is_a_try && at + 1 < times;
            entries.push(OutlineEntry { planned: planned.clone(), repetition, is_a_try, tried_again, fate });
        }
    }
    entries
}

fn tried_again(line: &LogLine) -> &[CaseName] {
    match line {
        LogLine::TriedAgain { cases } => cases,
        _ => &[],
    }
}

fn fate<'l>(
    at: usize,
    line: &'l LogLine,
    planned: &BTreeMap<&CaseName, &'l Planned>,
) -> Option<(&'l CaseName, Fate<'l>)> {
    match line {
        LogLine::CaseEnded { case, history, sha256, began_us, us } => {
            let planned = planned.get(case).copied();
            let history = NamedHistory { case, planned, file: history, sha256, line: at };
            Some((case, Fate::Ended { history, began_us: *began_us, us: *us }))
        }
        LogLine::CaseSkipped { case, reason, why } => {
            Some((case, Fate::Else(Verdict::Skipped { reason: *reason, why: why.clone() })))
        }
        LogLine::CaseBroken { case, why } => Some((case, Fate::Else(Verdict::Error { why: why.clone() }))),
        _ => None,
    }
}

/// The key that sorts repetitions. Repetitions end in any order, but their files are numbered.
fn by_file(fate: &Fate<'_>) -> (usize, String) {
    match fate {
        Fate::Ended { history, .. } => (history.file.len(), history.file.to_owned()),
        Fate::Else(_) => (usize::MAX, String::new()),
    }
}

/// A case that has a result in the log but is not in the list at the start of the log.
fn stranger(case: &CaseName) -> Planned {
    Planned {
        case: case.clone(),
        source: String::new(),
        profile: Profile::default(),
        judges: Vec::new(),
        story: String::new(),
    }
}

fn never_ended(interrupted: bool) -> Verdict {
    if interrupted {
        let why = "the run was interrupted before it ended".to_owned();
        return Verdict::Skipped { reason: Skip::Interrupted, why };
    }
    let why = "nothing ran: the log does not show the end of the case".to_owned();
    Verdict::Inconclusive { doubt: Doubt::Unseen, why, events: Vec::new() }
}
