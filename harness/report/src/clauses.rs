//! The combined result of a run's cases for one clause.

use std::collections::BTreeSet;

use probity_case::CaseName;
use probity_model::facets::{self, FacetSeen};
use probity_model::measure::Unit;
use probity_model::verdict::{Doubt, Skip, Verdict};
use probity_model::{Clause, EventId, Judgement, Measurement, Registry};

use crate::build::CaseRun;
use crate::document::{Cited, ClauseReport, EvidenceRef, JudgedIn, MeasuredIn, Spread, UndecidedIn};
use crate::merge::{Poll, Vote};
use crate::run_log::ClusterFacts;
use crate::word::{Reason, Word};
use crate::words::event_in_words;

/// How many histories a clause cites, and how many events and measurements of each history.
const CITED: (usize, usize, usize) = (8, 8, 2);

/// The combined verdict of some case runs on a clause, in a word. `None` if none of them has a verdict.
pub(super) fn word_of(clause: &Clause, case_runs: &[&CaseRun<'_>]) -> Option<Word> {
    let votes = case_runs.iter().enumerate().filter_map(|(at, case_run)| vote(clause, at, case_run));
    let outcome = votes.collect::<Poll<'_>>().outcome()?;
    let judgements = case_runs.iter().filter_map(|case_run| judgement(clause, case_run));
    let facets = facets::joined(&clause.facets, judgements.flat_map(|of| &of.facets));
    let half_seen = half_seen(outcome.verdict, &facets);
    Some(Word::of(half_seen.as_ref().unwrap_or(outcome.verdict)))
}

/// The combined result of all case runs for a clause.
pub(super) fn of_clause(
    registry: &Registry,
    clause: &Clause,
    case_runs: &[CaseRun<'_>],
    ground: Option<&ClusterFacts>,
) -> ClauseReport {
    let mut votes: Vec<Vote<'_>> =
        case_runs.iter().enumerate().filter_map(|(at, case_run)| vote(clause, at, case_run)).collect();
    leave_to_other_tries(&mut votes, case_runs);
    let poll: Poll<'_> = votes.iter().copied().collect();
    let outcome = poll.outcome();
    let unasked = outcome.is_none().then(|| nobody_asked(registry, clause, ground));
    let facets = facets::joined(&clause.facets, judgements(clause, case_runs).flat_map(|of| &of.facets));
    let half_seen = outcome.and_then(|vote| half_seen(vote.verdict, &facets));
    let answer = half_seen.as_ref().or(outcome.map(|vote| vote.verdict)).or(unasked.as_ref());
    let instead = answer.and_then(|answer| not_asked(answer, &votes));
    let verdict = instead.as_ref().or(answer);
    let word = verdict.map_or(Word::Skipped, Word::of);
    let aside = |vote: &&Vote<'_>| {
        poll.sets_doubts_aside() && !vote.intended && Word::of(vote.verdict) == Word::Inconclusive
    };
    let case_of = |vote: &Vote<'_>| case_runs[vote.place].report.case.clone();
    ClauseReport {
        id: clause.id.clone(),
        level: clause.level,
        text: clause.says.clone(),
        source: clause.source.clone(),
        actual: clause.known(),
        verdict: word,
        reason: verdict.and_then(Reason::of),
        follows_from: None,
        finding: verdict.map(|verdict| verdict.sentence().to_owned()).unwrap_or_default(),
        evidence: outcome.map(|vote| evidence(vote, &votes, case_runs)).unwrap_or_default(),
        facets,
        measurements: votes.iter().flat_map(|vote| measurements(clause, &case_runs[vote.place])).collect(),
        spread: spread(judgements(clause, case_runs).flat_map(|of| &of.measurements)),
        judged_in: votes
            .iter()
            .map(|vote| JudgedIn {
                case: case_of(vote),
                intended: vote.intended,
                verdict: Word::of(vote.verdict),
            })
            .collect(),
        also_undecided_in: votes
            .iter()
            .filter(aside)
            .map(|vote| UndecidedIn { case: case_of(vote), why: vote.verdict.sentence().to_owned() })
            .collect(),
    }
}

/// The result of a case run for a clause: its verdict, or the substitute for a missing history.
fn vote<'t>(clause: &Clause, place: usize, case_run: &'t CaseRun<'_>) -> Option<Vote<'t>> {
    if let Some(verdict) = &case_run.instead {
        let meant = case_run.report.judges.contains(&clause.id);
        return meant.then_some(Vote { place, intended: true, verdict });
    }
    let judgement = judgement(clause, case_run)?;
    Some(Vote { place, intended: judgement.intended, verdict: &judgement.verdict })
}

/// Drops the doubt of a case run about a clause if another run of the same case decided it.
fn leave_to_other_tries(votes: &mut [Vote<'_>], case_runs: &[CaseRun<'_>]) {
    let of_a_try =
        |vote: &Vote<'_>| case_runs[vote.place].is_a_try.then(|| &case_runs[vote.place].report.case);
    let decided = |vote: &&Vote<'_>| vote.intended && Word::of(vote.verdict).decided();
    let decided: BTreeSet<&CaseName> = votes.iter().filter(decided).filter_map(of_a_try).collect();
    for vote in votes.iter_mut().filter(|vote| Word::of(vote.verdict) == Word::Inconclusive) {
        vote.intended &= !of_a_try(vote).is_some_and(|case| decided.contains(case));
    }
}

fn judgement<'t>(clause: &Clause, case_run: &'t CaseRun<'_>) -> Option<&'t Judgement> {
    case_run.report.judgements.iter().find(|judgement| judgement.clause == clause.id)
}

fn judgements<'t>(clause: &Clause, case_runs: &'t [CaseRun<'_>]) -> impl Iterator<Item = &'t Judgement> {
    case_runs.iter().filter_map(|case_run| judgement(clause, case_run))
}

/// A clause that held wherever it was observed is undecided if it was not observed for all its facets.
fn half_seen(verdict: &Verdict, facets: &[FacetSeen]) -> Option<Verdict> {
    let Verdict::Holds { evidence } = verdict else { return None };
    let missing = facets::missing(facets)?;
    let why = format!(
        "it held wherever it was observed, but it was not observed for all facets; missing: {missing}"
    );
    let events = evidence.events().to_vec();
    Some(Verdict::Inconclusive { doubt: Doubt::HalfSeen, why, events })
}

/// Cases that were written for other clauses may show only a part of a clause. If no case ran that was written for the
/// clause, the clause is not inconclusive but skipped: the user did not select its cases, or the cluster cannot show
/// it.
fn not_asked(answer: &Verdict, votes: &[Vote<'_>]) -> Option<Verdict> {
    let Verdict::Inconclusive { why, .. } = answer else { return None };
    let mut intended = votes.iter().filter(|vote| vote.intended);
    let Some(first) = intended.clone().next() else {
        let why = format!("no case of this run targets it, and the other cases cannot decide it: {why}");
        return Some(Verdict::Skipped { reason: Skip::Filtered, why });
    };
    let none_ran = intended.all(|vote| matches!(vote.verdict, Verdict::Skipped { .. }));
    none_ran.then(|| first.verdict.clone())
}

/// Why a clause has no vote at all.
fn nobody_asked(registry: &Registry, clause: &Clause, ground: Option<&ClusterFacts>) -> Verdict {
    let skipped = |reason, why: String| Verdict::Skipped { reason, why };
    match ground {
        Some(ground) if !clause.holds_for(&ground.server) => {
            skipped(Skip::NotApplicable, format!("not promised for {}", ground.server))
        }
        _ if !registry.has_judge(&clause.id) => {
            skipped(Skip::Precondition, "this program has no judge for it".to_owned())
        }
        _ => {
            let why = "nothing ran: no case of this run targets it, and no other case showed it";
            skipped(Skip::Filtered, why.to_owned())
        }
    }
}

/// The histories with the same verdict as the deciding history, which comes first.
fn evidence(decided: Vote<'_>, votes: &[Vote<'_>], case_runs: &[CaseRun<'_>]) -> Vec<EvidenceRef> {
    let word = Word::of(decided.verdict);
    let others = votes.iter().filter(|vote| vote.place != decided.place && Word::of(vote.verdict) == word);
    let cited = |vote: &Vote<'_>| {
        let case_run = &case_runs[vote.place];
        let (history, file) = (case_run.history?, case_run.report.history.as_ref()?);
        let events = vote.verdict.events();
        let cite = |id: &EventId| Cited { id: *id, what: event_in_words(history, *id) };
        (!events.is_empty()).then(|| EvidenceRef {
            case: case_run.report.case.clone(),
            history: file.file.clone(),
            events: events.iter().take(CITED.1).map(cite).collect(),
            more: events.len().saturating_sub(CITED.1),
        })
    };
    std::iter::once(&decided).chain(others).filter_map(cited).take(CITED.0).collect()
}

/// The minimum number of measurements for a summary.
const FEW: usize = 10;

/// How the measured times compare with their upper bounds. A bound that is not positive is left out, because a time
/// cannot be expressed as a share of it.
fn spread<'m>(measurements: impl Iterator<Item = &'m Measurement>) -> Option<Spread> {
    let times = measurements.filter(|measured| measured.unit == Unit::Us);
    let mut parts: Vec<i64> = times
        .filter_map(|measured| {
            let limit = measured.bound.upper.as_ref()?.value;
            (limit > 0).then(|| measured.observed.hi.max(0).saturating_mul(100) / limit)
        })
        .collect();
    parts.sort_unstable();
    let at =
        |tenths: usize| parts.get((parts.len() * tenths / 10).min(parts.len().saturating_sub(1))).copied();
    let (median, nine_in_ten, most) = (at(5)?, at(9)?, parts.last().copied()?);
    (parts.len() >= FEW).then_some(Spread { count: parts.len(), median, nine_in_ten, most })
}

/// The tightest measurements of a case run: the measurements that are closest to their bounds, or furthest beyond them.
fn measurements(clause: &Clause, case_run: &CaseRun<'_>) -> Vec<MeasuredIn> {
    let mut all: Vec<&Measurement> =
        judgement(clause, case_run).iter().flat_map(|of| &of.measurements).collect();
    all.sort_by_key(|measured| measured.room());
    let case = &case_run.report.case;
    all.into_iter()
        .take(CITED.2)
        .map(|measured| MeasuredIn { case: case.clone(), measured: measured.clone() })
        .collect()
}
