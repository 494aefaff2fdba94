//! Which cases of a run are worth another try, in the same run, once all others have ended and the nodes are calm.
//!
//! Whatever a busy machine left undecided is: nobody is acquitted by it, for both tries are judged, and what one of them
//! violated stays violated.

use std::collections::BTreeSet;

use probity_case::CaseName;
use probity_model::expect::Expected;
use probity_model::facets;
use probity_model::judge::Judgement;
use probity_model::{Clause, Registry};

use crate::merge::{Poll, Vote};
use crate::run_log::Planned;
use crate::word::Word;

/// What was concluded from a case that has run.
#[derive(Clone, Debug)]
pub struct JudgedCase {
    /// The case.
    pub case: CaseName,
    /// The verdict on it as a whole.
    pub verdict: Word,
    /// Each clause that speaks of it.
    pub judgements: Vec<Judgement>,
    /// Its own expectations.
    pub expected: Vec<Expected>,
}

/// The cases that left a clause or an expectation undecided. What is violated or broken needs no other try.
#[must_use]
pub fn undecided(registry: &Registry, planned: &[Planned], judged: &[JudgedCase]) -> BTreeSet<CaseName> {
    let open = |expected: &Expected| Word::of(&expected.verdict) == Word::Inconclusive;
    let expecting = judged.iter().filter(|one| one.expected.iter().any(open)).map(|one| &one.case);
    let clauses = registry.catalogue.iter().filter(|clause| clause.untestable.is_none());
    let chosen: BTreeSet<&CaseName> =
        clauses.flat_map(|clause| of_clause(clause, planned, judged)).chain(expecting).collect();
    let again = judged.iter().filter(|one| !matches!(one.verdict, Word::Violated | Word::Error));
    again.map(|one| &one.case).filter(|case| chosen.contains(case)).cloned().collect()
}

/// The cases that may show what is left open of a clause: those that were undecided about it, or else those that were written
/// for it, if none was left out of the run.
fn of_clause<'j>(clause: &Clause, planned: &[Planned], judged: &'j [JudgedCase]) -> Vec<&'j CaseName> {
    let on = |one: &'j JudgedCase| one.judgements.iter().find(|judgement| judgement.clause == clause.id);
    let asked: Vec<_> = judged.iter().filter_map(|one| Some((&one.case, on(one)?))).collect();
    let votes = asked.iter().enumerate().map(|(place, (_, judgement))| Vote {
        place,
        intended: judgement.intended,
        verdict: &judgement.verdict,
    });
    let word = votes.collect::<Poll<'_>>().outcome().map(|vote| Word::of(vote.verdict));
    let facets = facets::joined(&clause.facets, asked.iter().flat_map(|(_, judgement)| &judgement.facets));
    let half_seen = word == Some(Word::Holds) && facets::missing(&facets).is_some();
    if word != Some(Word::Inconclusive) && !half_seen {
        return Vec::new();
    }
    let open = |judgement: &Judgement| Word::of(&judgement.verdict) == Word::Inconclusive;
    let undecided: Vec<_> =
        asked.iter().filter(|(_, judgement)| open(judgement)).map(|(case, _)| *case).collect();
    let mut written = planned.iter().filter(|planned| planned.judges.contains(&clause.id));
    if !undecided.is_empty() || !written.all(|planned| judged.iter().any(|one| one.case == planned.case)) {
        return undecided;
    }
    asked.into_iter().filter(|(_, judgement)| judgement.intended).map(|(case, _)| case).collect()
}
