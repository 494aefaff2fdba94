//! One HTTP/1.1 request written by hand over a plain socket, and the answer as received, header by header.
//!
//! It uses no client library, because tests compare the bytes on the wire.

#![expect(clippy::unwrap_used, reason = "a test's helper fails the test")]

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::program::PATIENCE;

/// An answer as received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The first line, such as `HTTP/1.1 200 OK`; empty if the connection was closed without an answer.
    pub status_line: String,
    /// The header lines in their order.
    pub headers: Vec<String>,
    /// All bytes after the headers; chunks are not joined.
    pub body: Vec<u8>,
}

impl Answered {
    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The status, 0 if there is none.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status_line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// GETs a target on a port of this machine.
#[must_use]
pub fn get(port: u16, target: &str) -> Answered {
    send(port, &format!("GET {target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"))
}

/// Sends bytes and reads to the end of the connection.
///
/// # Panics
/// If the port is closed or nothing comes in time.
#[must_use]
pub fn send(port: u16, request: &str) -> Answered {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut whole = Vec::new();
    // A reset ends an answer just as an orderly close does.
    let _ = stream.read_to_end(&mut whole);
    parse(&whole)
}

fn parse(whole: &[u8]) -> Answered {
    let cut = whole.windows(4).position(|window| window == b"\r\n\r\n");
    let (head, body) = cut.map_or((whole, &[][..]), |cut| (&whole[..cut], &whole[cut + 4..]));
    let head = String::from_utf8_lossy(head);
    let mut lines = head.split("\r\n").map(str::to_owned);
    Answered { status_line: lines.next().unwrap_or_default(), headers: lines.collect(), body: body.to_vec() }
}
