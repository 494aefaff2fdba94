//! The TCP connection below TLS and all protocols: the bytes that were received and sent, and how it ended.

use std::future::poll_fn;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use probity_script::witness::Ending;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use crate::clock::Clock;
use crate::locks::lock;

/// How many bytes [`read_piece`] reads at most.
const PIECE: usize = 2048;

/// One TCP connection. Every layer above shares it, so each layer can abort it in a way that the peer sees.
pub(super) struct Wire {
    stream: TcpStream,
    clock: Clock,
    received: AtomicU64,
    sent: AtomicU64,
    /// When the first byte after the last answer arrived, on the monotonic clock. 0 if none has arrived.
    first_byte_us: AtomicU64,
    /// The time just before the last bytes were passed to the system. 0 if none were.
    last_send_us: AtomicU64,
    end: Mutex<Option<WireEnd>>,
}

/// How a connection ended, with the system's error if there was one.
#[derive(Clone, Debug)]
pub(super) struct WireEnd {
    pub(super) how: Ending,
    pub(super) error: Option<String>,
}

impl Wire {
    pub(super) fn new(stream: TcpStream, clock: Clock) -> Arc<Self> {
        Arc::new(Self {
            stream,
            clock,
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            first_byte_us: AtomicU64::new(0),
            last_send_us: AtomicU64::new(0),
            end: Mutex::new(None),
        })
    }

    pub(super) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// When the first of the bytes that are being handled arrived. This call resets it.
    pub(super) fn take_first_byte(&self) -> u64 {
        match self.first_byte_us.swap(0, Ordering::Relaxed) {
            0 => self.clock.mono_us(),
            at => at,
        }
    }

    /// When the last bytes were passed to the system, if this was not before a given time.
    pub(super) fn last_send_since(&self, since_us: u64) -> Option<u64> {
        Some(self.last_send_us.load(Ordering::Relaxed)).filter(|at| *at >= since_us)
    }

    /// How the connection ended. The first observation counts.
    pub(super) fn end(&self) -> WireEnd {
        lock(&self.end).clone().unwrap_or(WireEnd { how: Ending::WeClosed, error: None })
    }

    fn note(&self, how: Ending, error: Option<&io::Error>) {
        lock(&self.end).get_or_insert_with(|| WireEnd { how, error: error.map(ToString::to_string) });
    }

    /// Records that the connection broke, unless another end is already recorded.
    pub(super) fn broke(&self, error: &io::Error) {
        let how = match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Ending::PeerReset,
            _ => Ending::Broken,
        };
        self.note(how, Some(error));
    }

    /// Records that the target closes the connection gracefully.
    pub(super) fn we_close(&self) {
        self.note(Ending::WeClosed, None);
    }

    /// Records that the target closes the connection gracefully, and why.
    pub(super) fn we_close_because(&self, why: &str) {
        let mut end = lock(&self.end);
        let end = end.get_or_insert(WireEnd { how: Ending::WeClosed, error: None });
        if end.how == Ending::WeClosed {
            end.error.get_or_insert_with(|| why.to_owned());
        }
    }

    /// Records that the peer closed the connection gracefully, unless another end is already recorded.
    pub(super) fn peer_closed(&self) {
        self.note(Ending::PeerClosed, None);
    }

    /// Makes the peer see an abort (RST) as soon as the last holder drops the connection.
    pub(super) fn reset(&self) {
        self.note(Ending::WeReset, None);
        // If this fails, the peer sees a graceful close, although the line above records a reset.
        let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
    }

    fn poll_send(
        &self,
        cx: &mut Context<'_>,
        send: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let now_us = self.clock.mono_us();
            // Try to write first, because a socket is nearly always ready.
            match send(&self.stream) {
                Ok(count) => {
                    self.sent.fetch_add(count as u64, Ordering::Relaxed);
                    self.last_send_us.store(now_us, Ordering::Relaxed);
                    return Poll::Ready(Ok(count));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(self.stream.poll_write_ready(cx))?;
                }
                Err(error) => {
                    self.broke(&error);
                    return Poll::Ready(Err(error));
                }
            }
        }
    }

    /// Reads the available bytes without waiting. If they do not fill the buffer, there are no more. The readiness is
    /// then cleared in the same step, which saves the next reader a system call that would find nothing.
    fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut count = None;
        let read = self.stream.try_io(Interest::READABLE, || {
            let got = (&*SockRef::from(&self.stream)).read(bytes)?;
            count = Some(got);
            if got > 0 && got < bytes.len() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(got) }
        });
        count.map_or(read, Ok)
    }

    /// Sends bytes directly, bypassing every layer above.
    pub(super) fn send_raw(&self, bytes: &[u8]) {
        if let Ok(count) = self.stream.try_write(bytes) {
            self.sent.fetch_add(count as u64, Ordering::Relaxed);
        }
    }
}

/// Reads once and passes the bytes on. Returns how many there were.
///
/// They are read onto the stack, so that a connection that waits for bytes holds no buffer for them.
pub(super) async fn read_piece(
    stream: &mut (impl AsyncRead + Unpin),
    mut pass: impl FnMut(&[u8]),
) -> io::Result<usize> {
    poll_fn(|cx| {
        let mut bytes = [MaybeUninit::uninit(); PIECE];
        let mut bytes = ReadBuf::uninit(&mut bytes);
        ready!(Pin::new(&mut *stream).poll_read(cx, &mut bytes))?;
        pass(bytes.filled());
        Poll::Ready(Ok(bytes.filled().len()))
    })
    .await
}

/// The wire as a stream.
#[derive(Clone)]
pub(super) struct WireStream(pub(super) Arc<Wire>);

impl AsyncRead for WireStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let wire = &*self.0;
        loop {
            ready!(wire.stream.poll_read_ready(cx))?;
            match wire.read(buf.initialize_unfilled()) {
                Ok(0) => {
                    if buf.remaining() > 0 {
                        wire.note(Ending::PeerClosed, None);
                    }
                    return Poll::Ready(Ok(()));
                }
                Ok(count) => {
                    buf.advance(count);
                    wire.received.fetch_add(count as u64, Ordering::Relaxed);
                    if wire.first_byte_us.load(Ordering::Relaxed) == 0 {
                        wire.first_byte_us.store(wire.clock.mono_us(), Ordering::Relaxed);
                    }
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => {
                    wire.broke(&error);
                    return Poll::Ready(Err(error));
                }
            }
        }
    }
}

impl AsyncWrite for WireStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.poll_send(cx, |stream| stream.try_write(bytes))
    }

    /// TLS passes several records at once. The last of them may be the alert that states why it ends.
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_send(cx, |stream| stream.try_write_vectored(parts))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.we_close();
        // A peer that has already closed the connection needs no notice.
        let _ = SockRef::from(&self.0.stream).shutdown(std::net::Shutdown::Write);
        Poll::Ready(Ok(()))
    }
}
