//! What a planned connection does before any protocol begins.

use crate::Span;
use crate::answer::{ConnectionAnswer, ConnectionSettings, Then};

const GARBAGE: &[u8] = b"\x00\x9f\x92\x96 this is no protocol \xff\xfe\r\n\r\n";

/// What happens to a connection, in the order of the fields.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedConnection {
    /// What the witness records.
    pub word: &'static str,
    /// The pause before anything happens.
    pub delay: Option<Span>,
    /// The bytes that are sent first; usually none.
    pub first: Vec<u8>,
    /// What happens after that.
    pub then: Then,
    /// How long after the pause and these bytes the target closes the connection, if nothing else has ended it.
    pub close_after: Option<Span>,
}

impl PlannedConnection {
    /// Composes the answer to a connection.
    #[must_use]
    pub fn of(answer: &ConnectionAnswer) -> Self {
        let word = answer.word().unwrap_or("with settings");
        let plain = |then| Self { word, delay: None, first: Vec::new(), then, close_after: None };
        match answer {
            ConnectionAnswer::Serve => plain(Then::Serve),
            ConnectionAnswer::Hold => plain(Then::Hold),
            ConnectionAnswer::Close => plain(Then::Close),
            ConnectionAnswer::Reset => plain(Then::Reset),
            ConnectionAnswer::Echo => plain(Then::Echo),
            ConnectionAnswer::Garbage => Self { first: GARBAGE.to_vec(), ..plain(Then::Close) },
            ConnectionAnswer::With(ConnectionSettings { delay, send, then, close_after }) => Self {
                delay: *delay,
                first: send.clone().unwrap_or_default().into_bytes(),
                close_after: *close_after,
                ..plain(*then)
            },
        }
    }
}
