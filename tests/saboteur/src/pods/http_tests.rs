use std::net::Ipv4Addr;

use super::{Head, Place, end_of_head, is_whole, place};
use crate::pods::fault::{Judge, Request};

const PROBE: &str = "GET /live?a=1 HTTP/1.1\r\nHost: 10.244.1.7:8080\r\nUser-Agent: kube-probe/1.36\r\nX-A: 1\r\nx-a: 2\r\nAccept: */*\r\nConnection: close\r\n\r\n";

fn head(text: &str) -> Head {
    match Head::read(text.as_bytes()) {
        Some(head) => head,
        None => panic!("no head: {text:?}"),
    }
}

fn altered(words: &str) -> String {
    let change: Request = match serde_saphyr::from_str(words) {
        Ok(change) => change,
        Err(error) => panic!("{error}"),
    };
    let mut head = head(PROBE);
    head.alter(&change);
    String::from_utf8_lossy(&head.bytes()).into_owned()
}

#[test]
fn a_head_that_is_not_changed_keeps_its_bytes() {
    assert_eq!(String::from_utf8_lossy(&head(PROBE).bytes()), PROBE);
    assert_eq!(altered("{}"), PROBE);
    assert_eq!(end_of_head(PROBE.as_bytes()), Some(PROBE.len()));
    assert_eq!(end_of_head(&PROBE.as_bytes()[..PROBE.len() - 1]), None);
}

#[test]
fn the_request_line_is_changed_word_by_word() {
    assert!(altered("{ path: /other }").starts_with("GET /other?a=1 HTTP/1.1\r\n"));
    assert!(altered("{ without-query: true }").starts_with("GET /live HTTP/1.1\r\n"));
    assert!(altered("{ method: HEAD }").starts_with("HEAD /live?a=1 HTTP/1.1\r\n"));
    assert!(altered("{ version: HTTP/1.0 }").starts_with("GET /live?a=1 HTTP/1.0\r\n"));
}

#[test]
fn header_fields_are_removed_set_and_added() {
    assert!(!altered("{ remove: [user-agent] }").contains("User-Agent"));
    assert!(altered("{ set: [{ name: host, value: other }] }").contains("\r\nHost: other\r\n"));
    assert!(altered("{ set: [{ name: X-New, value: '1' }] }").ends_with("X-New: 1\r\n\r\n"));
    let added = altered("{ add: [{ name: X-A, value: '3' }] }");
    assert_eq!(added.to_ascii_lowercase().matches("x-a:").count(), 3);
}

#[test]
fn of_repeated_fields_the_first_is_kept() {
    let kept = altered("{ first-of-each: true }");
    assert!(kept.contains("X-A: 1") && !kept.contains("x-a: 2"));
}

#[test]
fn the_order_is_reversed() {
    assert!(
        altered("{ reversed: true }")
            .starts_with("GET /live?a=1 HTTP/1.1\r\nConnection: close\r\nAccept: */*\r\n")
    );
}

#[test]
fn statuses_are_judged_by_the_first_rule_that_fits() {
    let judge: Judge = match serde_saphyr::from_str(
        "{ statuses: [{ from: 204, to: 500 }, { from: 400, up_to: 599, to: 200 }] }",
    ) {
        Ok(judge) => judge,
        Err(error) => panic!("{error}"),
    };
    let judged = |text: &str| {
        let mut head = head(text);
        head.judge(&judge);
        (head.status(), head.get("content-length").map(str::to_owned))
    };
    assert_eq!(judged("HTTP/1.1 204 No Content\r\n\r\n"), (Some(500), Some("0".into())));
    assert_eq!(judged("HTTP/1.1 429 Slow\r\nContent-Length: 3\r\n\r\n"), (Some(200), Some("3".into())));
    assert_eq!(judged("HTTP/1.1 301 Moved\r\n\r\n"), (Some(301), None));
}

#[test]
fn an_answer_is_whole_by_its_length_or_its_last_chunk() {
    let length = head("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
    assert!(!is_whole(&length, b"o"));
    assert!(is_whole(&length, b"ok"));
    let chunked = head("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    assert!(!is_whole(&chunked, b"2\r\nok\r\n"));
    assert!(is_whole(&chunked, b"2\r\nok\r\n0\r\n\r\n"));
    assert!(!is_whole(&head("HTTP/1.1 200 OK\r\n\r\n"), b"until the end"));
    assert!(is_whole(&head("HTTP/1.1 204 No Content\r\n\r\n"), b""));
}

#[test]
fn a_redirect_leads_to_a_place() {
    let to = |secure, host: Option<&str>, port, target: &str| Place {
        secure,
        host: host.map(str::to_owned),
        port,
        target: target.to_owned(),
    };
    assert_eq!(place("/ok?a", false), to(false, None, None, "/ok?a"));
    assert_eq!(place("https://10.0.0.1:8443/ok", false), to(true, Some("10.0.0.1"), Some(8443), "/ok"));
    assert_eq!(place("http://example.org", true), to(false, Some("example.org"), Some(80), "/"));
    assert_eq!(place("//10.0.0.1/x", true), to(true, Some("10.0.0.1"), Some(443), "/x"));
    assert_eq!(place("http://example.org", true).address(Ipv4Addr::LOCALHOST), None);
    assert_eq!(place("/x", true).address(Ipv4Addr::LOCALHOST), Some(Ipv4Addr::LOCALHOST));
}
