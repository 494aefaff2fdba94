//! When the expectations of a case are met.

#![expect(clippy::unwrap_used, reason = "tests")]

use probity_composer::{Composer, NODE, ZERO_WALL_US};
use probity_model::expect::{Expected, judge};
use probity_model::expectation::{Expectation, Occurrence};
use probity_model::history::{Did, Listener, NodeFacts};
use probity_model::{Doubt, Header, Verdict};
use serde_json::json;

/// A pod with a readiness probe of `/ready`, ready from 2 s on, probed each second until 5 s.
fn plain(expect: serde_json::Value) -> Composer {
    let header = Header {
        case: "composed".to_owned(),
        server: "v1.36.3".to_owned(),
        nodes: [(NODE.to_owned(), NodeFacts::default())].into(),
        began_wall_us: ZERO_WALL_US,
        expect: vec![serde_json::from_value(expect).unwrap()],
        ..Header::default()
    };
    let probe = json!({ "httpGet": { "path": "/ready", "port": 8080 }, "periodSeconds": 1 });
    let mut run = Composer::with_header(header);
    run.create(0.0, &json!({ "containers": [{ "name": "target", "readinessProbe": probe }] })).start(1.0, 0);
    run.running(1.1, false, true, 0);
    run.probe(2.0, "/ready", 200);
    run.running(2.2, true, true, 0);
    run
}

fn told(run: Composer) -> Expected {
    judge(&run.done()).remove(0)
}

fn word(run: Composer) -> &'static str {
    told(run).verdict.word()
}

#[test]
fn never_holds_over_a_time_without_gaps() {
    assert_eq!(word(plain(json!({ "never": "restart" }))), "holds");
}

#[test]
fn never_is_violated_by_one_occurrence_and_says_when() {
    let mut run = plain(json!({ "never": "restart" }));
    run.running(4.0, false, true, 1);
    let told = told(run);
    assert_eq!(told.verdict.word(), "violated");
    assert_eq!(told.verdict.sentence(), "pod: a restart occurred once, first at +4.000 s");
}

#[test]
fn a_lost_watch_makes_never_a_doubt_and_a_lost_watch_of_events_does_not() {
    let mut run = plain(json!({ "never": "restart" }));
    run.gap(3.0, 4.0, "Pod");
    assert_eq!(word(run), "inconclusive");
    let mut run = plain(json!({ "never": "restart" }));
    run.gap(3.0, 4.0, "Event");
    assert_eq!(word(run), "holds");
}

#[test]
fn what_the_api_server_shows_during_an_outage_is_a_doubt() {
    let with = |from, to| {
        let mut run = plain(json!({ "never": "restart" }));
        run.running(4.0, false, true, 1);
        run.noise_by(Listener::Echo, from, to);
        word(run)
    };
    assert_eq!(with(3.0, 6.0), "inconclusive");
    assert_eq!(with(20.0, 30.0), "violated", "long after");
}

#[test]
fn a_lost_line_makes_never_of_a_probe_a_doubt() {
    let mut run = plain(json!({ "never": { "failure-of": "web:/ready" } }));
    run.lose_line();
    run.probe(4.0, "/ready", 200);
    assert_eq!(word(run), "inconclusive");
    let mut run = plain(json!({ "never": { "failure-of": "web:/ready" } }));
    run.probe(4.0, "/ready", 200);
    assert_eq!(word(run), "holds");
}

#[test]
fn nothing_is_expected_of_a_target_that_was_not_heard() {
    let header = Header {
        expect: vec![Expectation::Never(Occurrence::Signal("SIGTERM".to_owned()))],
        ..Header::default()
    };
    let mut run = Composer::with_header(header);
    run.create(0.0, &json!({ "containers": [{ "name": "target" }] }));
    assert_eq!(word(run), "inconclusive");
    let header = Header { expect: vec![Expectation::Never(Occurrence::Restart)], ..Header::default() };
    assert_eq!(word(Composer::with_header(header)), "inconclusive", "a history without any pod");
}

#[test]
fn a_case_that_was_cut_short_cannot_tell_that_nothing_occurred() {
    let mut run = plain(json!({ "never": "restart" }));
    run.deed(5.0, Did::Failed { what: "wait".to_owned(), why: "it never came".to_owned() });
    assert_eq!(word(run), "inconclusive");
}

#[test]
fn times_counts_between_its_limits() {
    let counted = |least: u64, most: u64| {
        let of = json!({ "probe-of": "web:/ready" });
        let mut run = plain(json!({ "times": { "of": of, "least": least, "most": most } }));
        run.probe(3.0, "/ready", 200);
        word(run)
    };
    assert_eq!(counted(2, 2), "holds");
    assert_eq!(counted(3, 9), "violated");
    assert_eq!(counted(0, 1), "violated");
}

#[test]
fn enough_occurrences_prove_at_least_in_spite_of_a_gap() {
    let of = json!({ "probe-of": "web:/ready" });
    let mut run = plain(json!({ "times": { "of": of, "least": 1 } }));
    run.lose_line();
    run.probe(3.0, "/ready", 200);
    assert_eq!(word(run), "holds");
}

#[test]
fn before_wants_the_earlier_one_first() {
    let ready = json!({ "before": { "earlier": { "success-of": "web:/ready" }, "later": "ready" } });
    assert_eq!(word(plain(ready)), "holds");
    let killed = json!({ "before": { "earlier": { "signal": "SIGTERM" }, "later": "ready" } });
    assert_eq!(word(plain(killed.clone())), "violated");
    let mut run = plain(killed);
    run.signal(4.0, "SIGTERM");
    assert_eq!(word(run), "violated", "a signal afterwards is no signal before");
}

#[test]
fn before_has_nothing_to_say_if_the_later_one_never_came() {
    let never = json!({ "before": { "earlier": "ready", "later": "unready" } });
    let told = told(plain(never));
    assert!(matches!(told.verdict, Verdict::Inconclusive { doubt: Doubt::Unseen, .. }));
}

#[test]
fn within_measures_from_one_to_the_next() {
    let expect =
        json!({ "within": { "of": "unready", "after": { "failure-of": "web:/ready" }, "span": "1s" } });
    let failing_at_three = |unready: f64| {
        let mut run = plain(expect.clone());
        run.probe(3.0, "/ready", 503);
        run.running(unready, false, true, 0);
        run
    };
    assert_eq!(word(failing_at_three(3.5)), "holds");
    assert_eq!(word(failing_at_three(4.5)), "violated");
    let mut held_up = failing_at_three(4.5);
    held_up.noise(3.0, 4.4);
    assert_eq!(word(held_up), "inconclusive", "a node that was stalled excuses lateness");
}

#[test]
fn within_waits_as_long_as_the_span() {
    let expect =
        json!({ "within": { "of": "unready", "after": { "failure-of": "web:/ready" }, "span": "5s" } });
    let mut run = plain(expect.clone());
    run.probe(3.0, "/ready", 503);
    run.probe(4.0, "/ready", 503);
    assert_eq!(word(run), "inconclusive", "the case ended too early");
    let mut run = plain(expect);
    run.probe(3.0, "/ready", 503);
    run.running(20.0, true, true, 0);
    assert_eq!(word(run), "violated");
}

#[test]
fn always_ends_with_its_opposite() {
    assert_eq!(word(plain(json!({ "always": "ready" }))), "holds");
    let mut run = plain(json!({ "always": "ready" }));
    run.running(4.0, false, true, 0);
    assert_eq!(word(run), "violated");
    let mut run = plain(json!({ "always": { "phase": "Running" } }));
    run.status(4.0, &json!({ "phase": "Failed" }));
    assert_eq!(word(run), "violated");
}

#[test]
fn expectations_read_as_sentences() {
    let words = |expect: serde_json::Value| told(plain(expect)).what;
    assert_eq!(words(json!({ "never": "restart" })), "never a restart");
    assert_eq!(
        words(
            json!({ "within": { "of": "unready", "after": { "failure-of": "web:/ready" }, "span": "1s" } })
        ),
        "the pod becoming unready within 1s after a failure of web:/ready"
    );
    assert_eq!(
        words(json!({ "times": { "of": { "event": "Killing" }, "least": 1, "most": 1 } })),
        "an event Killing, exactly once"
    );
}

/// The pod above, whose target is restarted at 4 s.
fn restarted(expect: serde_json::Value) -> &'static str {
    let mut run = plain(expect);
    run.signal(3.8, "SIGTERM");
    run.running(4.0, false, false, 1);
    run.running(5.0, true, true, 1);
    word(run)
}

#[test]
fn only_counts_what_a_container_or_an_attempt_had() {
    let only = |what: serde_json::Value, limits: serde_json::Value| {
        let mut only = limits;
        only["what"] = what;
        json!({ "never": { "only": only } })
    };
    assert_eq!(restarted(only(json!("restart"), json!({ "container": "target" }))), "violated");
    assert_eq!(restarted(only(json!("restart"), json!({ "container": "other" }))), "holds");
    assert_eq!(restarted(only(json!({ "signal": "SIGTERM" }), json!({ "attempt": 0 }))), "violated");
    assert_eq!(restarted(only(json!({ "signal": "SIGTERM" }), json!({ "attempt": 1 }))), "holds");
    assert_eq!(restarted(only(json!("ready"), json!({ "container": "target", "attempt": 2 }))), "holds");
    assert_eq!(restarted(only(json!("ready"), json!({ "container": "target", "attempt": 1 }))), "violated");
    assert_eq!(
        restarted(only(json!("restart"), json!({ "pod": "other" }))),
        "inconclusive",
        "no such pod was seen"
    );
}

#[test]
fn only_counts_what_came_after_a_step() {
    let since = |at: Option<f64>| {
        let of = json!({ "what": "restart", "since": { "step": "evict" } });
        let mut run = plain(json!({ "never": { "only": of } }));
        if let Some(at) = at.filter(|at| *at < 4.0) {
            run.deed(at, Did::Evicted { pod: "other".to_owned(), refused: None, code: None, cause: None });
        }
        run.running(4.0, false, true, 1);
        if let Some(at) = at.filter(|at| *at > 4.0) {
            run.deed(at, Did::Evicted { pod: "other".to_owned(), refused: None, code: None, cause: None });
        }
        word(run)
    };
    assert_eq!((since(Some(3.0)), since(Some(5.0)), since(None)), ("violated", "holds", "inconclusive"));
}

#[test]
fn started_and_ended_are_told_by_the_status_and_events_by_what_they_say() {
    let times = |of: serde_json::Value, count: u64| {
        restarted(json!({ "times": { "of": of, "least": count, "most": count } }))
    };
    assert_eq!(times(json!("started"), 2), "holds");
    assert_eq!(times(json!("ended"), 0), "holds", "no revision showed an end");
    let says = |says: &str| {
        let of = json!({ "event-saying": { "reason": "Unhealthy", "says": says } });
        let mut run = plain(json!({ "never": of }));
        run.event(3.0, "Warning", "Unhealthy", "Readiness probe failed: 503");
        word(run)
    };
    assert_eq!((says("503"), says("500")), ("violated", "holds"));
}
