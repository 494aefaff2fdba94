//! The part of the conclusions that determines the exit status of a run. `probity judge` keeps only this part, because
//! it prints each history separately and writes no report.

use std::collections::{BTreeMap, BTreeSet};

use probity_model::facets::{FacetSeen, Sight};
use probity_model::judge::Judgement;
use probity_model::verdict::{Evidence, Verdict};
use probity_model::{ClauseId, EventId};

use crate::judged::{JudgedHistory, Traces};
use crate::word::Word;

/// The judgements that may still change an exit status. What is kept of a run does not grow with its histories, except
/// for the judgements on the few clauses that each case targets.
#[derive(Debug, Default)]
pub struct Essentials {
    words: BTreeSet<(ClauseId, Word)>,
    facets: BTreeMap<ClauseId, BTreeMap<(String, String), Sight>>,
}

impl Essentials {
    /// Reduces the conclusions from a history to what the earlier ones of the run have not shown. The result gives the
    /// same exit status, but not the same report. Histories may come in any order.
    pub fn reduce(&mut self, judged: &mut JudgedHistory) {
        (judged.traces, judged.expected) = (Traces::default(), Vec::new());
        if !judged.is_genuine {
            judged.judgements = Vec::new();
        }
        judged.outcome.finding = String::new();
        judged.judgements.retain_mut(|judgement| {
            let is_new = self.words.insert((judgement.clause.clone(), Word::of(&judgement.verdict)));
            let shows_more = self.shows_more(judgement);
            if !shows_more {
                judgement.facets = Vec::new();
            }
            shows_more || is_new || judgement.intended
        });
        judged.judgements.iter_mut().for_each(strip);
        judged.judgements.shrink_to_fit();
    }

    /// Whether a judgement shows a facet that no earlier one has shown, or shows it to be worse.
    fn shows_more(&mut self, judgement: &Judgement) -> bool {
        if judgement.facets.is_empty() {
            return false;
        }
        let known = self.facets.entry(judgement.clause.clone()).or_default();
        let mut more = false;
        for FacetSeen { of, value, seen } in &judgement.facets {
            let worst = known.entry((of.clone(), value.clone())).or_insert(Sight::Unseen);
            more |= seen > worst;
            *worst = (*worst).max(*seen);
        }
        more
    }
}

fn strip(judgement: &mut Judgement) {
    judgement.measurements = Vec::new();
    judgement.verdict = bare(&judgement.verdict);
}

/// A verdict without its sentence, and with one event.
pub(super) fn bare(verdict: &Verdict) -> Verdict {
    let (nothing, first) = (String::new(), verdict.events().first().copied().unwrap_or(EventId(0)));
    let evidence = |of: &Evidence| Evidence::from_events([first]).unwrap_or_else(|| of.clone());
    match verdict {
        Verdict::Holds { evidence: of } => Verdict::Holds { evidence: evidence(of) },
        Verdict::Violated { evidence: of, .. } => {
            Verdict::Violated { finding: nothing, evidence: evidence(of) }
        }
        Verdict::Diverges { evidence: of, .. } => {
            Verdict::Diverges { finding: nothing, evidence: evidence(of) }
        }
        Verdict::Inconclusive { doubt, .. } => {
            Verdict::Inconclusive { doubt: *doubt, why: nothing, events: Vec::new() }
        }
        Verdict::Skipped { reason, .. } => Verdict::Skipped { reason: *reason, why: nothing },
        Verdict::Error { .. } => Verdict::Error { why: nothing },
    }
}
