//! What an answer says to whoever reads it as HTTP: a status that counts, a body that breaks off, or nothing at all.
//!
//! The witness reports what became of an answer, and the plan what it puts on the wire ([`probity_script::wire`]). Where both
//! together leave room for doubt, for example because a pause comes near to the probe's timeout, the answer is
//! [`Said::Unknown`] and nobody is judged by it.

use probity_model::clause::micros;
use probity_script::answer::HttpAnswer;
use probity_script::wire::{
    BodyContent, BodyCut, BodyEnd, BodyLength, ConnectionEnd, HttpRequestFacts, HttpVersion, PlannedResponse,
    WireAction, compose_http,
};
use probity_script::witness::Answered;

/// So much of a body is read, and no more.
pub(crate) const LIMIT: u64 = 10 * 1024;

/// What an answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// A status, and a body that can be read to its end or to the limit.
    Whole {
        status: u16,
        /// How long the body is; endless is the largest number, none if the plan is not known.
        bytes: Option<u64>,
    },
    /// A status, and a body of which neither the end nor the limit can be reached within the timeout.
    Short { status: u16 },
    /// Nothing that is HTTP: closed, aborted or garbage.
    Nothing,
    /// It cannot be told.
    Unknown,
}

impl Said {
    /// The status, if one was said.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Whole { status, .. } | Self::Short { status } => Some(*status),
            Self::Nothing | Self::Unknown => None,
        }
    }

    /// What an answer said.
    pub(crate) fn of(
        answer: &Answered,
        told: Option<&HttpAnswer>,
        hop: u64,
        http1: bool,
        timeout: i64,
    ) -> Self {
        let version = if http1 { HttpVersion::Http11 } else { HttpVersion::Http2 };
        let facts = HttpRequestFacts { version, hop, ..HttpRequestFacts::default() };
        let whole = answer.error.is_none();
        let composed = told.map(|told| compose_http(told, &facts));
        match composed.filter(|composed| composed.word == answer.answer) {
            // The plan is not known, or another answer was given instead.
            None => match (answer.answer.as_str(), answer.answer.parse()) {
                ("close" | "reset" | "garbage", _) if whole => Self::Nothing,
                (_, Ok(status)) if whole => Self::Whole { status, bytes: None },
                _ => Self::Unknown,
            },
            Some(composed) => match composed.action {
                WireAction::SendAndEnd { bytes, .. } if whole && !bytes.starts_with(b"HTTP/") => {
                    Self::Nothing
                }
                WireAction::SendAndEnd { .. } | WireAction::Hang => Self::Unknown,
                WireAction::Respond(response) => {
                    said_by(&response, composed.delay.map_or(0, micros), whole, timeout)
                }
            },
        }
    }
}

/// What a response says that was sent after a delay, whole or not as far as the witness knows.
fn said_by(response: &PlannedResponse, delay: i64, whole: bool, timeout: i64) -> Said {
    let status = response.status;
    let known = |bytes| if whole { Said::Whole { status, bytes } } else { Said::Unknown };
    let aborted = matches!(response.cut, Some((_, BodyCut::End(ConnectionEnd::Reset))));
    let unusual = response.version == HttpVersion::Http2 && !response.has_a_usual_end();
    if delay * 2 > timeout || aborted || unusual || matches!(response.length, BodyLength::Headers(_)) {
        return Said::Unknown;
    }
    let bytes = match &response.content {
        BodyContent::Report(_) => return known(None),
        content => content.size().unwrap_or(u64::MAX),
    };
    let read = response.read(LIMIT);
    let reaches_the_limit = response.sent().is_none_or(|sent| sent >= LIMIT);
    match pace(delay.saturating_add(micros(read.after)), timeout) {
        Pace::InTime if reaches_the_limit => Said::Whole { status, bytes: Some(bytes) },
        Pace::InTime if read.end == BodyEnd::Complete => known(Some(bytes)),
        Pace::InTime | Pace::TooLate => Said::Short { status },
        Pace::Unclear => Said::Unknown,
    }
}

enum Pace {
    InTime,
    TooLate,
    Unclear,
}

/// Whether what takes so long comes within the timeout.
fn pace(takes: i64, timeout: i64) -> Pace {
    if takes.saturating_mul(2) <= timeout {
        Pace::InTime
    } else if takes > timeout.saturating_mul(3) / 2 {
        Pace::TooLate
    } else {
        Pace::Unclear
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use crate::reading::http::said::*;

    /// What an answer says that was meant so and came without an error, to a probe with a timeout of 1 s.
    fn said(told: serde_json::Value) -> Said {
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
            error: None,
        };
        Said::of(&answered, Some(&told), 0, true, 1_000_000)
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
            assert!(matches!(said(told.clone()), Said::Whole { status: 200, .. }), "{told}");
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
            assert_eq!(said(told.clone()), Said::Short { status: 200 }, "{told}");
        }
    }

    #[test]
    fn what_is_no_response_is_nothing_and_what_is_unclear_is_unknown() {
        for told in [json!("close"), json!("reset"), json!("garbage"), json!({ "raw": "220 smtp\r\n" })] {
            assert_eq!(said(told.clone()), Said::Nothing, "{told}");
        }
        for told in [
            json!("hang"),
            json!({ "raw": "HTTP/1.1 200 OK\r\n\r\n" }),
            json!({ "delay": "900ms" }),
            json!({ "body": "text", "body-delay": "900ms" }),
            json!({ "body": { "bytes": 100 }, "reset-after": 40 }),
        ] {
            assert_eq!(said(told.clone()), Said::Unknown, "{told}");
        }
    }

    #[test]
    fn a_chain_says_its_own_status_until_it_ends() {
        let told = json!({ "status": 503, "redirect": { "hops": 2, "status": 307 } });
        assert_eq!(said(told), Said::Whole { status: 307, bytes: Some(0) });
    }
}
