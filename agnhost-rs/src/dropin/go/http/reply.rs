//! What a command answers, and how it is completed the way Go's server completes it.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode};
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};

use super::sniff::content_type;

/// A response on its way out.
pub(crate) type Reply = Response<Body>;

/// The outcome of a handler: an answer, or none because the connection is to be cut.
pub(crate) type Answer = Result<Reply, Abort>;

/// Cut the connection without an answer, as Go does when a handler panics.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Abort(pub(crate) String);

/// Go buffers so many bytes before it gives up on knowing the length.
const BUFFER: usize = 2048;

/// The bytes of an answer.
pub(crate) struct Body {
    inner: UnsyncBoxBody<Bytes, io::Error>,
    /// The first bytes, for the content type; nothing when streamed.
    head: Option<Bytes>,
    hide_size: bool,
}

impl Default for Body {
    fn default() -> Self {
        Self::full(Vec::new())
    }
}

impl Body {
    /// A body whose bytes are all there.
    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let hide_size = bytes.len() > BUFFER;
        let inner = Full::new(bytes.clone()).map_err(|never: Infallible| match never {}).boxed_unsync();
        Self { inner, head: Some(bytes), hide_size }
    }

    /// A body without bytes of which not even that is announced (an answer to HEAD).
    pub(crate) fn unsized_empty() -> Self {
        Self { hide_size: true, ..Self::default() }
    }

    /// A body that is produced while it is sent; its type and length are in the headers.
    pub(crate) fn streamed(
        body: impl http_body::Body<Data = Bytes, Error = io::Error> + Send + 'static,
    ) -> Self {
        Self { inner: body.boxed_unsync(), head: None, hide_size: false }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        !self.hide_size && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.hide_size { SizeHint::default() } else { self.inner.size_hint() }
    }
}

/// The status for a code that a request asked for. Go panics outside 100 to 999. An interim status can't end an
/// exchange: after it Go sends 200, and so that is what is left.
pub(crate) fn status(code: i64) -> Result<StatusCode, Abort> {
    let invalid = || Abort(format!("invalid WriteHeader code {code}"));
    let code = u16::try_from(code).ok().filter(|code| (100..1000).contains(code)).ok_or_else(invalid)?;
    if (100..200).contains(&code) && code != 101 {
        return Ok(StatusCode::OK);
    }
    StatusCode::from_u16(code).map_err(|_| invalid())
}

/// Go's name of a status, where it has one.
pub(crate) fn reason(status: StatusCode) -> Option<&'static str> {
    match status.as_u16() {
        413 => Some("Request Entity Too Large"),
        414 => Some("Request URI Too Long"),
        416 => Some("Requested Range Not Satisfiable"),
        _ => status.canonical_reason(),
    }
}

/// An answer in plain words, as Go's `http.Error` gives it.
pub(crate) fn error_reply(status: StatusCode, text: &str) -> Reply {
    let mut reply = Reply::new(Body::full(format!("{text}\n")));
    *reply.status_mut() = status;
    reply.headers_mut().insert("content-type", HeaderValue::from_static("text/plain; charset=utf-8"));
    reply.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    reply
}

/// The answer for a path that leads nowhere.
pub(crate) fn not_found() -> Reply {
    error_reply(StatusCode::NOT_FOUND, "404 page not found")
}

/// Adds what Go's server adds: the sniffed content type and its own reason phrases.
pub(super) fn complete(method: &Method, mut reply: Reply) -> Reply {
    let status = reply.status();
    if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED | StatusCode::SWITCHING_PROTOCOLS) {
        *reply.body_mut() = Body::default();
    }
    if let Some(head) = reply.body().head.as_ref().filter(|head| !head.is_empty()) {
        let sniffed = content_type(head);
        reply.headers_mut().entry("content-type").or_insert(HeaderValue::from_static(sniffed));
    }
    if method == Method::HEAD && reply.body().hide_size {
        reply.body_mut().head = None;
    }
    let phrase = match reason(status) {
        Some(text) if Some(text) == status.canonical_reason() => return reply,
        Some(text) => text.to_owned(),
        None => format!("status code {}", status.as_u16()),
    };
    if let Ok(phrase) = hyper::ext::ReasonPhrase::try_from(phrase.as_bytes()) {
        reply.extensions_mut().insert(phrase);
    }
    reply
}
