//! Reads the head of an HTTP/1 request: its text, its raw headers, and where it ends. It is pure.
//!
//! httparse, the parser that hyper uses, does the parsing. This module keeps what a framework discards: the order of the
//! headers, their case, and their duplicates.

use std::mem::MaybeUninit;

use super::head_text::HeadText;

/// The largest accepted head.
pub(super) const LARGEST: usize = 64 * 1024;

/// The maximum number of header lines.
const MOST_HEADERS: usize = 256;

/// The bytes with which an HTTP/2 client begins.
pub(super) const H2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The head of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) text: HeadText,
    pub(super) minor: u8,
    /// Its length in bytes.
    pub(super) length: usize,
}

/// What the bytes so far are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ParsedHead {
    /// A whole head.
    Head(Head),
    /// The beginning of one.
    Partial,
    /// The preface of HTTP/2.
    Http2,
    /// Not HTTP, for this reason.
    Wrong(String),
    /// A head that is larger than the maximum.
    TooLarge,
}

/// How large the body of a request is, according to its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnnouncedBody {
    /// This many bytes.
    Length(u64),
    /// Chunks.
    Chunks,
    /// The size is unclear, so the connection ends after the answer.
    Unclear,
}

/// Reads a head from the bytes that have arrived so far.
pub(super) fn parse(bytes: &[u8]) -> ParsedHead {
    if !bytes.is_empty() && H2_PREFACE.starts_with(&bytes[..bytes.len().min(H2_PREFACE.len())]) {
        return if bytes.len() >= H2_PREFACE.len() { ParsedHead::Http2 } else { ParsedHead::Partial };
    }
    // Not initialized, because clearing this many entries would take longer than reading a usual head.
    let mut lines = [const { MaybeUninit::uninit() }; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(bytes, &mut lines) {
        Ok(httparse::Status::Complete(length)) => {
            let (method, target) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
            let mut text = HeadText::new(method, target, (length, request.headers.len()));
            request.headers.iter().for_each(|line| text.push_line(line.name, line.value));
            ParsedHead::Head(Head { text, minor: request.version.unwrap_or(1), length })
        }
        Ok(httparse::Status::Partial) if bytes.len() >= LARGEST => ParsedHead::TooLarge,
        Ok(httparse::Status::Partial) => ParsedHead::Partial,
        Err(httparse::Error::TooManyHeaders) => ParsedHead::TooLarge,
        Err(error) => ParsedHead::Wrong(error.to_string()),
    }
}

impl Head {
    fn says(&self, name: &str, word: &str) -> bool {
        self.text.all(name).any(|value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word)))
    }

    /// Whether another request may follow on the connection.
    pub(super) fn keeps_alive(&self) -> bool {
        if self.minor == 0 {
            self.says("connection", "keep-alive")
        } else {
            !self.says("connection", "close")
        }
    }

    /// Whether the client waits for `100 Continue` before it sends its body.
    pub(super) fn expects_leave(&self) -> bool {
        self.says("expect", "100-continue")
    }

    /// The announced size of the body. If two headers contradict each other, it is unclear where the next request begins.
    pub(super) fn announced_body(&self) -> AnnouncedBody {
        if self.text.all("transfer-encoding").next().is_some() {
            let only_chunked =
                self.says("transfer-encoding", "chunked") && self.text.all("content-length").next().is_none();
            return if only_chunked { AnnouncedBody::Chunks } else { AnnouncedBody::Unclear };
        }
        let mut lengths = self.text.all("content-length").map(|value| value.trim().parse::<u64>());
        match (lengths.next(), lengths.next()) {
            (None, _) => AnnouncedBody::Length(0),
            (Some(Ok(length)), None) => AnnouncedBody::Length(length),
            _ => AnnouncedBody::Unclear,
        }
    }
}

#[cfg(test)]
mod tests;
