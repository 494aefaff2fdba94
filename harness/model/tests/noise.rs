//! Whose lateness excuses whom.
#![expect(clippy::unwrap_used, reason = "tests")]

use probity_composer::{Composer, NODE};
use probity_model::history::Listener;
use probity_model::measure::Fit;
use probity_model::{Bound, Measurement, Seen, Stamp, Timeline};
use serde_json::json;

/// The time between two probes at these times, with the noise in between.
fn measured((from, to): (f64, f64), noise: Option<(Listener, f64, f64)>, bound: Bound) -> Measurement {
    let mut run = Composer::new(&[]);
    run.create(0.1, &json!({ "containers": [{ "name": "target" }] })).start(0.5, 0);
    let first = run.probe(from, "/ready", 200);
    let second = run.probe(to, "/ready", 200);
    if let Some((by, from, to)) = noise {
        run.noise_by(by, from, to);
    }
    run.reading(20.0);
    let history = run.done();
    let timeline = Timeline::of(&history);
    let asked = &timeline.pods[0].containers[0].attempts[0].requests;
    let at = |id| asked.iter().find(|asked| asked.id == id).map(|asked| (id, asked.at.clone()));
    let (first, second) = (at(first).unwrap(), at(second).unwrap());
    timeline.measure("the time", NODE, (first.0, &first.1), (second.0, &second.1), bound).unwrap()
}

fn at_most(seconds: i64) -> Bound {
    Bound::at_most(seconds * 1_000_000, "a bound")
}

fn at_least(seconds: i64) -> Bound {
    Bound::at_least(seconds * 1_000_000, "a bound")
}

fn word(measurement: Measurement) -> &'static str {
    let mut seen = Seen::new();
    seen.measure(measurement);
    seen.verdict().unwrap().0.word()
}

#[test]
fn a_kubelet_that_is_late_for_everybody_has_no_excuse_of_its_own() {
    let late = |by| measured((2.0, 6.0), Some((by, 3.0, 6.0)), at_most(2)).fit();
    assert_eq!(late(Listener::Metronome), Fit::Missed);
    assert_eq!(late(Listener::Target), Fit::Undecided);
    assert_eq!(late(Listener::Node), Fit::Undecided);
}

#[test]
fn noise_excuses_as_much_as_it_lasted() {
    let late = |to| measured((2.0, 6.0), Some((Listener::Node, 3.0, to)), at_most(2)).fit();
    assert_eq!(late(4.5), Fit::Missed);
    assert_eq!(late(5.5), Fit::Undecided);
}

#[test]
fn the_way_to_the_watch_excuses_only_what_came_that_way() {
    let between_probes = measured((2.0, 6.0), Some((Listener::Echo, 2.5, 6.0)), at_most(2));
    assert_eq!(between_probes.fit(), Fit::Missed);
    let mut run = Composer::new(&[]);
    run.create(0.1, &json!({ "containers": [{ "name": "target" }] }));
    run.noise_by(Listener::Echo, 2.5, 6.0);
    let history = run.done();
    let timeline = Timeline::of(&history);
    let (from, to) = (Stamp::harness(2_000_000), Stamp::harness(6_000_000));
    assert_eq!(timeline.noise_between(NODE, &from, &to), 3_500_000);
}

/// The amount of noise that counts between 2 s and 10 s on the harness's clock.
fn counted(by: Listener, from: f64, to: f64) -> i64 {
    let mut run = Composer::new(&[]);
    run.create(0.1, &json!({ "containers": [{ "name": "target" }] })).start(0.5, 0);
    run.reading(1.0).noise_by(by, from, to).reading(12.0);
    let history = run.done();
    let timeline = Timeline::of(&history);
    timeline.noise_between(NODE, &Stamp::harness(2_000_000), &Stamp::harness(10_000_000)) / 100_000
}

#[test]
fn what_is_seen_comes_late_by_half_the_time_in_which_a_node_is_merely_busy() {
    assert_eq!(counted(Listener::Target, 3.0, 6.0), 30);
    assert_eq!(counted(Listener::Node, 3.0, 6.0), 15);
}

#[test]
fn an_overloaded_node_has_to_catch_up() {
    assert_eq!(counted(Listener::Overload, 3.0, 6.0), 60);
    assert_eq!(counted(Listener::Overload, 0.0, 1.5), 10, "what was before counts for as long as it lasted");
}

/// An effect that comes this much after its cause, with a bound of two seconds, on a node that is overloaded all the time. The
/// metronome is late by `late` seconds. Ten seconds of overload count, so up to 15 s they fill `MOSTLY` of the time.
fn on_overloaded_node(took: f64, late: f64) -> Fit {
    let mut run = Composer::new(&[]);
    run.create(0.1, &json!({ "containers": [{ "name": "target" }] })).start(0.5, 0);
    let ids = [2.0, 2.0 + took].map(|at| run.probe(at, "/ready", 200));
    run.noise_by(Listener::Overload, 1.0, 2.0 + took);
    run.noise_by(Listener::Metronome, 3.0, 3.0 + late);
    run.reading(60.0);
    let history = run.done();
    let timeline = Timeline::of(&history);
    let asked = &timeline.pods[0].containers[0].attempts[0].requests;
    let [from, to] = ids.map(|id| asked.iter().find(|asked| asked.id == id).unwrap());
    let measured = timeline.measure("the time", NODE, (from.id, &from.at), (to.id, &to.at), at_most(2));
    measured.unwrap().fit()
}

#[test]
fn an_overload_excuses_little_if_the_metronome_keeps_its_pace() {
    assert_eq!(on_overloaded_node(11.0, 0.5), Fit::Undecided);
    assert_eq!(on_overloaded_node(16.0, 0.5), Fit::Missed);
    assert_eq!(on_overloaded_node(16.0, 4.0), Fit::Undecided, "nothing on this node came in time");
    assert_eq!(on_overloaded_node(40.0, 0.5), Fit::Missed, "half of a long time counts, but not all of it");
}

#[test]
fn a_lower_bound_that_a_stall_has_touched_does_not_hold() {
    assert_eq!(word(measured((2.0, 6.0), None, at_least(3))), "holds");
    let stalled_at_the_end = measured((2.0, 6.0), Some((Listener::Target, 4.0, 6.0)), at_least(3));
    assert!(stalled_at_the_end.is_blurred());
    assert_eq!(word(stalled_at_the_end), "inconclusive");
    assert_eq!(word(measured((2.0, 3.0), Some((Listener::Target, 2.2, 2.9)), at_least(3))), "violated");
}

#[test]
fn what_began_on_a_saturated_node_may_have_begun_earlier() {
    let short = |noise| measured((2.0, 4.8), noise, at_least(3));
    assert_eq!(short(None).fit(), Fit::Missed);
    assert_eq!(short(Some((Listener::Node, 1.5, 2.0))).fit(), Fit::Undecided);
    assert_eq!(short(Some((Listener::Node, 3.0, 4.0))).fit(), Fit::Missed, "not what came later");
}

#[test]
fn a_blurred_measurement_counts_for_nothing_where_there_are_others() {
    let mut seen = Seen::new();
    seen.measure(measured((2.0, 6.0), Some((Listener::Target, 4.0, 6.0)), at_least(3)));
    seen.measure(measured((2.0, 6.0), None, at_least(3)));
    assert_eq!(seen.verdict().unwrap().0.word(), "holds");
}
