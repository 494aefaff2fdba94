#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;
use crate::answer::HttpAnswer;

fn script(yaml: &str) -> Script<HttpAnswer> {
    serde_saphyr::from_str(yaml).unwrap()
}

fn refused(yaml: &str) -> String {
    serde_saphyr::from_str::<Script<HttpAnswer>>(yaml).unwrap_err().to_string()
}

/// The index of the step that answers at `seconds` after the start, for the given probe.
fn step_at(script: &Script<HttpAnswer>, millis: u64, probe: u64) -> usize {
    let since = BTreeMap::new();
    let elapsed = Span::from_micros(millis * 1000);
    script.due(&Moment { attempt: 0, elapsed, probe, host: None, since: &since, dice: 7 }).index
}

#[test]
fn a_bare_answer_is_always_given() {
    for yaml in ["503", "hang", "{ status: 503 }"] {
        assert_eq!(step_at(&script(yaml), 99_000, 12), 0, "{yaml}");
    }
}

#[test]
fn steps_in_time_follow_one_another() {
    let script = script("[{ answer: 503, for: 12s }, { answer: hang, for: 3s }, { answer: 200 }]");
    let steps: Vec<_> = [0, 11_999, 12_000, 14_999, 15_000].map(|at| step_at(&script, at, 1)).into();
    assert_eq!(steps, [0, 0, 1, 1, 2]);
}

#[test]
fn steps_in_probes_follow_one_another() {
    let script = script("[{ answer: 500, times: 2 }, { answer: 200, times: 1 }, { answer: 503 }]");
    let steps: Vec<_> = [1, 2, 3, 4, 5].map(|probe| step_at(&script, 0, probe)).into();
    assert_eq!(steps, [0, 0, 1, 2, 2]);
}

#[test]
fn conditions_must_all_hold() {
    let script = script(
        "[{ answer: 500, when: { probe: every 3, elapsed: 5s.. } }, { answer: 404, when: { host: app.example } }, { answer: 200 }]",
    );
    assert_eq!(step_at(&script, 4_000, 3), 2);
    assert_eq!(step_at(&script, 5_000, 3), 0);
    assert_eq!(step_at(&script, 5_000, 4), 2);
}

#[test]
fn events_count_from_when_they_happened() {
    let script = script("[{ answer: 503, when: { since: { sigterm: 2s.. } } }, { answer: 200 }]");
    let at = |since: &BTreeMap<String, Span>| {
        let elapsed = Span::from_micros(90_000_000);
        script.due(&Moment { attempt: 0, elapsed, probe: 1, host: None, since, dice: 0 }).index
    };
    assert_eq!(at(&BTreeMap::new()), 1);
    assert_eq!(at(&BTreeMap::from([("sigterm".to_owned(), Span::from_micros(1_999_999))])), 1);
    assert_eq!(at(&BTreeMap::from([("sigterm".to_owned(), Span::from_micros(2_000_000))])), 0);
}

#[test]
fn a_host_is_compared_without_case_and_without_an_unwritten_port() {
    for (wanted, seen, same) in [
        ("app.example", "APP.example", true),
        ("app.example", "app.example:8080", true),
        ("app.example:80", "app.example:8080", false),
        ("app.example", "other.example", false),
        ("10.0.0.1", "10.0.0.1:8080", true),
    ] {
        assert_eq!(same_host(wanted, seen), same, "{wanted} {seen}");
    }
}

#[test]
fn scripts_that_cannot_be_meant_are_refused() {
    for (yaml, why) in [
        ("[]", "at least one step"),
        ("[{ answer: 200, for: 3s }]", "end the script with a step without"),
        ("[{ answer: 200 }, { answer: 500 }]", "step 1 always answers"),
        ("[{ answer: 200, for: 3s }, { answer: 500, times: 2 }, { answer: 200 }]", "not both"),
        ("[{ answer: 200, times: 0 }, { answer: 200 }]", "does not answer any probe"),
        ("[{ answer: 200, for: 0s }, { answer: 200 }]", "has no duration"),
        ("[{ answer: 200, when: { chance: 1.5 } }, { answer: 200 }]", "between 0 and 1"),
    ] {
        let message = refused(yaml);
        assert!(message.contains(why), "{yaml}: {message}");
    }
}

#[test]
fn chance_is_the_plans_not_the_worlds() {
    let script = script("[{ answer: 500, when: { chance: 0.3 } }, { answer: 200 }]");
    let run = || (1..=10_000).map(|probe| step_at(&script, 0, probe)).collect::<Vec<_>>();
    let first = run();
    assert_eq!(first, run());
    let failures = first.iter().filter(|index| **index == 0).count();
    assert!((2_700..3_300).contains(&failures), "{failures} of 10000");
}

proptest! {
    #[test]
    fn some_step_answers_every_moment(lengths in prop::collection::vec(1_u64..50, 0..6), at in 0_u64..400, probe in 1_u64..9) {
        let mut steps: Vec<_> = lengths.iter().map(|s| format!("{{ answer: 503, for: {s}s }}")).collect();
        steps.push("{ answer: 200 }".to_owned());
        let script = script(&format!("[{}]", steps.join(", ")));
        let expected = lengths.iter().scan(0, |sum, s| { *sum += s; Some(*sum) }).position(|end| at < end).unwrap_or(lengths.len());
        prop_assert_eq!(step_at(&script, at * 1000, probe), expected);
    }
}
