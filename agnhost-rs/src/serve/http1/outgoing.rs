//! The answer: composed by the plan, sent to the byte, given up when the peer gives up.

use std::io;
use std::time::Duration;

use probity_script::answer::{HttpAnswer, HttpReply};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::sleep;

use super::super::reply::{self, Composed, Length, Setting, Turn};
use super::super::report;
use super::super::site::{Decision, Visitor};
use super::{After, Http1};

/// How much may come ahead of its turn while an answer is delayed.
const LARGEST_AHEAD: usize = 64 * 1024;

/// Why an answer broke off whose head was not true.
const TOO_SHORT: &str = "the head promised more than the plan sends";

const GARBAGE: &[u8] = b"\x00\x9f\x92\x96 this is no HTTP \xff\xfe\r\n\r\n";

/// An answer that was sent, or not.
pub(super) struct Sent {
    pub(super) answer: String,
    pub(super) after: After,
    pub(super) error: Option<String>,
}

impl Sent {
    fn new(answer: impl Into<String>, after: After) -> Self {
        Self { answer: answer.into(), after, error: None }
    }

    fn broken(answer: impl Into<String>, broken: Broken) -> Self {
        Self { answer: answer.into(), after: broken.after, error: Some(broken.why) }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Http1<S> {
    pub(super) async fn act(&mut self, decision: &Decision, manner: &Manner) -> Sent {
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
            Err(error) => Sent::broken(answer, error.into()),
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
            if !manner.is_head && is_short(framing, 0) {
                return Err(Broken::by_plan(TOO_SHORT, After::Close));
            }
            return Ok(end);
        }
        if composed.body_delay.is_some() {
            self.stream.write_all(&out).await?;
            out.clear();
            self.rest(composed.body_delay).await?;
        }
        self.send_body(out, &mut composed.body, framing, end).await
    }

    /// Sends the turns of a body. What `out` holds goes ahead of them.
    async fn send_body(
        &mut self,
        mut out: Vec<u8>,
        body: &mut reply::Source,
        framing: Length,
        end: After,
    ) -> Result<After, Broken> {
        let chunked = framing == Length::Chunked;
        let mut sent = 0;
        loop {
            let turn = body.next();
            if let Turn::Send(piece) = &turn {
                sent += piece.len() as u64;
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
                Turn::End if is_short(framing, sent) => {
                    return Err(Broken::by_plan(TOO_SHORT, After::Close));
                }
                Turn::End => return Ok(end),
                Turn::Stall => return Err(self.hang().await),
                Turn::Close if framing == Length::UntilClose => return Ok(After::Close),
                Turn::Close => {
                    return Err(Broken::by_plan("the plan closes the connection here", After::Close));
                }
                Turn::Reset => {
                    return Err(Broken::by_plan("the plan aborts the connection here", After::Reset));
                }
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
                    return Broken { why: "the peer gave up".to_owned(), after: After::Gone };
                },
                () = door.shut() => return Broken { why: "we stopped".to_owned(), after: After::Gone },
            }
            if !keep {
                self.ahead.clear();
            }
        }
    }
}

/// What of a request decides over the form of its answer.
pub(super) struct Manner {
    pub(super) may_go_on: bool,
    pub(super) is_head: bool,
    pub(super) http10: bool,
    pub(super) path: String,
    pub(super) host: Option<String>,
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

/// An answer that was not finished: why, and what becomes of the connection.
struct Broken {
    why: String,
    after: After,
}

impl Broken {
    /// The plan itself breaks the answer off.
    fn by_plan(why: &str, after: After) -> Self {
        Self { why: why.to_owned(), after }
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self { why: error.to_string(), after: After::Gone }
    }
}

/// Whether the head promised a longer body than this.
fn is_short(framing: Length, sent: u64) -> bool {
    matches!(framing, Length::Exact(promised) | Length::Claimed(promised) if sent < promised)
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
