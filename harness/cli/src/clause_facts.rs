//! The facts about a clause, collected from all over the book: its chapter, its judge, its cases, the planted defects that
//! it notices, and what upstream's own specs check of it.
//!
//! `list --coverage`, `explain` and the pages of the clause book agree on a clause because they all ask here.

use std::collections::BTreeMap;

use probity_case::Case;
use probity_model::{Clause, ClauseId};
use probity_suites::{CHAPTERS, Chapter, Check, Upstream};

use crate::cases::book::Book;
use crate::exit_status::Failure;

/// The facts that the clauses themselves do not hold.
pub(crate) struct ClauseIndex {
    defects: BTreeMap<&'static str, Vec<&'static str>>,
    chapters: BTreeMap<ClauseId, &'static Chapter>,
    /// What upstream's own specs check.
    pub(crate) upstream: Upstream,
}

/// The facts about one clause.
pub(crate) struct ClauseFacts<'b> {
    /// The clause itself.
    pub(crate) clause: &'b Clause,
    /// Its chapter, if it is in one.
    pub(crate) chapter: Option<&'static Chapter>,
    judged: bool,
    /// The cases that must give evidence for it.
    pub(crate) cases: Vec<&'b Case>,
    /// The planted defects that it notices.
    pub(crate) defects: &'b [&'static str],
    /// What upstream checks of it: the first and the last number of the specs, and what they do.
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
        Ok(Self { defects: probity_suites::defects(), chapters, upstream: probity_suites::upstream()? })
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

    /// What it should have and lacks without a written reason.
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
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// What each clause of the book has that `of` looks for, with its id in front.
    fn each(of: impl Fn(&ClauseFacts<'_>) -> Vec<&'static str>) -> Vec<String> {
        let (book, archive) = (Book::built_in().unwrap(), ClauseIndex::open().unwrap());
        let clauses = book.registry.catalogue.iter();
        let said = |clause| (clause, of(&archive.facts(&book, clause)));
        clauses
            .map(said)
            .filter(|(_, said)| !said.is_empty())
            .map(|(clause, said)| format!("{}: {}", clause.id, said.join(", ")))
            .collect()
    }

    // That each clause notices a defect is held by the simulator, whose tests write down which one does.
    #[test]
    fn each_clause_has_a_judge_and_a_case_or_says_why_not() {
        let lacking = each(|facts| {
            let lacks = facts.lacks().into_iter();
            lacks.collect()
        });
        assert!(lacking.is_empty(), "write them, or say in clauses.yaml why not: {lacking:#?}");
    }

    #[test]
    fn no_clause_excuses_the_lack_of_what_it_has() {
        let excused = each(|facts| {
            let clause = facts.clause;
            [
                ("without-case", clause.without_case.is_some() && !facts.cases.is_empty()),
                ("without-defect", clause.without_defect.is_some() && !facts.defects.is_empty()),
                ("untestable", clause.untestable.is_some() && facts.judged),
            ]
            .into_iter()
            .filter_map(|(field, wrong)| wrong.then_some(field))
            .collect()
        });
        assert!(excused.is_empty(), "these reasons in clauses.yaml no longer hold: {excused:#?}");
    }

    #[test]
    fn every_clause_is_in_one_chapter() {
        let (book, archive) = (Book::built_in().unwrap(), ClauseIndex::open().unwrap());
        assert_eq!(book.registry.catalogue.iter().count(), archive.chapters.len());
        assert_eq!(archive.chapter(&"probe.tcp.no-payload".parse().unwrap()).unwrap().name, "probe_tcp");
    }

    #[test]
    fn a_clause_without_anything_lacks_all_of_it_and_a_reason_excuses_it() {
        let text = "- { id: a.b, level: must, says: x, tested: y, source: { document: d, edition: '1' } }";
        let mut catalogue = probity_model::Catalogue::default();
        catalogue.add_chapter("clauses", text).unwrap();
        let mut clause = catalogue.iter().next().unwrap().clone();
        let lacks = |clause: &Clause| {
            let (chapter, judged) = (None, false);
            ClauseFacts { clause, chapter, judged, cases: Vec::new(), defects: &[], upstream: Vec::new() }
                .lacks()
        };
        assert_eq!(lacks(&clause), ["judge", "case", "defect"]);
        clause.without_case = Some("nothing can arrange it".to_owned());
        clause.without_defect = Some("the model knows nothing of it".to_owned());
        assert_eq!(lacks(&clause), ["judge"]);
    }
}
