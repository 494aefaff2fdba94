//! Whether a run reached a level, and every reason why it did not.

use std::collections::{BTreeMap, BTreeSet};

use probity_case::CaseName;
use probity_model::ClauseId;
use probity_model::clause::Level;
use probity_model::verdict::Skip;

use super::distinct;
use super::document::{ConformanceLevel, Exception, LevelReport, Obstacle};
use crate::book_facts::{BookCase, BookFacts};
use crate::document::{CaseReport, ClauseReport, Counts, ProfileOutcome, Report};
use crate::word::{Reason, Word};

/// The result of a case that a level needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// It ran, and its history exists.
    Ran,
    /// The cluster lacks a feature that the case declares.
    Lacking,
    /// It was skipped for a reason other than a declared feature, such as a missing permission.
    Prevented,
    /// The filters or the profiles of the run exclude it.
    LeftOut,
    /// Another shard runs it.
    Elsewhere,
    /// It did not end, or its history is missing or damaged.
    NotEnded,
    /// The log of the run does not name it.
    Unknown,
}

/// What a run says about a level.
pub(super) fn of(level: ConformanceLevel, report: &Report, book: &BookFacts) -> LevelReport {
    let wanted = |case: &&BookCase| level.profiles().contains(&case.planned.profile);
    let cases: Vec<&BookCase> = book.cases.iter().filter(wanted).collect();
    let standings: BTreeMap<&CaseName, Standing> =
        cases.iter().map(|case| (&case.planned.case, standing(case, report))).collect();
    let mut found = LevelReport { level, ..LevelReport::default() };
    found.obstacles = of_the_run(level, report, book);
    found.obstacles.extend(of_the_cases(&standings));
    let mut open: BTreeMap<Word, Vec<ClauseId>> = BTreeMap::new();
    let mut half_seen = Vec::new();
    let mut words = Vec::new();
    for clause in clauses_of(&cases, report) {
        if clause.reason == Some(Reason::Skip(Skip::NotApplicable)) {
            found.not_promised.push(clause.id.clone());
            continue;
        }
        if clause.level != Level::Must {
            found.should_violated.extend((clause.verdict == Word::Violated).then(|| clause.id.clone()));
            continue;
        }
        words.push(clause.verdict);
        match (clause.verdict, exception(clause, report, &standings)) {
            (Word::Holds | Word::Diverges, _) => {}
            (_, Some(exception)) => found.exceptions.push(exception),
            (_, None) if clause.is_half_seen() => half_seen.push(clause.id.clone()),
            (word, None) => open.entry(word).or_default().push(clause.id.clone()),
        }
    }
    found.obstacles.extend(open.into_iter().map(|(word, clauses)| of_clauses(word, clauses)));
    if !half_seen.is_empty() {
        let why = "MUST clauses held, but not for all their facets".to_owned();
        found.obstacles.push(Obstacle { why, clauses: half_seen, cases: Vec::new() });
    }
    found.obstacles.extend(unknown_clauses(&cases, report));
    found.must = Counts::of(words);
    if found.must.decided() == 0 && found.obstacles.is_empty() {
        found.obstacles.push(of_run("nothing was decided"));
    }
    found.reached = found.obstacles.is_empty();
    found
}

fn of_run(why: impl Into<String>) -> Obstacle {
    Obstacle { why: why.into(), ..Obstacle::default() }
}

/// Obstacles that concern the run as a whole.
fn of_the_run(level: ConformanceLevel, report: &Report, book: &BookFacts) -> Vec<Obstacle> {
    let mut found = Vec::new();
    let mut unless = |fine: bool, why: &str| {
        if !fine {
            found.push(of_run(why));
        }
    };
    unless(report.environment.is_some(), "the run never reached the cluster");
    unless(report.usage.is_some(), "the log of the run has no end");
    unless(!report.usage.is_some_and(|usage| usage.interrupted), "the run was interrupted");
    unless(report.shard.is_none(), "the run is one shard of several; `probity merge` combines them");
    unless(!report.tool.modified, "the program that ran was built from sources that differ from its commit");
    unless(report.suite.added.is_empty(), "the run included cases that are not part of the book");
    unless(
        report.judged_by.is_none() && book.is(&report.suite),
        "the run used a different book than the one that judged it",
    );
    let several = |text: &str| text.contains(", ");
    let mixed = report.environment.as_ref().filter(|_| !report.merged.is_empty());
    unless(
        !mixed.is_some_and(|ground| several(&ground.cluster_uid) || several(&ground.server)),
        "it was merged from runs on different clusters or versions",
    );
    for profile in &report.result.profiles {
        if profile.result == ProfileOutcome::Invalid && level.profiles().contains(&profile.profile) {
            found.push(of_run(format!(
                "the result of the profile {} is invalid: {}",
                profile.profile, profile.why
            )));
        }
    }
    found
}

/// The result of a case in the worst of its runs.
fn standing(case: &BookCase, report: &Report) -> Standing {
    let runs = report.cases.iter().filter(|run| run.case.anywhere() == case.planned.case);
    runs.map(|run| standing_of(case, run)).max().unwrap_or(Standing::Unknown)
}

fn standing_of(case: &BookCase, run: &CaseReport) -> Standing {
    match run.reason {
        _ if run.history.is_some() => Standing::Ran,
        Some(Reason::Skip(Skip::Precondition)) if case.needs.is_empty() => Standing::Prevented,
        Some(Reason::Skip(Skip::Precondition)) => Standing::Lacking,
        Some(Reason::Skip(Skip::Filtered)) => Standing::LeftOut,
        Some(Reason::Skip(Skip::OtherShard)) => Standing::Elsewhere,
        _ => Standing::NotEnded,
    }
}

/// One reason for each way in which cases are missing.
fn of_the_cases(standings: &BTreeMap<&CaseName, Standing>) -> Vec<Obstacle> {
    let reasons = [
        (
            Standing::Prevented,
            "cases were skipped for lack of something that every cluster can provide, such as a permission",
        ),
        (Standing::LeftOut, "the filters or the profiles of the run left out cases of this level"),
        (Standing::Elsewhere, "another shard of the run should have run cases of this level"),
        (Standing::NotEnded, "cases did not end, or their histories are missing or damaged"),
        (Standing::Unknown, "the log of the run does not name all cases of this level"),
    ];
    let mut found = Vec::new();
    for (wanted, why) in reasons {
        let cases: Vec<CaseName> = standings
            .iter()
            .filter(|(_, standing)| **standing == wanted)
            .map(|(case, _)| (*case).clone())
            .collect();
        if !cases.is_empty() {
            found.push(Obstacle { why: why.to_owned(), cases, clauses: Vec::new() });
        }
    }
    found
}

/// The clauses of a level: the clauses that its cases target, and the clauses that one of its cases showed to be
/// violated.
fn clauses_of<'r>(cases: &[&BookCase], report: &'r Report) -> Vec<&'r ClauseReport> {
    let names: BTreeSet<&CaseName> = cases.iter().map(|case| &case.planned.case).collect();
    let targeted: BTreeSet<&ClauseId> = cases.iter().flat_map(|case| &case.planned.judges).collect();
    let broken = |clause: &ClauseReport| {
        let mut broken = clause.judged_in.iter().filter(|judged| judged.verdict == Word::Violated);
        broken.any(|judged| names.contains(&judged.case.anywhere()))
    };
    report.clauses.iter().filter(|clause| targeted.contains(&clause.id) || broken(clause)).collect()
}

/// The exception for a clause, if the clause is an exception: cases that target the clause were skipped because the
/// cluster lacks a feature, and nothing else is undecided. The clause must still hold in all other cases.
fn exception(
    clause: &ClauseReport,
    report: &Report,
    standings: &BTreeMap<&CaseName, Standing>,
) -> Option<Exception> {
    let targeting = || clause.judged_in.iter().filter(|judged| judged.intended);
    let lacks = |case: &CaseName| standings.get(&case.anywhere()) == Some(&Standing::Lacking);
    let skipped: Vec<CaseName> = distinct(targeting().map(|judged| judged.case.clone()).filter(lacks));
    let first = skipped.first()?;
    let all = targeting().all(|judged| lacks(&judged.case));
    let open = match clause.verdict {
        Word::Skipped | Word::Inconclusive => all || clause.is_half_seen(),
        _ => false,
    };
    let lacked = report.cases.iter().find(|run| run.case == *first).map(|run| run.finding.clone());
    let why = match lacked.unwrap_or_default() {
        lacked if all => lacked,
        lacked => format!("{lacked}; {}", clause.finding),
    };
    open.then_some(Exception { clause: clause.id.clone(), cases: skipped, why })
}

fn of_clauses(word: Word, clauses: Vec<ClauseId>) -> Obstacle {
    let why = match word {
        Word::Violated => "MUST clauses are violated",
        Word::Error => "MUST clauses are undecided because the harness or its environment failed",
        Word::Inconclusive => "MUST clauses are undecided",
        Word::Skipped => "MUST clauses were not tested",
        Word::Holds | Word::Diverges => "MUST clauses are decided",
    };
    Obstacle { why: why.to_owned(), clauses, cases: Vec::new() }
}

/// Clauses that the cases of a level target, but that are missing in the report.
fn unknown_clauses(cases: &[&BookCase], report: &Report) -> Option<Obstacle> {
    let targeted = cases.iter().flat_map(|case| &case.planned.judges).cloned();
    let mut clauses = distinct(targeted);
    clauses.retain(|id| report.clause(id).is_none());
    let why = "the report does not have all clauses of this level".to_owned();
    (!clauses.is_empty()).then_some(Obstacle { why, clauses, cases: Vec::new() })
}
