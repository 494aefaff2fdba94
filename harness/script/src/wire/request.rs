//! The facts about an HTTP request that, together with the plan, determine its answer.

use std::net::{IpAddr, Ipv4Addr};

/// The query parameter that counts the hops of a redirect chain.
pub(super) const HOP: &str = "probity-hop";

/// A version of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0, which has no chunks.
    Http10,
    /// HTTP/1.1.
    #[default]
    Http11,
    /// HTTP/2, which has its own framing of bodies.
    Http2,
}

impl HttpVersion {
    /// The version as the witness writes it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
        }
    }

    /// Bytes that are not valid in this version.
    pub(super) fn garbage(self) -> &'static [u8] {
        match self {
            Self::Http10 | Self::Http11 => b"\x00\x9f\x92\x96 this is no HTTP \xff\xfe\r\n\r\n",
            Self::Http2 => b"\x00\x9f\x92\x96 this is no frame \xff\xfe",
        }
    }
}

/// What an HTTP answer depends on, in addition to the plan.
#[derive(Clone, Copy, Debug)]
pub struct HttpRequestFacts<'a> {
    /// The version that the client speaks.
    pub version: HttpVersion,
    /// The path; see [`path_of`].
    pub path: &'a str,
    /// The hop of a redirect chain; see [`hop_of`].
    pub hop: u64,
    /// The Host header or `:authority`; empty if there is none.
    pub host: &'a str,
    /// The address that the client connected to.
    pub ip: IpAddr,
    /// The port that the client connected to.
    pub port: u16,
}

impl Default for HttpRequestFacts<'_> {
    fn default() -> Self {
        let ip = Ipv4Addr::LOCALHOST.into();
        Self { version: HttpVersion::default(), path: "/", hop: 0, host: "", ip, port: 80 }
    }
}

impl HttpRequestFacts<'_> {
    /// Replaces `{ip}`, `{port}` and `{host}` in a text of the plan.
    pub(super) fn fill_in(&self, text: &str) -> String {
        if !text.contains('{') {
            return text.to_owned();
        }
        let ip = match self.ip {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        text.replace("{ip}", &ip).replace("{port}", &self.port.to_string()).replace("{host}", self.host)
    }
}

/// The path of a request target, without the query. For the absolute form, also without scheme and authority.
#[must_use]
pub fn path_of(target: &str) -> &str {
    let absolute = if target.starts_with('/') { None } else { target.split_once("://") };
    let target = absolute.map_or(target, |(_, rest)| rest.find('/').map_or("/", |at| &rest[at..]));
    let end = target.bytes().position(|byte| matches!(byte, b'?' | b'#'));
    end.map_or(target, |end| &target[..end])
}

/// The hop of a redirect chain, according to the request target. 0 if the request does not belong to a chain.
#[must_use]
pub fn hop_of(target: &str) -> u64 {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let hop = query.split('&').find_map(|pair| pair.strip_prefix(HOP)?.strip_prefix('='));
    hop.and_then(|hop| hop.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_what_the_plan_knows() {
        for (target, path, hop) in [
            ("/healthz", "/healthz", 0),
            ("/healthz?a=1", "/healthz", 0),
            ("/r?probity-hop=3", "/r", 3),
            ("/r?a=1&probity-hop=4", "/r", 4),
            ("/r?probity-hop=x", "/r", 0),
            ("http://host:80/x?y", "/x", 0),
            ("http://host", "/", 0),
            ("/a://b", "/a://b", 0),
            ("*", "*", 0),
        ] {
            assert_eq!((path_of(target), hop_of(target)), (path, hop), "{target}");
        }
    }
}
