//! HTTP/2 frames written by hand, to send frames that no HTTP/2 client would send, and to observe how a connection
//! really ends.
//!
//! Headers are written without compression, which every decoder must understand. This module does not decode headers.

/// The first bytes from an HTTP/2 client.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The kinds of frames that are used here.
pub mod kind {
    /// DATA.
    pub const DATA: u8 = 0;
    /// HEADERS.
    pub const HEADERS: u8 = 1;
    /// RST_STREAM.
    pub const RST_STREAM: u8 = 3;
    /// SETTINGS.
    pub const SETTINGS: u8 = 4;
    /// PING.
    pub const PING: u8 = 6;
    /// GOAWAY.
    pub const GOAWAY: u8 = 7;
    /// CONTINUATION.
    pub const CONTINUATION: u8 = 9;
}

/// A received frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its kind.
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// Its stream.
    pub stream: u32,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// A frame to send.
#[must_use]
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The preface and empty settings.
#[must_use]
pub fn hello() -> Vec<u8> {
    [PREFACE, &frame(kind::SETTINGS, 0, 0, &[])].concat()
}

/// A GET as one frame that ends its stream.
#[must_use]
pub fn get(stream: u32, path: &str) -> Vec<u8> {
    let fields = [(":method", "GET"), (":scheme", "http"), (":path", path), (":authority", "target")];
    frame(kind::HEADERS, 0x5, stream, &block(&fields))
}

/// A gRPC call with its message.
#[must_use]
pub fn call(stream: u32, path: &str, message: &[u8]) -> Vec<u8> {
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "target"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    [frame(kind::HEADERS, 0x4, stream, &block(&fields)), frame(kind::DATA, 0x1, stream, message)].concat()
}

/// Header fields, each as a literal without indexing.
#[must_use]
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in fields {
        bytes.push(0);
        for text in [name, value] {
            text_length(&mut bytes, text.len());
            bytes.extend(text.bytes());
        }
    }
    bytes
}

/// An integer with a prefix of seven bits.
fn text_length(bytes: &mut Vec<u8>, length: usize) {
    let Some(mut rest) = length.checked_sub(127) else {
        return bytes.push(u8::try_from(length).unwrap_or(0));
    };
    bytes.push(127);
    while rest >= 128 {
        bytes.push(u8::try_from(rest % 128).unwrap_or(0) | 128);
        rest /= 128;
    }
    bytes.push(u8::try_from(rest).unwrap_or(0));
}

/// The complete frames in the received bytes, and the remaining bytes.
#[must_use]
pub fn frames(mut bytes: &[u8]) -> (Vec<Frame>, Vec<u8>) {
    let mut found = Vec::new();
    while let Some((head, rest)) = bytes.split_at_checked(9) {
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let Some(payload) = rest.get(..length) else { break };
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        found.push(Frame { kind: head[3], flags: head[4], stream, payload: payload.to_vec() });
        bytes = &rest[length..];
    }
    (found, bytes.to_vec())
}
