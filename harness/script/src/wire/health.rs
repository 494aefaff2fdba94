//! What a planned health answer puts on the wire.

use super::{ComposedAnswer, ConnectionEnd};
use crate::answer::{GrpcAnswer, GrpcSettings};

/// The beginning of a HEADERS frame that announces more bytes than are sent.
const HALF_FRAME: &[u8] = b"\x00\x00\x40\x01\x04\x00\x00\x00\x01\x88";

/// The result of a health check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HealthReply {
    /// A response with this serving status.
    Status(i32),
    /// The call fails.
    Error {
        /// The gRPC status code.
        code: u8,
        /// The message that goes with it.
        message: String,
    },
}

/// Composes the answer to a health check. For a service that is not in the plan, this is NOT_FOUND.
#[must_use]
pub fn compose_health(answer: Option<&GrpcAnswer>) -> ComposedAnswer<HealthReply> {
    let answer = answer.unwrap_or(&GrpcAnswer::NotFound);
    let word = answer.word().unwrap_or_default();
    let failed = |word: &str, delay, code, message: &str| {
        ComposedAnswer::respond(word, delay, HealthReply::Error { code, message: message.to_owned() })
    };
    match answer {
        GrpcAnswer::Hang => ComposedAnswer::hang(word),
        GrpcAnswer::Close => ComposedAnswer::end(word, b"", ConnectionEnd::Close),
        GrpcAnswer::Reset => ComposedAnswer::end(word, b"", ConnectionEnd::Reset),
        GrpcAnswer::HalfFrame => ComposedAnswer::end(word, HALF_FRAME, ConnectionEnd::Close),
        GrpcAnswer::NotFound => failed(word, None, 5, "unknown service"),
        GrpcAnswer::Unimplemented => failed(word, None, 12, "this server has no health service"),
        GrpcAnswer::With(GrpcSettings { code: Some(code), message, delay, .. }) => {
            let message = message.as_deref().unwrap_or("as planned");
            failed(&format!("code {code}"), *delay, *code, message)
        }
        GrpcAnswer::With(GrpcSettings { delay, .. }) => reports(answer, *delay),
        GrpcAnswer::Serving | GrpcAnswer::NotServing | GrpcAnswer::Unknown | GrpcAnswer::ServiceUnknown => {
            reports(answer, None)
        }
    }
}

fn reports(answer: &GrpcAnswer, delay: Option<crate::Span>) -> ComposedAnswer<HealthReply> {
    let status = answer.status();
    ComposedAnswer::respond(format!("status {status}"), delay, HealthReply::Status(status))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn the_witness_writes_what_is_sent() {
        for (answer, word) in [
            ("serving", "status 1"),
            ("not-serving", "status 2"),
            ("77", "status 77"),
            ("not-found", "not-found"),
            ("{ code: 14 }", "code 14"),
            ("half-frame", "half-frame"),
            ("hang", "hang"),
        ] {
            let answer: GrpcAnswer = serde_saphyr::from_str(answer).unwrap();
            assert_eq!(compose_health(Some(&answer)).word, word);
        }
        assert_eq!(compose_health(None).word, "not-found");
    }
}
