//! The answer: composed from the plan, sent byte by byte, and abandoned when the peer gives up.

use std::io;

use probity_script::Span;
use probity_script::wire::{BodyCut, BodyLength, BodyTurn, ConnectionEnd, PlannedResponse, WireAction};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::sleep;

use super::super::context::{ChosenAnswer, IncomingRequest};
use super::super::reply::PlannedBody;
use super::{After, Http1};

/// How many bytes of the next requests are kept while an answer is delayed.
const LARGEST_AHEAD: usize = 64 * 1024;

/// The result of sending an answer.
pub(super) struct Sent {
    pub(super) answer: String,
    pub(super) after: After,
    pub(super) error: Option<String>,
}

impl From<ConnectionEnd> for After {
    fn from(end: ConnectionEnd) -> Self {
        match end {
            ConnectionEnd::Close => Self::Close,
            ConnectionEnd::Reset => Self::Reset,
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Http1<S> {
    pub(super) async fn act(&mut self, chosen_answer: &ChosenAnswer, manner: &Manner<'_>) -> Sent {
        let composed = self.context.compose(chosen_answer, manner.request.facts()).await;
        match self.perform(composed.delay, composed.action, manner).await {
            Ok(after) => Sent { answer: composed.word, after, error: None },
            Err(broken) => Sent { answer: composed.word, after: broken.after, error: Some(broken.why) },
        }
    }

    async fn perform(
        &mut self,
        delay: Option<Span>,
        action: WireAction<PlannedResponse>,
        manner: &Manner<'_>,
    ) -> Result<After, Broken> {
        self.rest(delay).await?;
        match action {
            WireAction::Hang => Err(self.hang().await),
            WireAction::SendAndEnd { bytes, end } => {
                self.stream.write_all(&bytes).await?;
                Ok(end.into())
            }
            WireAction::Respond(response) => self.send(response, manner).await,
        }
    }

    async fn send(&mut self, mut response: PlannedResponse, manner: &Manner<'_>) -> Result<After, Broken> {
        let ends = !manner.may_go_on || response.ends_the_connection();
        let mut out = Vec::with_capacity(256);
        write_head(&mut out, &response, ends);
        let end = if ends { After::Close } else { After::Next };
        if manner.is_head {
            self.stream.write_all(&out).await?;
            return Ok(end);
        }
        let broken = response.breaks_off();
        let body = PlannedBody::of(&mut response);
        if response.body_delay.is_some() && !body.turns.is_complete() {
            self.stream.write_all(&out).await?;
            out.clear();
            self.rest(response.body_delay).await?;
        }
        let end = self.send_body(out, body, response.length == BodyLength::Chunked, end).await?;
        broken.map_or(Ok(end), |why| Err(Broken { why: why.to_owned(), after: end }))
    }

    /// Sends a body step by step, after the bytes in `out`. Returns how the connection continues.
    async fn send_body(
        &mut self,
        mut out: Vec<u8>,
        mut body: PlannedBody,
        chunked: bool,
        end: After,
    ) -> Result<After, Broken> {
        loop {
            let turn = body.turns.take();
            if let BodyTurn::Send(range) = &turn {
                push_piece(&mut out, body.piece(range.clone()), chunked);
                // A short answer is sent in one piece, as any server would send it.
                if out.len() < 1024 && body.turns.is_complete() {
                    continue;
                }
            } else if turn == BodyTurn::Complete && chunked {
                out.extend_from_slice(b"0\r\n\r\n");
            }
            if !out.is_empty() {
                self.stream.write_all(&out).await?;
                out.clear();
            }
            match turn {
                BodyTurn::Send(_) => {}
                BodyTurn::Pause(pause) => self.rest(Some(pause)).await?,
                BodyTurn::Complete => return Ok(end),
                BodyTurn::Cut(BodyCut::Stall) => return Err(self.hang().await),
                BodyTurn::Cut(BodyCut::End(end)) => return Ok(end.into()),
            }
        }
    }

    /// Waits, and gives up when the peer does. What the peer sends meanwhile is kept for later.
    async fn rest(&mut self, pause: Option<Span>) -> Result<(), Broken> {
        let Some(pause) = pause.filter(|pause| !pause.0.is_zero()) else { return Ok(()) };
        tokio::select! {
            () = sleep(pause.0) => Ok(()),
            gone = self.outlast(true) => Err(gone),
        }
    }

    /// Waits for the peer to give up, or for the gate to shut.
    async fn hang(&mut self) -> Broken {
        self.outlast(false).await
    }

    /// Reads until the peer gives up or the gate shuts. If the peer sends more than is kept, it must wait, and the end
    /// of its connection is noticed only at the next write.
    async fn outlast(&mut self, keep: bool) -> Broken {
        let mut gate = self.context.listener.gate.watch();
        loop {
            let full = keep && self.ahead.len() >= LARGEST_AHEAD;
            tokio::select! {
                more = self.more(), if !full => if more.is_err() {
                    return Broken { why: "the peer gave up".to_owned(), after: After::Gone };
                },
                () = gate.shut() => return Broken { why: "we stopped".to_owned(), after: After::Gone },
            }
            if !keep {
                self.ahead.clear();
            }
        }
    }
}

/// The properties of a request that determine the form of its answer.
pub(super) struct Manner<'a> {
    pub(super) may_go_on: bool,
    pub(super) is_head: bool,
    pub(super) request: &'a IncomingRequest,
}

/// An answer that was not finished: the reason, and what happens to the connection.
struct Broken {
    why: String,
    after: After,
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self { why: error.to_string(), after: After::Gone }
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

fn write_head(out: &mut Vec<u8>, response: &PlannedResponse, ends: bool) {
    let status = http::StatusCode::from_u16(response.status).ok();
    let reason = status.and_then(|status| status.canonical_reason()).unwrap_or("Status");
    push_all(out, &["HTTP/1.1 ", &response.status.to_string(), " ", reason, "\r\n"]);
    for line in &response.headers {
        push_all(out, &[line, "\r\n"]);
    }
    match response.length {
        BodyLength::True | BodyLength::Claimed(_) => {
            let length = response.announced().unwrap_or_default();
            push_all(out, &["Content-Length: ", &length.to_string(), "\r\n"]);
        }
        BodyLength::Chunked => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
        BodyLength::UntilClose | BodyLength::Headers(_) | BodyLength::NoBody => {}
    }
    if ends {
        out.extend_from_slice(b"Connection: close\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

fn push_all(out: &mut Vec<u8>, parts: &[&str]) {
    parts.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
}
