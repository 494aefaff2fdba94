//! Collects the facts about a clause from the whole book: its chapter, its judge, its cases, the planted defects that
//! it detects, and the upstream specs that check it.
//!
//! `list --coverage`, `explain` and the pages of the clause book agree because they all get the facts from here.

use std::collections::BTreeMap;

use probity_case::Case;
use probity_model::{Clause, ClauseId};
use probity_suites::{CHAPTERS, Chapter, Check, Sources, Upstream};

use crate::cases::book::Book;
use crate::exit_status::Failure;

/// The facts that the clauses themselves do not contain.
pub(crate) struct ClauseIndex {
    defects: BTreeMap<&'static str, Vec<&'static str>>,
    real_defects: BTreeMap<&'static str, Vec<&'static str>>,
    chapters: BTreeMap<ClauseId, &'static Chapter>,
    /// What the upstream specs check.
    pub(crate) upstream: Upstream,
    /// The addresses of the documents that clauses come from.
    pub(crate) sources: Sources,
}

/// The facts about one clause.
pub(crate) struct ClauseFacts<'b> {
    /// The clause itself.
    pub(crate) clause: &'b Clause,
    /// Its chapter, if it belongs to one.
    pub(crate) chapter: Option<&'static Chapter>,
    judged: bool,
    /// The cases that must give evidence for it.
    pub(crate) cases: Vec<&'b Case>,
    /// The planted defects that it detects.
    pub(crate) defects: &'b [&'static str],
    /// The defects of a real kubelet that it detects.
    pub(crate) real_defects: &'b [&'static str],
    /// The upstream specs that check it: the first and the last number, and what they do.
    pub(crate) upstream: Vec<(usize, usize, &'b Check)>,
}

impl ClauseIndex {
    /// Opens the embedded files.
    /// Fails if the built-in book contradicts itself, which its own tests rule out.
    pub(crate) fn open() -> Result<Self, Failure> {
        let mut chapters = BTreeMap::new();
        for chapter in CHAPTERS {
            chapters.extend(chapter.catalogue()?.iter().map(|clause| (clause.id.clone(), chapter)));
        }
        Ok(Self {
            defects: probity_suites::defects(),
            real_defects: probity_suites::real_defects(),
            chapters,
            upstream: probity_suites::upstream()?,
            sources: probity_suites::sources()?,
        })
    }

    /// The chapter of a clause.
    pub(crate) fn chapter(&self, id: &ClauseId) -> Option<&'static Chapter> {
        self.chapters.get(id).copied()
    }

    /// The facts about a clause.
    pub(crate) fn facts<'b>(&'b self, book: &'b Book, clause: &'b Clause) -> ClauseFacts<'b> {
        ClauseFacts {
            clause,
            chapter: self.chapter(&clause.id),
            judged: book.registry.has_judge(&clause.id),
            cases: book.cases().filter(|case| case.judges.contains(&clause.id)).collect(),
            defects: self.defects.get(clause.id.as_str()).map_or(&[], Vec::as_slice),
            real_defects: self.real_defects.get(clause.id.as_str()).map_or(&[], Vec::as_slice),
            upstream: self
                .upstream
                .numbered()
                .filter(|(_, _, check)| check.clauses.contains(&clause.id))
                .collect(),
        }
    }
}

impl ClauseFacts<'_> {
    /// Whether it has a judge, in a word or two.
    pub(crate) fn judge(&self) -> &'static str {
        match (self.judged, self.clause.untestable.is_some()) {
            (true, _) => "judged",
            (false, true) => "untestable",
            (false, false) => "no judge",
        }
    }

    /// What it lacks without a recorded reason.
    pub(crate) fn lacks(&self) -> Vec<&'static str> {
        if self.clause.untestable.is_some() {
            return Vec::new();
        }
        [
            ("judge", self.judged),
            ("case", !self.cases.is_empty() || self.clause.without_case.is_some()),
            ("defect", !self.defects.is_empty() || self.clause.without_defect.is_some()),
        ]
        .into_iter()
        .filter_map(|(what, there)| (!there).then_some(what))
        .collect()
    }
}

#[cfg(test)]
mod tests;
