//! Redirects of every kind, followed hop by hop, and what the witness records about the hops.

use std::fmt::Write as _;
use std::net::SocketAddr;

use probity_tests::program::free_port;
use probity_tests::target::Target;
use probity_tests::wire::{Reply, Wire, ask, get};

/// Follows relative redirects until there is another answer, or until this many requests have been made.
fn follow(address: SocketAddr, path: &str, most: usize) -> (usize, Reply) {
    let mut path = path.to_owned();
    for requests in 1.. {
        let reply = ask(address, get(&path)).reply();
        match reply.header("location") {
            Some(next) if requests < most => path = next.to_owned(),
            _ => return (requests, reply),
        }
    }
    unreachable!("counting never ends")
}

#[test]
fn every_3xx_status_can_redirect() {
    let mut paths = String::new();
    for status in 300..=399 {
        let _ = write!(
            paths,
            "/{status}: {{ redirect: {{ hops: 1, status: {status} }} }}, /bare{status}: {status}, "
        );
    }
    let target = Target::start(&format!("listeners: {{ web: {{ port: 0, paths: {{ {paths} }} }} }}"));
    let mut wire = Wire::connect(target.address("web"));
    for status in 300..=399 {
        let reply = wire.send(format!("GET /{status} HTTP/1.1\r\n\r\n")).reply();
        let location = format!("/{status}?probity-hop=1");
        assert_eq!((reply.status, reply.header("location")), (status, Some(location.as_str())));
        assert_eq!(wire.send(format!("GET {location} HTTP/1.1\r\n\r\n")).reply().status, 200);
        let bare = wire.send(format!("GET /bare{status} HTTP/1.1\r\n\r\n")).reply();
        assert_eq!((bare.status, bare.header("location")), (status, None), "a missing Location");
    }
}

#[test]
fn a_location_can_be_anything() {
    let locations = [
        ("/relative", "ok?x=1", "ok?x=1"),
        ("/absolute", "http://{ip}:8081/ok", "http://127.0.0.1:8081/ok"),
        ("/own", "http://{ip}:{port}/ok", "http://127.0.0.1:PORT/ok"),
        ("/https", "https://{ip}:8443/ok", "https://127.0.0.1:8443/ok"),
        ("/host", "http://{host}/ok", "http://app.example/ok"),
        ("/other", "http://other.invalid/x", "http://other.invalid/x"),
        ("/malformed", "http://[::1", "http://[::1"),
        ("/scheme", "gopher://x", "gopher://x"),
        ("/empty", "", ""),
    ];
    let paths: Vec<_> = locations
        .iter()
        .map(|(path, location, _)| format!("{path}: {{ status: 302, headers: ['Location: {location}'] }}"))
        .collect();
    let target =
        Target::start(&format!("listeners: {{ web: {{ port: 0, paths: {{ {} }} }} }}", paths.join(", ")));
    let address = target.address("web");
    for (path, _, expected) in locations {
        let reply = ask(address, format!("GET {path} HTTP/1.0\r\nHost: app.example\r\n\r\n")).reply();
        let expected = expected.replace("PORT", &address.port().to_string());
        assert_eq!((reply.status, reply.header("location")), (302, Some(expected.as_str())), "{path}");
    }
}

#[test]
fn a_chain_has_exactly_the_planned_hops() {
    let target = Target::start(
        "listeners: { web: { port: 0, paths: { /9: { redirect: { hops: 9 } }, /10: { redirect: { hops: 10, status: 307 }, status: 503 }, /0: { redirect: { hops: 0 } } } } }",
    );
    for (path, requests, status) in [("/9", 10, 200), ("/10", 11, 503), ("/0", 1, 200)] {
        let (made, reply) = follow(target.address("web"), path, 50);
        assert_eq!((made, reply.status), (requests, status), "{path}");
    }
}

#[test]
fn a_loop_never_ends() {
    let target = Target::start(
        "listeners: { web: { port: 0, paths: { /: { redirect: { hops: endless, status: 308 } } } } }",
    );
    let (made, reply) = follow(target.address("web"), "/", 40);
    assert_eq!((made, reply.status, reply.header("location")), (40, 308, Some("/?probity-hop=40")));
}

#[test]
fn hops_are_witnessed_and_are_no_probes() {
    let target = Target::start(
        "listeners: { web: { port: 0, paths: { /: [{ answer: { redirect: { hops: 2 } }, times: 2 }, { answer: 500 }] } } }",
    );
    for _ in 0..2 {
        assert_eq!(follow(target.address("web"), "/", 9).0, 3);
    }
    assert_eq!(
        ask(target.address("web"), get("/")).reply().status,
        500,
        "the third probe meets the next step"
    );
    let seen: Vec<_> = (1..=7).map(|nth| target.story(nth)).collect();
    let told: Vec<_> = seen.iter().map(|story| (story.request.probe, story.request.hop)).collect();
    let hops = [None, Some(1), Some(2)];
    let expected: Vec<_> =
        [1, 2].into_iter().flat_map(|probe| hops.map(|hop| (probe, hop))).chain([(3, None)]).collect();
    assert_eq!(told, expected);
    let answers: Vec<_> = seen.iter().map(|story| story.answer.answer.as_str()).collect();
    assert_eq!(answers, ["302", "302", "200", "302", "302", "200", "500"]);
    assert!(seen[1].request.target.ends_with("?probity-hop=1"));
}

#[test]
fn a_chain_can_lead_to_another_port() {
    let other = free_port();
    let target = Target::start(&format!(
        "listeners: {{ web: {{ port: 0, paths: {{ /: {{ redirect: {{ hops: 1, base: 'http://{{ip}}:{other}' }} }} }} }}, other: {{ port: {other}, paths: {{ /: 204 }} }} }}"
    ));
    let reply = ask(target.address("web"), get("/")).reply();
    let location = format!("http://127.0.0.1:{other}/?probity-hop=1");
    assert_eq!(reply.header("location"), Some(location.as_str()));
    assert_eq!(ask(target.address("other"), get("/?probity-hop=1")).reply().status, 204);
    let second = target.story(2);
    assert_eq!(second.request.endpoint.map(|endpoint| endpoint.to_string()), Some("other:/".to_owned()));
    assert_eq!(second.request.hop, Some(1));
}
