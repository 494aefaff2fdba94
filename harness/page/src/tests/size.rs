//! The size of a page, which must stay limited even for a long run.

use probity_case::CaseName;
use probity_model::facets::{Facet, FacetSeen, Sight};
use probity_model::{Bound, EventId, Interval, Measurement};
use probity_report::{Cited, ClauseReport, EvidenceRef, JudgedIn, MeasuredIn, Word, Workers};

use probity_sample::{ON_TIME, Run};

use super::{data, page, page_by};

const CLAUSES: usize = 400;
const CASES: usize = 270;

/// The measurements of a clause that applies to many cases and many pods.
fn measurement(nth: usize) -> Measurement {
    let lo = 1_000_000 + i64::try_from(nth).unwrap() * 1000;
    let bound = Bound::at_most(3_000_000, "failureThreshold × periodSeconds + 2.000 s")
        .and_at_least(900_000, "periodSeconds - 0.1 s");
    Measurement {
        quantity: format!(
            "from the last failure of the readiness probe of pod-{nth}/target to the stop signal"
        ),
        unit: probity_model::measure::Unit::Us,
        observed: Interval::new(lo, lo + 800),
        bound,
        noise: 17_000,
        blur: probity_model::measure::Blur::default(),
        events: vec![EventId(1), EventId(2)],
    }
}

/// A clause with as much data as the report keeps for the busiest clauses.
fn busy(nth: usize, of: &ClauseReport) -> ClauseReport {
    let case = |at: usize| CaseName(format!("demo/calm-{}", (nth + at) % CASES));
    let event = |id: u32| Cited {
        id: EventId(id),
        what: format!(
            "+{id}.206 s demo-startup-reruns-after-kill/target: GET of web:/live (attempt 1, line {id})"
        ),
    };
    let evidence = (0..8).map(|at| EvidenceRef {
        case: case(at),
        history: format!("history/{}.jsonl.zst", case(at)),
        events: (0..8).map(event).collect(),
        more: 40,
    });
    ClauseReport {
        id: format!("demo.clause-with-a-long-name.number-{nth}").parse().unwrap(),
        verdict: if nth.is_multiple_of(10) { Word::Diverges } else { Word::Holds },
        evidence: evidence.collect(),
        facets: (0..6).map(|at| FacetSeen::new(Facet::new("status", at.to_string()), Sight::Kept)).collect(),
        measurements: (0..8).map(|at| MeasuredIn { case: case(at), measured: measurement(at) }).collect(),
        judged_in: (0..15)
            .map(|at| JudgedIn { case: case(at), intended: at < 2, verdict: Word::Holds })
            .collect(),
        ..of.clone()
    }
}

/// A run of cases, each with this many probes.
fn of_cases(cases: usize, probes: u32) -> Run {
    let times: Vec<f64> = (0..probes).flat_map(|at| [2.0 + f64::from(at), 2.1 + f64::from(at)]).collect();
    (0..cases).fold(Run::new(), |run, nth| run.case(&format!("calm-{nth}"), ON_TIME, &times))
}

#[test]
fn four_hundred_clauses_fit_into_three_megabytes_with_their_timelines() {
    let run = of_cases(CASES, 60);
    let mut report = run.report();
    let of = report.clauses[0].clone();
    report.clauses = (0..CLAUSES).map(|nth| busy(nth, &of)).collect();
    let page = page(&report, &run.stored());
    assert!(page.len() <= 3_000_000, "{}", page.len());
    assert_eq!(data(&page).len(), CASES, "of {} bytes", page.len());
}

#[test]
fn what_does_not_fit_is_left_out_and_the_worst_cases_stay() {
    let run = of_cases(20, 10);
    let mut report = run.report();
    report.cases[7].verdict = Word::Violated;
    let of = report.clauses[0].clone();
    report.clauses = (0..600).map(|nth| busy(nth, &of)).collect();
    for clause in &mut report.clauses {
        clause.text = "x".repeat(2000);
    }
    let page = page(&report, &run.stored());
    let kept: Vec<u64> = data(&page).into_iter().map(|(at, _)| at).collect();
    assert!(
        kept.len() < 20 && kept.first().is_none_or(|first| *first == 7),
        "{kept:?} of {} bytes",
        page.len()
    );
}

#[test]
fn any_number_of_threads_gives_the_same_page_also_if_not_all_cases_fit() {
    let run = of_cases(30, 20);
    let mut report = run.report();
    let histories = run.stored();
    for texts in [0, 600] {
        let of = report.clauses[0].clone();
        report.clauses.extend((0..texts).map(|nth| busy(nth, &of)));
        let one = page_by(Workers::of(1), &report, &histories);
        for threads in [2, 7] {
            assert!(page_by(Workers::of(threads), &report, &histories) == one, "{threads} threads, {texts}");
        }
    }
}
