//! The gRPC health protocol, right and wrong, at the level of numbers and frames.

use std::time::Duration;

use probity_script::witness::Ending;
use probity_tests::frames::{self, frames, hello, kind};
use probity_tests::grpc::{self, Outcome, check, check_with};
use probity_tests::h2::H2;
use probity_tests::target::Target;
use probity_tests::wire::{End, Wire, get};

fn target(services: &str) -> Target {
    Target::start(&format!(
        "listeners: {{ health: {{ port: 0, protocol: grpc, services: {{ {services} }} }} }}"
    ))
}

fn serving(status: i32) -> Outcome {
    Outcome { status: Some(status), code: Some(0), message: None }
}

fn outcome(result: Result<Outcome, String>) -> Outcome {
    result.unwrap_or_else(|error| panic!("no outcome: {error}"))
}

#[test]
fn every_status_arrives_also_those_out_of_range() {
    let target = target(
        "a: unknown, b: serving, c: not-serving, d: service-unknown, e: 4, f: 77, g: { status: -5 }, h: 2147483647",
    );
    let h2 = H2::connect(target.address("health"));
    let expected = [("a", 0), ("b", 1), ("c", 2), ("d", 3), ("e", 4), ("f", 77), ("g", -5), ("h", i32::MAX)];
    for (nth, (service, status)) in (1..).zip(expected) {
        let got = outcome(check(&h2, service));
        assert_eq!((got.status.unwrap_or(0), got.code), (status, Some(0)), "{service}");
        let story = target.story(nth);
        assert_eq!(story.request.service.as_deref(), Some(service));
        assert_eq!(story.request.endpoint.map(|e| e.to_string()), Some(format!("health:{service}")));
        assert_eq!((story.request.probe, story.request.nth, story.answer.error), (1, nth as u64, None));
    }
}

#[test]
fn each_service_has_its_own_script_and_the_empty_name_is_one() {
    let target = target(
        "'': [{ answer: not-serving, times: 1 }, { answer: serving }], live: serving, '*': service-unknown",
    );
    let h2 = H2::connect(target.address("health"));
    let statuses = ["", "live", "", "other", "live"].map(|service| outcome(check(&h2, service)));
    assert_eq!(statuses, [2, 1, 1, 3, 1].map(serving));
    let seen: Vec<_> = (1..=5).map(|nth| target.story(nth)).collect();
    let told: Vec<_> =
        seen.iter().map(|s| (s.request.service.as_deref(), s.request.probe, s.answer.step)).collect();
    let some = |name| Some(name);
    assert_eq!(
        told,
        [
            (some(""), 1, 0),
            (some("live"), 1, 0),
            (some(""), 2, 1),
            (some("other"), 1, 0),
            (some("live"), 2, 0)
        ]
    );
    assert_eq!(seen[3].request.endpoint.as_ref().map(ToString::to_string), Some("health:*".to_owned()));
}

#[test]
fn calls_fail_with_the_planned_code_and_message() {
    let target =
        target("nf: not-found, un: unimplemented, c: { code: 14, message: 'as you wish' }, d: { code: 8 }");
    let h2 = H2::connect(target.address("health"));
    for (nth, (service, code, message, told)) in (1..).zip([
        ("nf", 5, None, "not-found"),
        ("un", 12, None, "unimplemented"),
        ("c", 14, Some("as you wish"), "code 14"),
        ("d", 8, None, "code 8"),
        ("nowhere", 5, None, "not-found"),
    ]) {
        let got = outcome(check(&h2, service));
        assert_eq!((got.status, got.code), (None, Some(code)), "{service}");
        let words = got.message.unwrap_or_default().replace("%20", " ");
        assert!(message.is_none_or(|message| message == words), "{service}: {words}");
        let story = target.story(nth);
        assert_eq!(story.answer.answer, told);
        assert_eq!(story.request.endpoint.is_none(), service == "nowhere");
    }
}

#[test]
fn an_unknown_method_is_unimplemented() {
    let target = target("a: serving");
    let h2 = H2::connect(target.address("health"));
    let headers = [("content-type", "application/grpc"), ("te", "trailers")];
    let answer = h2.send("POST", "/some.Other/Method", &headers, vec![0; 5], Duration::from_secs(20));
    assert_eq!(
        answer.ok().and_then(|answer| answer.header("grpc-status").map(str::to_owned)).as_deref(),
        Some("12")
    );
    assert_eq!(target.story(1).answer.answer, "unimplemented");
}

#[test]
fn metadata_and_deadline_are_witnessed() {
    let target = target("a: serving");
    let h2 = H2::connect(target.address("health"));
    let metadata = [("user-agent", "kube-probe/1.36 grpc-go/1.79.3"), ("grpc-timeout", "900m")];
    assert_eq!(outcome(check_with(&h2, "a", &metadata, Duration::from_secs(20))), serving(1));
    let request = target.story(1).request;
    for (name, value) in
        metadata.into_iter().chain([(":authority", "target:80"), ("content-type", "application/grpc")])
    {
        assert!(
            request.headers.contains(&(name.to_owned(), value.to_owned())),
            "{name}: {:?}",
            request.headers
        );
    }
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/grpc.health.v1.Health/Check"));
    assert_eq!(request.protocol, "HTTP/2");
}

#[test]
fn an_answer_waits_for_its_delay() {
    let target = target("a: { status: 2, delay: 300ms }");
    let h2 = H2::connect(target.address("health"));
    assert_eq!(outcome(check(&h2, "a")), serving(2));
    let took = target.story(1).answer.took_us;
    assert!((300_000..5_300_000).contains(&took), "{took} us"); // 5 s for a busy machine
}

#[test]
fn a_call_that_hangs_lasts_until_the_client_gives_up() {
    let target = target("a: hang, b: { delay: 60s }");
    let h2 = H2::connect(target.address("health"));
    for (nth, service) in (1..).zip(["a", "b"]) {
        assert!(check_with(&h2, service, &[], Duration::from_millis(300)).is_err());
        let answer = target.story(nth).answer;
        assert_eq!((answer.error.as_deref(), answer.written), (Some("the peer gave up"), 0));
        assert!((200_000..10_000_000).contains(&answer.took_us), "{answer:?}");
    }
}

#[test]
fn connections_end_on_the_wire_as_planned() {
    let target = target("close: close, reset: reset, half: half-frame");
    for (nth, (service, answer, end, how)) in (1..).zip([
        ("close", "close", End::Fin, Ending::WeClosed),
        ("reset", "reset", End::Rst, Ending::WeReset),
        ("half", "half-frame", End::Fin, Ending::WeClosed),
    ]) {
        let mut wire = Wire::connect(target.address("health"));
        let call = frames::call(1, "/grpc.health.v1.Health/Check", &grpc::request(service));
        let heard = wire.send([hello(), call].concat()).hear_all();
        assert_eq!(heard.end, end, "{service}");
        let (whole, rest) = frames(&heard.bytes());
        assert!(whole.iter().all(|frame| frame.kind != kind::HEADERS), "no answer: {whole:?}");
        assert_eq!(!rest.is_empty(), service == "half", "half a frame: {rest:?}");
        let story = target.story(nth);
        assert_eq!((story.request.service.as_deref(), story.answer.answer.as_str()), (Some(service), answer));
        assert_eq!(target.closed(wire.local()).how, how);
    }
}

#[test]
fn a_watch_tells_the_status_at_once_and_each_change() {
    let target = target(
        "a: [{ answer: not-serving, when: { since: { go: 0s.. } } }, { answer: serving }], go: [{ answer: serving, times: 1, mark: go }, { answer: serving }]",
    );
    let h2 = H2::connect(target.address("health"));
    let mut watch = grpc::watch(&h2, "a").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(grpc::status(&watch.next_piece()), 1);
    assert_eq!(outcome(check(&h2, "go")), serving(1));
    assert_eq!(grpc::status(&watch.next_piece()), 2);
    let request = target.request(1);
    assert_eq!((request.service.as_deref(), request.target.ends_with("/Watch")), (Some("a"), true));
    drop(watch);
    let answer = target.answer(request.conn, request.nth);
    assert_eq!((answer.answer.as_str(), answer.error.as_deref()), ("watch", Some("the peer gave up")));
    let mut unknown = grpc::watch(&h2, "nowhere").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(grpc::status(&unknown.next_piece()), 3, "an unknown service is watched as SERVICE_UNKNOWN");
}

#[test]
fn a_list_names_all_services() {
    let target = target("alpha: serving, beta: not-serving, '*': serving");
    let h2 = H2::connect(target.address("health"));
    let message = grpc::list(&h2).unwrap_or_else(|error| panic!("{error}"));
    let entry = |name: &str, status: u8| {
        [&[0x0a, u8::try_from(name.len()).unwrap_or(0)], name.as_bytes(), &[0x12, 2, 0x08, status]].concat()
    };
    for entry in [entry("alpha", 1), entry("beta", 2)] {
        assert!(message.windows(entry.len()).any(|part| part == entry), "{entry:?} in {message:?}");
    }
    assert!(!message.contains(&b'*'), "the star is no service");
    assert_eq!(target.story(1).answer.answer, "list");
}

#[test]
fn tls_carries_the_same_answers() {
    let target = Target::start(
        "listeners: { health: { port: 0, protocol: grpc, tls: {}, services: { a: serving, r: reset } } }",
    );
    let h2 = H2::connect_tls(target.address("health"));
    assert_eq!(outcome(check(&h2, "a")), serving(1));
    let seen = target.tls(h2.local());
    assert_eq!((seen.alpn.as_deref(), seen.error), (Some("h2"), None));
    assert!(check(&h2, "r").is_err());
    assert_eq!(target.closed(h2.local()).how, Ending::WeReset);
    let mut plain = Wire::connect(target.address("health"));
    plain.send(hello()).hear_all();
    assert!(target.tls(plain.local()).error.is_some(), "plain HTTP/2 on a TLS port is a failed handshake");
}

#[test]
fn an_http1_request_gets_no_answer_from_a_grpc_port() {
    let target = target("a: serving");
    let mut wire = Wire::connect(target.address("health"));
    let heard = wire.send(get("/grpc.health.v1.Health/Check")).hear_all();
    assert!(!heard.text().starts_with("HTTP/1"), "{}", heard.text());
    assert_ne!(heard.end, End::Open);
    let closed = target.closed(wire.local());
    assert_eq!((closed.how, closed.error.is_some()), (Ending::WeClosed, true), "{closed:?}");
}
