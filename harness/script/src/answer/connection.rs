//! What happens to a connection before any data is exchanged.

use serde::{Deserialize, Serialize};

use crate::Span;
use crate::words::word_or_settings;

/// What the target does with an accepted connection.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectionAnswer {
    /// Hand it to the listener's protocol. On a plain TCP listener: read until the peer closes.
    Serve,
    /// Keep it open, read everything and never send anything. On a TLS listener this stalls the handshake.
    Hold,
    /// Close it immediately and gracefully (FIN).
    Close,
    /// Abort it immediately (RST).
    Reset,
    /// Send bytes that are invalid in every protocol, then close.
    Garbage,
    /// Send back everything that is received.
    Echo,
    /// One of the above after a pause or a banner.
    With(ConnectionSettings),
}

/// The settings of a connection's answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ConnectionSettings {
    /// Pause before anything is done with the connection. The peer's connect has already succeeded, because the system
    /// completes it. To delay the connect too, script the listener (`listen: full`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// Text that is sent first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send: Option<String>,
    /// What happens afterwards.
    pub then: Then,
    /// How long after the pause and the text the target closes the connection. If absent, the connection stays open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub close_after: Option<Span>,
}

/// What is done with a connection after its pause and banner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Then {
    /// Hand it to the listener's protocol.
    #[default]
    Serve,
    /// Keep it open and send nothing.
    Hold,
    /// Close it gracefully (FIN).
    Close,
    /// Abort it (RST).
    Reset,
    /// Send back everything that is received.
    Echo,
}

word_or_settings!(
    ConnectionAnswer,
    "a connection's answer: serve, hold, close, reset, garbage, echo, or settings such as { delay: 2s, then: close }",
    { "serve" => Serve, "hold" => Hold, "close" => Close, "reset" => Reset, "garbage" => Garbage, "echo" => Echo },
    or ["settings such as { delay: 2s, then: close }"],
    settings With(ConnectionSettings),
    numbers None,
    number |_| Err("a connection's answer is a word, such as hold, or a map".to_owned())
);
