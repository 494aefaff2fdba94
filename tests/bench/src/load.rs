//! The load: requests for `/healthz`, each sent after the answer to the previous one (closed loop) or at a fixed rate
//! (open loop), to two programs in turns.
//!
//! The benchmark has its own load generator: one program that produces all three kinds of load on every
//! machine, binds several loopback addresses so that it does not run out of ports, and counts only answers
//! with status 200.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

/// A request after which the connection stays open.
pub const KEPT: &[u8] =
    b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: kube-probe/1.36\r\nAccept: */*\r\n\r\n";
/// The start of a successful answer.
const GOOD: &[u8] = b"HTTP/1.1 200 ";
const ONCE: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: kube-probe/1.36\r\nAccept: */*\r\nConnection: close\r\n\r\n";

/// A load without pauses.
#[derive(Clone, Copy, Debug)]
pub struct Flat {
    /// Connections at a time.
    pub connections: u8,
    /// How long the load lasts.
    pub lasts: Duration,
    /// Whether each request has its own connection, as a kubelet's requests have.
    pub fresh: bool,
}

/// How many requests were answered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answered {
    /// With status 200.
    pub good: u64,
    /// In any other way.
    pub bad: u64,
    /// The time in seconds.
    pub seconds: f64,
}

impl Answered {
    /// Requests per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.good as f64 / self.seconds
    }
}

/// Runs a load without pauses, from one thread.
///
/// # Errors
///
/// If the runtime cannot be created.
pub fn flat(address: SocketAddr, load: Flat) -> io::Result<Answered> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let began = Instant::now();
        let until = began + load.lasts;
        let clients: Vec<_> = (0..load.connections)
            .map(|n| tokio::spawn(client(address, source(n), until, load.fresh)))
            .collect();
        let mut sum = Answered::default();
        for client in clients {
            let (good, bad) = client.await.unwrap_or((0, 1));
            sum.good += good;
            sum.bad += bad;
        }
        sum.seconds = began.elapsed().as_secs_f64();
        Ok(sum)
    })
}

/// The loopback address of a client. Each client has its own address, so that it can use all ports.
#[must_use]
pub fn source(client: u8) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 1, client.max(1))), 0)
}

async fn client(address: SocketAddr, source: SocketAddr, until: Instant, fresh: bool) -> (u64, u64) {
    let (mut good, mut bad) = (0, 0);
    while Instant::now() < until {
        let done =
            if fresh { once(address, source).await } else { kept(address, source, until, &mut good).await };
        match done {
            Ok(true) => good += u64::from(fresh),
            Ok(false) | Err(_) => {
                bad += 1;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }
    (good, bad)
}

async fn connect(address: SocketAddr, source: SocketAddr) -> io::Result<tokio::net::TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(source)?;
    let stream = socket.connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// One request on a separate connection.
async fn once(address: SocketAddr, source: SocketAddr) -> io::Result<bool> {
    let mut stream = connect(address, source).await?;
    stream.write_all(ONCE).await?;
    let mut answer = Vec::with_capacity(1024);
    stream.read_to_end(&mut answer).await?;
    is_whole(&answer)
}

/// One request after the other on the same connection.
async fn kept(address: SocketAddr, source: SocketAddr, until: Instant, good: &mut u64) -> io::Result<bool> {
    let mut stream = connect(address, source).await?;
    let mut bytes = Vec::with_capacity(1024);
    while Instant::now() < until {
        stream.write_all(KEPT).await?;
        bytes.clear();
        while !is_whole(&bytes)? {
            if stream.read_buf(&mut bytes).await? == 0 {
                return Ok(false);
            }
        }
        *good += 1;
    }
    Ok(true)
}

/// Whether these bytes are a whole answer.
///
/// # Errors
///
/// If its status is not 200.
fn is_whole(bytes: &[u8]) -> io::Result<bool> {
    let begin = GOOD.len().min(bytes.len());
    if bytes[..begin] != GOOD[..begin] {
        let line = String::from_utf8_lossy(bytes.split(|byte| *byte == b'\r').next().unwrap_or_default());
        return Err(io::Error::other(format!("the status of the answer is not 200: {line}")));
    }
    Ok(length(bytes).is_some_and(|length| bytes.len() >= length))
}

/// The length of an answer, once its headers have arrived.
fn length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).ok()?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    Some(head + length?)
}

/// A client that blocks, with one connection.
pub struct Client {
    /// Its connection.
    pub stream: TcpStream,
    bytes: Vec<u8>,
}

impl Client {
    /// Connects to a program.
    ///
    /// # Errors
    ///
    /// If the program does not accept the connection.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, bytes: vec![0; 4096] })
    }

    /// Sends a request with these bytes and returns how long the answer took.
    ///
    /// # Errors
    ///
    /// If the connection breaks, or the answer is not good.
    pub fn ask(&mut self, request: &[u8]) -> io::Result<Duration> {
        let began = Instant::now();
        self.stream.write_all(request)?;
        let mut filled = 0;
        while !is_whole(&self.bytes[..filled])? {
            match self.stream.read(&mut self.bytes[filled..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => filled += count,
            }
        }
        Ok(began.elapsed())
    }
}

/// Sends requests at a fixed rate to each of two programs and notes how long each answer took, in nanoseconds.
///
/// The programs take turns within one thread, and which of them goes first changes from turn to turn. Whatever else the
/// machine does therefore slows both alike, and their difference is reproducible. A request that cannot be sent in
/// time, because an answer was slow, is sent late: if its latency counted from when it was due, the delay of one
/// program would count against the other.
///
/// # Errors
///
/// If a connection breaks, or an answer is not good.
pub fn pair(addresses: [SocketAddr; 2], per_second: u32, lasts: Duration) -> io::Result<[Histogram<u64>; 2]> {
    let histogram = || Histogram::new_with_bounds(1, 60_000_000_000, 3).map_err(io::Error::other);
    let mut both =
        [(Client::connect(addresses[0])?, histogram()?), (Client::connect(addresses[1])?, histogram()?)];
    let pause = Duration::from_secs(1) / (2 * per_second);
    let mut due = Instant::now();
    let until = due + lasts;
    let mut order = [0, 1];
    while due < until {
        for at in order {
            if let Some(left) = due.checked_duration_since(Instant::now()) {
                thread::sleep(left);
            }
            let (client, histogram) = &mut both[at];
            let took = u64::try_from(client.ask(KEPT)?.as_nanos()).unwrap_or(u64::MAX);
            histogram.saturating_record(took.max(1));
            due = (due + pause).max(Instant::now());
        }
        order.reverse();
    }
    Ok(both.map(|(_, histogram)| histogram))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_as_long_as_it_says() {
        let whole = |text: &str| is_whole(text.as_bytes()).ok();
        assert_eq!(whole("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), Some(true));
        assert_eq!(whole("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"), Some(false));
        assert_eq!(whole("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n"), Some(false), "no whole head yet");
        assert_eq!(whole("HTTP/1.1 503 No\r\n"), None);
    }
}
