//! A raw client, which sends any bytes and reports the received bytes, their times, and how the connection ended.
//!
//! Real HTTP clients hide most of the target's features. This client distinguishes FIN from RST, keeps each piece with
//! its time, and never sends more than it is given. It interprets at most one plain HTTP/1 reply at a time.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use crate::target::PATIENCE;

/// A connection.
pub struct Wire {
    stream: TcpStream,
    local: SocketAddr,
    /// The other side aborted during the connect.
    aborted: bool,
    began: Instant,
    ahead: Vec<u8>,
}

/// Bytes that arrived together.
#[derive(Clone, Debug)]
pub struct Piece {
    /// When the bytes arrived, counted from the last send.
    pub at: Duration,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// How the other side ended the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// In an orderly way.
    Fin,
    /// With an abort.
    Rst,
    /// Not within the waiting time.
    Open,
}

/// Everything that was received.
#[derive(Clone, Debug)]
pub struct Heard {
    /// The pieces in their order.
    pub pieces: Vec<Piece>,
    /// How it ended.
    pub end: End,
    /// When the connection ended, counted from the last send.
    pub ended_at: Duration,
}

/// An HTTP/1 reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The first line.
    pub line: String,
    /// The headers as received.
    pub headers: Vec<(String, String)>,
    /// The body without its framing.
    pub body: Vec<u8>,
    /// The total number of bytes.
    pub length: usize,
}

impl Wire {
    /// Connects.
    ///
    /// # Panics
    ///
    /// If the connection is not accepted.
    #[must_use]
    pub fn connect(to: SocketAddr) -> Self {
        Self::try_connect(to, PATIENCE).unwrap_or_else(|error| panic!("cannot connect to {to}: {error}"))
    }

    /// Connects, if that is possible within this time. An abort during the connect is not a failure here: the
    /// connection was made, and [`hear`](Self::hear) reports how it ended.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn try_connect(to: SocketAddr, patience: Duration) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
        // The socket is bound first, so that its address is known even if the connection ends at once.
        let loopback: IpAddr =
            if to.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
        socket.bind(&SocketAddr::new(loopback, 0).into())?;
        let local = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::Unsupported)?;
        let aborted = match socket.connect_timeout(&to.into(), patience) {
            Ok(()) => false,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => true,
            Err(error) => return Err(error),
        };
        socket.set_tcp_nodelay(true)?;
        Ok(Self { stream: socket.into(), local, aborted, began: Instant::now(), ahead: Vec::new() })
    }

    /// The client's own address, by which the witness identifies the connection.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// The socket, for operations that have no method here.
    #[must_use]
    pub fn socket(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends bytes; times count from here.
    ///
    /// # Panics
    ///
    /// If they cannot be sent.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.began = Instant::now();
        self.try_send(bytes).unwrap_or_else(|error| panic!("cannot send: {error}"));
        self
    }

    /// Sends bytes to a peer that may be gone.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.set_write_timeout(Some(PATIENCE))?;
        self.stream.write_all(bytes.as_ref())
    }

    /// Reads until the other side ends the connection, or for this long.
    pub fn hear(&mut self, patience: Duration) -> Heard {
        let deadline = Instant::now() + patience;
        let mut pieces = Vec::new();
        if self.aborted {
            return Heard { pieces, end: End::Rst, ended_at: self.began.elapsed() };
        }
        if !self.ahead.is_empty() {
            pieces.push(Piece { at: self.began.elapsed(), bytes: std::mem::take(&mut self.ahead) });
        }
        let end = loop {
            match self.read(deadline) {
                Ok(bytes) if bytes.is_empty() => break End::Fin,
                Ok(bytes) => pieces.push(Piece { at: self.began.elapsed(), bytes }),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break End::Rst,
                Err(_) => break End::Open,
            }
        };
        Heard { pieces, end, ended_at: self.began.elapsed() }
    }

    /// Reads until the other side ends the connection.
    pub fn hear_all(&mut self) -> Heard {
        self.hear(PATIENCE)
    }

    /// Reads at least this many bytes, or everything until the end.
    pub fn hear_bytes(&mut self, count: usize) -> Vec<u8> {
        let deadline = Instant::now() + PATIENCE;
        let mut bytes = std::mem::take(&mut self.ahead);
        while bytes.len() < count {
            match self.read(deadline) {
                Ok(more) if !more.is_empty() => bytes.extend(more),
                _ => break,
            }
        }
        bytes
    }

    /// Reads one HTTP/1 reply; later bytes are kept.
    ///
    /// # Panics
    ///
    /// If the received bytes are not a reply.
    pub fn reply(&mut self) -> Reply {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(reply) = parse(&self.ahead, false) {
                self.ahead.drain(..reply.length);
                return reply;
            }
            match self.read(deadline) {
                Ok(bytes) if bytes.is_empty() => break,
                Ok(bytes) => self.ahead.extend(bytes),
                Err(_) => break,
            }
        }
        panic!("no whole reply came, only: {:?}", String::from_utf8_lossy(&self.ahead));
    }

    /// Closes the client's half of the connection in an orderly way.
    pub fn half_close(&self) {
        // If the other side is already gone, there is nothing left to close.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Aborts the connection.
    ///
    /// # Panics
    ///
    /// If the system does not allow it.
    pub fn reset(self) {
        let socket = socket2::SockRef::from(&self.stream);
        socket.set_linger(Some(Duration::ZERO)).unwrap_or_else(|error| panic!("cannot abort: {error}"));
    }

    /// The next bytes; empty at the end.
    fn read(&mut self, deadline: Instant) -> io::Result<Vec<u8>> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut bytes = vec![0; 64 * 1024];
        let count = self.stream.read(&mut bytes)?;
        bytes.truncate(count);
        Ok(bytes)
    }
}

impl Heard {
    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.pieces.iter().flat_map(|piece| piece.bytes.iter().copied()).collect()
    }

    /// All bytes as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    /// The received reply. Its body ends with the connection if its length is not given.
    ///
    /// # Panics
    ///
    /// If it is not a reply.
    #[must_use]
    pub fn reply(&self) -> Reply {
        parse(&self.bytes(), true).unwrap_or_else(|| panic!("no reply: {:?} {:?}", self.text(), self.end))
    }

    /// When the first byte came.
    ///
    /// # Panics
    ///
    /// If none came.
    #[must_use]
    pub fn first_at(&self) -> Duration {
        self.pieces.first().unwrap_or_else(|| panic!("nothing came: {:?}", self.end)).at
    }
}

impl Reply {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let line = self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        line.map(|(_, value)| value.as_str())
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Connects, sends, and reads until the end.
#[must_use]
pub fn ask(to: SocketAddr, request: impl AsRef<[u8]>) -> Heard {
    Wire::connect(to).send(request).hear_all()
}

/// A request for a path on a connection that is closed afterwards.
#[must_use]
pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: target\r\nConnection: close\r\n\r\n")
}

/// A request for a path on a connection that is kept.
#[must_use]
pub fn get_and_stay(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: target\r\n\r\n")
}

/// Reads a reply. A body without a length consists of all remaining bytes, if `at_end`.
fn parse(bytes: &[u8], at_end: bool) -> Option<Reply> {
    let head_end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..head_end - 4]).into_owned();
    let mut lines = head.split("\r\n");
    let line = lines.next()?.to_owned();
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let split = |line: &str| line.split_once(':').map(|(n, v)| (n.to_owned(), v.trim().to_owned()));
    let headers: Vec<(String, String)> = lines.filter_map(split).collect();
    let header = |name: &str| headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|l| &l.1);
    let rest = &bytes[head_end..];
    let (body, used) = if matches!(status, 100..=199 | 204 | 304) {
        (Vec::new(), 0)
    } else if header("transfer-encoding").is_some() {
        dechunk(rest)?
    } else if let Some(length) = header("content-length").and_then(|length| length.parse::<usize>().ok()) {
        let length = if at_end { length.min(rest.len()) } else { length };
        (rest.get(..length)?.to_vec(), length)
    } else {
        at_end.then(|| (rest.to_vec(), rest.len()))?
    };
    Some(Reply { status, line, headers, body, length: head_end + used })
}

fn dechunk(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let line = bytes[at..].windows(2).position(|two| two == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[at..at + line]).ok()?, 16).ok()?;
        at += line + 2;
        body.extend(bytes.get(at..at + size)?);
        at += size + 2;
        if size == 0 {
            return (bytes.len() >= at).then_some((body, at));
        }
    }
}
