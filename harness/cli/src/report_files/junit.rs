//! `junit.xml`: one suite for each area, one test for each case.
//!
//! A violated case is a failure, and a broken case is an error. Undecided cases and those that did not run are skipped,
//! and their message begins with the verdict. With `--inconclusive fail`, undecided cases are failures. Measurements
//! are written as properties. The time is the duration of the case, without the cleanup.

use std::collections::BTreeMap;
use std::time::Duration;

use probity_model::{Judgement, Verdict};
use probity_report::{CaseReport, Report, Standard, Undecided, Word};
use quick_junit::{NonSuccessKind, Property, SerializeError, TestCase, TestCaseStatus, TestSuite};

/// The maximum number of measurements that are written for a case.
const PROPERTIES: usize = 40;

/// The report in the JUnit format.
pub(super) fn xml(report: &Report, standard: Standard) -> Result<String, SerializeError> {
    let mut suites: BTreeMap<&str, TestSuite> = BTreeMap::new();
    for case in report.cases.iter().filter(|case| !case.tried_again) {
        let (area, _) = case.case.0.split_once('/').unwrap_or(("cases", ""));
        let suite = suites.entry(area).or_insert_with(|| TestSuite::new(area));
        suite.add_test_case(test(case, area, standard));
    }
    let mut junit = quick_junit::Report::new(report.suite.name.as_str());
    if let Some(usage) = report.usage {
        junit.set_time(span(usage.wall_us));
    }
    for (_, mut suite) in suites {
        suite.add_property(Property::new("probity.run", report.run_id.as_str()));
        if let Some(ground) = &report.environment {
            suite.add_property(Property::new("probity.server", ground.server.as_str()));
        }
        junit.add_test_suite(suite);
    }
    junit.to_string()
}

fn test(case: &CaseReport, area: &str, standard: Standard) -> TestCase {
    let name = match case.repetition {
        Some(nth) => format!("{} ({nth})", case.case),
        None => case.case.to_string(),
    };
    let mut test = TestCase::new(name, status(case, standard));
    test.set_classname(area);
    if let (Some(began), Some(ended)) = (case.began_us, case.ended_us) {
        test.set_time(span(ended - began));
    }
    test.add_property(Property::new("probity.verdict", case.verdict.as_str()));
    if !case.source.is_empty() {
        test.add_property(Property::new("probity.source", case.source.as_str()));
    }
    for (name, value) in measured(case).into_iter().take(PROPERTIES) {
        test.add_property(Property::new(name, value));
    }
    let said = said(case);
    if !said.is_empty() {
        test.set_system_out(said);
    }
    test
}

fn status(case: &CaseReport, standard: Standard) -> TestCaseStatus {
    let mut status = match case.verdict {
        Word::Diverges if standard.strict => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Word::Holds | Word::Diverges => return TestCaseStatus::success(),
        Word::Violated => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Word::Inconclusive if standard.undecided == Undecided::Fails => {
            TestCaseStatus::non_success(NonSuccessKind::Failure)
        }
        Word::Error => TestCaseStatus::non_success(NonSuccessKind::Error),
        Word::Inconclusive | Word::Skipped => TestCaseStatus::skipped(),
    };
    status.set_message(format!("{}: {}", case.verdict, case.finding));
    status.set_type(case.verdict.as_str());
    let said = said(case);
    if !said.is_empty() {
        status.set_description(said);
    }
    status
}

/// The verdict on each clause and each expectation, one per line. The line has no sentence if the clause or expectation
/// holds.
fn said(case: &CaseReport) -> String {
    let line = |what: &str, verdict: &Verdict| match verdict.sentence() {
        "" => format!("{what}: {}\n", verdict.word()),
        sentence => format!("{what}: {}: {sentence}\n", verdict.word()),
    };
    let clauses = case.judgements.iter().map(|judgement| line(judgement.clause.as_str(), &judgement.verdict));
    let expected =
        case.expected.iter().map(|expected| line(&format!("expected {}", expected.what), &expected.verdict));
    clauses.chain(expected).collect()
}

/// The tightest measurement of each clause.
fn measured(case: &CaseReport) -> Vec<(String, String)> {
    let tightest = |judgement: &Judgement| {
        let found = judgement.measurements.iter().min_by_key(|measured| measured.room())?;
        Some((format!("{}: {}", judgement.clause, found.quantity), found.in_words()))
    };
    case.judgements.iter().filter_map(tightest).collect()
}

fn span(us: i64) -> Duration {
    Duration::from_micros(u64::try_from(us).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::report_files::sample;

    fn read(text: &str) -> quick_junit::Report {
        quick_junit::Report::deserialize_from_str(text).unwrap()
    }

    #[test]
    fn a_small_run() {
        insta::assert_snapshot!(xml(&sample::report(), Standard::default()).unwrap());
    }

    #[test]
    fn each_verdict_has_its_element() {
        let text = xml(&sample::report(), Standard::default()).unwrap();
        assert!(text.contains("<failure message=\"violated: "), "{text}");
        assert!(text.contains("<error message=\"error: "), "{text}");
        assert!(text.contains("<skipped message=\"inconclusive: "), "{text}");
        assert!(text.contains("<skipped message=\"skipped: "), "{text}");
        let junit = read(&text);
        assert_eq!((junit.tests, junit.failures, junit.errors), (5, 1, 1));
    }

    #[test]
    fn the_undecided_fail_if_the_user_wants_it() {
        assert_eq!(read(&xml(&sample::report(), Undecided::Fails.into()).unwrap()).failures, 2);
    }

    #[test]
    fn hostile_texts_are_escaped() {
        let text = xml(&sample::report(), Standard::default()).unwrap();
        assert!(!text.contains("<script>"), "{text}");
        assert!(text.contains("&lt;script&gt;"), "{text}");
    }
}
