//! Calls to an address and their results: for probes, for hooks and for the clients of processes.

use probity_script::Certificate;
use probity_script::wire::{BodyEnd, ConnectionEnd, HealthReply};

/// A call to an address.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Who asks: an address.
    pub(crate) peer: String,
    /// Where to.
    pub(crate) host: String,
    /// The port.
    pub(crate) port: u16,
    /// How TLS is spoken; in the clear if absent.
    pub(crate) tls: Option<Tls>,
    /// The request; a bare connection if absent.
    pub(crate) request: Option<Request>,
    /// When the caller gives up.
    pub(crate) deadline: i64,
    /// How much of a body is read.
    pub(crate) limit: u64,
    /// A connection that is used again: the attempt, its number and how many requests it has carried.
    pub(crate) kept: Option<(u64, u64, u64)>,
    /// Whether the connection is kept afterwards.
    pub(crate) keep: bool,
    /// What else is peculiar to it.
    pub(crate) manner: Manner,
}

/// What only defective callers do: where they call from, and what they do with a bare connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manner {
    /// The pod inside of which it is called, whose loopback is then meant.
    pub(crate) inside: Option<usize>,
    /// So many bytes are sent over a bare connection.
    pub(crate) says: u64,
    /// So long a bare connection is kept, in microseconds.
    pub(crate) stays: i64,
    /// A bare connection is reset in the end.
    pub(crate) resets: bool,
}

/// How a caller speaks TLS.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tls {
    /// HTTP/2 is offered.
    pub(crate) http2: bool,
    /// Which certificates are refused.
    pub(crate) refuses: Vec<Certificate>,
    /// A certificate is shown.
    pub(crate) shows: bool,
}

/// What is asked.
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
    /// A bare connection in the clear.
    pub(crate) fn new(peer: String, host: String, port: u16, deadline: i64) -> Self {
        let (tls, request, kept, manner) = (None, None, None, Manner::default());
        Self { peer, host, port, tls, request, deadline, limit: 10_240, kept, keep: false, manner }
    }
}

impl Request {
    /// A GET of HTTP.
    pub(crate) fn get(target: &str, headers: &[(&str, &str)]) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self { method: "GET", target: target.to_owned(), headers: headers.collect(), service: None }
    }
}

/// The result for a caller.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CallResult {
    /// Nobody listens.
    Refused,
    /// The caller's time was up before there was any answer.
    TimedOut { connected: bool },
    /// The connection closed, or the data was not a response.
    Broken(String),
    /// A bare connection was opened.
    Connected,
    /// A bare connection was opened, and immediately closed by the peer.
    Parted,
    /// An HTTP response came.
    Response(Box<ReceivedResponse>),
    /// A gRPC health check came back.
    Health(HealthReply),
}

/// The part of an HTTP response that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReceivedResponse {
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
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

    /// What a client makes of bytes that were sent as they are, and of the end that followed.
    pub(crate) fn of_bytes(bytes: &[u8], end: ConnectionEnd, limit: u64) -> Self {
        match (bytes, end) {
            (b"", ConnectionEnd::Close) => Self::Broken("EOF".to_owned()),
            (b"", ConnectionEnd::Reset) => Self::Broken("read: connection reset by peer".to_owned()),
            _ => read(&String::from_utf8_lossy(bytes), limit)
                .map_or_else(Self::malformed, |response| Self::Response(Box::new(response))),
        }
    }
}

/// Why a client has not got the body that it wants; `in_time` if it knows before its time is up.
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

/// Reads a response; nothing if it is malformed.
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
