#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use crate::reading::http::response::*;

/// The meaning of an answer with this plan that was sent without an error to a probe with a timeout of 1 s.
fn said(told: serde_json::Value) -> ResponseSeen {
    let told: HttpAnswer = serde_json::from_value(told).unwrap();
    let answer = compose_http(&told, &HttpRequestFacts::default()).word;
    let answered = Answered {
        conn: 0,
        nth: 1,
        endpoint: None,
        step: 0,
        answer,
        written: 0,
        took_us: 0,
        last_send_us: None,
        error: None,
    };
    ResponseSeen::of(&answered, Some(&told), 0, true, 1_000_000)
}

#[test]
fn a_body_that_ends_or_reaches_the_limit_is_whole() {
    for told in [
        json!(200),
        json!({ "body": { "endless": true } }),
        json!({ "body": { "bytes": "1MiB" }, "stall-after": 10240 }),
        json!({ "body": "text", "framing": "close" }),
        json!({ "body": { "bytes": 100 }, "framing": "close", "close-after": 40 }),
        json!({ "body": { "bytes": 100 }, "stall-after": 100 }),
        json!({ "body": "text", "drip": { "bytes": 1, "every": "100ms" } }),
    ] {
        assert!(matches!(said(told.clone()), ResponseSeen::Whole { status: 200, .. }), "{told}");
    }
}

#[test]
fn a_body_that_breaks_off_before_is_short() {
    for told in [
        json!({ "body": { "bytes": 100 }, "stall-after": 40 }),
        json!({ "body": "hello", "framing": { "content-length": 100 } }),
        json!({ "body": { "endless": true }, "close-after": 10239 }),
        json!({ "body": "text", "framing": "chunked", "stall-after": 4 }),
        json!({ "body": { "bytes": 100 }, "drip": { "bytes": 1, "every": "100ms" } }),
    ] {
        assert_eq!(said(told.clone()), ResponseSeen::Short { status: 200 }, "{told}");
    }
}

#[test]
fn what_is_no_response_is_nothing_and_what_is_unclear_is_unknown() {
    for told in [json!("close"), json!("reset"), json!("garbage"), json!({ "raw": "220 smtp\r\n" })] {
        assert_eq!(said(told.clone()), ResponseSeen::Nothing, "{told}");
    }
    for told in [
        json!("hang"),
        json!({ "raw": "HTTP/1.1 200 OK\r\n\r\n" }),
        json!({ "raw": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" }),
        json!({ "raw": "HTTP/1.1 600 Beyond\r\nContent-Length: 3\r\n\r\nok" }),
        json!({ "delay": "900ms" }),
        json!({ "body": "text", "body-delay": "900ms" }),
        json!({ "body": { "bytes": 100 }, "reset-after": 40 }),
    ] {
        assert_eq!(said(told.clone()), ResponseSeen::Unknown, "{told}");
    }
}

#[test]
fn a_chain_says_its_own_status_until_it_ends() {
    let told = json!({ "status": 503, "redirect": { "hops": 2, "status": 307 } });
    assert_eq!(said(told), ResponseSeen::Whole { status: 307, bytes: Some(0) });
}

#[test]
fn a_written_response_with_a_status_of_no_class_has_this_status() {
    let told = json!({ "raw": "HTTP/1.1 600 Beyond\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok" });
    assert_eq!(said(told), ResponseSeen::Whole { status: 600, bytes: Some(2) });
}
