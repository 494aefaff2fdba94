//! What a planned HTTP answer puts on the wire.

use super::body::last_byte;
use super::request::HOP;
use super::{
    BodyContent, BodyCut, BodyEnd, BodyLength, BodyReading, BodyTurns, ComposedAnswer, ConnectionEnd,
    HttpRequestFacts, HttpVersion, LARGEST_PIECE,
};
use crate::answer::{Body, Drip, Framing, Hops, HttpAnswer, HttpReply, Redirect};
use crate::{Size, Span};

/// The longest value of an extra header line.
const LONGEST_EXTRA: u64 = 1 << 20;

/// Composes the answer to an HTTP request.
#[must_use]
pub fn compose_http(answer: &HttpAnswer, request: &HttpRequestFacts<'_>) -> ComposedAnswer<PlannedResponse> {
    let reply = match answer {
        HttpAnswer::Hang => return ComposedAnswer::hang("hang"),
        HttpAnswer::Close => return ComposedAnswer::end("close", b"", ConnectionEnd::Close),
        HttpAnswer::Reset => return ComposedAnswer::end("reset", b"", ConnectionEnd::Reset),
        HttpAnswer::Garbage => {
            return ComposedAnswer::end("garbage", request.version.garbage(), ConnectionEnd::Close);
        }
        HttpAnswer::Reply(reply) => reply,
    };
    if let Some(raw) = &reply.raw {
        let sent = ComposedAnswer::end("raw", raw.as_bytes(), ConnectionEnd::Close);
        return ComposedAnswer { delay: reply.delay, ..sent };
    }
    let response = PlannedResponse::of(reply, request);
    ComposedAnswer::respond(response.status.to_string(), reply.delay, response)
}

/// A response, ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedResponse {
    /// The version in which it is sent.
    pub version: HttpVersion,
    /// The status code.
    pub status: u16,
    /// The header lines in order, without the header lines that [`PlannedResponse::length`] adds.
    pub headers: Vec<String>,
    /// How the head announces the end of the body.
    pub length: BodyLength,
    /// What the body consists of.
    pub content: BodyContent,
    /// The pause between head and body.
    pub body_delay: Option<Span>,
    /// The size and pace of the small pieces, if the body is sent in small pieces.
    pub drip: Option<Drip>,
    /// After how many bytes the body is cut off, and how.
    pub cut: Option<(u64, BodyCut)>,
}

impl PlannedResponse {
    /// The response to a request: the next redirect of the reply's chain, or its own status and body.
    #[must_use]
    pub fn of(reply: &HttpReply, request: &HttpRequestFacts<'_>) -> Self {
        match reply.redirect.as_ref().filter(|redirect| leads_on(redirect, request.hop)) {
            Some(redirect) => Self::hop(redirect, request),
            None => Self::last(reply, request),
        }
    }

    fn hop(redirect: &Redirect, request: &HttpRequestFacts<'_>) -> Self {
        let base = request.fill_in(&redirect.base);
        Self {
            version: request.version,
            status: redirect.status.code(),
            headers: vec![format!(
                "Location: {base}{}?{HOP}={}",
                request.path,
                request.hop.saturating_add(1)
            )],
            length: BodyLength::True,
            content: BodyContent::Filler(0),
            body_delay: None,
            drip: None,
            cut: None,
        }
    }

    fn last(reply: &HttpReply, request: &HttpRequestFacts<'_>) -> Self {
        let (content, kind) = content(reply);
        let mut headers: Vec<String> =
            reply.headers.iter().map(|line| request.fill_in(line.text())).collect();
        if let Some(kind) = kind.filter(|_| !reply.headers.iter().any(|line| line.is("content-type"))) {
            headers.push(["Content-Type: ", kind].concat());
        }
        if let Some(extra) = reply.extra_headers {
            let value = "x".repeat(usize::try_from(extra.bytes.0.min(LONGEST_EXTRA)).unwrap_or(0));
            headers.extend((0..extra.count).map(|n| format!("X-Extra-{n}: {value}")));
        }
        let cut = |after: Option<Size>, cut| after.map(|size| (size.0, cut));
        let mut response = Self {
            version: request.version,
            status: reply.status.code(),
            headers,
            length: BodyLength::NoBody,
            content,
            body_delay: reply.body_delay,
            drip: reply.drip,
            cut: cut(reply.stall_after, BodyCut::Stall)
                .or(cut(reply.close_after, BodyCut::End(ConnectionEnd::Close)))
                .or(cut(reply.reset_after, BodyCut::End(ConnectionEnd::Reset))),
        };
        response.length = response.length_of(reply);
        response
    }

    fn length_of(&self, reply: &HttpReply) -> BodyLength {
        if reply.headers.iter().any(|line| line.is("content-length") || line.is("transfer-encoding")) {
            let claim = self.header("content-length").and_then(|value| value.parse().ok());
            return BodyLength::Headers(if reply.status.has_body() { claim } else { Some(0) });
        }
        match &reply.framing {
            _ if !reply.status.has_body() => BodyLength::NoBody,
            Some(Framing::Claim(claim)) => BodyLength::Claimed(claim.content_length.0),
            Some(Framing::Close) => BodyLength::UntilClose,
            None | Some(Framing::ContentLength) if self.content != BodyContent::Endless => BodyLength::True,
            _ if self.version == HttpVersion::Http10 => BodyLength::UntilClose,
            None | Some(Framing::ContentLength | Framing::Chunked) => BodyLength::Chunked,
        }
    }

    /// The value of the first header line with this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.headers.iter().filter_map(|line| line.split_once(':'));
        lines.filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    }

    /// The length that the head announces.
    #[must_use]
    pub fn announced(&self) -> Option<u64> {
        match self.length {
            BodyLength::True => self.content.size(),
            BodyLength::Claimed(length) => Some(length),
            BodyLength::Headers(length) => length,
            BodyLength::NoBody => Some(0),
            BodyLength::Chunked | BodyLength::UntilClose => None,
        }
    }

    /// How many bytes of the body are sent. `None` if the body is endless.
    #[must_use]
    pub fn sent(&self) -> Option<u64> {
        last_byte(self.content.size(), self.cut)
    }

    /// Whether the connection ends with this response, whatever the client wants.
    #[must_use]
    pub fn ends_the_connection(&self) -> bool {
        matches!(self.length, BodyLength::UntilClose | BodyLength::Headers(_) | BodyLength::Claimed(_))
    }

    /// Why the plan cuts off the response, in the words of the witness, if it cuts off the response over HTTP/1. HTTP/2
    /// has frames for this purpose. A body that ends with the connection is complete when the connection is closed
    /// gracefully.
    #[must_use]
    pub fn breaks_off(&self) -> Option<&'static str> {
        let until_close = matches!(self.length, BodyLength::UntilClose | BodyLength::Headers(_));
        match self.cut {
            _ if self.version == HttpVersion::Http2 => None,
            Some((_, BodyCut::End(ConnectionEnd::Reset))) => Some("the plan aborts the connection here"),
            Some((_, BodyCut::End(ConnectionEnd::Close))) if !until_close => {
                Some("the plan closes the connection here")
            }
            None if !until_close && self.is_short() => Some("the head promised more than the plan sends"),
            _ => None,
        }
    }

    fn is_short(&self) -> bool {
        let announced = self.announced();
        announced.zip(self.sent()).is_some_and(|(announced, sent)| sent < announced)
    }

    /// Whether the response may arrive late, in parts or incomplete. Its status alone then does not determine what a
    /// client concludes. An endless body is not such a response, because a client reads only as much of it as it wants.
    #[must_use]
    pub fn may_break_off(&self) -> bool {
        !self.has_a_usual_end() || self.drip.is_some() || self.body_delay.is_some()
    }

    /// Whether the body is not cut off, and its end is announced in a usual way.
    #[must_use]
    pub fn has_a_usual_end(&self) -> bool {
        let usual = match self.length {
            BodyLength::True | BodyLength::NoBody => true,
            BodyLength::Chunked => self.content == BodyContent::Endless,
            BodyLength::Claimed(_) | BodyLength::Headers(_) | BodyLength::UntilClose => false,
        };
        usual && self.cut.is_none()
    }

    /// The steps in which the body is sent.
    #[must_use]
    pub fn turns(&self) -> BodyTurns {
        let (size, cut, pause) = (self.content.size(), self.cut, self.drip.map(|drip| drip.every));
        BodyTurns { sent: 0, size, piece: self.piece(), pause, resting: false, cut }
    }

    fn piece(&self) -> u64 {
        self.drip.map_or(LARGEST_PIECE, |drip| drip.bytes.0.clamp(1, LARGEST_PIECE))
    }

    /// How long after the head this many bytes of the body are sent. A complete empty body is sent with the head.
    #[must_use]
    pub fn sent_after(&self, bytes: u64) -> Span {
        if self.turns().is_complete() {
            return Span::default();
        }
        let pauses = bytes.saturating_sub(1) / self.piece();
        let dripping = self.drip.map_or(0, |drip| drip.every.micros().saturating_mul(pauses));
        Span::from_micros(self.body_delay.unwrap_or_default().micros().saturating_add(dripping))
    }

    /// What a client receives if it reads at most `limit` bytes of the body.
    #[must_use]
    pub fn read(&self, limit: u64) -> BodyReading {
        let want = self.announced().map_or(limit, |announced| announced.min(limit));
        let sent = self.sent();
        let got = sent.map_or(want, |sent| sent.min(want));
        let early = self.announced().is_some() || (self.length == BodyLength::Chunked && self.cut.is_some());
        let end = match self.cut {
            _ if got == want && (sent.is_some() || want < u64::MAX) => BodyEnd::Complete,
            _ if sent.is_none() => BodyEnd::Silence,
            Some((_, BodyCut::Stall)) => BodyEnd::Silence,
            Some((_, BodyCut::End(ConnectionEnd::Reset))) => BodyEnd::Aborted,
            _ if early => BodyEnd::TooShort,
            _ => BodyEnd::Complete,
        };
        BodyReading { after: if want == 0 { Span::default() } else { self.sent_after(got) }, end }
    }
}

fn leads_on(redirect: &Redirect, hop: u64) -> bool {
    match redirect.hops {
        Hops::Count(hops) => hop < hops,
        Hops::Endless => true,
    }
}

/// What a reply's body consists of, and its usual `Content-Type`.
fn content(reply: &HttpReply) -> (BodyContent, Option<&'static str>) {
    const TEXT: &str = "text/plain; charset=utf-8";
    const BYTES: &str = "application/octet-stream";
    match &reply.body {
        _ if !reply.status.has_body() => (BodyContent::Filler(0), None),
        None => (BodyContent::Text("ok".to_owned()), Some(TEXT)),
        Some(Body::Text(text)) => (BodyContent::Text(text.clone()), Some(TEXT)),
        Some(Body::Bytes(size)) => (BodyContent::Filler(size.0), Some(BYTES)),
        Some(Body::Endless) => (BodyContent::Endless, Some(BYTES)),
        Some(Body::Report(report)) => (BodyContent::Report(*report), Some("application/json")),
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
