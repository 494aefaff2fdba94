//! What the witness can record: any fact, or one of the two facts of each request, with borrowed parts. The code writes
//! the JSON of these two itself.
//!
//! The result is the same as serde_json's, byte for byte, without copies of the parts and with a fraction of the
//! instructions.

use probity_script::{Endpoint, Fact};
use serde::Serialize;

/// Something that the witness can record.
pub trait Record {
    /// Appends the fact as JSON.
    fn push(&self, line: &mut Vec<u8>);
}

impl Record for Fact {
    fn push(&self, line: &mut Vec<u8>) {
        let begin = line.len();
        // Serializing these types into memory cannot fail. If it ever does, the result must still be a valid line.
        if serde_json::to_writer(&mut *line, self).is_err() {
            line.truncate(begin);
            line.extend_from_slice(
                b"{\"trouble\":{\"doing\":\"writing a fact down\",\"error\":\"not serializable\"}}",
            );
        }
    }
}

/// A path or a service of a listener.
#[derive(Clone, Copy, Debug)]
pub struct EndpointSeen<'a> {
    /// The listener's name.
    pub listener: &'a str,
    /// The path, or the service's name.
    pub name: &'a str,
}

/// A [`probity_script::witness::Request`] whose parts are borrowed.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the fields of the fact")]
pub struct RequestSeen<'a, H> {
    pub conn: u64,
    pub nth: u64,
    pub endpoint: Option<EndpointSeen<'a>>,
    pub probe: u64,
    pub hop: Option<u64>,
    pub method: &'a str,
    pub target: &'a str,
    pub protocol: &'a str,
    pub headers: H,
    pub body: u64,
    pub first_byte_us: u64,
    pub service: Option<&'a str>,
}

/// A [`probity_script::witness::Answered`] whose parts are borrowed.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the fields of the fact")]
pub struct AnswerSeen<'a> {
    pub conn: u64,
    pub nth: u64,
    pub endpoint: Option<EndpointSeen<'a>>,
    pub step: usize,
    pub answer: &'a str,
    pub written: u64,
    pub took_us: u64,
    pub last_send_us: Option<u64>,
    pub error: Option<&'a str>,
}

impl<'a, H: Iterator<Item = (&'a str, &'a str)> + Clone> Record for RequestSeen<'a, H> {
    fn push(&self, line: &mut Vec<u8>) {
        number(line, b"{\"request\":{\"conn\":", self.conn);
        number(line, b",\"nth\":", self.nth);
        push_endpoint(line, self.endpoint);
        number(line, b",\"probe\":", self.probe);
        self.hop.iter().for_each(|hop| number(line, b",\"hop\":", *hop));
        text(line, b",\"method\":", self.method);
        text(line, b",\"target\":", self.target);
        text(line, b",\"protocol\":", self.protocol);
        line.extend_from_slice(b",\"headers\":[");
        for (at, (name, value)) in self.headers.clone().enumerate() {
            text(line, if at == 0 { b"[" } else { b",[" }, name);
            text(line, b",", value);
            line.push(b']');
        }
        line.push(b']');
        if self.body != 0 {
            number(line, b",\"body\":", self.body);
        }
        number(line, b",\"first_byte_us\":", self.first_byte_us);
        self.service.iter().for_each(|service| text(line, b",\"service\":", service));
        line.extend_from_slice(b"}}");
    }
}

impl Record for AnswerSeen<'_> {
    fn push(&self, line: &mut Vec<u8>) {
        number(line, b"{\"answer\":{\"conn\":", self.conn);
        number(line, b",\"nth\":", self.nth);
        push_endpoint(line, self.endpoint);
        number(line, b",\"step\":", self.step as u64);
        text(line, b",\"answer\":", self.answer);
        number(line, b",\"written\":", self.written);
        number(line, b",\"took_us\":", self.took_us);
        self.last_send_us.iter().for_each(|at| number(line, b",\"last_send_us\":", *at));
        self.error.iter().for_each(|error| text(line, b",\"error\":", error));
        line.extend_from_slice(b"}}");
    }
}

fn push_endpoint(line: &mut Vec<u8>, endpoint: Option<EndpointSeen<'_>>) {
    let Some(EndpointSeen { listener, name }) = endpoint else { return };
    line.extend_from_slice(b",\"endpoint\":");
    if is_plain(listener) && is_plain(name) {
        line.push(b'"');
        line.extend_from_slice(listener.as_bytes());
        line.push(b':');
        line.extend_from_slice(name.as_bytes());
        line.push(b'"');
    } else {
        push_json(line, &Endpoint::Of { listener: listener.to_owned(), name: name.to_owned() });
    }
}

/// Appends a prefix and a number.
pub(super) fn number(line: &mut Vec<u8>, before: &[u8], number: u64) {
    line.extend_from_slice(before);
    push_json(line, &number);
}

/// Appends a prefix, and a text as JSON.
fn text(line: &mut Vec<u8>, before: &[u8], text: &str) {
    line.extend_from_slice(before);
    if is_plain(text) {
        line.push(b'"');
        line.extend_from_slice(text.as_bytes());
        line.push(b'"');
    } else {
        push_json(line, text);
    }
}

/// Whether JSON writes this text as it is. Looks at eight bytes at once: `found` is not zero if one of the bytes is a
/// control character, a quote, a backslash, or not ASCII (which is rare, and is left to serde_json).
fn is_plain(text: &str) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let less = |word: u64, than: u64| word.wrapping_sub(ONES * than) & !word;
    let found = |word: u64| {
        let (quote, backslash) = (word ^ (ONES * 0x22), word ^ (ONES * 0x5C));
        (word | less(word, 0x20) | less(quote, 1) | less(backslash, 1)) & HIGH
    };
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let mut last = [b' '; 8];
    last[..rest.len()].copy_from_slice(rest);
    words.iter().chain([&last]).fold(0, |all, word| all | found(u64::from_le_bytes(*word))) == 0
}

/// Appends a number or a text. serde_json is faster than `write!` here, and cannot fail on a vector.
fn push_json(line: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let _ = serde_json::to_writer(line, value);
}

#[cfg(test)]
mod tests;
