//! What a report contains in addition to verdicts: causes, noise, and how times compare with their bounds.

use super::*;

#[test]
fn what_follows_from_an_earlier_stage_is_folded_under_its_cause() {
    let report = Run::new().ended("demo/late", &[RESTARTS, ON_TIME_ID], LATE, 2).report();
    let (cause, effect) = (clause(&report, ON_TIME_ID), clause(&report, RESTARTS));
    assert_eq!((cause.verdict, effect.verdict), (Word::Violated, Word::Violated));
    assert_eq!(effect.follows_from.as_ref(), Some(&cause.id));
    assert_eq!(cause.follows_from, None);
    let words = report.in_words();
    assert!(
        words.contains("as a likely result, 1 clause is violated too:\n             demo.never-restarts: "),
        "{words}"
    );
    assert!(!words.contains("demo.never-restarts  must"), "the effect has no paragraph of its own: {words}");
}

#[test]
fn what_is_violated_without_the_other_is_no_effect_of_it() {
    let run = Run::new().ended("demo/late", &[ON_TIME_ID], LATE, 2).ended("demo/calm", &[RESTARTS], &[], 2);
    assert_eq!(clause(&run.report(), RESTARTS).follows_from, None);
}

#[test]
fn a_run_on_a_node_that_was_stalled_most_of_the_time_is_invalid() {
    let run = Run::new().ended("demo/calm", &[RESTARTS], ON_TIME, 0).stalled(9_000_000);
    let result = run.report().result;
    assert!(result.overloaded_percent > 50, "{result:?}");
    assert_eq!(result.profiles[0].result, ProfileOutcome::Invalid);
    assert!(result.profiles[0].why.contains("too noisy"), "{}", result.profiles[0].why);
}

#[test]
fn many_measurements_have_a_spread_and_few_have_none() {
    let probes: Vec<f64> = (2..20).map(f64::from).collect();
    let report = Run::new().ended("demo/calm", &[ON_TIME_ID], &probes, 0).report();
    let spread = clause(&report, ON_TIME_ID).spread.unwrap();
    assert_eq!((spread.count, spread.median, spread.most), (17, 66, 66), "one second of one and a half");
    assert_eq!(clause(&small_run().report(), ON_TIME_ID).spread, None);
}
