//! A request as a handler sees it: method, path, query, headers, peer, and the form of query and body.

use std::net::SocketAddr;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, Request, Uri};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;

use super::path::unescape;

/// Go reads at most this many bytes of a form.
const FORM_LIMIT: usize = 10 << 20;

/// One request.
pub(crate) struct HttpRequest {
    parts: Parts,
    body: Option<Incoming>,
    /// The peer; `None` for a synthetic request.
    peer: Option<SocketAddr>,
}

impl HttpRequest {
    pub(super) fn new(request: Request<Incoming>, peer: SocketAddr) -> Self {
        let (parts, body) = request.into_parts();
        Self { parts, body: Some(body), peer: Some(peer) }
    }

    /// A GET of another target without headers, body and peer.
    pub(crate) fn instead(target: Uri) -> Self {
        let (mut parts, ()) = Request::new(()).into_parts();
        parts.uri = target;
        Self { parts, body: None, peer: None }
    }

    /// The method.
    pub(crate) fn method(&self) -> Method {
        self.parts.method.clone()
    }

    /// The headers, `host` included.
    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    /// The path as received.
    pub(crate) fn escaped_path(&self) -> &str {
        self.parts.uri.path()
    }

    /// The path without escapes.
    pub(crate) fn path(&self) -> Vec<u8> {
        unescape(self.parts.uri.path(), false).unwrap_or_default()
    }

    /// The query as received.
    pub(crate) fn query(&self) -> Option<&str> {
        self.parts.uri.query()
    }

    /// The peer as `address:port`, empty for a synthetic request.
    pub(crate) fn peer(&self) -> String {
        self.peer.map(|peer| peer.to_string()).unwrap_or_default()
    }

    /// The message with which Go's parser would refuse the request before a handler sees it. `None` if it would accept
    /// the request.
    pub(super) fn refusal(&self) -> Option<&'static str> {
        let http11 = self.parts.version == http::Version::HTTP_11;
        match unescape(self.parts.uri.path(), false) {
            None => Some("400 Bad Request"),
            _ if http11 && !self.parts.headers.contains_key("host") => {
                Some("400 Bad Request: missing required Host header")
            }
            _ => None,
        }
    }

    /// The fields of the query alone.
    pub(crate) fn query_form(&self) -> Form {
        Form::parse(self.query().unwrap_or_default())
    }

    /// The fields of an urlencoded body and of the query, with those of the body first.
    pub(crate) async fn form(&mut self) -> Form {
        let mut form = Form(Vec::new());
        if matches!(self.parts.method, Method::POST | Method::PUT | Method::PATCH) && self.is_urlencoded() {
            form = Form::parse(&String::from_utf8_lossy(&self.read_body().await));
        }
        form.0.extend(self.query_form().0);
        form
    }

    fn is_urlencoded(&self) -> bool {
        let kind =
            self.parts.headers.get("content-type").map(http::HeaderValue::as_bytes).unwrap_or_default();
        let kind = kind.split(|byte| *byte == b';').next().unwrap_or_default();
        kind.trim_ascii().eq_ignore_ascii_case(b"application/x-www-form-urlencoded")
    }

    async fn read_body(&mut self) -> Bytes {
        match self.body.take() {
            Some(body) => {
                Limited::new(body, FORM_LIMIT).collect().await.map(|c| c.to_bytes()).unwrap_or_default()
            }
            None => Bytes::new(),
        }
    }
}

/// Fields by name; a name may occur several times.
pub(crate) struct Form(Vec<(Vec<u8>, Vec<u8>)>);

impl Form {
    /// Reads `a=1&b=2`. A field with a semicolon or a broken escape is left out.
    pub(crate) fn parse(text: &str) -> Self {
        let field = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Some((unescape(name, true)?, unescape(value, true)?))
        };
        let parts = text.split('&').filter(|part| !part.is_empty() && !part.contains(';'));
        Self(parts.filter_map(field).collect())
    }

    /// The first value of a name, empty if there is none.
    pub(crate) fn bytes(&self, name: &str) -> &[u8] {
        self.0
            .iter()
            .find(|(key, _)| key == name.as_bytes())
            .map(|(_, value)| value.as_slice())
            .unwrap_or_default()
    }

    /// The first value of a name as text.
    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(self.bytes(name)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::Form;

    #[test]
    fn the_first_value_counts_and_broken_fields_are_left_out() {
        let form = Form::parse("msg=a%20b&msg=c&bad=%zz&semi=1;2&flag&plus=a+b");
        assert_eq!(form.text("msg"), "a b");
        assert_eq!(form.text("plus"), "a b");
        for absent in ["bad", "semi", "flag", "other"] {
            assert_eq!(form.text(absent), "", "{absent}");
        }
    }
}
