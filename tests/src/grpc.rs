//! A hand-written client of the gRPC health protocol, because the tests need numbers that no generated client passes
//! on.

use std::time::Duration;

use crate::h2::{H2, Stream};
use crate::target::PATIENCE;

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The serving status, if the call has an answer.
    pub status: Option<i32>,
    /// The gRPC code; 0 is success.
    pub code: Option<u32>,
    /// The message for the code.
    pub message: Option<String>,
}

const HEADERS: [(&str, &str); 2] = [("content-type", "application/grpc"), ("te", "trailers")];

/// Checks a service.
///
/// # Errors
///
/// If the call has no end in good order.
pub fn check(h2: &H2, service: &str) -> Result<Outcome, String> {
    check_with(h2, service, &[], PATIENCE)
}

/// Checks a service with additional metadata, and waits for this long.
///
/// # Errors
///
/// If the call has no end in good order.
pub fn check_with(
    h2: &H2,
    service: &str,
    metadata: &[(&str, &str)],
    patience: Duration,
) -> Result<Outcome, String> {
    let headers: Vec<_> = HEADERS.iter().chain(metadata).copied().collect();
    let answer = h2.send("POST", "/grpc.health.v1.Health/Check", &headers, request(service), patience)?;
    if let Some(broken) = answer.broken {
        return Err(broken);
    }
    Ok(Outcome {
        status: (!answer.body.is_empty()).then(|| status(&answer.body)),
        code: answer.header("grpc-status").and_then(|code| code.parse().ok()),
        message: answer.header("grpc-message").map(str::to_owned),
    })
}

/// Lists all services: the raw message.
///
/// # Errors
///
/// If the call has no end in good order.
pub fn list(h2: &H2) -> Result<Vec<u8>, String> {
    let body = vec![0; 5];
    h2.send("POST", "/grpc.health.v1.Health/List", &HEADERS, body, PATIENCE).map(|answer| answer.body)
}

/// Begins to watch a service.
///
/// # Errors
///
/// If the call has no answer.
pub fn watch<'a>(h2: &'a H2, service: &str) -> Result<Stream<'a>, String> {
    h2.stream("/grpc.health.v1.Health/Watch", &HEADERS, request(service))
}

/// A framed request for a service: field 1, a string.
#[must_use]
pub fn request(service: &str) -> Vec<u8> {
    let length = |n: usize| u8::try_from(n).unwrap_or_else(|_| panic!("{service} is too long for a test"));
    let message = match service {
        "" => Vec::new(),
        name => [&[0x0a, length(name.len())], name.as_bytes()].concat(),
    };
    [&[0, 0, 0, 0, length(message.len())], message.as_slice()].concat()
}

/// The status in a framed answer: field 1, a number with seven bits in each byte. A status of 0 is not written.
#[must_use]
pub fn status(framed: &[u8]) -> i32 {
    let message = framed.get(5..).unwrap_or_default();
    match message.split_first() {
        None => 0,
        Some((0x08, number)) => {
            let bits = |(at, byte): (usize, &u8)| u64::from(byte & 0x7f) << (7 * at);
            let number: u64 = number.iter().take(9).enumerate().map(bits).sum();
            // Negative numbers have 64 bits; the lower half contains the value.
            u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0).cast_signed()
        }
        Some(_) => panic!("no health answer: {framed:?}"),
    }
}
