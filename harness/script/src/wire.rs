//! What planned answers put on the wire: the only interpretation of the plan's words.
//!
//! The target performs the actions in these values, the simulated target turns them into events, and the readings of a
//! history derive from them what a client can have received. A new fault is a word in [`crate::answer`] and its
//! composition here. The target needs new code only for an action that no value here expresses. Nothing here waits,
//! reads a clock or opens a connection.

mod body;
mod connection;
mod health;
mod http;
mod instead;
mod request;

use crate::Span;

pub use body::{BodyContent, BodyCut, BodyEnd, BodyLength, BodyReading, BodyTurn, BodyTurns, LARGEST_PIECE};
pub use connection::PlannedConnection;
pub use health::{HealthReply, compose_health};
pub use http::{PlannedResponse, compose_http};
pub use instead::{all_workers_busy, dependency_missing, no_such_path};
pub use request::{HttpRequestFacts, HttpVersion, hop_of, path_of};

/// A planned answer, ready to be sent. `R` is a response of the protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct ComposedAnswer<R> {
    /// What the witness records: a status such as `503`, or a word such as `reset`.
    pub word: String,
    /// The pause before anything is sent.
    pub delay: Option<Span>,
    /// What is sent.
    pub action: WireAction<R>,
}

/// What an answer does to the connection.
#[derive(Clone, Debug, PartialEq)]
pub enum WireAction<R> {
    /// It never sends anything; the connection stays open.
    Hang,
    /// It sends these bytes, which may be none, and ends the connection.
    SendAndEnd {
        /// The bytes, exactly as they go on the wire.
        bytes: Vec<u8>,
        /// How the connection ends.
        end: ConnectionEnd,
    },
    /// It sends a response of the protocol.
    Respond(R),
}

/// How the target ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// Gracefully (FIN).
    Close,
    /// With an abort (RST).
    Reset,
}

impl<R> ComposedAnswer<R> {
    fn hang(word: &str) -> Self {
        Self { word: word.to_owned(), delay: None, action: WireAction::Hang }
    }

    fn end(word: &str, bytes: &[u8], end: ConnectionEnd) -> Self {
        let action = WireAction::SendAndEnd { bytes: bytes.to_vec(), end };
        Self { word: word.to_owned(), delay: None, action }
    }

    fn respond(word: impl Into<String>, delay: Option<Span>, response: R) -> Self {
        Self { word: word.into(), delay, action: WireAction::Respond(response) }
    }
}
