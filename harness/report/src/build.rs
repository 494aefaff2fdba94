//! Builds the report from a log and its histories.

use std::collections::{BTreeMap, BTreeSet};

use probity_case::{CaseName, Profile};
use probity_model::verdict::{Doubt, Skip, Verdict};
use probity_model::{History, Registry, expect};

use crate::causes;
use crate::clauses::of_clause;
use crate::document::{
    API_VERSION, CaseReport, ClauseReport, Counts, HistoryRef, KIND, Report, RunResult, SCHEMA_VERSION,
};
use crate::fleet;
use crate::merge::Poll;
use crate::result;
use crate::run_log::{LogError, LogLine, Planned, RunFacts};
use crate::word::{Reason, Word};

/// A history from the run's folder, or why it could not be read.
#[derive(Debug)]
pub struct StoredHistory {
    /// The path relative to the folder, as the log names it.
    pub file: String,
    /// The contents, or a sentence that states why they cannot be read.
    pub contents: Result<ReadHistory, String>,
}

/// A history and its digest.
#[derive(Debug)]
pub struct ReadHistory {
    /// The digest of its lines, before compression.
    pub sha256: String,
    /// The history.
    pub history: History,
}

impl Report {
    /// Judges the histories of a run and builds the report.
    ///
    /// # Errors
    ///
    /// If the log lacks its first line.
    pub fn build(
        registry: &Registry,
        log: &[LogLine],
        histories: &[StoredHistory],
    ) -> Result<Self, LogError> {
        let Some(LogLine::Began(facts)) = log.first() else { return Err(LogError::Empty) };
        let environment = log.iter().find_map(|line| match line {
            LogLine::Ready(ground) => Some(ground.clone()),
            _ => None,
        });
        let usage = log.iter().find_map(|line| match line {
            LogLine::Finished(usage) => Some(*usage),
            _ => None,
        });
        let interrupted = usage.is_some_and(|usage| usage.interrupted);
        let runs = case_runs(registry, facts, log, histories, interrupted);
        let mut clauses: Vec<ClauseReport> = registry
            .catalogue
            .iter()
            .filter(|clause| clause.untestable.is_none())
            .map(|clause| of_clause(registry, clause, &runs, environment.as_ref()))
            .collect();
        causes::name(registry, &mut clauses, &runs);
        let overloaded_percent = overloaded_percent(&runs);
        let fleet = fleet::groups(registry, &runs, environment.as_ref());
        let cases: Vec<CaseReport> = runs.into_iter().map(|case_run| case_run.report).collect();
        Ok(Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            schema_version: SCHEMA_VERSION.to_owned(),
            run_id: facts.run_id.clone(),
            began: jiff::Timestamp::from_microsecond(facts.began_wall_us)
                .map(|at| at.to_string())
                .unwrap_or_default(),
            command: facts.command.clone(),
            labels: facts.labels.clone(),
            shard: facts.shard,
            merged: facts.merged.clone(),
            tool: facts.tool.clone(),
            suite: facts.suite.clone(),
            judged_by: None,
            environment,
            fleet,
            result: sum(facts, &clauses, &cases, overloaded_percent),
            certificate: None,
            clauses,
            cases,
            warnings: warnings(log, histories, usage.is_some()),
            leftovers: log
                .iter()
                .filter_map(|line| match line {
                    LogLine::Leftover(leftover) => Some(leftover.clone()),
                    _ => None,
                })
                .collect(),
            usage,
        })
    }
}

/// One planned run of a case.
pub(super) struct CaseRun<'a> {
    /// Its entry in the report.
    pub(super) report: CaseReport,
    /// Whether this run is one of several tries of a case that left something undecided.
    pub(super) is_a_try: bool,
    /// The verdict on each clause that the case targets, if this run has no history.
    pub(super) instead: Option<Verdict>,
    /// Its history.
    pub(super) history: Option<&'a History>,
}

/// The result of a case in the log.
enum Fate<'l> {
    Ended { history: &'l str, sha256: &'l str, began_us: i64, us: i64 },
    Else(Verdict),
}

fn case_runs<'a>(
    registry: &Registry,
    facts: &RunFacts,
    log: &[LogLine],
    histories: &'a [StoredHistory],
    interrupted: bool,
) -> Vec<CaseRun<'a>> {
    let again: BTreeSet<&CaseName> = log.iter().flat_map(tried_again).collect();
    let mut fates: BTreeMap<&CaseName, Vec<Fate<'_>>> = BTreeMap::new();
    let mut strangers: Vec<Planned> = Vec::new();
    for (case, fate) in log.iter().filter_map(fate) {
        if !facts.cases.iter().chain(&strangers).any(|planned| planned.case == *case) {
            strangers.push(stranger(case));
        }
        fates.entry(case).or_default().push(fate);
    }
    let mut case_runs = Vec::new();
    for planned in facts.cases.iter().chain(&strangers) {
        let mut found = fates.remove(&planned.case).unwrap_or_default();
        found.sort_by_key(by_file);
        let settled = found.iter().any(|fate| matches!(fate, Fate::Else(_)));
        let wanted = usize::try_from(facts.repeat.max(1)).unwrap_or(1);
        if !settled && found.len() < wanted {
            found.push(Fate::Else(never_ended(interrupted)));
        }
        let times = found.len();
        for (at, fate) in found.into_iter().enumerate() {
            let repetition = (times > 1).then(|| u32::try_from(at + 1).unwrap_or(u32::MAX));
            let mut run = case_run(registry, planned, repetition, &fate, histories);
            run.is_a_try = again.contains(&planned.case);
            run.report.tried_again = run.is_a_try && at + 1 < times;
            case_runs.push(run);
        }
    }
    case_runs
}

fn tried_again(line: &LogLine) -> &[CaseName] {
    match line {
        LogLine::TriedAgain { cases } => cases,
        _ => &[],
    }
}

fn fate(line: &LogLine) -> Option<(&CaseName, Fate<'_>)> {
    match line {
        LogLine::CaseEnded { case, history, sha256, began_us, us } => {
            Some((case, Fate::Ended { history, sha256, began_us: *began_us, us: *us }))
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
        Fate::Ended { history, .. } => (history.len(), (*history).to_owned()),
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
    inconclusive("nothing ran: the log does not show the end of the case")
}

fn inconclusive(why: &str) -> Verdict {
    Verdict::Inconclusive { doubt: Doubt::Unseen, why: why.to_owned(), events: Vec::new() }
}

fn case_run<'a>(
    registry: &Registry,
    planned: &Planned,
    repetition: Option<u32>,
    fate: &Fate<'_>,
    histories: &'a [StoredHistory],
) -> CaseRun<'a> {
    let mut report = CaseReport {
        case: planned.case.clone(),
        repetition,
        tried_again: false,
        source: planned.source.clone(),
        profile: planned.profile,
        judges: planned.judges.clone(),
        verdict: Word::Skipped,
        reason: None,
        finding: String::new(),
        began_us: None,
        ended_us: None,
        history: None,
        judgements: Vec::new(),
        expected: Vec::new(),
    };
    let instead = match fate {
        Fate::Else(verdict) => verdict.clone(),
        Fate::Ended { history, sha256, began_us, us } => {
            (report.began_us, report.ended_us) = (Some(*began_us), Some(*us));
            match read(histories, history, sha256) {
                Ok(file) => {
                    let events = file.history.events().len();
                    let (name, sha256) = ((*history).to_owned(), file.sha256.clone());
                    report.history = Some(HistoryRef { file: name, sha256, events });
                    report.judgements = registry.judge(&file.history);
                    report.expected = expect::judge(&file.history);
                    conclude(&mut report);
                    return CaseRun { report, is_a_try: false, instead: None, history: Some(&file.history) };
                }
                Err(why) => Verdict::Error { why },
            }
        }
    };
    report.verdict = Word::of(&instead);
    report.reason = Reason::of(&instead);
    instead.sentence().clone_into(&mut report.finding);
    CaseRun { report, is_a_try: false, instead: Some(instead), history: None }
}

fn read<'a>(histories: &'a [StoredHistory], file: &str, sha256: &str) -> Result<&'a ReadHistory, String> {
    let stored = histories.iter().find(|stored| stored.file == file);
    let stored = stored.ok_or_else(|| format!("the history {file} is missing"))?;
    let found =
        stored.contents.as_ref().map_err(|why| format!("the history {file} cannot be read: {why}"))?;
    if found.sha256 != sha256 {
        return Err(format!("the history {file} is not the one that the run wrote: its digest differs"));
    }
    Ok(found)
}

/// The verdict of a case. It depends on the clauses that the case was written for, on the case's own expectations, and
/// on everything else that was decided in the case.
pub(crate) fn conclude(report: &mut CaseReport) {
    let poll = Poll::of_case(&report.judgements, &report.expected);
    let nothing = inconclusive("nothing in this history could be judged");
    let (verdict, of) = match poll.outcome() {
        None => (&nothing, None),
        Some(vote) => (vote.verdict, Some(vote.place)),
    };
    let subject = of.and_then(|place| match report.judgements.get(place) {
        Some(judgement) => Some(judgement.clause.to_string()),
        None => Some(report.expected.get(place - report.judgements.len())?.what.clone()),
    });
    let finding = match (subject, verdict.sentence()) {
        (_, "") => String::new(),
        (Some(subject), sentence) => format!("{subject}: {sentence}"),
        (None, sentence) => sentence.to_owned(),
    };
    (report.verdict, report.reason, report.finding) = (Word::of(verdict), Reason::of(verdict), finding);
}

fn sum(
    facts: &RunFacts,
    clauses: &[ClauseReport],
    cases: &[CaseReport],
    overloaded_percent: i64,
) -> RunResult {
    let of_profile = |profile: &Profile| {
        let planned = || facts.cases.iter().filter(|planned| planned.profile == *profile);
        let meant = |clause: &ClauseReport| planned().any(|planned| planned.judges.contains(&clause.id));
        let broken = |clause: &ClauseReport| {
            let mut broken = clause.judged_in.iter().filter(|judged| judged.verdict == Word::Violated);
            broken.any(|judged| planned().any(|planned| planned.case == judged.case))
        };
        let clauses: Vec<&ClauseReport> =
            clauses.iter().filter(|clause| meant(clause) || broken(clause)).collect();
        result::profile(*profile, &clauses, facts.tool.modified, overloaded_percent)
    };
    RunResult {
        clauses: Counts::of(clauses.iter().map(|clause| clause.verdict)),
        cases: Counts::of(cases.iter().filter(|case| !case.tried_again).map(|case| case.verdict)),
        profiles: facts.profiles.iter().map(of_profile).collect(),
        overloaded_percent,
    }
}

/// The share of the cases' time during which their nodes were overloaded.
fn overloaded_percent(runs: &[CaseRun<'_>]) -> i64 {
    let each = runs.iter().filter_map(|run| run.history).map(History::overloaded);
    let (overloaded, all) = each.fold((0, 0), |(overloaded, all), (more, of)| (overloaded + more, all + of));
    if all > 0 { overloaded * 100 / all } else { 0 }
}

fn warnings(log: &[LogLine], histories: &[StoredHistory], ended: bool) -> Vec<String> {
    let told = log.iter().filter_map(|line| match line {
        LogLine::Warning { what } => Some(what.clone()),
        _ => None,
    });
    let named = |file: &str| {
        log.iter().any(|line| matches!(line, LogLine::CaseEnded { history, .. } if history == file))
    };
    let strangers = histories
        .iter()
        .filter(|stored| !named(&stored.file))
        .map(|stored| format!("the history {} is not from this run and was ignored", stored.file));
    let torn = (!ended)
        .then(|| "the log has no end: the run was killed, and may have left objects behind".to_owned());
    told.chain(strangers).chain(torn).collect()
}
