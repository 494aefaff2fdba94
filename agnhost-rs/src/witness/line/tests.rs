use probity_script::witness::{Answered, Request};
use proptest::option::of;
use proptest::prelude::*;

use super::*;

fn as_serde_writes(seen: &impl Record, fact: &Fact) {
    let (mut line, mut by_serde) = (Vec::new(), Vec::new());
    seen.push(&mut line);
    fact.push(&mut by_serde);
    assert_eq!(String::from_utf8_lossy(&line), String::from_utf8_lossy(&by_serde));
}

fn endpoint(of: &Option<Endpoint>) -> Option<EndpointSeen<'_>> {
    match of {
        Some(Endpoint::Of { listener, name }) => Some(EndpointSeen { listener, name }),
        _ => None,
    }
}

// Both functions name every field of the fact, so that a new one cannot be forgotten.

fn check_request(request: Request) {
    let fact = Fact::Request(request.clone());
    let Request {
        conn,
        nth,
        endpoint: of,
        probe,
        hop,
        method,
        target,
        protocol,
        headers,
        body,
        first_byte_us,
        service,
    } = &request;
    let seen = RequestSeen {
        conn: *conn,
        nth: *nth,
        endpoint: endpoint(of),
        probe: *probe,
        hop: *hop,
        method,
        target,
        protocol,
        headers: headers.iter().map(|(name, value)| (name.as_str(), value.as_str())),
        body: *body,
        first_byte_us: *first_byte_us,
        service: service.as_deref(),
    };
    as_serde_writes(&seen, &fact);
}

fn check_answer(answered: Answered) {
    let fact = Fact::Answer(answered.clone());
    let Answered { conn, nth, endpoint: of, step, answer, written, took_us, last_send_us, error } = &answered;
    let seen = AnswerSeen {
        conn: *conn,
        nth: *nth,
        endpoint: endpoint(of),
        step: *step,
        answer,
        written: *written,
        took_us: *took_us,
        last_send_us: *last_send_us,
        error: error.as_deref(),
    };
    as_serde_writes(&seen, &fact);
}

/// Any text, and often one with bytes that JSON escapes.
fn words() -> impl Strategy<Value = String> {
    prop_oneof![".*", "[ -~\"\\\\\u{0}-\u{1f}\u{7f}é]{0,20}"]
}

fn endpoints() -> impl Strategy<Value = Option<Endpoint>> {
    of((words(), words()).prop_map(|(listener, name)| Endpoint::Of { listener, name }))
}

proptest! {
    #[test]
    fn a_request_is_written_as_serde_writes_it(
        numbers in any::<[u64; 4]>(),
        body in prop_oneof![Just(0), any::<u64>()],
        endpoint in endpoints(),
        hop in any::<Option<u64>>(),
        names in [words(), words(), words()],
        headers in proptest::collection::vec((words(), words()), 0..4),
        service in of(words()),
    ) {
        let ([conn, nth, probe, first_byte_us], [method, target, protocol]) = (numbers, names);
        check_request(Request {
            conn, nth, endpoint, probe, hop, method, target, protocol, headers, body, first_byte_us, service,
        });
    }

    #[test]
    fn an_answer_is_written_as_serde_writes_it(
        numbers in any::<[u64; 4]>(),
        step in any::<usize>(),
        endpoint in endpoints(),
        answer in words(),
        last_send_us in any::<Option<u64>>(),
        error in of(words()),
    ) {
        let [conn, nth, written, took_us] = numbers;
        check_answer(Answered { conn, nth, endpoint, step, answer, written, took_us, last_send_us, error });
    }
}

#[test]
fn only_what_json_writes_as_it_is_counts_as_plain() {
    for byte in 0..0x80_u8 {
        for length in [0, 1, 7, 8, 9, 16] {
            let text = format!("{}{}tail", "a".repeat(length), char::from(byte));
            let quoted = serde_json::to_string(&text).unwrap_or_default();
            assert_eq!(is_plain(&text), quoted == format!("\"{text}\""), "{text:?}");
        }
    }
    assert!(is_plain("") && is_plain("12345678"));
}
