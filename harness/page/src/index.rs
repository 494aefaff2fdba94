//! An index of the page: the cases by the names of their histories, the anchors of the cases, and the events that
//! clauses cite in them.

use std::collections::{BTreeMap, BTreeSet};

use probity_model::EventId;
use probity_report::{BookChapter, CaseReport, ClauseReport, Exit, Histories, Report, Word};

use crate::Page;
use crate::trials::{Trial, Trials};

/// How many events of a case are marked for one clause. If the clause holds, a few are enough.
const MARKED: (usize, usize) = (200, 16);

/// A case of the run.
pub(crate) struct CaseEntry<'p> {
    /// The report's entry for the case.
    pub(crate) report: &'p CaseReport,
    /// Whether it has a history to draw.
    pub(crate) is_drawn: bool,
    /// Its name for users.
    pub(crate) name: String,
    /// Its anchor in the page.
    pub(crate) anchor: String,
}

/// Events of a case on which the verdict of a clause is based.
pub(crate) struct Marks {
    /// The place of the case in [`Index::cases`].
    pub(crate) case: usize,
    /// The events.
    pub(crate) events: Vec<EventId>,
}

/// A report, with indexes of its parts by name.
pub(crate) struct Index<'p> {
    /// The report.
    pub(crate) report: &'p Report,
    /// The chapters.
    pub(crate) chapters: &'p [BookChapter],
    /// How the run ended.
    pub(crate) exit: Exit,
    /// The cases, in the run's order.
    pub(crate) cases: Vec<CaseEntry<'p>>,
    /// The trials, if the run is a run of `probity try`.
    pub(crate) trials: Option<&'p Trials>,
    by_file: BTreeMap<&'p str, usize>,
    by_name: BTreeMap<&'p str, usize>,
}

impl<'p> Index<'p> {
    /// The index of a page.
    pub(crate) fn of(page: &Page<'p>) -> Self {
        let report = page.report;
        let mut index = Self {
            report,
            chapters: page.chapters,
            exit: report.exit(page.standard),
            cases: report.cases.iter().map(|case| entry(case, page.histories)).collect(),
            trials: page.trials,
            by_file: BTreeMap::new(),
            by_name: BTreeMap::new(),
        };
        for (at, case) in report.cases.iter().enumerate() {
            if let Some(history) = &case.history {
                index.by_file.insert(&history.file, at);
            }
            index.by_name.entry(&case.case.0).or_insert(at);
        }
        index
    }

    /// The case with this history file.
    pub(crate) fn case_of_file(&self, file: &str) -> Option<usize> {
        self.by_file.get(file).copied()
    }

    /// The first case with this name.
    pub(crate) fn case_of_name(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The trial of a case, if it has one.
    pub(crate) fn trial_of(&self, at: usize) -> Option<&'p Trial> {
        let mut trials = self.trials?.list.iter();
        trials.find(|trial| self.case_of_name(&trial.case) == Some(at))
    }

    /// The events to mark for a clause, by case, the deciding case first. Without evidence, the cases that were written
    /// for the clause.
    pub(crate) fn marks(&self, clause: &ClauseReport) -> Vec<Marks> {
        let most = if clause.verdict == Word::Holds { MARKED.1 } else { MARKED.0 };
        let cited = clause.evidence.iter().filter_map(|found| {
            let case = self.case_of_file(&found.history)?;
            let named: BTreeSet<EventId> = found.events.iter().map(|event| event.id).collect();
            let all = self.judged(case, clause).unwrap_or_default().iter().copied();
            let more: Vec<EventId> = all.filter(|id| !named.contains(id)).collect();
            let room = most.saturating_sub(named.len());
            let events: BTreeSet<EventId> = named.into_iter().chain(more.into_iter().take(room)).collect();
            Some(Marks { case, events: events.into_iter().collect() })
        });
        let marks: Vec<Marks> = cited.collect();
        if !marks.is_empty() {
            return marks;
        }
        let meant = clause.judged_in.iter().filter(|judged| judged.intended);
        let meant = meant.filter_map(|judged| self.case_of_name(&judged.case.0)).take(8);
        meant.map(|case| Marks { case, events: Vec::new() }).collect()
    }

    /// The events to mark in a case for its own verdict: the evidence.
    pub(crate) fn marks_of_case(&self, at: usize) -> Vec<EventId> {
        let Some(entry) = self.cases.get(at) else { return Vec::new() };
        let case = entry.report;
        let deciding = case.judgements.iter().filter(|one| Word::of(&one.verdict) == case.verdict);
        let events = deciding.filter(|one| one.intended || case.verdict != Word::Holds);
        let events: BTreeSet<EventId> = events.flat_map(|one| one.verdict.events()).copied().collect();
        events.into_iter().take(MARKED.1).collect()
    }

    /// All events that are marked in each case, for any clause, for the case itself or for its trial.
    pub(crate) fn cited(&self) -> BTreeMap<usize, BTreeSet<EventId>> {
        let mut cited: BTreeMap<usize, BTreeSet<EventId>> = BTreeMap::new();
        for marks in self.report.clauses.iter().flat_map(|clause| self.marks(clause)) {
            cited.entry(marks.case).or_default().extend(marks.events);
        }
        for at in 0..self.cases.len() {
            let of_trial = self.trial_of(at).map(Trial::events).unwrap_or_default();
            cited.entry(at).or_default().extend(self.marks_of_case(at).into_iter().chain(of_trial));
        }
        cited
    }

    fn judged(&self, case: usize, clause: &ClauseReport) -> Option<&[EventId]> {
        let judgements = &self.cases.get(case)?.report.judgements;
        Some(judgements.iter().find(|judgement| judgement.clause == clause.id)?.verdict.events())
    }
}

fn entry<'p>(report: &'p CaseReport, histories: &dyn Histories) -> CaseEntry<'p> {
    let is_drawn = report.history.as_ref().is_some_and(|history| histories.has_history(&history.file));
    let (name, anchor) = match report.repetition {
        Some(nth) => (format!("{} ({nth})", report.case), format!("case/{}~{nth}", report.case)),
        None => (report.case.to_string(), format!("case/{}", report.case)),
    };
    CaseEntry { report, is_drawn, name, anchor }
}
