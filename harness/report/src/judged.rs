//! What remains of a history after it was judged.
//!
//! A report needs the judgements, and of the history only a few events in words. So a history is dropped as soon as it is
//! judged, and a run may have more histories than fit into memory.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use probity_model::expect::{self, Expected};
use probity_model::judge::Judgement;
use probity_model::verdict::{Doubt, Verdict};
use probity_model::{ClauseId, EventId, History, Registry};

use crate::causes;
use crate::document::Cited;
use crate::merge::Poll;
use crate::outline::NamedHistory;
use crate::word::{Reason, Word};
use crate::words::event_in_words;

/// How many histories a clause cites, and how many events of each history.
pub(super) const CITED: (usize, usize) = (8, 8);

/// A history and its digest.
#[derive(Clone, Debug)]
pub struct ReadHistory {
    /// The digest of its lines, before compression.
    pub sha256: String,
    /// The history.
    pub history: History,
}

/// The histories of a run. Several threads read them at the same time.
pub trait Histories: Sync {
    /// Reads a history by the name that the log gives it.
    ///
    /// # Errors
    ///
    /// A sentence that states why it cannot be read.
    fn read_history(&self, file: &str) -> Result<Cow<'_, ReadHistory>, String>;

    /// Whether there is a history with this name. It may still be unreadable.
    fn has_history(&self, file: &str) -> bool;
}

/// A history in memory, or why it could not be read.
#[derive(Debug)]
pub struct StoredHistory {
    /// The path relative to the folder, as the log names it.
    pub file: String,
    /// The contents, or a sentence that states why they cannot be read.
    pub contents: Result<ReadHistory, String>,
}

impl Histories for Vec<StoredHistory> {
    fn read_history(&self, file: &str) -> Result<Cow<'_, ReadHistory>, String> {
        match self.iter().find(|stored| stored.file == file).map(|stored| &stored.contents) {
            Some(Ok(read)) => Ok(Cow::Borrowed(read)),
            Some(Err(why)) => Err(why.clone()),
            None => Err("it is missing".to_owned()),
        }
    }

    fn has_history(&self, file: &str) -> bool {
        self.iter().any(|stored| stored.file == file)
    }
}

/// The conclusions from a history.
#[derive(Debug)]
pub struct JudgedHistory {
    /// The digest of its lines, before compression.
    pub sha256: String,
    /// Whether it is the history that the run wrote, according to its digest.
    pub is_genuine: bool,
    /// The number of its events.
    pub events: usize,
    /// The judgement on each clause that applies to it, in the order of the book.
    pub judgements: Vec<Judgement>,
    /// The case's own expectations.
    pub expected: Vec<Expected>,
    /// The verdict of the case.
    pub(super) outcome: CaseOutcome,
    /// For how long its nodes were overloaded, and how long it lasted.
    pub(super) overloaded: (i64, i64),
    pub(super) traces: Traces,
}

/// What a report says about single events of a history. The keys are the positions of the judgements.
#[derive(Debug, Default)]
pub(super) struct Traces {
    /// The cited events in words.
    pub(super) cited: BTreeMap<usize, Vec<Cited>>,
    /// The pods that show a violation.
    pub(super) pods: BTreeMap<usize, BTreeSet<String>>,
}

impl JudgedHistory {
    /// Judges a history. Only events that a report may cite are put into words; `citations` knows how many histories
    /// are already cited.
    #[must_use]
    pub fn of(
        registry: &Registry,
        named: &NamedHistory<'_>,
        read: &ReadHistory,
        citations: &Citations,
    ) -> Self {
        let (history, is_genuine) = (&read.history, read.sha256 == named.sha256);
        let judgements = registry.judge(history);
        let traces = match is_genuine {
            true => {
                Traces { cited: citations.words(history, &judgements), pods: violating(history, &judgements) }
            }
            false => Traces::default(),
        };
        let expected = expect::judge(history);
        Self {
            sha256: read.sha256.clone(),
            is_genuine,
            events: history.events().len(),
            outcome: CaseOutcome::of(&judgements, &expected),
            expected,
            overloaded: history.overloaded(),
            judgements,
            traces,
        }
    }
}

/// The verdict of a case.
#[derive(Debug)]
pub(super) struct CaseOutcome {
    pub(super) verdict: Word,
    pub(super) reason: Option<Reason>,
    /// What decided it, in a sentence.
    pub(super) finding: String,
}

impl CaseOutcome {
    pub(super) fn of(judgements: &[Judgement], expected: &[Expected]) -> Self {
        let poll = Poll::of_case(judgements, expected);
        let why = "nothing in this history could be judged".to_owned();
        let nothing = Verdict::Inconclusive { doubt: Doubt::Unseen, why, events: Vec::new() };
        let (verdict, of) = match poll.outcome() {
            None => (&nothing, None),
            Some(vote) => (vote.verdict, Some(vote.place)),
        };
        let subject = of.and_then(|place| match judgements.get(place) {
            Some(judgement) => Some(judgement.clause.to_string()),
            None => Some(expected.get(place - judgements.len())?.what.clone()),
        });
        let finding = match (subject, verdict.sentence()) {
            (_, "") => String::new(),
            (Some(subject), sentence) => format!("{subject}: {sentence}"),
            (None, sentence) => sentence.to_owned(),
        };
        Self { verdict: Word::of(verdict), reason: Reason::of(verdict), finding }
    }
}

fn violating(history: &History, judgements: &[Judgement]) -> BTreeMap<usize, BTreeSet<String>> {
    let violated = judgements.iter().enumerate().filter_map(|(at, judgement)| match &judgement.verdict {
        Verdict::Violated { evidence, .. } => Some((at, causes::pods(history, evidence.events()))),
        _ => None,
    });
    violated.collect()
}

/// The histories that the clauses of a report cite so far.
///
/// A clause cites the first histories with the verdict that it gets, so words for later histories with the same verdict
/// would be dropped. Doubts of cases that were written for a clause are an exception: another try of a case may set a
/// doubt aside, and then a later one decides.
#[derive(Debug, Default)]
pub struct Citations {
    by: Mutex<BTreeMap<(ClauseId, Word), usize>>,
    /// Whether there is no report that could cite anything.
    none: bool,
}

impl Citations {
    /// For callers that write no report.
    #[must_use]
    pub fn none() -> Self {
        Self { none: true, ..Self::default() }
    }

    /// The cited events of each judgement in words, unless enough histories are cited for its verdict.
    fn words(&self, history: &History, judgements: &[Judgement]) -> BTreeMap<usize, Vec<Cited>> {
        if self.none {
            return BTreeMap::new();
        }
        let wanted: Vec<usize> = {
            let by = self.by.lock().unwrap_or_else(PoisonError::into_inner);
            let wants = |judgement: &Judgement| {
                judgement.is_cited()
                    && (judgement.is_doubt_of_its_case()
                        || by.get(&judgement.key()).copied().unwrap_or_default() < CITED.0)
            };
            judgements.iter().enumerate().filter(|(_, one)| wants(one)).map(|(at, _)| at).collect()
        };
        let cite = |id: &EventId| Cited { id: *id, what: event_in_words(history, *id) };
        let words = |at: usize| judgements[at].verdict.events().iter().take(CITED.1).map(cite).collect();
        wanted.into_iter().map(|at| (at, words(at))).collect()
    }

    /// Drops the words that the report will not cite. Call this for each history, in the order of the report: the threads
    /// that judge do not know which of their histories comes first.
    pub fn keep(&self, judged: &mut JudgedHistory) {
        let mut by = self.by.lock().unwrap_or_else(PoisonError::into_inner);
        let judgements = &judged.judgements;
        judged.traces.cited.retain(|at, _| {
            let judgement = &judgements[*at];
            let cited = by.entry(judgement.key()).or_default();
            *cited += 1;
            *cited <= CITED.0 || judgement.is_doubt_of_its_case()
        });
    }
}

/// What citations need to know about a judgement.
trait Citing {
    fn key(&self) -> (ClauseId, Word);
    fn is_cited(&self) -> bool;
    fn is_doubt_of_its_case(&self) -> bool;
}

impl Citing for Judgement {
    fn key(&self) -> (ClauseId, Word) {
        (self.clause.clone(), Word::of(&self.verdict))
    }

    fn is_cited(&self) -> bool {
        !self.verdict.events().is_empty()
    }

    fn is_doubt_of_its_case(&self) -> bool {
        self.intended && matches!(self.verdict, Verdict::Inconclusive { .. })
    }
}
