//! Whether the numbers and verdicts of a report follow from one another.
//!
//! Without its log and histories, nothing else can be checked in a report.

use std::collections::{BTreeMap, BTreeSet};

use probity_case::CaseName;
use probity_model::ClauseId;

use super::{Flaw, REPORT};
use crate::book_facts::BookFacts;
use crate::build;
use crate::certificate::Certificate;
use crate::document::{CaseReport, ClauseReport, Counts, Report};
use crate::word::Word;

/// The contradictions in a report. The certificate is checked only if the report is based on this book.
#[must_use]
pub fn numbers(report: &Report, book: &BookFacts) -> Vec<Flaw> {
    let mut found = doubles(report);
    found.extend(counts(report));
    found.extend(report.cases.iter().filter_map(of_case));
    let votes = votes(report);
    found.extend(report.clauses.iter().flat_map(|clause| of_clause(clause, &votes)));
    found.extend(strangers(report));
    found.extend(certificate(report, book));
    found.into_iter().map(|what| Flaw::new(REPORT, what)).collect()
}

/// Clauses and cases that are listed twice.
fn doubles(report: &Report) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    found.extend(
        report
            .clauses
            .iter()
            .filter(|clause| !seen.insert(&clause.id))
            .map(|clause| format!("the clause {} is listed twice", clause.id)),
    );
    let mut seen = BTreeSet::new();
    for case in &report.cases {
        if !seen.insert((&case.case, case.repetition)) {
            found.push(format!("the case {} is listed twice", case.case));
        }
    }
    found
}

/// Counts that differ from the listed clauses and cases.
fn counts(report: &Report) -> Vec<String> {
    let mut found = Vec::new();
    let mut same = |what: &str, said: Counts, listed: Counts| {
        if said != listed {
            found.push(format!(
                "it counts {} of {} {what}, but lists {} of {}",
                said.in_words(),
                said.total,
                listed.in_words(),
                listed.total
            ));
        }
    };
    same("clauses", report.result.clauses, Counts::of(report.clauses.iter().map(|clause| clause.verdict)));
    let cases = report.cases.iter().filter(|case| !case.tried_again);
    same("cases", report.result.cases, Counts::of(cases.map(|case| case.verdict)));
    for profile in &report.result.profiles {
        let named = profile.clauses.iter().flat_map(|(word, ids)| ids.iter().map(|_| *word));
        same(&format!("clauses of the profile {}", profile.profile), profile.counts, Counts::of(named));
    }
    for profile in &report.result.profiles {
        for (word, id) in profile.clauses.iter().flat_map(|(word, ids)| ids.iter().map(move |id| (*word, id)))
        {
            let there = report.clause(id).map(|clause| clause.verdict);
            if there != Some(word) {
                let there = there.map_or("not listed", Word::as_str);
                found.push(format!(
                    "the profile {} shows {id} as {word}, but the clause is {there}",
                    profile.profile
                ));
            }
        }
    }
    found
}

/// A case whose verdict does not follow from its judgements.
fn of_case(case: &CaseReport) -> Option<String> {
    case.history.as_ref()?;
    let mut again = case.clone();
    build::conclude(&mut again);
    (again.verdict != case.verdict).then(|| {
        format!("the case {} is {}, but its judgements give {}", case.case, case.verdict, again.verdict)
    })
}

type Votes<'r> = BTreeMap<&'r ClauseId, Vec<(&'r CaseName, Word)>>;

/// The verdict of each case on each clause.
fn votes(report: &Report) -> Votes<'_> {
    let mut votes: Votes<'_> = BTreeMap::new();
    for case in &report.cases {
        for judgement in &case.judgements {
            votes.entry(&judgement.clause).or_default().push((&case.case, Word::of(&judgement.verdict)));
        }
        if case.history.is_none() {
            for id in &case.judges {
                votes.entry(id).or_default().push((&case.case, case.verdict));
            }
        }
    }
    votes
}

/// The differences between a clause and the cases that judged it.
fn of_clause(clause: &ClauseReport, votes: &Votes<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let sorted = |mut list: Vec<(&CaseName, Word)>| {
        list.sort();
        list.into_iter().map(|(case, word)| (case.clone(), word)).collect::<Vec<_>>()
    };
    let listed = sorted(clause.judged_in.iter().map(|judged| (&judged.case, judged.verdict)).collect());
    let cases = sorted(votes.get(&clause.id).cloned().unwrap_or_default());
    if listed != cases {
        found.push(format!(
            "the clause {} lists verdicts that differ from the verdicts of its cases",
            clause.id
        ));
    }
    let said = |word: Word| listed.iter().any(|(_, of)| *of == word);
    let heaviest = [Word::Violated, Word::Error].into_iter().find(|word| said(*word));
    let fits = match (clause.verdict, heaviest) {
        (verdict, Some(heaviest)) => verdict == heaviest,
        (Word::Holds, None) => said(Word::Holds) && !said(Word::Diverges),
        (Word::Diverges, None) => said(Word::Diverges),
        (Word::Violated | Word::Error, None) => false,
        (Word::Inconclusive | Word::Skipped, None) => true,
    };
    if !fits {
        found.push(format!(
            "the clause {} is {}, which does not follow from the cases that judged it",
            clause.id, clause.verdict
        ));
    }
    found
}

/// Judgements on clauses that the report does not list.
fn strangers(report: &Report) -> Vec<String> {
    let judged = report.cases.iter().flat_map(|case| &case.judgements).map(|judgement| &judgement.clause);
    let missing: BTreeSet<&ClauseId> = judged.filter(|id| report.clause(id).is_none()).collect();
    missing.into_iter().map(|id| format!("the clause {id} is missing, although cases judged it")).collect()
}

/// A certificate that does not follow from the report.
fn certificate(report: &Report, book: &BookFacts) -> Option<String> {
    let stored = report.certificate.as_ref()?;
    if !book.is(&report.suite) || report.judged_by.is_some() {
        return None;
    }
    let follows = Certificate::of(report, book);
    if stored.level != follows.level {
        return Some(format!(
            "it claims the level {}, but its verdicts give {}",
            stored.level, follows.level
        ));
    }
    (*stored != follows).then(|| "its certificate does not match its verdicts".to_owned())
}
