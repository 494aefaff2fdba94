//! The pages that compare reports.

use probity_report::{BookChapter, Diff, Matrix, Report, Word};
use probity_sample::{HOSTILE, LATE, ON_TIME, PUNCTUAL, Run};

use super::breaking_out::assert_no_markup_of_others;
use super::{between, chapters};
use crate::{DiffPage, Link, MatrixPage};

fn run(version: &str, probes: &[f64]) -> Report {
    Run::new().named(version).on("node1", version).case("calm", ON_TIME, probes).report()
}

/// Three versions. In the second, a probe is late. In the third, the cluster is hostile.
fn reports() -> [Report; 3] {
    let hostile = Run::new().case("calm", ON_TIME, PUNCTUAL).case("hostile", HOSTILE, PUNCTUAL).hostile();
    [run("v1.34.2", PUNCTUAL), run("v1.35.1", LATE), hostile.report()]
}

fn links() -> [Option<Link>; 3] {
    [Some(Link::relative("a/report.html")), Some(Link::relative("../b c/report.html")), None]
}

fn matrix_of(reports: &[Report], chapters: &[BookChapter]) -> String {
    let names = probity_report::names_of(&reports.iter().collect::<Vec<_>>());
    let named: Vec<(String, &Report)> = names.into_iter().zip(reports).collect();
    MatrixPage { matrix: &Matrix::of(&named, chapters), links: &links() }.html()
}

fn diff_of(older: &Report, newer: &Report) -> String {
    let [first, second, _] = links();
    DiffPage { diff: &Diff::between(older, newer), older, newer, links: &[first, second] }.html()
}

/// The row of a clause in a page.
fn row<'p>(page: &'p str, id: &str) -> &'p str {
    between(page, &format!("<tr class=\"row\" id=\"{id}\""), "</tr>")
}

#[test]
fn a_regression_is_marked_in_its_cell_with_words_and_listed_at_the_top() {
    let page = matrix_of(&reports(), &chapters());
    let cells: Vec<&str> = row(&page, ON_TIME).split("<td class=\"cell ").skip(1).collect();
    assert_eq!(cells.len(), 3);
    assert!(
        cells[1].starts_with("worse\" data-report=\"v1.35.1\"") && cells[1].contains("</span> new violation")
    );
    assert!(cells[2].starts_with("better\"") && cells[2].contains("</span> violation ended"));
    assert!(row(&page, ON_TIME).contains("data-verdict=\"violated holds\""));
    assert!(row(&page, ON_TIME).contains("data-shows=\"differs regression recovery\""));
    let top = between(&page, "<section class=\"findings\">", "</section>");
    assert!(top.contains("new violation in v1.35.1 <span>from probe to probe: 3.000 s"), "{top}");
}

#[test]
fn every_verdict_leads_to_its_place_in_its_own_page_if_there_is_one() {
    let page = matrix_of(&reports(), &chapters());
    let row = row(&page, ON_TIME);
    assert!(
        row.contains("href=\"./a/report.html#demo.on-time\"")
            && row.contains("href=\"../b%20c/report.html#demo.on-time\"")
    );
    assert_eq!(row.matches("report.html#").count(), 2, "the third has no page");
}

#[test]
fn a_clause_that_a_book_does_not_have_says_so() {
    let mut reports = reports();
    reports[0].clauses.remove(0);
    let page = matrix_of(&reports, &chapters());
    assert!(row(&page, ON_TIME).contains("not in its book") && row(&page, ON_TIME).contains(" missing\""));
}

#[test]
fn the_difference_has_each_clause_once_and_a_new_violation_first() {
    let [older, newer, _] = reports();
    let page = diff_of(&older, &newer);
    assert!(page.contains("1 new violation</h1>"));
    assert_eq!(page.matches(&format!("id=\"{ON_TIME}\"")).count(), 1);
    let table = between(&page, "id=\"clause-table\"", "</table>");
    assert!(table.find("New violations").unwrap() < table.find(ON_TIME).unwrap());
    assert!(table.contains("<small>before</small>") && table.contains("</svg><span class=\"holds\">holds"));
}

#[test]
fn a_number_that_moved_is_shown_before_and_now_beside_its_bound() {
    let (older, newer) = (run("v1.34.2", &[2.0, 3.0, 4.0]), run("v1.35.1", &[2.0, 3.0, 4.4]));
    let page = diff_of(&older, &newer);
    assert!(page.contains("Same verdict, different numbers"));
    let row = row(&page, ON_TIME);
    assert_eq!(row.matches("class=\"strip\"").count(), 2, "{row}");
    assert!(page.contains("It changed by 26% of its bound, nearer to its bound"));
}

#[test]
fn nothing_changed_is_said_and_not_drawn() {
    let report = run("v1.34.2", PUNCTUAL);
    let page = diff_of(&report, &report);
    assert!(page.contains("No new violation</h1>") && page.contains("Nothing changed."));
    assert!(!page.contains("<form") && !page.contains("id=\"clause-table\""));
}

#[test]
fn every_anchor_that_is_linked_exists() {
    let [older, newer, hostile] = reports();
    for page in [matrix_of(&reports(), &[]), diff_of(&older, &newer), diff_of(&newer, &hostile)] {
        for link in page.split("href=\"#").skip(1) {
            let anchor = &link[..link.find('"').unwrap()];
            assert!(page.contains(&format!("id=\"{anchor}\"")), "{anchor}");
        }
    }
}

#[test]
fn what_a_hostile_cluster_says_stays_text() {
    let [older, _, hostile] = reports();
    for page in [matrix_of(&reports(), &[]), diff_of(&older, &hostile), diff_of(&hostile, &older)] {
        assert!(page.contains("alert(1)"), "it is in there");
        assert_no_markup_of_others(&page, 1);
    }
}

#[test]
fn every_verdict_has_its_sign_and_its_meaning() {
    let page = matrix_of(&reports(), &[]);
    let legend = between(&page, "<section id=\"legend\"", "</section>");
    for word in Word::ALL {
        assert!(legend.contains(&format!("href=\"#i-{word}\"/></svg>{word}</dt>")), "{word}");
    }
}
