//! The planned answers to a connection before any protocol begins.

use std::time::Duration;

use probity_script::Fact;
use probity_script::witness::Ending;
use probity_tests::target::Target;
use probity_tests::wire::{End, Wire, get};

fn target(connections: &str) -> Target {
    Target::start(&format!("listeners: {{ raw: {{ port: 0, protocol: tcp, connections: {connections} }} }}"))
}

#[test]
fn a_probe_that_connects_and_closes_is_witnessed_without_a_byte() {
    let target = target("serve");
    let wire = Wire::connect(target.address("raw"));
    let local = wire.local();
    drop(wire);
    let (accepted, closed) = (target.accepted(local), target.closed(local));
    assert_eq!((accepted.listener.as_str(), accepted.answer.as_str()), ("raw", "serve"));
    assert_eq!((closed.how, closed.received, closed.sent), (Ending::PeerClosed, 0, 0));
    assert_eq!(accepted.local, target.address("raw").to_string());
}

#[test]
fn what_a_peer_sends_is_counted_and_how_he_ends_is_told() {
    for word in ["serve", "hold"] {
        let target = target(word);
        let mut wire = Wire::connect(target.address("raw"));
        let local = wire.local();
        assert_eq!(wire.send("hello").hear(Duration::from_millis(200)).end, End::Open, "{word}");
        wire.reset();
        let closed = target.closed(local);
        assert_eq!((closed.how, closed.received, closed.sent), (Ending::PeerReset, 5, 0), "{word}");
        assert!(closed.lived_us >= 150_000, "{closed:?}"); // 200 ms, less what the accept came late
    }
}

#[test]
fn a_connection_is_closed_or_aborted_at_once_as_planned() {
    for (word, end, how) in [("close", End::Fin, Ending::WeClosed), ("reset", End::Rst, Ending::WeReset)] {
        let target = target(word);
        let mut wire = Wire::connect(target.address("raw"));
        let heard = wire.hear_all();
        assert_eq!((heard.end, heard.bytes().len()), (end, 0), "{word}");
        let closed = target.closed(wire.local());
        assert_eq!((closed.how, closed.received, closed.sent), (how, 0, 0), "{word}");
        assert_eq!(target.accepted(wire.local()).answer, word);
    }
}

#[test]
fn a_close_stays_in_good_order_although_the_peer_is_still_sending() {
    let target = target("close");
    let mut wire = Wire::connect(target.address("raw"));
    // The other side may already be closed; what matters is how the client sees its end.
    let _ = wire.try_send("a request that nobody reads\r\n\r\n");
    assert_eq!(wire.hear_all().end, End::Fin);
    assert_eq!(target.closed(wire.local()).how, Ending::WeClosed);
}

#[test]
fn garbage_is_no_protocol() {
    let target = target("garbage");
    let mut wire = Wire::connect(target.address("raw"));
    let heard = wire.hear_all();
    assert_eq!(heard.end, End::Fin);
    assert!(heard.bytes().starts_with(b"\0") && heard.bytes().len() > 16, "{heard:?}");
    assert_eq!(target.closed(wire.local()).sent, heard.bytes().len() as u64);
}

#[test]
fn an_echo_sends_back_what_comes() {
    let target = target("echo");
    let mut wire = Wire::connect(target.address("raw"));
    assert_eq!(wire.send("one").hear_bytes(3), b"one");
    let large = vec![b'x'; 100_000];
    assert_eq!(wire.send(&large).hear_bytes(large.len()), large);
    wire.half_close();
    assert_eq!(wire.hear_all().end, End::Fin);
    let closed = target.closed(wire.local());
    assert_eq!((closed.how, closed.received, closed.sent), (Ending::PeerClosed, 100_003, 100_003));
}

#[test]
fn settings_give_a_pause_a_banner_and_an_end() {
    let target = target("{ delay: 200ms, send: '220 hello', then: hold, close-after: 300ms }");
    let mut wire = Wire::connect(target.address("raw"));
    let heard = wire.send("x").hear_all();
    assert_eq!((heard.text().as_str(), heard.end), ("220 hello", End::Fin));
    let early = Duration::from_millis(50); // the accept may come before we look at our watch
    assert!(heard.first_at() >= Duration::from_millis(200) - early, "{heard:?}");
    assert!(heard.ended_at >= Duration::from_millis(500) - early, "{heard:?}");
    let closed = target.closed(wire.local());
    assert_eq!((closed.how, closed.sent, closed.received), (Ending::WeClosed, 9, 1));
    assert!(closed.lived_us >= 500_000, "{closed:?}");
}

#[test]
fn each_then_does_as_it_says() {
    for (then, end, how) in [
        ("close", End::Fin, Ending::WeClosed),
        ("reset", End::Rst, Ending::WeReset),
        ("hold", End::Open, Ending::PeerClosed),
        ("echo", End::Open, Ending::PeerClosed),
    ] {
        let target = target(&format!("{{ send: hi, then: {then} }}"));
        let mut wire = Wire::connect(target.address("raw"));
        let heard = wire.hear(Duration::from_millis(700));
        // An abort may overtake the banner in the reader's socket, as everywhere in TCP.
        let text = heard.text();
        assert!(text == "hi" || (then == "reset" && text.is_empty()), "{then}: {text}");
        assert_eq!(heard.end, end, "{then}");
        let local = wire.local();
        drop(wire);
        assert_eq!(target.closed(local).how, how, "{then}");
    }
}

#[test]
fn connections_are_counted_like_probes() {
    let target = target(
        "[{ answer: close, times: 2, mark: early }, { answer: reset, when: { probe: every 2 } }, { answer: echo }]",
    );
    let mut ends = Vec::new();
    let mut steps = Vec::new();
    for _ in 0..4 {
        let mut wire = Wire::connect(target.address("raw"));
        ends.push(wire.hear(Duration::from_millis(700)).end);
        steps.push(target.accepted(wire.local()).step);
    }
    assert_eq!(ends, [End::Fin, End::Fin, End::Open, End::Rst]);
    assert_eq!(steps, [0, 0, 2, 1]);
    target.wait_for("the mark", |line| match &line.fact {
        Fact::Mark(mark) if mark.by == "raw@connections" && mark.name == "early" => Some(()),
        _ => None,
    });
}

#[test]
fn an_http_listener_takes_the_same_answers() {
    let target = Target::start(
        "listeners: { web: { port: 0, paths: { /: 200 }, connections: [{ answer: hold, times: 1 }, { answer: reset, times: 1 }, { answer: serve }] } }",
    );
    let mut wire = Wire::connect(target.address("web"));
    assert_eq!(wire.send(get("/")).hear(Duration::from_millis(300)).end, End::Open);
    assert_eq!(Wire::connect(target.address("web")).hear_all().end, End::Rst);
    assert_eq!(Wire::connect(target.address("web")).send(get("/")).hear_all().reply().status, 200);
    let local = wire.local();
    drop(wire);
    assert_eq!(target.closed(local).received, get("/").len() as u64);
    assert_eq!(target.request(1).probe, 1, "a connection that is not served asks nothing");
}
