//! Builds the report from a log and its histories.

use std::collections::BTreeSet;
use std::convert::Infallible;

use probity_case::{CaseName, Profile};
use probity_model::verdict::Verdict;
use probity_model::{ClauseId, Registry};

use crate::causes;
use crate::clauses::{ByClause, of_clause};
use crate::document::{
    API_VERSION, CaseReport, ClauseReport, Counts, HistoryRef, KIND, Report, RunResult, SCHEMA_VERSION,
};
use crate::fleet;
use crate::judged::{CaseOutcome, Citations, Histories, JudgedHistory, ReadHistory, Traces};
use crate::outline::{Fate, NamedHistory, Outline, OutlineEntry};
use crate::result;
use crate::run_log::{LogError, LogLine, Planned, RunFacts};
use crate::word::{Reason, Word};
use crate::workers::Workers;

impl Report {
    /// Judges the histories of a run, on all threads, and builds the report.
    ///
    /// # Errors
    ///
    /// If the log lacks its first line.
    pub fn build(
        registry: &Registry,
        log: &[LogLine],
        histories: &(impl Histories + ?Sized),
        workers: Workers,
    ) -> Result<Self, LogError> {
        let outline = Outline::of(log)?;
        let Ok(judged) = outline.judge(registry, histories, workers, |_, _| Ok::<(), Infallible>(()));
        Ok(outline.report(registry, judged))
    }
}

/// What is known about a history while it is in memory: the history and the conclusions from it, or why it cannot be read.
pub type AtHand<'h> = Result<(&'h ReadHistory, &'h JudgedHistory), &'h str>;

/// The conclusions from the histories of a run, or sentences that state why they cannot be read.
pub type Judged = Vec<Result<JudgedHistory, String>>;

impl Outline<'_> {
    /// Reads and judges each history, on all threads. `also` looks at each of them, in any order, before it is dropped.
    ///
    /// # Errors
    ///
    /// The first error of `also`, in the order of the report.
    pub fn judge<E: Send>(
        &self,
        registry: &Registry,
        histories: &(impl Histories + ?Sized),
        workers: Workers,
        also: impl Fn(&NamedHistory<'_>, AtHand<'_>) -> Result<(), E> + Sync,
    ) -> Result<Judged, E> {
        let citations = Citations::default();
        let judge = |named: &NamedHistory<'_>| {
            let read = histories.read_history(named.file);
            let read = match &read {
                Ok(read) => read,
                Err(why) => return also(named, Err(why)).map(|()| Err(why.clone())),
            };
            let judged = JudgedHistory::of(registry, named, read, &citations);
            also(named, Ok((read, &judged)))?;
            Ok(Ok(judged))
        };
        let mut all = Vec::new();
        workers.in_order(&self.histories(), judge, |judged| {
            let mut judged = judged?;
            judged.iter_mut().for_each(|judged| citations.keep(judged));
            all.push(judged);
            Ok(())
        })?;
        Ok(all)
    }

    /// The report that follows from the conclusions of [`Outline::judge`].
    #[must_use]
    pub fn report(&self, registry: &Registry, judged: Judged) -> Report {
        let mut judged = judged.into_iter();
        let runs: Vec<CaseRun> = self.entries.iter().map(|entry| case_run(entry, &mut judged)).collect();
        let by_clause = ByClause::of(&runs);
        let testable = registry.catalogue.iter().filter(|clause| clause.untestable.is_none());
        let mut clauses: Vec<ClauseReport> =
            testable.map(|clause| of_clause(registry, clause, &by_clause, self.environment)).collect();
        causes::name(registry, &mut clauses, &runs);
        let overloaded_percent = overloaded_percent(&runs);
        let fleet = fleet::groups(registry, &runs, self.environment);
        let cases: Vec<CaseReport> = runs.into_iter().map(|case_run| case_run.report).collect();
        let facts = self.facts;
        let leftovers = self.log.iter().filter_map(|line| match line {
            LogLine::Leftover(leftover) => Some(leftover.clone()),
            _ => None,
        });
        Report {
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
            environment: self.environment.cloned(),
            fleet,
            result: sum(facts, &clauses, &cases, overloaded_percent),
            certificate: None,
            clauses,
            cases,
            warnings: warnings(self.log, self.usage.is_some()),
            leftovers: leftovers.collect(),
            usage: self.usage,
        }
    }
}

/// One planned run of a case.
pub(super) struct CaseRun {
    /// Its entry in the report.
    pub(super) report: CaseReport,
    /// Whether this run is one of several tries of a case that left something undecided.
    pub(super) is_a_try: bool,
    /// The verdict on each clause that the case targets, if this run has no history.
    pub(super) instead: Option<Verdict>,
    /// What the report says about single events of its history.
    pub(super) traces: Traces,
    /// For how long its nodes were overloaded, and how long its history lasted.
    overloaded: (i64, i64),
}

/// The run of a case. `judged` yields the conclusions from the histories, in the order of the entries.
fn case_run(
    entry: &OutlineEntry<'_>,
    judged: &mut impl Iterator<Item = Result<JudgedHistory, String>>,
) -> CaseRun {
    let report = empty(entry);
    let without = |mut report: CaseReport, instead: Verdict| {
        report.verdict = Word::of(&instead);
        report.reason = Reason::of(&instead);
        instead.sentence().clone_into(&mut report.finding);
        let (is_a_try, traces) = (entry.is_a_try, Traces::default());
        CaseRun { report, is_a_try, instead: Some(instead), traces, overloaded: (0, 0) }
    };
    let (history, began_us, us) = match &entry.fate {
        Fate::Else(verdict) => return without(report, verdict.clone()),
        Fate::Ended { history, began_us, us } => (history, *began_us, *us),
    };
    let mut report = CaseReport { began_us: Some(began_us), ended_us: Some(us), ..report };
    let found = judged.next().unwrap_or_else(|| Err("it is missing".to_owned()));
    match found.map_err(|why| format!("the history {} cannot be read: {why}", history.file)) {
        Ok(found) if found.is_genuine => {
            let JudgedHistory { sha256, events, judgements, expected, outcome, overloaded, traces, .. } =
                found;
            report.history = Some(HistoryRef { file: history.file.to_owned(), sha256, events });
            (report.judgements, report.expected) = (judgements, expected);
            (report.verdict, report.reason, report.finding) =
                (outcome.verdict, outcome.reason, outcome.finding);
            CaseRun { report, is_a_try: entry.is_a_try, instead: None, traces, overloaded }
        }
        Ok(_) => {
            let why =
                format!("the history {} is not the one that the run wrote: its digest differs", history.file);
            without(report, Verdict::Error { why })
        }
        Err(why) => without(report, Verdict::Error { why }),
    }
}

/// The entry of a case run in the report, without results.
fn empty(entry: &OutlineEntry<'_>) -> CaseReport {
    let Planned { case, source, profile, judges, .. } = entry.planned.as_ref();
    CaseReport {
        case: case.clone(),
        repetition: entry.repetition,
        tried_again: entry.tried_again,
        source: source.clone(),
        profile: *profile,
        judges: judges.clone(),
        verdict: Word::Skipped,
        reason: None,
        finding: String::new(),
        began_us: None,
        ended_us: None,
        history: None,
        judgements: Vec::new(),
        expected: Vec::new(),
    }
}

/// The verdict of a case. It depends on the clauses that the case was written for, on the case's own expectations, and
/// on everything else that was decided in the case.
pub(crate) fn conclude(report: &mut CaseReport) {
    let outcome = CaseOutcome::of(&report.judgements, &report.expected);
    (report.verdict, report.reason, report.finding) = (outcome.verdict, outcome.reason, outcome.finding);
}

fn sum(
    facts: &RunFacts,
    clauses: &[ClauseReport],
    cases: &[CaseReport],
    overloaded_percent: i64,
) -> RunResult {
    let of_profile = |profile: &Profile| {
        let planned = || facts.cases.iter().filter(|planned| planned.profile == *profile);
        let targets: BTreeSet<&ClauseId> = planned().flat_map(|planned| &planned.judges).collect();
        let cases: BTreeSet<&CaseName> = planned().map(|planned| &planned.case).collect();
        let broken = |clause: &ClauseReport| {
            let mut broken = clause.judged_in.iter().filter(|judged| judged.verdict == Word::Violated);
            broken.any(|judged| cases.contains(&judged.case))
        };
        let clauses: Vec<&ClauseReport> =
            clauses.iter().filter(|clause| targets.contains(&clause.id) || broken(clause)).collect();
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
fn overloaded_percent(runs: &[CaseRun]) -> i64 {
    let each = runs.iter().map(|run| run.overloaded);
    let (overloaded, all) = each.fold((0, 0), |(overloaded, all), (more, of)| (overloaded + more, all + of));
    if all > 0 { overloaded * 100 / all } else { 0 }
}

fn warnings(log: &[LogLine], ended: bool) -> Vec<String> {
    let told = log.iter().filter_map(|line| match line {
        LogLine::Warning { what } => Some(what.clone()),
        _ => None,
    });
    let torn = (!ended)
        .then(|| "the log has no end: the run was killed, and may have left objects behind".to_owned());
    told.chain(torn).collect()
}
