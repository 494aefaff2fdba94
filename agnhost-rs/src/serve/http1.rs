//! HTTP/1 exactly as planned, byte for byte.
//!
//! A framework would reject half of the planned answers, and would not report when the peer gave up. So heads are read
//! with httparse, and answers are written by hand. Everything that waits also watches for the peer's end.

mod incoming;
mod outgoing;

use std::pin::{Pin, pin};
use std::time::Duration;

use probity_script::wire::HttpVersion;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout, timeout_at};

use super::context::{ConnectionContext, IncomingRequest};
use super::head::{self, AnnouncedBody, Head, ParsedHead};
use super::wire::read_piece;
use crate::lifecycle::GateState;
use outgoing::Manner;

/// How long a client may take for a head once it has begun, and for the rest of a body.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);

/// How long to wait until the peer closes its side, after this side is closed.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// A connection that speaks HTTP/1.
pub(super) struct Http1<S> {
    context: ConnectionContext,
    stream: S,
    /// Bytes that have arrived but are not used yet.
    ahead: Vec<u8>,
    nth: u64,
}

/// How serving HTTP/1 on a connection ended.
pub(super) enum ProtocolEnd<S> {
    /// The connection is over.
    Over,
    /// The client speaks HTTP/2. These of its bytes have been read.
    Http2(S, Vec<u8>),
}

/// What happens to the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Next,
    Close,
    Reset,
    Gone,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Http1<S> {
    pub(super) fn new(context: ConnectionContext, stream: S) -> Self {
        Self { context, stream, ahead: Vec::new(), nth: 0 }
    }

    /// Answers requests until the connection ends.
    pub(super) async fn run(mut self) -> ProtocolEnd<S> {
        let mut gate = self.context.listener.gate.watch();
        // One future for all requests: a new one for each request would have to be registered and removed each time.
        let mut closing = pin!(gate.closing());
        loop {
            match self.head(closing.as_mut()).await {
                Ok(Some(head)) => {
                    let open_request = self.context.listener.gate.enter();
                    // Boxed, like all rare futures below, so that an idle connection holds no memory for it.
                    let after = Box::pin(self.answer(head)).await;
                    drop(open_request);
                    if after != After::Next {
                        Box::pin(self.leave(after)).await;
                        return ProtocolEnd::Over;
                    }
                }
                Ok(None) => return ProtocolEnd::Http2(self.stream, self.ahead),
                Err(after) => {
                    Box::pin(self.leave(after)).await;
                    return ProtocolEnd::Over;
                }
            }
        }
    }

    /// The next head. `None` if the client speaks HTTP/2.
    async fn head(&mut self, mut closing: Pin<&mut impl Future<Output = ()>>) -> Result<Option<Head>, After> {
        let mut deadline = None;
        loop {
            match head::parse(&self.ahead) {
                ParsedHead::Head(head) => {
                    self.ahead.drain(..head.length);
                    return Ok(Some(head));
                }
                ParsedHead::Http2 if self.nth == 0 => return Ok(None),
                ParsedHead::Http2 => {
                    return Err(Box::pin(self.refuse("400 Bad Request", "HTTP/2 starts too late")).await);
                }
                ParsedHead::Wrong(why) => return Err(Box::pin(self.refuse("400 Bad Request", &why)).await),
                ParsedHead::TooLarge => {
                    let why = "a head larger than 64 KiB or 256 lines";
                    return Err(Box::pin(self.refuse("431 Request Header Fields Too Large", why)).await);
                }
                ParsedHead::Partial => {}
            }
            if self.ahead.is_empty() {
                tokio::select! {
                    biased;
                    more = self.more() => more?,
                    () = closing.as_mut() => return Err(After::Close),
                }
            } else {
                let until = *deadline.get_or_insert_with(|| Instant::now() + HEAD_PATIENCE);
                match timeout_at(until, self.more()).await {
                    Ok(more) => more?,
                    Err(_) => return Err(self.refuse("408 Request Timeout", "a head that took 30 s").await),
                }
            }
        }
    }

    /// Reads more bytes.
    async fn more(&mut self) -> Result<(), After> {
        let Self { stream, ahead, .. } = self;
        match read_piece(stream, |bytes| ahead.extend_from_slice(bytes)).await {
            Ok(0) => Err(After::Gone),
            Ok(_) => Ok(()),
            Err(error) => {
                self.context.wire.broke(&error);
                Err(After::Gone)
            }
        }
    }

    /// Refuses input that is not a valid request. There is no request to record, so the line for the connection's end
    /// states why.
    async fn refuse(&mut self, status: &str, why: &str) -> After {
        self.context.wire.we_close_because(&format!("refused with {status}: {why}"));
        let lines = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        // A peer that does not receive this notices the end of the connection.
        let _ = timeout(LAST_WAIT, self.stream.write_all(lines.as_bytes())).await;
        After::Close
    }

    /// Reads the request's body, records everything, and answers.
    async fn answer(&mut self, head: Head) -> After {
        self.nth += 1;
        let body = match head.announced_body() {
            AnnouncedBody::Length(0) => Ok(Some(0)),
            announced => {
                let swallow = self.swallow(announced, head.expects_leave());
                Box::pin(timeout(HEAD_PATIENCE, swallow)).await.unwrap_or(Err(After::Close))
            }
        };
        let (body, clear) = match body {
            Ok(Some(length)) => (length, true),
            Ok(None) => (0, false),
            Err(after) => return after,
        };
        let may_go_on = head.keeps_alive() && clear;
        let version = if head.minor == 0 { HttpVersion::Http10 } else { HttpVersion::Http11 };
        let incoming = IncomingRequest { nth: self.nth, version, text: head.text, body };
        let before = self.context.wire.sent();
        let chosen_answer = self.context.decide(&incoming).await;
        let manner = Manner { may_go_on, is_head: incoming.text.method() == "HEAD", request: &incoming };
        let sent = self.act(&chosen_answer, &manner).await;
        let written = self.context.wire.sent() - before;
        self.context.answered(&chosen_answer, &sent.answer, written, sent.error.as_deref());
        sent.after
    }

    /// Ends the connection.
    async fn leave(&mut self, after: After) {
        match after {
            After::Reset => self.context.wire.reset(),
            // With TLS, a peer can announce its end before its TCP connection is closed.
            After::Gone if self.context.listener.gate.now() != GateState::Shut => {
                self.context.wire.peer_closed()
            }
            After::Gone | After::Next => {}
            After::Close => {
                // Close gracefully: close this side first, then read what the peer still sends, until the peer closes its
                // side.
                let _ = self.stream.shutdown().await;
                let rest = async {
                    while self.more().await.is_ok() {
                        self.ahead.clear()
                    }
                };
                let _ = timeout(LAST_WAIT, rest).await;
            }
        }
    }
}
