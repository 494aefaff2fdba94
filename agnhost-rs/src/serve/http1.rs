//! HTTP/1 as the plan wants it, down to the byte.
//!
//! A framework would refuse to send half of what is asked for here, and would not say when the peer gave up. So heads
//! are read with httparse and answers are written by hand; everything that waits also listens for the peer's end.

use std::io;
use std::time::Duration;

use probity_script::answer::{HttpAnswer, HttpReply};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::head::{self, Coming, Head, Parsed};
use super::reply::{self, Composed, Length, Setting, Turn};
use super::report;
use super::site::{Asking, Decision, Visitor};
use crate::lifecycle::{Door, DoorWatch};

/// How long a client may take for a head once it has begun, and for the rest of a body.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);

/// How long we wait for the peer's own end after ours.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// The largest request body that is read; a connection with a larger one ends with the answer.
const LARGEST_BODY: u64 = 8 << 20;

/// The most that may stand behind the last chunk of a body.
const LARGEST_TRAILERS: usize = 8 * 1024;

/// How much may come ahead of its turn while an answer is delayed.
const LARGEST_AHEAD: usize = 64 * 1024;

const GARBAGE: &[u8] = b"\x00\x9f\x92\x96 this is no HTTP \xff\xfe\r\n\r\n";

/// A connection that speaks HTTP/1.
pub(super) struct Http1<S> {
    visitor: Visitor,
    stream: S,
    /// What has come and is not used up yet.
    ahead: Vec<u8>,
    nth: u64,
}

/// How a connection is left by its protocol.
pub(super) enum Left<S> {
    /// It is over.
    Over,
    /// The client speaks HTTP/2; these bytes of it have been read.
    Http2(S, Vec<u8>),
}

/// What becomes of the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Next,
    Close,
    Reset,
    Gone,
}

/// An answer that was sent, or not.
struct Sent {
    answer: String,
    after: After,
    error: Option<String>,
}

impl Sent {
    fn new(answer: impl Into<String>, after: After) -> Self {
        Self { answer: answer.into(), after, error: None }
    }

    fn broken(answer: impl Into<String>, error: impl ToString) -> Self {
        Self { answer: answer.into(), after: After::Gone, error: Some(error.to_string()) }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Http1<S> {
    pub(super) fn new(visitor: Visitor, stream: S) -> Self {
        Self { visitor, stream, ahead: Vec::new(), nth: 0 }
    }

    /// Answers requests until the connection ends.
    pub(super) async fn run(mut self) -> Left<S> {
        let mut door = self.visitor.site.doors.watch();
        loop {
            match self.head(&mut door).await {
                Ok(Some(head)) => {
                    let visit = self.visitor.site.doors.visit();
                    let after = self.answer(head).await;
                    drop(visit);
                    if after != After::Next {
                        self.leave(after).await;
                        return Left::Over;
                    }
                }
                Ok(None) => return Left::Http2(self.stream, self.ahead),
                Err(after) => {
                    self.leave(after).await;
                    return Left::Over;
                }
            }
        }
    }

    /// The next head; nothing if the client speaks HTTP/2.
    async fn head(&mut self, door: &mut DoorWatch) -> Result<Option<Head>, After> {
        let mut deadline = None;
        loop {
            match head::parse(&self.ahead) {
                Parsed::Head(head) => {
                    self.ahead.drain(..head.length);
                    return Ok(Some(head));
                }
                Parsed::Http2 if self.nth == 0 => return Ok(None),
                Parsed::Http2 => return Err(self.refuse("400 Bad Request", "HTTP/2 begins too late").await),
                Parsed::Wrong(why) => return Err(self.refuse("400 Bad Request", &why).await),
                Parsed::TooLarge => {
                    let why = "a head larger than 64 KiB or 256 lines";
                    return Err(self.refuse("431 Request Header Fields Too Large", why).await);
                }
                Parsed::Partial => {}
            }
            if self.ahead.is_empty() {
                tokio::select! {
                    biased;
                    more = self.more() => more?,
                    () = door.closing() => return Err(After::Close),
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

    /// Reads more of what comes.
    async fn more(&mut self) -> Result<(), After> {
        if self.ahead.capacity() - self.ahead.len() < 512 {
            self.ahead.reserve(1024);
        }
        match self.stream.read_buf(&mut self.ahead).await {
            Ok(0) => Err(After::Gone),
            Ok(_) => Ok(()),
            Err(error) => {
                self.visitor.wire.broke(&error);
                Err(After::Gone)
            }
        }
    }

    /// Turns away what is no request of ours. There is no request to write down, so the connection's end says why.
    async fn refuse(&mut self, status: &str, why: &str) -> After {
        self.visitor.wire.we_close_because(&format!("refused with {status}: {why}"));
        let lines = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        // A peer that cannot be told will notice the end of the connection.
        let _ = timeout(LAST_WAIT, self.stream.write_all(lines.as_bytes())).await;
        After::Close
    }

    /// Reads the request's body, writes everything down, and answers.
    async fn answer(&mut self, head: Head) -> After {
        self.nth += 1;
        let body = match head.coming() {
            Coming::Length(0) => Ok(Some(0)),
            coming => {
                let swallow = self.swallow(coming, head.expects_leave());
                timeout(HEAD_PATIENCE, swallow).await.unwrap_or(Err(After::Close))
            }
        };
        let (body, clear) = match body {
            Ok(Some(length)) => (length, true),
            Ok(None) => (0, false),
            Err(after) => return after,
        };
        let may_go_on = head.keeps_alive() && clear;
        let is_head = head.method == "HEAD";
        let host = head.all("host").next().map(str::to_owned);
        let asking = Asking {
            nth: self.nth,
            method: head.method,
            target: head.target,
            protocol: if head.minor == 0 { "HTTP/1.0" } else { "HTTP/1.1" },
            headers: head.headers,
            host: host.clone(),
            body,
        };
        let path = asking.path().to_owned();
        let before = self.visitor.wire.sent();
        let mut decision = self.visitor.decide(asking).await;
        let manner = Manner { may_go_on, is_head, http10: head.minor == 0, path, host };
        let sent = self.act(&decision, &manner).await;
        let written = self.visitor.wire.sent() - before;
        self.visitor.answered(&mut decision, sent.answer, written, sent.error);
        sent.after
    }

    /// Reads a request's body and forgets it. Nothing if nobody can tell where it ends.
    async fn swallow(&mut self, coming: Coming, expects_leave: bool) -> Result<Option<u64>, After> {
        if expects_leave {
            let leave = self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await;
            leave.map_err(|_| After::Gone)?;
        }
        match coming {
            Coming::Length(length) if length <= LARGEST_BODY => {
                self.skip(length).await?;
                Ok(Some(length))
            }
            Coming::Chunks => self.swallow_chunks().await,
            Coming::Length(_) | Coming::Unclear => Ok(None),
        }
    }

    /// Reads so many bytes and forgets them.
    async fn skip(&mut self, mut left: u64) -> Result<(), After> {
        loop {
            let here = left.min(self.ahead.len() as u64);
            self.ahead.drain(..here as usize);
            left -= here;
            if left == 0 {
                return Ok(());
            }
            self.more().await?;
        }
    }

    async fn swallow_chunks(&mut self) -> Result<Option<u64>, After> {
        let mut total = 0_u64;
        loop {
            match httparse::parse_chunk_size(&self.ahead) {
                Ok(httparse::Status::Complete((line, size))) => {
                    total = total.saturating_add(size);
                    if total > LARGEST_BODY {
                        return Ok(None);
                    }
                    if size == 0 {
                        self.ahead.drain(..line);
                        return Ok(self.swallow_trailers().await?.then_some(total));
                    }
                    // The chunk and the line break behind it.
                    self.skip(line as u64 + size + 2).await?;
                }
                Ok(httparse::Status::Partial) if self.ahead.len() < 1024 => self.more().await?,
                _ => return Ok(None),
            }
        }
    }

    /// Reads the lines behind the last chunk, up to the empty one. False if they are none.
    async fn swallow_trailers(&mut self) -> Result<bool, After> {
        loop {
            let mut lines = [httparse::EMPTY_HEADER; 32];
            match httparse::parse_headers(&self.ahead, &mut lines) {
                Ok(httparse::Status::Complete((end, _))) => {
                    self.ahead.drain(..end);
                    return Ok(true);
                }
                Ok(httparse::Status::Partial) if self.ahead.len() < LARGEST_TRAILERS => self.more().await?,
                _ => return Ok(false),
            }
        }
    }

    async fn act(&mut self, decision: &Decision, manner: &Manner) -> Sent {
        match &decision.answer {
            HttpAnswer::Hang => Sent::broken("hang", self.hang().await),
            HttpAnswer::Close => Sent::new("close", After::Close),
            HttpAnswer::Reset => Sent::new("reset", After::Reset),
            HttpAnswer::Garbage => self.send_raw("garbage", GARBAGE).await,
            HttpAnswer::Reply(reply) => self.reply(reply, decision, manner).await,
        }
    }

    async fn send_raw(&mut self, answer: &str, bytes: &[u8]) -> Sent {
        match self.stream.write_all(bytes).await {
            Ok(()) => Sent::new(answer, After::Close),
            Err(error) => Sent::broken(answer, error),
        }
    }

    async fn reply(&mut self, reply: &HttpReply, decision: &Decision, manner: &Manner) -> Sent {
        let instead = self.visitor.missing_dependency(reply, decision.endpoint.as_ref()).await;
        let reply = instead.as_ref().unwrap_or(reply);
        if let Some(raw) = &reply.raw {
            if let Err(gone) = self.rest(reply.delay.map(|span| span.0)).await {
                return Sent::broken("raw", gone);
            }
            return self.send_raw("raw", raw.as_bytes()).await;
        }
        let composed = {
            let visitor = &self.visitor;
            let report = |what| report::text(what, &visitor.site.stage, decision.probe);
            reply::compose(reply, &manner.setting(visitor, decision.hop, &report))
        };
        let status = composed.status.to_string();
        match self.send(composed, manner).await {
            Ok(after) => Sent::new(status, after),
            Err(error) => Sent::broken(status, error),
        }
    }

    async fn send(&mut self, mut composed: Composed, manner: &Manner) -> Result<After, Broken> {
        self.rest(composed.delay).await?;
        let framing = match composed.framing {
            Length::Chunked if manner.http10 => Length::UntilClose,
            framing => framing,
        };
        let ends = !manner.may_go_on || matches!(framing, Length::UntilClose | Length::Claimed(_));
        let mut out = Vec::with_capacity(256);
        write_head(&mut out, &composed, framing, ends);
        let end = if ends { After::Close } else { After::Next };
        if manner.is_head || composed.body.is_over() {
            if framing == Length::Chunked && !manner.is_head {
                out.extend_from_slice(b"0\r\n\r\n");
            }
            self.stream.write_all(&out).await?;
            return Ok(end);
        }
        if composed.body_delay.is_some() {
            self.stream.write_all(&out).await?;
            out.clear();
            self.rest(composed.body_delay).await?;
        }
        self.send_body(out, &mut composed.body, framing == Length::Chunked, end).await
    }

    /// Sends the turns of a body. What `out` holds goes ahead of them.
    async fn send_body(
        &mut self,
        mut out: Vec<u8>,
        body: &mut reply::Source,
        chunked: bool,
        end: After,
    ) -> Result<After, Broken> {
        loop {
            let turn = body.next();
            if let Turn::Send(piece) = &turn {
                push_piece(&mut out, piece, chunked);
                // A short answer leaves in one go, as any server sends it.
                if out.len() < 1024 && body.is_over() {
                    continue;
                }
            } else if turn == Turn::End && chunked {
                out.extend_from_slice(b"0\r\n\r\n");
            }
            if !out.is_empty() {
                self.stream.write_all(&out).await?;
                out.clear();
            }
            match turn {
                Turn::Send(_) => {}
                Turn::Rest(pause) => self.rest(Some(pause)).await?,
                Turn::End => return Ok(end),
                Turn::Stall => return Err(self.hang().await),
                Turn::Close => return Ok(After::Close),
                Turn::Reset => return Ok(After::Reset),
            }
        }
    }

    /// Waits, and gives up when the peer does. What he sends meanwhile is kept for later.
    async fn rest(&mut self, pause: Option<Duration>) -> Result<(), Broken> {
        let Some(pause) = pause.filter(|pause| !pause.is_zero()) else { return Ok(()) };
        tokio::select! {
            () = sleep(pause) => Ok(()),
            gone = self.outlast(true) => Err(gone),
        }
    }

    /// Waits for the peer to give up, or for the doors to shut.
    async fn hang(&mut self) -> Broken {
        self.outlast(false).await
    }

    /// Reads until the peer gives up or the doors shut. Whoever sends more than we keep has to wait; his end is
    /// noticed when we write.
    async fn outlast(&mut self, keep: bool) -> Broken {
        let mut door = self.visitor.site.doors.watch();
        loop {
            let full = keep && self.ahead.len() >= LARGEST_AHEAD;
            tokio::select! {
                more = self.more(), if !full => if more.is_err() {
                    return Broken("the peer gave up".to_owned());
                },
                () = door.shut() => return Broken("we stopped".to_owned()),
            }
            if !keep {
                self.ahead.clear();
            }
        }
    }

    /// Ends the connection.
    async fn leave(&mut self, after: After) {
        match after {
            After::Reset => self.visitor.wire.reset(),
            // By TLS a peer can say that he ends before his end is there to be seen.
            After::Gone if self.visitor.site.doors.now() != Door::Shut => self.visitor.wire.peer_closed(),
            After::Gone | After::Next => {}
            After::Close => {
                // In good order: our end first, then what the peer still sends, then his end.
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

/// What of a request decides over the form of its answer.
struct Manner {
    may_go_on: bool,
    is_head: bool,
    http10: bool,
    path: String,
    host: Option<String>,
}

impl Manner {
    fn setting<'a>(
        &'a self,
        visitor: &Visitor,
        hop: u64,
        report: &'a dyn Fn(probity_script::answer::Report) -> String,
    ) -> Setting<'a> {
        let host = self.host.as_deref().unwrap_or_default();
        Setting { path: &self.path, hop, ip: visitor.local.ip(), port: visitor.local.port(), host, report }
    }
}

/// An answer that could not be finished, and why.
struct Broken(String);

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

fn push_piece(out: &mut Vec<u8>, piece: &[u8], chunked: bool) {
    if chunked {
        out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
    }
    out.extend_from_slice(piece);
    if chunked {
        out.extend_from_slice(b"\r\n");
    }
}

fn write_head(out: &mut Vec<u8>, composed: &Composed, framing: Length, ends: bool) {
    let status = http::StatusCode::from_u16(composed.status).ok();
    let reason = status.and_then(|status| status.canonical_reason()).unwrap_or("Status");
    out.extend_from_slice(format!("HTTP/1.1 {} {reason}\r\n", composed.status).as_bytes());
    for line in &composed.headers {
        out.extend_from_slice(line.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    match framing {
        Length::Exact(length) | Length::Claimed(length) => {
            out.extend_from_slice(format!("Content-Length: {length}\r\n").as_bytes());
        }
        Length::Chunked => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
        Length::UntilClose | Length::Nothing => {}
    }
    if ends {
        out.extend_from_slice(b"Connection: close\r\n");
    }
    out.extend_from_slice(b"\r\n");
}
