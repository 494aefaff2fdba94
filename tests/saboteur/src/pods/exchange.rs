//! One HTTP/1.1 request to a pod and its answer, under the defects that strike it.

use std::io;
use std::net::{IpAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::sleep;

use super::effects::Effects;
use super::fault::{Outcome, Redirects, Scheme};
use super::http::{Head, Place, end_of_head, instead, is_whole, place};
use super::memory::{Key, Memory};
use super::tls::Identity;
use super::{Stream, connect};

/// The maximum size of a head, larger than that of any probe.
const LONGEST_HEAD: usize = 1 << 20;
/// How much of a body a kubelet reads.
const READ_BY_KUBELET: usize = 10 << 10;

/// A request that may be sent several times.
#[derive(Clone)]
pub(super) struct Errand {
    /// The key and the certificate that were created at the start.
    pub(super) identity: Arc<Identity>,
    /// The memory, with kept connections.
    pub(super) memory: Memory,
    /// Which probe it is.
    pub(super) key: Key,
    /// Where the kubelet sent it.
    pub(super) to: SocketAddrV4,
    /// Whether the kubelet speaks TLS.
    pub(super) secure: bool,
    /// The kubelet's request.
    pub(super) request: Head,
    /// What strikes it.
    pub(super) effects: Effects,
}

/// The answer of a pod: what was read so far, and the rest.
pub(super) struct Reply {
    /// The head.
    pub(super) head: Head,
    /// The bytes of the body that were read.
    pub(super) body: Vec<u8>,
    /// The connection, if more of the answer may follow on it.
    pub(super) rest: Option<Stream>,
}

/// Reads a head and everything that arrived with it. `None` if the peer closes before it sends anything.
///
/// # Errors
///
/// When the connection breaks, or the bytes are not a valid head.
pub(super) async fn read_head(stream: &mut Stream) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut bytes = Vec::with_capacity(2048);
    loop {
        if let Some(end) = end_of_head(&bytes) {
            let rest = bytes.split_off(end);
            return Ok(Some((bytes, rest)));
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            let is_nothing = bytes.is_empty();
            return if is_nothing { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        if bytes.len() > LONGEST_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

/// Opens a connection to a pod as the defects require.
///
/// # Errors
///
/// When the pod refuses it.
pub(super) async fn dial(to: SocketAddrV4, effects: &Effects) -> io::Result<Stream> {
    let stream =
        if effects.from_inside { connect::from_inside(to).await } else { connect::from_node(to).await };
    Ok(Box::new(stream?))
}

impl Errand {
    fn is_secure(&self) -> bool {
        let change = self.effects.requests.iter().rev().find_map(|request| request.scheme);
        change.map_or(self.secure, |scheme| scheme == Scheme::Https)
    }

    /// Sends the request, on `open` if a connection is open already, and reads as much of the answer as is needed.
    ///
    /// # Errors
    ///
    /// When the pod gives no answer.
    pub(super) async fn run(&self, open: Option<Stream>) -> io::Result<Reply> {
        let mut request = self.request.clone();
        self.effects.requests.iter().for_each(|change| request.alter(change));
        if self.effects.keep_alive {
            request.remove("Connection");
        }
        let to = self.effects.destination(self.to);
        let Some(redirects) = &self.effects.redirects else {
            return self.ask(&request, to, self.is_secure(), open).await;
        };
        self.follow(redirects, request, to, open).await
    }

    async fn follow(
        &self,
        rules: &Redirects,
        mut request: Head,
        first: SocketAddrV4,
        open: Option<Stream>,
    ) -> io::Result<Reply> {
        let (mut to, mut secure) = (first, self.is_secure());
        let mut reply = self.ask(&request, to, secure, open).await?;
        for hop in 0.. {
            let is_redirect = matches!(reply.head.status(), Some(301 | 302 | 303 | 307 | 308));
            let Some(location) = reply.head.get("location").filter(|_| is_redirect) else { return Ok(reply) };
            let place = place(location, secure);
            let next = next_hop(rules, &place, to, first).filter(|_| hop < rules.limit);
            let Some(next) = next else { return Ok(ended(rules.beyond)) };
            if rules.without_headers {
                request.fields.retain(|(name, _)| is_own_field(name));
            }
            if place.host.is_some() {
                request.set("Host", &next.to_string());
            }
            request.start = format!("GET {} HTTP/1.1", place.target);
            (to, secure) = (next, place.secure);
            reply = self.ask(&request, to, secure, None).await?;
        }
        Ok(reply)
    }

    async fn ask(
        &self,
        request: &Head,
        to: SocketAddrV4,
        secure: bool,
        open: Option<Stream>,
    ) -> io::Result<Reply> {
        let kept = if self.effects.keep_alive { self.memory.take(&self.key) } else { None };
        if let Some(stream) = kept
            && let Ok(reply) = self.ask_on(stream, request).await
        {
            return Ok(reply);
        }
        let mut stream = match open {
            Some(stream) => stream,
            None => dial(to, &self.effects).await?,
        };
        if secure {
            let change = self.effects.tls.clone().unwrap_or_default();
            let protocols = vec![b"http/1.1".to_vec()];
            stream = Box::new(self.identity.connect(stream, IpAddr::V4(*to.ip()), protocols, &change).await?);
        }
        self.ask_on(stream, request).await
    }

    async fn ask_on(&self, mut stream: Stream, request: &Head) -> io::Result<Reply> {
        stream.write_all(&request.bytes()).await?;
        stream.flush().await?;
        let (head, mut body) = read_head(&mut stream).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let head = Head::read(&head).ok_or(io::ErrorKind::InvalidData)?;
        if let Some((read, lenient)) = self.effects.body {
            return self.read_body(head, body, stream, read, lenient).await;
        }
        if self.effects.keep_alive || self.effects.slow.is_some() || self.effects.redirects.is_some() {
            while !is_whole(&head, &body) && body.len() <= READ_BY_KUBELET {
                if stream.read_buf(&mut body).await? == 0 {
                    break;
                }
            }
        }
        if self.effects.keep_alive && is_whole(&head, &body) {
            self.memory.keep(&self.key, stream);
            return Ok(Reply { head, body, rest: None });
        }
        Ok(Reply { head, body, rest: Some(stream) })
    }

    /// Reads this number of bytes of the body and closes. The kubelet receives the bytes that were read, as a body of
    /// this length.
    async fn read_body(
        &self,
        mut head: Head,
        mut body: Vec<u8>,
        mut stream: Stream,
        read: u64,
        lenient: bool,
    ) -> io::Result<Reply> {
        let wanted = usize::try_from(read).unwrap_or(usize::MAX);
        while body.len() < wanted && !is_whole(&head, &body) {
            match stream.read_buf(&mut body).await {
                Ok(0) if lenient || head.get("content-length").is_none() => break,
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(_) if lenient => break,
                Err(error) => return Err(error),
            }
        }
        self.close(stream);
        body.truncate(wanted.min(READ_BY_KUBELET));
        head.remove("Transfer-Encoding");
        head.set("Content-Length", &body.len().to_string());
        Ok(Reply { head, body, rest: None })
    }

    /// Closes a connection to the pod, at once or after the linger time.
    pub(super) fn close(&self, stream: Stream) {
        if let Some(lasting) = self.effects.linger {
            tokio::spawn(async move {
                sleep(lasting).await;
                drop(stream);
            });
        }
    }

    /// Repeats the request in the background.
    pub(super) fn again(&self, times: u32, after: Duration) {
        let errand = self.clone();
        tokio::spawn(async move {
            for _ in 0..times {
                sleep(after).await;
                errand.run_to_the_end().await;
            }
        });
    }

    /// Sends the request, and reads the answer as a kubelet does. The answer is then discarded.
    async fn run_to_the_end(&self) {
        let Ok(Reply { head, mut body, rest: Some(mut stream) }) = self.run(None).await else { return };
        while !is_whole(&head, &body) && body.len() <= READ_BY_KUBELET {
            if !matches!(stream.read_buf(&mut body).await, Ok(1..)) {
                return;
            }
        }
    }
}

/// The fields that a client adds by itself.
fn is_own_field(name: &str) -> bool {
    ["host", "connection", "accept-encoding"].iter().any(|own| name.eq_ignore_ascii_case(own))
}

/// The target of a redirect. None if the redirect is not followed.
fn next_hop(rules: &Redirects, place: &Place, at: SocketAddrV4, first: SocketAddrV4) -> Option<SocketAddrV4> {
    let address = place.address(*at.ip())?;
    let port = place.port.unwrap_or(at.port());
    let is_other_host = address != *first.ip();
    let is_other_port = port != first.port();
    let is_followed = (rules.any_host || !is_other_host) && !(rules.same_port && is_other_port);
    is_followed.then(|| SocketAddrV4::new(address, port))
}

fn ended(outcome: Outcome) -> Reply {
    let head = Head::read(&instead(outcome)).unwrap_or(Head { start: String::new(), fields: Vec::new() });
    Reply { head, body: Vec::new(), rest: None }
}
