//! Ports that open late, close early, or are so full that no client gets an answer.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use probity_script::Fact;
use probity_tests::program::free_port;
use probity_tests::target::Target;
use probity_tests::wire::{Wire, ask, get};

const SECOND: Duration = Duration::from_secs(1);

fn refused(address: SocketAddr) -> bool {
    Wire::try_connect(address, SECOND).err().map(|error| error.kind()) == Some(ErrorKind::ConnectionRefused)
}

/// The approximate start of the process. A test cannot observe the start itself, but the first line of the witness
/// comes right after it.
fn began(target: &Target) -> u64 {
    target.wait_for("the first line", |line| Some(line.mono_us))
}

#[test]
fn a_port_opens_late() {
    let port = free_port();
    let target = Target::start(&format!(
        "listeners: {{ late: {{ port: {port}, listen: [{{ answer: closed, for: 700ms }}, {{ answer: open }}], paths: {{ /: 200 }} }} }}"
    ));
    target.listening("late", "closed", 1);
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let first = Wire::try_connect(address, SECOND);
    let opened = target.listening("late", "open", 1);
    assert!(opened.mono_us - began(&target) >= 600_000, "it opens 700 ms after the start, not before");
    assert_eq!(ask(address, get("/")).reply().status, 200);
    let _ = target.story(1);
    // Refused, unless this machine was so busy that the first connect came after the opening.
    let accepted = target.lines().iter().filter(|line| matches!(line.fact, Fact::Accepted(_))).count();
    assert!(first.is_err() == (accepted == 1), "{:?}, {accepted} accepted", first.err());
}

#[test]
fn a_port_that_is_closed_refuses() {
    let port = free_port();
    let target = Target::start(&format!(
        "listeners: {{ never: {{ port: {port}, listen: closed }}, web: {{ port: 0, paths: {{ /: 200 }} }} }}"
    ));
    target.listening("never", "closed", 1);
    assert!(refused(SocketAddr::from(([127, 0, 0, 1], port))));
    assert_eq!(ask(target.address("web"), get("/")).reply().status, 200);
}

#[test]
fn a_port_closes_and_opens_again_under_its_number() {
    let target = Target::start(
        "listeners: { web: { port: 0, listen: [{ answer: open, for: 500ms }, { answer: closed, for: 700ms }, { answer: open }], paths: { /: { delay: 900ms } } } }",
    );
    let address = target.address("web");
    let mut early = Wire::connect(address);
    early.send(get("/"));
    target.listening("web", "closed", 1);
    let refused = refused(address);
    let late = target.lines().iter().filter(|line| matches!(line.fact, Fact::Listening(_))).count() > 2;
    assert!(refused || late, "a closed port refuses, unless this machine was so busy that it is open again");
    assert_eq!(early.hear_all().reply().status, 200, "an open connection outlives its port");
    target.listening("web", "open", 2);
    assert_eq!(ask(address, get("/")).reply().status, 200);
}

#[test]
fn a_full_port_gives_no_answer_at_all_and_works_when_it_is_open_again() {
    let target = Target::start(
        "listeners: { web: { port: 0, listen: [{ answer: open, when: { since: { open: 0s.. } } }, { answer: full }], paths: { /: 200 } }, key: { port: 0, paths: { /: { status: 200 }, /open: [{ answer: 200, mark: open, times: 1 }, { answer: 200 }] } } }",
    );
    let address = target.address("web");
    target.listening("web", "full", 1);
    for _ in 0..2 {
        let began = Instant::now();
        let error = Wire::try_connect(address, SECOND).err().map(|error| error.kind());
        assert_eq!(error, Some(ErrorKind::TimedOut), "neither accepted nor refused");
        assert!(began.elapsed() >= SECOND - Duration::from_millis(50)); // what rounding takes off the wait
    }
    assert_eq!(ask(target.address("key"), get("/open")).reply().status, 200);
    target.listening("web", "open", 1);
    assert_eq!(ask(address, get("/")).reply().status, 200);
}

#[test]
fn a_listener_is_reached_at_its_own_address_alone() {
    let target = Target::start("listeners: { own: { port: 0, bind: 127.0.0.2, paths: { /: 200 } } }");
    let port = target.address("own").port();
    assert!(refused(SocketAddr::from(([127, 0, 0, 1], port))));
    assert_eq!(ask(SocketAddr::from(([127, 0, 0, 2], port)), get("/")).reply().status, 200);
    let accepted = target.wait_for("the accept", |line| match &line.fact {
        Fact::Accepted(accepted) => Some(accepted.clone()),
        _ => None,
    });
    assert_eq!(accepted.local, format!("127.0.0.2:{port}"));
}

#[test]
fn without_an_address_both_families_are_served() {
    let target = Target::start("listeners: { web: { port: 0, paths: { /: 200 } } }");
    let port = target.address("web").port();
    assert_eq!(ask(SocketAddr::from(([127, 0, 0, 1], port)), get("/")).reply().status, 200);
    assert_eq!(target.request(1).conn, 0);
    let six = SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, port));
    // A machine may have no IPv6 at all; then there is no second address family.
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        let mut wire = Wire::connect(six);
        assert_eq!(wire.send(get("/")).hear_all().reply().status, 200);
        assert_eq!(target.accepted(wire.local()).local, six.to_string());
    }
}
