//! Calls to an address and their results: for probes, for hooks and for the clients of processes.

use probity_script::Certificate;
use probity_script::wire::{BodyEnd, ConnectionEnd, HealthReply};

/// A call to an address.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The address of the client.
    pub(crate) peer: String,
    /// The destination host.
    pub(crate) host: String,
    /// The port.
    pub(crate) port: u16,
    /// How TLS is used; plain text if absent.
    pub(crate) tls: Option<Tls>,
    /// The request; a bare connection if absent.
    pub(crate) request: Option<Request>,
    /// When the caller gives up.
    pub(crate) deadline: i64,
    /// How much of a body is read.
    pub(crate) limit: u64,
    /// A connection that is reused: the attempt, the connection's number, and the number of requests that it has
    /// carried.
    pub(crate) kept: Option<(u64, u64, u64)>,
    /// Whether the connection is kept afterwards.
    pub(crate) keep: bool,
    /// Other special properties.
    pub(crate) manner: Manner,
}

/// Behavior that only defective clients have: the place from which they connect, and what they do with a bare
/// connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manner {
    /// The pod from which the call comes, if it comes from inside a pod. Loopback addresses are then addresses of this
    /// pod.
    pub(crate) inside: Option<usize>,
    /// How many bytes are sent over a bare connection.
    pub(crate) says: u64,
    /// How long a bare connection is kept open, in microseconds.
    pub(crate) stays: i64,
    /// Whether a bare connection ends with a reset.
    pub(crate) resets: bool,
}

/// How a client uses TLS.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tls {
    /// HTTP/2 is offered.
    pub(crate) http2: bool,
    /// Which certificates are rejected.
    pub(crate) refuses: Vec<Certificate>,
    /// Whether a client certificate is presented.
    pub(crate) shows: bool,
}

/// The request of a call.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The method.
    pub(crate) method: &'static str,
    /// The request target.
    pub(crate) target: String,
    /// The headers as sent over HTTP/1.1, Host first.
    pub(crate) headers: Vec<(String, String)>,
    /// The gRPC health service.
    pub(crate) service: Option<String>,
}

impl Call {
    /// A bare connection in plain text.
    pub(crate) fn new(peer: String, host: String, port: u16, deadline: i64) -> Self {
        let (tls, request, kept, manner) = (None, None, None, Manner::default());
        Self { peer, host, port, tls, request, deadline, limit: 10_240, kept, keep: false, manner }
    }
}

impl Request {
    /// An HTTP GET.
    pub(crate) fn get(target: &str, headers: &[(&str, &str)]) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self { method: "GET", target: target.to_owned(), headers: headers.collect(), service: None }
    }
}

/// The result for a caller.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CallResult {
    /// Nothing listens.
    Refused,
    /// The client timed out before it received any answer.
    TimedOut { connected: bool },
    /// The connection closed, or the data was not a response.
    Broken(String),
    /// A bare connection was opened.
    Connected,
    /// A bare connection was opened, and immediately closed by the peer.
    Parted,
    /// An HTTP response came.
    Response(Box<ReceivedResponse>),
    /// A gRPC health check got a reply.
    Health(HealthReply),
}

/// The part of an HTTP response that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReceivedResponse {
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
    pub(crate) cookie: Option<String>,
    /// The size of all header lines.
    pub(crate) head: usize,
    pub(crate) body: String,
    /// Why the body could not be read to its end or to the limit.
    pub(crate) cut: Option<String>,
    /// The connection, if it is kept.
    pub(crate) kept: Option<(u64, u64, u64)>,
}

impl CallResult {
    pub(crate) fn malformed() -> Self {
        Self::Broken("malformed HTTP response".to_owned())
    }

    /// How a client interprets bytes that were sent unchanged, and the end of the connection after them.
    pub(crate) fn of_bytes(bytes: &[u8], end: ConnectionEnd, limit: u64) -> Self {
        match (bytes, end) {
            (b"", ConnectionEnd::Close) => Self::Broken("EOF".to_owned()),
            (b"", ConnectionEnd::Reset) => Self::Broken("read: connection reset by peer".to_owned()),
            _ => read(&String::from_utf8_lossy(bytes), limit)
                .map_or_else(Self::malformed, |response| Self::Response(Box::new(response))),
        }
    }
}

/// Why a client has not received the whole body. `in_time` is whether the client knows this before its timeout.
pub(crate) fn cut_short(end: BodyEnd, in_time: bool) -> Option<&'static str> {
    match end {
        _ if !in_time => {
            Some("context deadline exceeded (Client.Timeout or context cancellation while reading body)")
        }
        BodyEnd::Aborted => Some("read: connection reset by peer"),
        BodyEnd::TooShort => Some("unexpected EOF"),
        BodyEnd::Complete | BodyEnd::Silence => None,
    }
}

/// Reads a response; `None` if it is malformed.
fn read(raw: &str, limit: u64) -> Option<ReceivedResponse> {
    let (head, body) = raw.split_once("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.")?.get(2..5)?.parse().ok()?;
    let mut found = ReceivedResponse { status, body: body.to_owned(), ..ReceivedResponse::default() };
    for line in lines {
        let (name, value) = line.split_once(':')?;
        let promised = value.trim().parse().unwrap_or(0_u64).min(limit);
        if name.eq_ignore_ascii_case("location") {
            found.location = Some(value.trim().to_owned());
        } else if name.eq_ignore_ascii_case("content-length") && promised > body.len() as u64 {
            found.cut = Some("unexpected EOF".to_owned());
        }
    }
    Some(found)
}
