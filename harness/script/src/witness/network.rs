//! Facts about ports, connections and requests.

use serde::{Deserialize, Serialize};

use crate::Endpoint;

/// The state of a port changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Listening {
    /// The listener's name. `control` and `recorder` are listeners of the program itself.
    pub listener: String,
    /// The address and port, when bound.
    pub address: String,
    /// `open`, `closed` or `full`.
    pub state: String,
}

/// A connection was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Accepted {
    /// The connection's number in this process. Later lines refer to it.
    pub conn: u64,
    /// The listener's name.
    pub listener: String,
    /// Who connected.
    pub peer: String,
    /// The address that the peer connected to.
    pub local: String,
    /// The step of `connections` that applies.
    pub step: usize,
    /// The answer in short.
    pub answer: String,
}

/// A TLS handshake ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TlsSeen {
    /// The connection.
    pub conn: u64,
    /// The negotiated version. Absent if the handshake failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The protocol negotiated with ALPN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpn: Option<String>,
    /// The server name that the client requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Whether the client presented a certificate.
    pub client_certificate: bool,
    /// Why the handshake failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A request arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Request {
    /// The connection.
    pub conn: u64,
    /// The request's number on the connection, counted from 1.
    pub nth: u64,
    /// The endpoint that answers; absent if the plan has no endpoint for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// The probe's number at the endpoint, counted from 1. All hops of a redirect chain have the number of the first
    /// hop.
    pub probe: u64,
    /// The number of the hop, if this is a later hop of a redirect chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hop: Option<u64>,
    /// The method.
    pub method: String,
    /// The request target as sent.
    pub target: String,
    /// The protocol: `HTTP/1.0`, `HTTP/1.1` or `HTTP/2`.
    pub protocol: String,
    /// The headers. In HTTP/1, they have the order, case and duplicates that they had on the wire.
    pub headers: Vec<(String, String)>,
    /// How many bytes of the request's body were read before the answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub body: u64,
    /// When the first byte of the request arrived, on the monotonic clock.
    pub first_byte_us: u64,
    /// The health service that was requested, in gRPC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
}

/// A request was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answered {
    /// The connection.
    pub conn: u64,
    /// The request's number on the connection.
    pub nth: u64,
    /// The endpoint that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// The step of its script.
    pub step: usize,
    /// The answer in short: a status such as `503`, or a word such as `reset`.
    pub answer: String,
    /// How many bytes of the answer the system accepted, including the head (HTTP/2: only the body).
    pub written: u64,
    /// The time from the arrival of the request to the end of its answer, in microseconds.
    pub took_us: u64,
    /// When the last bytes of the answer were passed to the system, on the monotonic clock. The peer cannot have received
    /// the whole answer before that. A stalled process writes this line much later. Absent if no bytes were passed before
    /// the line was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_send_us: Option<u64>,
    /// The first write error, or why the answer was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A connection ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Closed {
    /// The connection.
    pub conn: u64,
    /// How it ended.
    pub how: Ending,
    /// The number of bytes received on the connection, below TLS.
    pub received: u64,
    /// The number of bytes that the system accepted for the connection, below TLS.
    pub sent: u64,
    /// The time from the acceptance of the connection to its end, in microseconds.
    pub lived_us: u64,
    /// The error that ended it, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The peer closed its side first, gracefully (FIN).
    PeerClosed,
    /// The peer aborted it (RST).
    PeerReset,
    /// The target closed it first, gracefully.
    WeClosed,
    /// The target aborted it.
    WeReset,
    /// It broke in another way.
    Broken,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
