//! Judges: one pure function a clause, and what is done with all of them.
//!
//! Every judge runs over every history. Which clauses a case was written for matters in one respect only: if such a
//! clause was not exercised, that is said as inconclusive; if another was not, it is left out.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

use crate::clause::{Catalogue, Clause, ClauseId};
use crate::history::{Did, Event, EventId, Gap, Happening, History, Source};
use crate::measure::Measurement;
use crate::timeline::Timeline;
use crate::verdict::{Doubt, Seen, Skip, Verdict};

/// How one clause is judged.
#[derive(Clone, Copy)]
pub struct Judge {
    /// The clause.
    pub clause: &'static str,
    /// The function: it walks over the timeline and tells what it saw. It gets the clause for its slack.
    pub judge: fn(&Timeline<'_>, &Clause, &mut Seen),
}

/// The catalogue and the judges of its clauses.
#[derive(Default)]
pub struct Registry {
    /// The clauses, in the order of the book.
    pub catalogue: Catalogue,
    judges: BTreeMap<&'static str, Judge>,
}

/// What was concluded about one clause in one history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Judgement {
    /// The clause.
    pub clause: ClauseId,
    /// Whether the case was written for it.
    pub intended: bool,
    /// The conclusion.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What was measured on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measurements: Vec<Measurement>,
}

impl Registry {
    /// Joins clauses and judges.
    ///
    /// # Errors
    ///
    /// If a clause has two judges, a judge no clause, or a testable clause no judge.
    pub fn new(catalogue: Catalogue, judges: impl IntoIterator<Item = Judge>) -> Result<Self, String> {
        let registry = Self::unfinished(catalogue, judges)?;
        let orphan = |clause: &&Clause| {
            clause.untestable.is_none() && !registry.judges.contains_key(clause.id.as_str())
        };
        if let Some(clause) = registry.catalogue.iter().find(orphan) {
            return Err(format!("`{}` has no judge", clause.id));
        }
        Ok(registry)
    }

    /// Joins clauses and judges of a book that is still being written: a clause may lack its judge.
    ///
    /// # Errors
    ///
    /// If a clause has two judges, or a judge no clause.
    pub fn unfinished(catalogue: Catalogue, judges: impl IntoIterator<Item = Judge>) -> Result<Self, String> {
        let mut registry = Self { catalogue, judges: BTreeMap::new() };
        for judge in judges {
            let id: ClauseId = judge.clause.parse()?;
            if registry.catalogue.get(&id).is_none() {
                return Err(format!("a judge speaks of `{id}`, which no chapter has"));
            }
            if registry.judges.insert(judge.clause, judge).is_some() {
                return Err(format!("`{id}` has two judges"));
            }
        }
        Ok(registry)
    }

    /// Judges a history by every clause that speaks of it, in the order of the book.
    #[must_use]
    pub fn judge(&self, history: &History) -> Vec<Judgement> {
        let timeline = Timeline::of(history);
        self.catalogue.iter().filter_map(|clause| self.judge_clause(clause, &timeline)).collect()
    }

    fn judge_clause(&self, clause: &Clause, timeline: &Timeline<'_>) -> Option<Judgement> {
        let judge = self.judges.get(clause.id.as_str())?;
        let header = &timeline.history.header;
        let intended = header.judges.contains(&clause.id);
        let judgement = |verdict, measurements| {
            Some(Judgement { clause: clause.id.clone(), intended, verdict, measurements })
        };
        if !clause.holds_for(&header.server) {
            let why = format!("not promised for {}", header.server);
            let skipped = Verdict::Skipped { reason: Skip::NotApplicable, why };
            return intended.then(|| judgement(skipped, Vec::new())).flatten();
        }
        let attempt = catch_unwind(AssertUnwindSafe(|| {
            let mut seen = Seen::new();
            (judge.judge)(timeline, clause, &mut seen);
            seen.verdict()
        }));
        let Ok(concluded) = attempt else {
            let why =
                "the judge itself failed on this history: please report it, with the history".to_owned();
            let verdict = Verdict::Inconclusive { doubt: Doubt::JudgeFailed, why, events: Vec::new() };
            return judgement(verdict, Vec::new());
        };
        match concluded {
            None if intended => judgement(unseen(timeline), Vec::new()),
            None => None,
            Some((Verdict::Inconclusive { doubt: Doubt::Unseen | Doubt::TooShort, .. }, _)) if !intended => {
                None
            }
            Some((Verdict::Inconclusive { doubt: Doubt::Unseen, .. }, found)) => {
                judgement(unseen(timeline), found)
            }
            Some((verdict, found)) => {
                let verdict = without_excuse(verdict, clause, timeline);
                judgement(doubt_by_gaps(verdict, timeline), found)
            }
        }
    }

    /// Whether a clause has a judge.
    #[must_use]
    pub fn has_judge(&self, id: &ClauseId) -> bool {
        self.judges.contains_key(id.as_str())
    }
}

/// Why a clause that the case was written for was not exercised: a failed step explains it better than silence.
fn unseen(timeline: &Timeline<'_>) -> Verdict {
    let failed = timeline.history.events().find_map(|(id, event)| match &event.what {
        Happening::Deed(deed) => match &deed.did {
            Did::Failed { what, why } => Some((id, format!("a step could not be done: {what}: {why}"))),
            Did::Over { why } if why != "done" => Some((id, format!("the case was cut short: {why}"))),
            _ => None,
        },
        _ => None,
    });
    match failed {
        Some((id, why)) => Verdict::Inconclusive { doubt: Doubt::StepFailed, why, events: vec![id] },
        None => {
            let why =
                "what the clause speaks of did not occur, though the case was written for it".to_owned();
            Verdict::Inconclusive { doubt: Doubt::Unseen, why, events: Vec::new() }
        }
    }
}

/// What newer kubelets are known to do is a violation of an older one.
fn without_excuse(verdict: Verdict, clause: &Clause, timeline: &Timeline<'_>) -> Verdict {
    let header = &timeline.history.header;
    let mut kubelets = header.nodes.values().map(|node| node.kubelet.as_str()).peekable();
    let excused = match kubelets.peek() {
        Some(_) => kubelets.any(|kubelet| clause.excuses(kubelet)),
        None => clause.excuses(&header.server),
    };
    match verdict {
        Verdict::Diverges { finding, evidence } if !excused => {
            let since = clause.actual_since.as_deref().unwrap_or_default();
            Verdict::Violated {
                finding: format!("{finding}; that is known of kubelets from {since} on only"),
                evidence,
            }
        }
        verdict => verdict,
    }
}

/// A conclusion that spans a gap in what was heard is no conclusion: what would refute it may have happened in the gap.
/// One event proves itself; only the time between several can hide something. And where the cluster could not be heard
/// any more when the case ended, silence accuses nobody.
fn doubt_by_gaps(verdict: Verdict, timeline: &Timeline<'_>) -> Verdict {
    let (Verdict::Holds { evidence }
    | Verdict::Violated { evidence, .. }
    | Verdict::Diverges { evidence, .. }) = &verdict
    else {
        return verdict;
    };
    let cited = || evidence.events().iter().filter_map(|id| timeline.history.get(*id));
    let (Some(from), Some(to)) = (cited().map(|event| event.us).min(), cited().map(|event| event.us).max())
    else {
        return verdict;
    };
    let accuses = matches!(verdict, Verdict::Violated { .. });
    let hides = |gap: &Gap| {
        let between = gap.from_us < to && from < gap.to_us && concerns(gap, cited());
        let deaf = gap.of == Source::Recorder && gap.to_us >= timeline.ended_us;
        between || (accuses && deaf)
    };
    let Some((id, gap)) = timeline.gaps.iter().find(|(_, gap)| hides(gap)) else { return verdict };
    let why = format!("{} meanwhile ({})", what_was_missed(gap), gap.why);
    let mut events: Vec<EventId> = evidence.events().to_vec();
    events.push(*id);
    Verdict::Inconclusive { doubt: Doubt::Gap, why, events }
}

/// Pods, events and witnesses are behind every conclusion. Other kinds matter to those that cite them: without the right to
/// see endpoints, what is said of pods is as good as ever.
fn concerns<'h>(gap: &Gap, mut cited: impl Iterator<Item = &'h Event>) -> bool {
    match &gap.of {
        Source::Watch(kind) if kind != "Pod" && kind != "Event" => {
            cited.any(|event| matches!(&event.what, Happening::Sighting(seen) if seen.kind == *kind))
        }
        _ => true,
    }
}

fn what_was_missed(gap: &Gap) -> String {
    match &gap.of {
        Source::Watch(kind) => format!("revisions of {kind} objects may have been missed"),
        Source::Recorder => "the recorder was not heard".to_owned(),
        Source::Witness { pod, container } => format!("lines of {pod}/{container} are missing"),
    }
}
