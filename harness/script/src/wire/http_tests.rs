#![expect(clippy::unwrap_used, reason = "tests")]

use std::net::IpAddr;

use proptest::prelude::*;

use crate::wire::*;

fn composed(yaml: &str, hop: u64) -> PlannedResponse {
    let answer = serde_saphyr::from_str(yaml).unwrap();
    let request = HttpRequestFacts {
        path: "/r",
        hop,
        ip: IpAddr::from([10, 0, 0, 1]),
        port: 8080,
        host: "app.example",
        version: HttpVersion::Http11,
    };
    match compose_http(&answer, &request).action {
        WireAction::Respond(response) => response,
        other => panic!("{yaml} is not a response: {other:?}"),
    }
}

/// The number of bytes of a body that are sent, and how it ends.
fn run(response: &PlannedResponse, most_turns: usize) -> (u64, BodyTurn) {
    let mut turns = response.turns();
    let mut sent = 0;
    for _ in 0..most_turns {
        match turns.take() {
            BodyTurn::Send(bytes) => sent += bytes.end - bytes.start,
            BodyTurn::Pause(_) => {}
            end => return (sent, end),
        }
    }
    (sent, BodyTurn::Pause(Span::default()))
}

#[test]
fn nothing_said_means_200_ok() {
    let reply = composed("{}", 0);
    assert_eq!((reply.status, reply.length, reply.announced()), (200, BodyLength::True, Some(2)));
    assert_eq!(run(&reply, 9), (2, BodyTurn::Complete));
}

#[test]
fn bodies_have_the_size_they_are_given() {
    for size in [0, 1, 10_239, 10_240, 10_241, 1 << 20] {
        let reply = composed(&format!("body: {{ bytes: {size} }}"), 0);
        assert_eq!((reply.length, reply.announced()), (BodyLength::True, Some(size)));
        assert_eq!(run(&reply, 1000), (size, BodyTurn::Complete));
    }
}

#[test]
fn cuts_come_exactly_where_they_are_wanted() {
    let (close, reset) = (BodyCut::End(ConnectionEnd::Close), BodyCut::End(ConnectionEnd::Reset));
    for (yaml, sent, end) in [
        ("{ body: { bytes: 100 }, stall-after: 40 }", 40, BodyCut::Stall),
        ("{ body: { bytes: 100 }, close-after: 0 }", 0, close),
        ("{ body: { endless: true }, reset-after: 40000 }", 40_000, reset),
        ("{ body: { bytes: 5 }, stall-after: 40 }", 5, BodyCut::Stall),
    ] {
        let reply = composed(yaml, 0);
        assert_eq!(run(&reply, 1000), (sent, BodyTurn::Cut(end)), "{yaml}");
        assert_eq!(reply.sent(), Some(sent), "{yaml}");
    }
}

#[test]
fn a_drip_rests_between_its_pieces() {
    let mut body = composed("{ body: abc, drip: { bytes: 1, every: 20ms } }", 0).turns();
    let rest = || BodyTurn::Pause(Span::from_micros(20_000));
    let send = |at: u64| BodyTurn::Send(at..at + 1);
    let turns: Vec<_> = (0..6).map(|_| body.take()).collect();
    assert_eq!(turns, [send(0), rest(), send(1), rest(), send(2), BodyTurn::Complete]);
}

#[test]
fn redirects_count_their_hops_and_then_answer() {
    let yaml = "{ redirect: { hops: 2, status: 307 }, status: 503 }";
    let hops: Vec<_> =
        (0..3).map(|hop| composed(yaml, hop)).map(|reply| (reply.status, reply.headers[0].clone())).collect();
    assert_eq!(hops[0], (307, "Location: /r?probity-hop=1".to_owned()));
    assert_eq!(hops[1], (307, "Location: /r?probity-hop=2".to_owned()));
    assert_eq!(hops[2].0, 503);
    assert_eq!(composed("{ redirect: { hops: endless } }", 1_000_000).status, 302);
    let other = composed("{ redirect: { hops: 1, base: 'https://{ip}:8443' } }", 0);
    assert_eq!(other.headers, ["Location: https://10.0.0.1:8443/r?probity-hop=1"]);
}

#[test]
fn templates_know_the_connection() {
    let reply = composed("{ status: 302, headers: ['Location: http://{ip}:8081/ok', 'X-Host: {host}'] }", 0);
    assert_eq!(reply.headers[..2], ["Location: http://10.0.0.1:8081/ok", "X-Host: app.example"]);
    assert_eq!(reply.header("location"), Some("http://10.0.0.1:8081/ok"));
}

#[test]
fn statuses_without_a_body_have_none() {
    for status in [204, 304] {
        let reply = composed(&format!("{{ status: {status}, body: text }}"), 0);
        assert_eq!(reply.length, BodyLength::NoBody);
        assert!(reply.turns().is_complete());
    }
}

#[test]
fn what_is_not_a_response_is_bytes_and_an_end() {
    for (yaml, word, bytes, end) in [
        ("close", "close", "", ConnectionEnd::Close),
        ("reset", "reset", "", ConnectionEnd::Reset),
        ("{ raw: 220 smtp, delay: 1s }", "raw", "220 smtp", ConnectionEnd::Close),
    ] {
        let composed = compose_http(&serde_saphyr::from_str(yaml).unwrap(), &HttpRequestFacts::default());
        assert_eq!(composed.word, word);
        assert_eq!(composed.action, WireAction::SendAndEnd { bytes: bytes.as_bytes().to_vec(), end });
    }
}

#[test]
fn a_reader_gets_what_the_plan_sends_it() {
    for (yaml, end) in [
        ("{ body: text }", BodyEnd::Complete),
        ("{ body: { endless: true } }", BodyEnd::Complete),
        ("{ body: { bytes: 1MiB }, stall-after: 10240 }", BodyEnd::Complete),
        ("{ body: { bytes: 1MiB }, stall-after: 10239 }", BodyEnd::Silence),
        ("{ body: hello, framing: { content-length: 100 } }", BodyEnd::TooShort),
        ("{ body: hello, framing: close, close-after: 3 }", BodyEnd::Complete),
        ("{ body: hello, framing: chunked, close-after: 3 }", BodyEnd::TooShort),
        ("{ body: hello, reset-after: 3 }", BodyEnd::Aborted),
    ] {
        assert_eq!(composed(yaml, 0).read(10_240).end, end, "{yaml}");
    }
}

#[test]
fn the_witness_names_what_breaks_off() {
    for (yaml, why) in [
        (
            "{ body: hello, framing: { content-length: 100 } }",
            Some("the head promised more than the plan sends"),
        ),
        ("{ body: hello, framing: close, close-after: 3 }", None),
        ("{ body: hello, close-after: 3 }", Some("the plan closes the connection here")),
        ("{ body: hello, framing: close, reset-after: 3 }", Some("the plan aborts the connection here")),
        ("{ body: hello, stall-after: 3 }", None),
    ] {
        assert_eq!(composed(yaml, 0).breaks_off(), why, "{yaml}");
    }
}

proptest! {
    #[test]
    fn no_body_sends_more_than_it_has_or_than_its_cut(size in 0_u64..200_000, cut in 0_u64..200_000, drip in 1_u64..20_000) {
        let yaml = format!("{{ body: {{ bytes: {size} }}, close-after: {cut}, drip: {{ bytes: {drip}, every: 1ms }} }}");
        let (sent, end) = run(&composed(&yaml, 0), usize::MAX);
        prop_assert_eq!(sent, size.min(cut));
        prop_assert_eq!(end, BodyTurn::Cut(BodyCut::End(ConnectionEnd::Close)));
    }

    #[test]
    fn the_time_of_each_byte_is_the_sum_of_the_pauses_before_it(size in 1_u64..5_000, drip in 1_u64..700, wanted in 1_u64..5_000) {
        let response = composed(&format!("{{ body: {{ bytes: {size} }}, drip: {{ bytes: {drip}, every: 7ms }} }}"), 0);
        let (mut turns, mut sent, mut waited) = (response.turns(), 0, 0);
        while sent < wanted.min(size) {
            match turns.take() {
                BodyTurn::Send(bytes) => sent = bytes.end,
                BodyTurn::Pause(pause) => waited += pause.micros(),
                end => panic!("{end:?} before {wanted} of {size} bytes"),
            }
        }
        prop_assert_eq!(response.read(wanted).after.micros(), waited);
    }
}
