use super::*;
use proptest::prelude::*;

fn head(text: &str) -> Head {
    match parse(text.as_bytes()) {
        ParsedHead::Head(head) => head,
        other => panic!("{other:?}"),
    }
}

#[test]
fn headers_keep_their_order_their_case_and_their_duplicates() {
    let head = head("GET /a?b HTTP/1.1\r\nX-B: 1\r\nx-a:  two \r\nX-B: 3\r\n\r\nrest");
    let lines: Vec<_> = head.text.lines().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(lines, ["X-B=1", "x-a=two ", "X-B=3"].map(|l| l.trim_end().to_owned()));
    assert_eq!((head.text.method(), head.text.target(), head.length), ("GET", "/a?b", 49));
}

#[test]
fn the_connection_goes_on_as_the_version_and_the_header_say() {
    for (text, alive) in [
        ("GET / HTTP/1.1\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n", false),
        ("GET / HTTP/1.0\r\n\r\n", false),
        ("GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n", true),
    ] {
        assert_eq!(head(text).keeps_alive(), alive, "{text}");
    }
}

#[test]
fn a_body_whose_end_is_disputed_is_unclear() {
    for (headers, coming) in [
        ("", AnnouncedBody::Length(0)),
        ("Content-Length: 5\r\n", AnnouncedBody::Length(5)),
        ("Transfer-Encoding: chunked\r\n", AnnouncedBody::Chunks),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", AnnouncedBody::Unclear),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", AnnouncedBody::Unclear),
        ("Content-Length: five\r\n", AnnouncedBody::Unclear),
    ] {
        assert_eq!(head(&format!("POST / HTTP/1.1\r\n{headers}\r\n")).announced_body(), coming, "{headers}");
    }
}

#[test]
fn what_is_no_http_is_told_apart() {
    assert_eq!(parse(b"PRI * HTT"), ParsedHead::Partial);
    assert_eq!(parse(H2_PREFACE), ParsedHead::Http2);
    assert_eq!(parse(b"GET / HT"), ParsedHead::Partial);
    assert!(matches!(parse(b"\x16\x03\x01\x00"), ParsedHead::Wrong(_)));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(MOST_HEADERS + 1));
    assert_eq!(parse(many.as_bytes()), ParsedHead::TooLarge);
    assert_eq!(parse(format!("GET /{}", "a".repeat(LARGEST)).as_bytes()), ParsedHead::TooLarge);
}

proptest! {
    #[test]
    fn any_bytes_are_something(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let ParsedHead::Head(head) = parse(&bytes) {
            prop_assert!(head.length <= bytes.len());
        }
    }
}
