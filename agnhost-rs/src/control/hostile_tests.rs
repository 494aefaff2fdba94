//! Any client can send anything to the port. The port answers or closes the connection, and keeps working.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::{Read, Write};
use std::time::Instant;

use super::tests::{Port, TOKEN, port};
use super::*;

/// Asserts that the port still answers quickly.
fn lives(port: &Port) {
    let began = Instant::now();
    assert_eq!(port.ask("GET", "/v1/clock", "").status, 200);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn random_bytes_are_answered_or_closed() {
    let port = port();
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..200 {
        let mut bytes = vec![0; (round * 7) % 900 + 1];
        random.fill(&mut bytes);
        let mut stream = port.connect();
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || text.starts_with("HTTP/1.") && text[9..].starts_with('4'), "{text}");
    }
    lives(&port);
}

#[test]
fn huge_heads_and_other_protocols_are_refused() {
    let port = port();
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(1 << 20));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X-A: 1\r\n".repeat(50_000));
    let wide = format!("GET / HTTP/1.1\r\nX-A: {}\r\n\r\n", "b".repeat(1 << 20));
    for head in [long.as_str(), &many, &wide, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x02\x00\x01"]
    {
        let mut stream = port.connect();
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer);
        assert!(!text.starts_with("HTTP/1.1 2"), "{text}");
    }
    lives(&port);
}

#[test]
fn bodies_beyond_the_bound_are_refused_however_they_are_framed() {
    let port = port();
    let head = format!(
        "POST /v1/change HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n"
    );
    let body = "a".repeat((1 << 20) + 1);
    let sized = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    for request in [sized, chunked] {
        let answer = port.raw(request.as_bytes());
        assert!(answer.starts_with(b"HTTP/1.1 413"), "{}", String::from_utf8_lossy(&answer));
    }
    lives(&port);
}

#[test]
fn slow_heads_and_silent_connections_are_closed_and_their_places_freed() {
    let port = port();
    let began = Instant::now();
    let mut silent: Vec<_> = (0..CONNECTIONS).map(|_| port.connect()).collect();
    let _ = silent[0].write_all(b"GET /v1/clock HTTP/1.1\r\nHost: a\r\n");
    // One more connection is too many: it is closed immediately, and this is recorded.
    let mut turned_away = Vec::new();
    let _ = port.connect().read_to_end(&mut turned_away);
    assert!(turned_away.is_empty() && began.elapsed() < HEAD_PATIENCE);
    let full = |line: &probity_script::WitnessLine| matches!(&line.fact, Fact::Refused(r) if r.why.contains("too many"));
    assert!(port.facts().iter().any(full));
    for stream in &mut silent {
        let _ = stream.read_to_end(&mut Vec::new());
    }
    assert!(began.elapsed() < HEAD_PATIENCE * 2, "{:?}", began.elapsed());
    lives(&port);
}

#[test]
fn half_open_and_aborted_connections_leave_nothing_behind() {
    let port = port();
    let request = format!(
        "GET /v1/witness?since=1&wait=200ms HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    );
    for round in 0..3 * CONNECTIONS {
        let mut stream = port.connect();
        stream.write_all(&request.as_bytes()[..request.len() / (round % 3 + 1)]).unwrap();
        if round % 2 == 0 {
            socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
        }
        drop(stream);
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(300));
    lives(&port);
}

#[test]
fn pipelined_requests_are_answered_in_order_and_each_needs_the_token() {
    let port = port();
    let with = format!("Authorization: Bearer {TOKEN}\r\n");
    let request = |target: &str, more: &str| format!("GET {target} HTTP/1.1\r\nHost: a\r\n{more}\r\n");
    let all = [
        request("/v1/clock", &with),
        request("/v1/plan", ""),
        request("/nothing", &with),
        request("/v1/counters", &format!("{with}Connection: close\r\n")),
    ]
    .concat();
    let answer = String::from_utf8(port.raw(all.as_bytes())).unwrap();
    let statuses: Vec<_> =
        answer.match_indices("HTTP/1.1 ").map(|(at, _)| &answer[at + 9..at + 12]).collect();
    assert_eq!(statuses, ["200", "401", "404", "200"], "{answer}");
}

#[test]
fn a_target_full_of_noise_is_witnessed_short_and_as_valid_json() {
    let port = port();
    let answer = port.raw(
        format!("GET /%00\"{} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "x".repeat(4000)).as_bytes(),
    );
    assert!(answer.starts_with(b"HTTP/1.1 40"));
    for line in port.facts() {
        if let Fact::Refused(refused) = line.fact {
            assert!(refused.request.chars().count() <= 256);
        }
    }
    lives(&port);
}
