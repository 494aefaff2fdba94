#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

/// What `of` finds in each clause of the book, with the clause's id in front.
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

// The tests of the simulator check that each clause detects a defect, and record which clause detects which defect.
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
        ClauseFacts {
            clause,
            chapter,
            judged,
            cases: Vec::new(),
            defects: &[],
            real_defects: &[],
            upstream: Vec::new(),
        }
        .lacks()
    };
    assert_eq!(lacks(&clause), ["judge", "case", "defect"]);
    clause.without_case = Some("nothing can arrange it".to_owned());
    clause.without_defect = Some("the model knows nothing of it".to_owned());
    assert_eq!(lacks(&clause), ["judge"]);
}
