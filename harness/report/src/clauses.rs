//! The combined result of a run's cases for one clause.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use probity_case::CaseName;
use probity_model::facets::{self, FacetSeen, Needed};
use probity_model::measure::Unit;
use probity_model::verdict::{Doubt, Skip, Verdict};
use probity_model::{Clause, ClauseId, Judgement, Measurement, Registry};

use crate::build::CaseRun;
use crate::document::{ClauseReport, EvidenceRef, JudgedIn, MeasuredIn, Spread, UndecidedIn};
use crate::judged::CITED;
use crate::merge::{Poll, Vote};
use crate::run_log::ClusterFacts;
use crate::word::{Reason, Word};

/// How many measurements of each history a clause has.
const MEASURED: usize = 2;

/// The case runs, and what each of them says about each clause.
pub(super) struct ByClause<'r> {
    case_runs: Vec<&'r CaseRun>,
    results: BTreeMap<&'r ClauseId, Vec<CaseResult<'r>>>,
}

/// What a case run says about a clause.
#[derive(Clone, Copy)]
struct CaseResult<'r> {
    /// The place of the case run.
    place: usize,
    /// The position of the judgement, and the judgement. Absent if the case run has no history, but should have judged the
    /// clause.
    judged: Option<(usize, &'r Judgement)>,
}

impl<'r> ByClause<'r> {
    /// The results of these case runs.
    pub(super) fn of(case_runs: impl IntoIterator<Item = &'r CaseRun>) -> Self {
        let case_runs: Vec<&CaseRun> = case_runs.into_iter().collect();
        let mut results: BTreeMap<&ClauseId, Vec<CaseResult<'_>>> = BTreeMap::new();
        for (place, case_run) in case_runs.iter().enumerate() {
            let report = &case_run.report;
            if case_run.instead.is_some() {
                let judges: BTreeSet<&ClauseId> = report.judges.iter().collect();
                for id in judges {
                    results.entry(id).or_default().push(CaseResult { place, judged: None });
                }
                continue;
            }
            for judged in report.judgements.iter().enumerate() {
                let result = CaseResult { place, judged: Some(judged) };
                results.entry(&judged.1.clause).or_default().push(result);
            }
        }
        Self { case_runs, results }
    }

    fn results(&self, clause: &Clause) -> &[CaseResult<'r>] {
        self.results.get(&clause.id).map_or(&[], Vec::as_slice)
    }

    fn judgements(&self, clause: &Clause) -> impl Iterator<Item = &'r Judgement> {
        self.results(clause).iter().filter_map(|result| Some(result.judged?.1))
    }

    /// The results for a clause: verdicts, or the substitutes for missing histories.
    fn votes(&self, clause: &Clause) -> Vec<Vote<'r>> {
        let vote = |result: &CaseResult<'r>| {
            let place = result.place;
            match result.judged {
                Some((_, of)) => Some(Vote { place, intended: of.intended, verdict: &of.verdict }),
                None => {
                    Some(Vote { place, intended: true, verdict: self.case_runs[place].instead.as_ref()? })
                }
            }
        };
        self.results(clause).iter().filter_map(vote).collect()
    }
}

/// The combined verdict of some case runs on a clause, in a word. `None` if none of them has a verdict.
pub(super) fn word_of(
    clause: &Clause,
    by_clause: &ByClause<'_>,
    ground: Option<&ClusterFacts>,
) -> Option<Word> {
    let outcome = by_clause.votes(clause).into_iter().collect::<Poll<'_>>().outcome()?;
    let needed = needed(clause, ground);
    let facets = facets::joined(&needed, by_clause.judgements(clause).flat_map(|of| &of.facets));
    let half_seen = half_seen(outcome.verdict, &facets);
    Some(Word::of(half_seen.as_ref().unwrap_or(outcome.verdict)))
}

/// The combined result of all case runs for a clause.
pub(super) fn of_clause(
    registry: &Registry,
    clause: &Clause,
    by_clause: &ByClause<'_>,
    ground: Option<&ClusterFacts>,
) -> ClauseReport {
    let case_runs = by_clause.case_runs.as_slice();
    let mut votes = by_clause.votes(clause);
    leave_to_other_tries(&mut votes, case_runs);
    let poll: Poll<'_> = votes.iter().copied().collect();
    let outcome = poll.outcome();
    let unasked = outcome.is_none().then(|| nobody_asked(registry, clause, ground));
    let needed = needed(clause, ground);
    let facets = facets::joined(&needed, by_clause.judgements(clause).flat_map(|of| &of.facets));
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
        evidence: outcome.map(|vote| evidence(clause, vote, &votes, by_clause)).unwrap_or_default(),
        facets,
        measurements: by_clause.results(clause).iter().flat_map(|one| measurements(one, case_runs)).collect(),
        spread: spread(by_clause.judgements(clause).flat_map(|of| &of.measurements)),
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

/// The facets that must be observed on this cluster, if it is known, before the clause holds.
pub(crate) fn needed<'c>(clause: &'c Clause, ground: Option<&ClusterFacts>) -> Cow<'c, Needed> {
    match ground {
        Some(ground) => clause.facets_on(&ground.server, &ground.nodes),
        None => Cow::Borrowed(&clause.facets),
    }
}

/// Drops the doubt of a case run about a clause if another run of the same case decided it.
fn leave_to_other_tries(votes: &mut [Vote<'_>], case_runs: &[&CaseRun]) {
    let of_a_try =
        |vote: &Vote<'_>| case_runs[vote.place].is_a_try.then(|| &case_runs[vote.place].report.case);
    let decided = |vote: &&Vote<'_>| vote.intended && Word::of(vote.verdict).decided();
    let decided: BTreeSet<&CaseName> = votes.iter().filter(decided).filter_map(of_a_try).collect();
    for vote in votes.iter_mut().filter(|vote| Word::of(vote.verdict) == Word::Inconclusive) {
        vote.intended &= !of_a_try(vote).is_some_and(|case| decided.contains(case));
    }
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
    let not_promised = ground.and_then(|ground| clause.not_promised(&ground.server, &ground.nodes));
    match not_promised {
        Some(why) => skipped(Skip::NotApplicable, why),
        None if !registry.has_judge(&clause.id) => {
            skipped(Skip::Precondition, "this program has no judge for it".to_owned())
        }
        None => {
            let why = "nothing ran: no case of this run targets it, and no other case showed it";
            skipped(Skip::Filtered, why.to_owned())
        }
    }
}

/// The histories with the same verdict as the deciding history, which comes first.
fn evidence(
    clause: &Clause,
    decided: Vote<'_>,
    votes: &[Vote<'_>],
    by_clause: &ByClause<'_>,
) -> Vec<EvidenceRef> {
    let word = Word::of(decided.verdict);
    let others = votes.iter().filter(|vote| vote.place != decided.place && Word::of(vote.verdict) == word);
    let results = by_clause.results(clause);
    let cited = |vote: &Vote<'_>| {
        let case_run = by_clause.case_runs[vote.place];
        let file = case_run.report.history.as_ref()?;
        let at = results.binary_search_by_key(&vote.place, |result| result.place).ok()?;
        Some(EvidenceRef {
            case: case_run.report.case.clone(),
            history: file.file.clone(),
            events: case_run.traces.cited.get(&results[at].judged?.0)?.clone(),
            more: vote.verdict.events().len().saturating_sub(CITED.1),
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
fn measurements(result: &CaseResult<'_>, case_runs: &[&CaseRun]) -> Vec<MeasuredIn> {
    let mut all: Vec<&Measurement> = result.judged.iter().flat_map(|(_, of)| &of.measurements).collect();
    all.sort_by_key(|measured| measured.room());
    let case = &case_runs[result.place].report.case;
    all.into_iter()
        .take(MEASURED)
        .map(|measured| MeasuredIn { case: case.clone(), measured: measured.clone() })
        .collect()
}
