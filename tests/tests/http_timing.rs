//! The times at which an answer arrives, measured at the client: pauses, drips and silences.
//!
//! A lower bound is the plan's own number, without slack, because nothing may come too early. An upper bound allows
//! [`SLACK`] on top, far more than the target ever takes, so that only a wrong plan fails on a busy machine.

use std::time::{Duration, Instant};

use probity_script::witness::Ending;
use probity_tests::target::Target;
use probity_tests::wire::{End, Heard, Wire, get, get_and_stay};

const SLACK: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(300);

fn target(listener: &str) -> Target {
    Target::start(&format!("listeners: {{ web: {{ port: 0, {listener} }} }}"))
}

fn in_time(at: Duration, planned: Duration) {
    assert!((planned..planned + SLACK).contains(&at), "{at:?} is not {planned:?} and a little");
}

/// When the head was complete and this many bytes of the body had arrived.
fn body_at(heard: &Heard, bytes: usize) -> Duration {
    let mut seen: Vec<u8> = Vec::new();
    for piece in &heard.pieces {
        seen.extend(&piece.bytes);
        let head = seen.windows(4).position(|four| four == b"\r\n\r\n");
        if head.is_some_and(|head| seen.len() >= head + 4 + bytes) {
            return piece.at;
        }
    }
    panic!("fewer than {bytes} bytes of body came: {heard:?}");
}

#[test]
fn a_head_waits_for_its_delay() {
    let target = target("paths: { /: { status: 503, delay: 300ms } }");
    let heard = Wire::connect(target.address("web")).send(get("/")).hear_all();
    in_time(heard.first_at(), PAUSE);
    let answer = target.story(1).answer;
    in_time(Duration::from_micros(answer.took_us), PAUSE);
    assert_eq!(heard.reply().status, 503);
}

#[test]
fn a_body_waits_behind_its_head() {
    let target = target("paths: { /: { body-delay: 300ms, body: late } }");
    let heard = Wire::connect(target.address("web")).send(get("/")).hear_all();
    let (head, body) = (body_at(&heard, 0), body_at(&heard, 4));
    assert!(head < body, "{head:?} {body:?}");
    in_time(body, PAUSE);
    in_time(Duration::from_micros(target.story(1).answer.took_us), PAUSE);
}

#[test]
fn a_connection_waits_before_it_is_served() {
    let target = target("connections: { delay: 300ms, then: serve }, paths: { /: 200 }");
    let before = Instant::now();
    let mut wire = Wire::connect(target.address("web"));
    let heard = wire.send(get("/")).hear_all();
    in_time(before.elapsed(), PAUSE);
    assert_eq!(heard.reply().status, 200);
    let accepted = target.accepted(wire.local());
    assert_eq!(accepted.answer, "with settings");
    assert!(target.closed(wire.local()).lived_us >= 300_000);
}

#[test]
fn a_drip_comes_in_pieces_with_pauses_between() {
    let target = target("paths: { /: { body: abcdef, drip: { bytes: 2, every: 100ms } } }");
    let heard = Wire::connect(target.address("web")).send(get("/")).hear_all();
    let times = [2, 4, 6].map(|bytes| body_at(&heard, bytes));
    in_time(times[1], Duration::from_millis(100));
    in_time(times[2], Duration::from_millis(200));
    assert_eq!(heard.reply().text(), "abcdef");
    in_time(Duration::from_micros(target.story(1).answer.took_us), Duration::from_millis(200));
}

#[test]
fn a_body_stalls_where_it_is_planned_until_the_client_gives_up() {
    let target = target("paths: { /: { body: { bytes: 20KiB }, stall-after: 10KiB } }");
    let mut wire = Wire::connect(target.address("web"));
    wire.send(get("/"));
    let _ = target.request(1); // it may come late on a busy machine
    let heard = wire.hear(PAUSE);
    assert_eq!((heard.reply().body.len(), heard.end), (10_240, End::Open));
    let local = wire.local();
    drop(wire);
    let answer = target.story(1).answer;
    assert_eq!((answer.answer.as_str(), answer.error.as_deref()), ("200", Some("the peer gave up")));
    assert_eq!(answer.written, heard.bytes().len() as u64);
    in_time(Duration::from_micros(answer.took_us), PAUSE);
    assert_eq!(target.closed(local).how, Ending::PeerClosed);
}

#[test]
fn a_hanging_request_lasts_until_the_client_closes_or_aborts() {
    let target = target("paths: { /: hang }");
    for (nth, abort) in (1..).zip([false, true]) {
        let mut wire = Wire::connect(target.address("web"));
        wire.send(get_and_stay("/"));
        let _ = target.request(nth); // as above
        let heard = wire.hear(PAUSE);
        assert_eq!((heard.bytes().len(), heard.end), (0, End::Open));
        let local = wire.local();
        let how = if abort {
            wire.reset();
            Ending::PeerReset
        } else {
            drop(wire);
            Ending::PeerClosed
        };
        let answer = target.story(nth).answer;
        assert_eq!((answer.answer.as_str(), answer.written), ("hang", 0));
        assert_eq!(answer.error.as_deref(), Some("the peer gave up"));
        in_time(Duration::from_micros(answer.took_us), PAUSE);
        assert_eq!(target.closed(local).how, how);
    }
}

#[test]
fn a_client_that_leaves_during_a_delay_is_noticed_at_once() {
    let target = target("paths: { /: { delay: 60s } }");
    let mut wire = Wire::connect(target.address("web"));
    wire.send(get("/"));
    let request = target.request(1);
    drop(wire);
    let answer = target.answer(request.conn, 1);
    assert_eq!((answer.written, answer.error.as_deref()), (0, Some("the peer gave up")));
    in_time(Duration::from_micros(answer.took_us), Duration::ZERO);
}

#[test]
fn a_hanging_request_ends_with_its_client_however_much_he_sent() {
    let target = target("paths: { /: hang }");
    let mut wire = Wire::connect(target.address("web"));
    let local = wire.local();
    wire.send(get_and_stay("/")).send(vec![b'x'; 300_000]);
    drop(wire);
    assert_eq!(target.closed(local).how, Ending::PeerClosed);
}

#[test]
fn the_arrival_is_witnessed_before_the_answer_is_sent() {
    let target = target("paths: { /: { delay: 60s } }");
    let mut wire = Wire::connect(target.address("web"));
    wire.send(get("/"));
    assert_eq!(target.request(1).target, "/", "the line is there although no answer is");
}
