//! Hand-written histories of times that contradict the events of the kubelet or the records of the process, whatever the
//! node's noise.

use probity_composer::{AHEAD_US, Composer, NODE, ZERO_WALL_US, timestamp, us};
use probity_model::history::{Change, Happening, Listener, Reading};
use serde_json::json;

use super::{ENDED, STARTED, ended, exits, plain, running, status};
use crate::tests::verdict;

/// An event of the kubelet about the container, in the object with this name.
fn event(run: &mut Composer, (name, reason): (&str, &str), at: f64, count: u64) {
    let object = json!({
        "metadata": { "name": name },
        "involvedObject": {
            "kind": "Pod", "name": "pod", "uid": "uid-pod", "fieldPath": "spec.containers{target}",
        },
        "reason": reason, "message": reason, "type": "Normal", "count": count,
        "firstTimestamp": timestamp(at), "lastTimestamp": timestamp(at),
    });
    run.sighting(14.0, "Event", name, Change::Added, object);
}

/// The wall clock of the node is read again, and is off by this time.
fn reads_clocks(run: &mut Composer, off_us: i64) {
    let now = us(20.0);
    let (mono_us, wall_us) = (now + AHEAD_US, now + ZERO_WALL_US + off_us);
    let node = NODE.to_owned();
    let reading = Reading { node, sent_us: now - 500, received_us: now + 500, mono_us, wall_us };
    run.push(20.0, Happening::Reading(reading));
}

/// On a busy node, a container is started again at 10.2 s, and its second instance is shown with this startedAt.
fn started_at(since: f64, more: impl FnOnce(&mut Composer)) -> &'static str {
    let mut run = plain(STARTED);
    run.status(1.5, &status(0, running(1.0), json!({})));
    exits(&mut run, 8.0, 1);
    run.start(10.2, 1);
    run.status(13.0, &status(1, running(since), ended(1, "Error", 1.0, 8.0)));
    run.noise_by(Listener::Node, 5.0, 14.0);
    more(&mut run);
    run.reading(30.0);
    verdict(&run.done(), STARTED)
}

fn reported(run: &mut Composer) {
    event(run, ("created", "Created"), 10.0, 2);
    event(run, ("started", "Started"), 10.0, 2);
}

#[test]
fn a_container_starts_between_the_events_about_its_start() {
    assert_ne!(started_at(10.0, reported), "violated");
    assert_ne!(
        started_at(9.0, reported),
        "violated",
        "the clock may have stepped back by less than a second"
    );
    assert_ne!(started_at(11.0, reported), "violated");
    for since in [7.0, 13.0] {
        assert_eq!(started_at(since, reported), "violated", "{since}");
        assert_ne!(
            started_at(since, |_| {}),
            "violated",
            "without events, the node may have been too busy: {since}"
        );
    }
}

#[test]
fn events_about_other_instances_prove_nothing() {
    let first = |run: &mut Composer| event(run, ("created", "Created"), 10.0, 1);
    assert_ne!(started_at(7.0, first), "violated", "it is about the first instance");
    let later = |run: &mut Composer| event(run, ("created", "Created"), 13.0, 2);
    assert_ne!(
        started_at(10.0, later),
        "violated",
        "the kubelet lost an event, so it is about a later instance"
    );
    let restarted = |run: &mut Composer| {
        event(run, ("created", "Created"), 10.0, 2);
        event(run, ("created-anew", "Created"), 12.0, 1);
    };
    assert_ne!(started_at(7.0, restarted), "violated", "another kubelet counts anew");
}

#[test]
fn a_clock_that_was_set_proves_nothing() {
    for since in [7.0, 13.0] {
        let set = |off_us: i64| {
            move |run: &mut Composer| {
                reported(run);
                reads_clocks(run, off_us);
            }
        };
        assert_eq!(started_at(since, set(400_000)), "violated", "a small step: {since}");
        assert_ne!(started_at(since, set(-3_000_000)), "violated", "{since}");
    }
}

/// On a busy node, a container exits at 10.1 s, and is shown with this finishedAt.
fn finished_at(second: f64, off_us: i64) -> &'static str {
    let mut run = plain(ENDED);
    run.status(1.5, &status(0, running(1.0), json!({})));
    exits(&mut run, 10.1, 3);
    run.status(11.0, &status(0, ended(3, "Error", 1.0, second), json!({})));
    run.noise_by(Listener::Node, 5.0, 14.0);
    reads_clocks(&mut run, off_us);
    run.reading(30.0);
    verdict(&run.done(), ENDED)
}

#[test]
fn a_container_has_not_ended_before_its_last_record() {
    for second in [9.0, 10.0, 11.0] {
        assert_ne!(finished_at(second, 0), "violated", "{second}");
    }
    for second in [7.0, 8.0] {
        assert_eq!(finished_at(second, 0), "violated", "{second}");
    }
    assert_ne!(finished_at(7.0, 3_000_000), "violated", "the clock was set");
}
