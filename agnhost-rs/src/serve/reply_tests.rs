#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;

fn composed(yaml: &str, hop: u64) -> Composed {
    let reply: HttpReply = serde_saphyr::from_str(yaml).unwrap();
    let report = |_| "{}".to_owned();
    let setting = Setting {
        path: "/r",
        hop,
        ip: IpAddr::from([10, 0, 0, 1]),
        port: 8080,
        host: "app.example",
        report: &report,
    };
    compose(&reply, &setting)
}

/// Everything that a body sends, and how it ends.
fn run(mut source: Source, most_turns: usize) -> (u64, Turn) {
    let mut sent = 0;
    for _ in 0..most_turns {
        match source.next() {
            Turn::Send(bytes) => sent += bytes.len() as u64,
            Turn::Rest(_) => {}
            end => return (sent, end),
        }
    }
    (sent, Turn::Rest(Duration::ZERO))
}

#[test]
fn nothing_said_means_200_ok() {
    let reply = composed("{}", 0);
    assert_eq!((reply.status, reply.framing), (200, Length::Exact(2)));
    assert_eq!(run(reply.body, 9), (2, Turn::End));
}

#[test]
fn bodies_have_the_size_they_are_given() {
    for size in [0, 1, 10_239, 10_240, 10_241, 1 << 20] {
        let reply = composed(&format!("body: {{ bytes: {size} }}"), 0);
        assert_eq!(reply.framing, Length::Exact(size));
        assert_eq!(run(reply.body, 1000), (size, Turn::End));
    }
}

#[test]
fn cuts_come_exactly_where_they_are_wanted() {
    for (yaml, sent, end) in [
        ("{ body: { bytes: 100 }, stall-after: 40 }", 40, Turn::Stall),
        ("{ body: { bytes: 100 }, close-after: 0 }", 0, Turn::Close),
        ("{ body: { endless: true }, reset-after: 40000 }", 40_000, Turn::Reset),
        ("{ body: { bytes: 5 }, stall-after: 40 }", 5, Turn::Stall),
    ] {
        assert_eq!(run(composed(yaml, 0).body, 1000), (sent, end), "{yaml}");
    }
}

#[test]
fn a_drip_rests_between_its_pieces() {
    let mut body = composed("{ body: abc, drip: { bytes: 1, every: 20ms } }", 0).body;
    let rest = || Turn::Rest(Duration::from_millis(20));
    let send = |text: &'static str| Turn::Send(Bytes::from_static(text.as_bytes()));
    let turns: Vec<_> = (0..6).map(|_| body.next()).collect();
    assert_eq!(turns, [send("a"), rest(), send("b"), rest(), send("c"), Turn::End]);
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
}

#[test]
fn statuses_without_a_body_have_none() {
    for status in [204, 304] {
        let reply = composed(&format!("{{ status: {status}, body: text }}"), 0);
        assert_eq!(reply.framing, Length::Nothing);
        assert!(reply.body.is_over());
    }
}

proptest! {
    #[test]
    fn no_body_sends_more_than_it_has_or_than_its_cut(size in 0_u64..200_000, cut in 0_u64..200_000, drip in 1_u64..20_000) {
        let yaml = format!("{{ body: {{ bytes: {size} }}, close-after: {cut}, drip: {{ bytes: {drip}, every: 1ms }} }}");
        let (sent, end) = run(composed(&yaml, 0).body, usize::MAX);
        prop_assert_eq!(sent, size.min(cut));
        prop_assert_eq!(end, Turn::Close);
    }
}
