#![expect(clippy::unwrap_used, reason = "tests")]

mod breaking_out;
mod comparing;
mod size;
mod trying;

use std::collections::BTreeSet;
use std::io::Read;

use data_encoding::BASE64;
use flate2::read::DeflateDecoder;
use probity_report::{BookChapter, ClauseReport, Histories, Report, Standard, StoredHistory, Word, Workers};
use probity_sample::{HOSTILE, ON_TIME, Run};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Page, Trials};

/// A run with every verdict, on a cluster that sends markup in every text that it controls.
fn run() -> Run {
    probity_sample::everything().hostile()
}

fn chapters() -> [BookChapter; 1] {
    let clauses = vec![ON_TIME.parse().unwrap(), HOSTILE.parse().unwrap()];
    [BookChapter { title: "Demonstrations".to_owned(), clauses }]
}

fn page(report: &Report, histories: &dyn Histories) -> String {
    page_by(Workers::of(2), report, histories)
}

fn page_by(workers: Workers, report: &Report, histories: &dyn Histories) -> String {
    tried_page(workers, report, histories, None)
}

/// The page of a run, which may be a run of `probity try`.
fn tried_page(
    workers: Workers,
    report: &Report,
    histories: &dyn Histories,
    trials: Option<&Trials>,
) -> String {
    Page { report, histories, chapters: &chapters(), standard: Standard::default(), workers, trials }.html()
}

fn page_of(run: &Run) -> String {
    page(&run.report(), &run.stored())
}

/// The text between the first occurrences of two marks.
fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let start = text.find(from).unwrap() + from.len();
    &text[start..start + text[start..].find(to).unwrap()]
}

/// The data of the cases as the script reads it: their positions, and the data of each case.
fn data(page: &str) -> Vec<(u64, Value)> {
    let packed = BASE64.decode(between(page, "id=\"data\">", "<").as_bytes()).unwrap();
    let mut text = String::new();
    DeflateDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let places = lines.next().unwrap();
    let places: Vec<u64> = places.as_array().unwrap().iter().map(|place| place.as_u64().unwrap()).collect();
    places.into_iter().zip(lines).collect()
}

/// The events that the lanes of a case show.
fn shown(case: &Value) -> BTreeSet<i64> {
    let list = |of: &Value, field: &str| of[field].as_array().unwrap().clone();
    let lanes = list(case, "groups").into_iter().flat_map(|group| list(&group, "lanes"));
    lanes
        .flat_map(|lane| {
            let mut event = 0;
            let steps: Vec<i64> = list(&lane, "events")
                .iter()
                .flat_map(|of| of.as_array().unwrap().clone())
                .map(|step| step.as_i64().unwrap())
                .collect();
            steps.into_iter().map(move |step| {
                event += step;
                event
            })
        })
        .collect()
}

fn details<'p>(page: &'p str, clause: &ClauseReport) -> &'p str {
    between(page, &format!("id=\"of-{}\"", clause.id), "</tr>")
}

#[test]
fn every_clause_and_every_case_has_a_row_with_its_anchor() {
    let run = run();
    let (report, page) = (run.report(), page_of(&run));
    for clause in &report.clauses {
        let row = format!("<tr class=\"row\" id=\"{}\" data-verdict=\"{}\"", clause.id, clause.verdict);
        assert_eq!(page.matches(&row).count(), 1, "{}", clause.id);
        assert!(page.contains(&format!("href=\"#{}\"", clause.id)));
    }
    for case in &report.cases {
        assert_eq!(
            page.matches(&format!("<tr class=\"row\" id=\"case/{}\"", case.case)).count(),
            1,
            "{}",
            case.case
        );
    }
}

#[test]
fn every_anchor_that_is_linked_exists() {
    let page = page_of(&run());
    for link in page.split("href=\"#").skip(1) {
        let anchor = &link[..link.find('"').unwrap()];
        assert!(page.contains(&format!("id=\"{anchor}\"")), "{anchor}");
    }
}

#[test]
fn the_evidence_of_a_violation_is_told_and_marked_in_its_timeline() {
    let run = run();
    let (report, page) = (run.report(), page_of(&run));
    let cases = data(&page);
    let violated: Vec<_> = report.clauses.iter().filter(|clause| clause.verdict == Word::Violated).collect();
    assert!(!violated.is_empty());
    for clause in violated {
        let details = details(&page, clause);
        let (place, marks) =
            between(details, "data-marks=\"", "\"").split(';').next().unwrap().split_once(':').unwrap();
        let marks: BTreeSet<i64> = marks.split(' ').map(|id| id.parse().unwrap()).collect();
        let (_, case) = cases.iter().find(|(at, _)| at.to_string() == place).unwrap();
        assert!(marks.is_subset(&shown(case)), "{marks:?} of {}", clause.id);
        for event in &clause.evidence[0].events {
            assert!(marks.contains(&i64::from(event.id.0)), "{}", event.id);
            assert!(details.contains(&format!("<code>{}</code>", event.id)), "{}", event.id);
        }
    }
}

#[test]
fn the_lanes_tell_instances_probes_conditions_and_deeds() {
    let cases = data(&page_of(&run()));
    let text = cases[0].1.to_string();
    for lane in
        ["instances", "readiness probes", "condition Ready", "events", "what it did", "target stalled"]
    {
        assert!(text.contains(&format!("\"name\":\"{lane}\"")), "{lane}: {text}");
    }
    assert!(text.contains("GET of web:/ready: answered 200"), "{text}");
    assert!(text.contains("\"manifests\":[{\"manifest\":{"), "{text}");
}

#[test]
fn without_histories_all_but_the_timelines_is_there() {
    let report = run().report();
    let page = page(&report, &Vec::<StoredHistory>::new());
    assert_eq!(data(&page), Vec::new());
    for clause in &report.clauses {
        assert!(!details(&page, clause).contains("data-marks"));
    }
    assert!(page.contains("probity judge history/demo/hostile.jsonl.zst --clause demo.hostile"));
    assert!(page.contains("at most 1.500 s (periodSeconds + 0.5 s)"));
}

#[test]
fn the_policy_lets_nothing_run_but_the_page_s_own_script() {
    let page = page_of(&run());
    let digest = |text: &str| BASE64.encode(&Sha256::digest(text.as_bytes()));
    let (style, script) = (between(&page, "<style>", "</style>"), between(&page, "<script>", "</script>"));
    assert!(page.contains(&format!(
        "style-src 'sha256-{}'; script-src 'sha256-{}'\"",
        digest(style),
        digest(script)
    )));
    assert!(page.contains("default-src 'none'"));
    assert!(!script.contains("innerHTML") && !script.contains("fetch("), "texts are only ever set as texts");
}

#[test]
fn the_same_report_gives_the_same_page() {
    assert_eq!(page_of(&run()), page_of(&run()));
}
