//! The response of a command, and what Go's server adds to it.

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
pub(crate) type HttpResponse = Response<Body>;

/// What a handler returns: a response, or an order to close the connection without an answer.
pub(crate) type HttpResult = Result<HttpResponse, Abort>;

/// Closes the connection without an answer, as Go does when a handler panics.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Abort(pub(crate) String);

/// Go buffers this many bytes; it sends no `Content-Length` for a longer body.
const BUFFER: usize = 2048;

/// The bytes of a response.
pub(crate) struct Body {
    inner: UnsyncBoxBody<Bytes, io::Error>,
    /// The first bytes, which determine the content type; none for a streamed body.
    head: Option<Bytes>,
    hide_size: bool,
}

impl Default for Body {
    fn default() -> Self {
        Self::full(Vec::new())
    }
}

impl Body {
    /// A body whose bytes are all known.
    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let hide_size = bytes.len() > BUFFER;
        let inner = Full::new(bytes.clone()).map_err(|never: Infallible| match never {}).boxed_unsync();
        Self { inner, head: Some(bytes), hide_size }
    }

    /// An empty body without a `Content-Length` (for an answer to HEAD).
    pub(crate) fn unsized_empty() -> Self {
        Self { hide_size: true, ..Self::default() }
    }

    /// A body that is produced while it is sent. The headers hold its type and length.
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

/// The status for a requested code. Go panics if the code is not between 100 and 999. An interim status can't end an
/// exchange: Go sends 200 after it, so 200 is the result.
pub(crate) fn status(code: i64) -> Result<StatusCode, Abort> {
    let invalid = || Abort(format!("invalid WriteHeader code {code}"));
    let code = u16::try_from(code).ok().filter(|code| (100..1000).contains(code)).ok_or_else(invalid)?;
    if (100..200).contains(&code) && code != 101 {
        return Ok(StatusCode::OK);
    }
    StatusCode::from_u16(code).map_err(|_| invalid())
}

/// Go's name for a status, if it has one.
pub(crate) fn reason(status: StatusCode) -> Option<&'static str> {
    match status.as_u16() {
        413 => Some("Request Entity Too Large"),
        414 => Some("Request URI Too Long"),
        416 => Some("Requested Range Not Satisfiable"),
        _ => status.canonical_reason(),
    }
}

/// A response with this status and body.
pub(crate) fn with_status(status: StatusCode, body: Body) -> HttpResponse {
    let mut response = HttpResponse::new(body);
    *response.status_mut() = status;
    response
}

/// A response with status 200.
pub(crate) fn ok(body: impl Into<Bytes>) -> HttpResponse {
    HttpResponse::new(Body::full(body))
}

/// A response in plain text, as Go's `http.Error` sends it.
pub(crate) fn error_response(status: StatusCode, text: &str) -> HttpResponse {
    let mut response = with_status(status, Body::full(format!("{text}\n")));
    response.headers_mut().insert("content-type", HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

/// The response for an unknown path.
pub(crate) fn not_found() -> HttpResponse {
    error_response(StatusCode::NOT_FOUND, "404 page not found")
}

/// Adds what Go's server adds: the sniffed content type and Go's reason phrases.
pub(super) fn complete(method: &Method, mut response: HttpResponse) -> HttpResponse {
    let status = response.status();
    if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED | StatusCode::SWITCHING_PROTOCOLS) {
        *response.body_mut() = Body::default();
    }
    if let Some(head) = response.body().head.as_ref().filter(|head| !head.is_empty()) {
        let sniffed = content_type(head);
        response.headers_mut().entry("content-type").or_insert(HeaderValue::from_static(sniffed));
    }
    if method == Method::HEAD && response.body().hide_size {
        response.body_mut().head = None;
    }
    match reason(status) {
        Some(text) if Some(text) == status.canonical_reason() => {}
        Some(text) => set_reason(&mut response, text),
        None => set_reason(&mut response, &format!("status code {}", status.as_u16())),
    }
    response
}

/// Sets the reason phrase after the status number.
pub(super) fn set_reason(response: &mut HttpResponse, words: &str) {
    if let Ok(phrase) = hyper::ext::ReasonPhrase::try_from(words.as_bytes()) {
        response.extensions_mut().insert(phrase);
    }
}
