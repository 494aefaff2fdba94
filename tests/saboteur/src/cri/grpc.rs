//! The part of gRPC over HTTP/2 that a call with one message in each direction needs.

use std::convert::Infallible;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Response};
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use hyper::body::Incoming;

/// A body that the proxy forwards: a stream, or one that the proxy created.
pub(super) type ProxyBody = UnsyncBoxBody<Bytes, hyper::Error>;

/// The gRPC codes that are used here.
pub(super) const OK: u32 = 0;
pub(super) const DEADLINE_EXCEEDED: u32 = 4;
pub(super) const UNAVAILABLE: u32 = 14;

/// The answer to a call: a message, or an error without a message.
#[derive(Clone, Debug)]
pub(super) struct CallAnswer {
    parts: http::response::Parts,
    /// The framed message as it was received; empty if there is no message.
    framed: Bytes,
    trailers: Option<HeaderMap>,
}

impl CallAnswer {
    /// Waits for the whole answer.
    pub(super) async fn collect(response: Response<Incoming>) -> hyper::Result<Self> {
        let (parts, body) = response.into_parts();
        let body = body.collect().await?;
        let trailers = body.trailers().cloned();
        Ok(Self { parts, framed: body.to_bytes(), trailers })
    }

    /// An answer of the proxy: success with this message.
    pub(super) fn success(message: &Bytes) -> Self {
        let trailers = HeaderMap::from_iter([(GRPC_STATUS, HeaderValue::from(OK))]);
        Self { parts: head(), framed: frame(message), trailers: Some(trailers) }
    }

    /// An answer of the proxy: an error.
    pub(super) fn failure(code: u32) -> Self {
        let mut parts = head();
        parts.headers.insert(GRPC_STATUS, HeaderValue::from(code));
        parts.headers.insert("grpc-message", HeaderValue::from_static("refused by the saboteur"));
        Self { parts, framed: Bytes::new(), trailers: None }
    }

    /// The gRPC code.
    pub(super) fn code(&self) -> u32 {
        let status = |headers: &HeaderMap| headers.get(GRPC_STATUS)?.to_str().ok()?.parse().ok();
        self.trailers.as_ref().and_then(status).or_else(|| status(&self.parts.headers)).unwrap_or(UNAVAILABLE)
    }

    /// The message of a successful call.
    pub(super) fn message(&self) -> Option<Bytes> {
        if self.code() == OK { unframe(&self.framed) } else { None }
    }

    /// The same answer with another message.
    pub(super) fn with_message(mut self, message: &Bytes) -> Self {
        self.framed = frame(message);
        self
    }

    /// The answer as it goes to the kubelet.
    pub(super) fn into_response(self) -> Response<ProxyBody> {
        let body = full(self.framed);
        let body = match self.trailers {
            Some(trailers) => body.with_trailers(std::future::ready(Some(Ok(trailers)))).boxed_unsync(),
            None => body,
        };
        Response::from_parts(self.parts, body)
    }
}

const GRPC_STATUS: http::HeaderName = http::HeaderName::from_static("grpc-status");

fn head() -> http::response::Parts {
    let (mut parts, ()) = Response::new(()).into_parts();
    parts.version = http::Version::HTTP_2;
    parts.headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    parts
}

/// A body with known content.
pub(super) fn full(bytes: Bytes) -> ProxyBody {
    Full::new(bytes).map_err(|never: Infallible| match never {}).boxed_unsync()
}

/// Puts the five-byte header before a message.
pub(super) fn frame(message: &Bytes) -> Bytes {
    let mut framed = BytesMut::with_capacity(message.len() + HEAD);
    framed.put_u8(0);
    // No message of the runtime is close to four gigabytes.
    framed.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    framed.put_slice(message);
    framed.freeze()
}

/// The single message in `framed`; `None` if it is compressed, incomplete, or not the only message.
pub(super) fn unframe(framed: &Bytes) -> Option<Bytes> {
    let length = frame_length(framed)?;
    (framed.len() == length && framed[0] == 0).then(|| framed.slice(HEAD..))
}

/// The number of bytes in the first frame, including its header.
pub(super) fn frame_length(framed: &[u8]) -> Option<usize> {
    let length = framed.get(1..HEAD)?.try_into().ok().map(u32::from_be_bytes)?;
    Some(HEAD + usize::try_from(length).ok()?)
}

const HEAD: usize = 5;

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{CallAnswer, DEADLINE_EXCEEDED, frame, unframe};

    #[test]
    fn a_frame_gives_back_its_message() {
        let message = Bytes::from_static(b"abc");
        assert_eq!(unframe(&frame(&message)), Some(message.clone()));
        assert_eq!(unframe(&frame(&Bytes::new())), Some(Bytes::new()));
        assert_eq!(unframe(&frame(&message).slice(..7)), None);
        assert_eq!(unframe(&[frame(&message), frame(&message)].concat().into()), None);
    }

    #[test]
    fn a_failure_has_its_code_and_no_message() {
        let failure = CallAnswer::failure(DEADLINE_EXCEEDED);
        assert_eq!((failure.code(), failure.message()), (DEADLINE_EXCEEDED, None));
        let success = CallAnswer::success(&Bytes::from_static(b"x"));
        assert_eq!(success.message(), Some(Bytes::from_static(b"x")));
    }
}
