//! Comparisons of reports: two as a difference, many as a matrix.

use std::collections::BTreeMap;

use probity_model::facets::{Facet, FacetSeen, Sight};
use probity_model::history::NodeFacts;

use super::*;

/// A report of one kubelet, with these verdicts on the clauses of the small run.
fn report_of(kubelet: &str, verdicts: &[(&str, Word)]) -> Report {
    let mut report = Run::new().ended("demo/calm", &[RESTARTS, ON_TIME_ID], ON_TIME, 0).report();
    report.run_id = format!("run of {kubelet}");
    let node = NodeFacts { kubelet: kubelet.to_owned(), ..NodeFacts::default() };
    report.environment.as_mut().unwrap().nodes = BTreeMap::from([("node1".to_owned(), node)]);
    for clause in &mut report.clauses {
        if let Some((_, word)) = verdicts.iter().find(|(id, _)| clause.id.as_str() == *id) {
            clause.verdict = *word;
        }
    }
    report
}

fn matrix(reports: &[&Report]) -> Matrix {
    let named: Vec<(String, &Report)> = names_of(reports).into_iter().zip(reports.iter().copied()).collect();
    let clauses = vec![RESTARTS.parse().unwrap()];
    Matrix::of(&named, &[BookChapter { title: "Restarts".to_owned(), clauses }])
}

fn turns(words: &[Word]) -> Vec<Option<Turn>> {
    let reports: Vec<Report> = words
        .iter()
        .enumerate()
        .map(|(at, word)| report_of(&format!("v1.{at}"), &[(RESTARTS, *word)]))
        .collect();
    let matrix = matrix(&reports.iter().collect::<Vec<_>>());
    matrix.clauses[0].cells.iter().map(|cell| cell.turn).collect()
}

#[test]
fn a_difference_names_what_changed() {
    let calm = Run::new().ended("demo/calm", &[RESTARTS, ON_TIME_ID], ON_TIME, 0).report();
    let mut late = small_run().report();
    late.clauses.remove(2);
    let diff = Diff::between(&calm, &late);
    assert!(diff.is_worse());
    assert!(!Diff::between(&late, &calm).is_worse());
    insta::assert_snapshot!(diff.in_words());
    let same = Diff::between(&calm, &calm);
    assert_eq!((same.unchanged, same.in_words().lines().count()), (3, 1));
}

#[test]
fn a_new_clause_that_is_violated_is_worse_and_one_that_is_gone_is_not() {
    let newer = report_of("v1.36.3", &[(RESTARTS, Word::Violated)]);
    let mut older = newer.clone();
    older.clauses.remove(0);
    assert!(Diff::between(&older, &newer).is_worse());
    assert!(!Diff::between(&newer, &older).is_worse());
    assert!(Diff::between(&older, &newer).in_words().starts_with("violated   demo.never-restarts: added"));
}

#[test]
fn a_number_that_moved_is_told_with_what_it_was_and_may_be() {
    let of = |last: f64| Run::new().ended("demo/calm", &[ON_TIME_ID], &[2.0, 3.0, last], 0).report();
    let diff = Diff::between(&of(4.0), &of(4.4));
    assert_eq!((diff.changed.len(), diff.measured.len(), diff.steady), (0, 1, 0));
    let moved = &diff.measured[0];
    assert!(moved.is_closer() && moved.percent == 26, "{moved:?}");
    let text = diff.in_words();
    assert!(
        text.contains("1.000 s -> 1.400 s, at most 1.500 s (periodSeconds + 0.5 s), in demo/calm"),
        "{text}"
    );
    assert_eq!(Diff::between(&of(4.0), &of(4.01)).steady, 1);
}

#[test]
fn a_facet_that_is_not_seen_any_more_is_told() {
    let of = |value: &str, seen| FacetSeen::new(Facet::new("status", value), seen);
    let (mut older, mut newer) = (report_of("v1.35", &[]), report_of("v1.36", &[]));
    older.clauses[0].facets = vec![of("200", Sight::Kept), of("204", Sight::Kept), of("299", Sight::Kept)];
    newer.clauses[0].facets = vec![of("200", Sight::Kept), of("204", Sight::Unseen), of("399", Sight::Kept)];
    let diff = Diff::between(&older, &newer);
    let told = "facets     demo.never-restarts: status 204: seen -> not seen; status 399: not asked -> seen; \
                status 299: seen -> not asked\n";
    assert!(diff.in_words().contains(told), "{}", diff.in_words());
}

#[test]
fn a_clause_turns_where_it_turns_and_doubts_in_between_do_not_count() {
    use Word::{Diverges, Holds, Inconclusive, Skipped, Violated};
    let (none, worse, better) = (None, Some(Turn::NewViolation), Some(Turn::ViolationEnded));
    assert_eq!(turns(&[Holds, Violated, Violated, Holds]), [none, worse, none, better]);
    assert_eq!(turns(&[Holds, Skipped, Holds]), [none, Some(Turn::NoLongerDecided), none]);
    assert_eq!(turns(&[Holds, Inconclusive, Violated]), [none, Some(Turn::NoLongerDecided), worse]);
    assert_eq!(turns(&[Violated, Skipped, Violated]), [none, Some(Turn::NoLongerDecided), none]);
    assert_eq!(turns(&[Holds, Diverges]), [none, Some(Turn::NewDivergence)]);
    assert_eq!(turns(&[Skipped, Violated]), [none, worse]);
}

#[test]
fn a_clause_that_a_book_does_not_have_is_missing_there_and_no_regression() {
    let newer = report_of("v1.36.3", &[(RESTARTS, Word::Violated)]);
    let mut older = report_of("v1.35.1", &[]);
    older.clauses.remove(0);
    older.suite.digest = "sha256:0123456789abcdef".to_owned();
    let matrix = matrix(&[&older, &newer]);
    let row = &matrix.clauses[0];
    assert_eq!((row.cells[0].verdict, row.cells[1].turn, row.differs), (None, None, false));
    assert_eq!((matrix.counts.missing, matrix.counts.regressions), (1, 0));
    assert!(
        matrix.notes[0].contains("different books (demo 0.1.0; demo 0.1.0 0123456789ab)"),
        "{:?}",
        matrix.notes
    );
    assert!(matrix.only_differing().clauses.iter().all(|row| row.id.as_str() == RESTARTS));
}

#[test]
fn clauses_keep_their_place_beside_their_neighbors() {
    let newer = report_of("v1.36.3", &[]);
    let mut older = report_of("v1.35.1", &[]);
    older.clauses[1].id = "demo.retired".parse().unwrap();
    let named = [("older".to_owned(), &older), ("newer".to_owned(), &newer)];
    let ids: Vec<String> = Matrix::of(&named, &[]).clauses.iter().map(|row| row.id.to_string()).collect();
    assert_eq!(ids, ["demo.never-restarts", "demo.retired", "demo.probes-on-time", "demo.nobody-asks"]);
}

#[test]
fn three_versions_side_by_side_in_words() {
    let (older, newer) = (report_of("v1.34.2", &[]), report_of("v1.36.3", &[]));
    let broken = report_of("v1.35.1", &[(RESTARTS, Word::Violated), (ON_TIME_ID, Word::Inconclusive)]);
    insta::assert_snapshot!(matrix(&[&older, &broken, &newer]).in_words());
}

#[test]
fn reports_are_called_by_as_little_as_tells_them_apart() {
    let of = |kubelet: &str, cluster: &str, began: &str| {
        let mut report = report_of(kubelet, &[]);
        report.environment.as_mut().unwrap().context = cluster.to_owned();
        report.began = format!("2026-01-0{began}T00:00:00Z");
        report
    };
    let names = |reports: &[Report]| names_of(&reports.iter().collect::<Vec<_>>());
    assert_eq!(names(&[of("v1.35", "a", "1"), of("v1.36", "a", "1")]), ["v1.35", "v1.36"]);
    assert_eq!(names(&[of("v1.36", "a", "1"), of("v1.36", "b", "1")]), ["v1.36, a", "v1.36, b"]);
    let days = names(&[of("v1.36", "a", "1"), of("v1.36", "a", "2")]);
    assert_eq!(days, ["v1.36, 2026-01-01 00:00:00 UTC", "v1.36, 2026-01-02 00:00:00 UTC"]);
    assert_eq!(names(&[of("v1.36", "a", "1"), of("v1.36", "a", "1")]), ["v1.36 (1)", "v1.36 (2)"]);
}
