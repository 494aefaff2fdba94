//! The ingest port: one connection for each target, one task for each connection.
//!
//! A read is stamped before its bytes are used. An idle connection keeps only its unfinished line, because the read
//! buffer belongs to the thread. Clients without the token cost little and cannot delay other connections: the number of
//! connections is limited, a greeting must arrive soon, and only a few connections at the same time may keep a long
//! unfinished line, for a short time.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use probity_script::witness::Want;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::merged::SWEEP_US;
use super::messages::{MessageParser, Nonsense, TargetMessage};
use super::state::RecorderState;
use super::target::ConnectionClaim;
use crate::clock::Reading;

/// A connection must greet within this time.
const GREETING_PATIENCE: Duration = Duration::from_secs(5);
/// An unfinished line with more bytes than this is long.
const LONG: usize = 8 * 1024;
/// The maximum time until a long line is finished.
const LONG_PATIENCE: Duration = Duration::from_secs(10);
/// The timeout for an answer. Its few bytes fit into an empty send buffer, so an honest peer never reaches this timeout.
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);
/// How many bytes are read at once.
const READ: usize = 64 * 1024;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; READ]);
}

/// Accepts connections until it is dropped.
pub(super) async fn listen(state: Arc<RecorderState>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, peer)) => {
                let Some(place) = state.connections.take() else {
                    state.turned_away.fetch_add(1, Ordering::Relaxed);
                    continue;
                };
                let state = Arc::clone(&state);
                connections.spawn(async move {
                    TargetConnection::new(&state, peer).attend(stream).await;
                    drop(place);
                });
            }
            // The descriptors are probably used up. Open connections continue, and new ones wait in the backlog.
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
}

/// Checks for silent targets until it is dropped.
pub(super) async fn sweep(state: Arc<RecorderState>) {
    loop {
        sleep(Duration::from_micros(SWEEP_US)).await;
        let at = state.clock.read();
        state.change(|merged| merged.sweep(at));
    }
}

/// One connection.
struct TargetConnection<'a> {
    state: &'a RecorderState,
    peer: String,
    parser: MessageParser,
    claim: Option<ConnectionClaim>,
    long: Option<(OwnedSemaphorePermit, Instant)>,
    deadline: Option<Instant>,
}

/// What to do after a read.
enum After {
    /// Continue to read.
    Read,
    /// The greeting is valid: answer it, and continue.
    Answer(Want),
    /// The bytes were invalid: report this to the peer, and close.
    Refuse(String),
    /// The connection ended, or another connection of its target has replaced it.
    End,
}

impl<'a> TargetConnection<'a> {
    fn new(state: &'a RecorderState, peer: SocketAddr) -> Self {
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port()).to_string();
        let deadline = Some(Instant::now() + GREETING_PATIENCE);
        let parser = MessageParser::new(state.token.clone());
        Self { state, peer, parser, claim: None, long: None, deadline }
    }

    async fn attend(&mut self, mut stream: TcpStream) {
        prepare(&stream);
        loop {
            let ready = match self.deadline {
                Some(deadline) => tokio::time::timeout_at(deadline, stream.readable()).await,
                None => Ok(stream.readable().await),
            };
            let after = match ready {
                Ok(Ok(())) => self.read(&stream),
                Ok(Err(error)) => self.ended(&how(&error)),
                Err(_) => self.give_up(&self.impatience()),
            };
            match after {
                After::Read => {}
                After::Answer(want) => {
                    if let Err(error) = answer(&mut stream, &want).await {
                        self.ended(&how(&error));
                        return;
                    }
                }
                After::Refuse(error) => {
                    // The message is only for users. A refused target notices the end of the connection.
                    let _ = answer(&mut stream, &serde_json::json!({ "error": error })).await;
                    return;
                }
                After::End => return,
            }
            tokio::task::coop::consume_budget().await;
        }
    }

    fn read(&mut self, stream: &TcpStream) -> After {
        SCRATCH.with_borrow_mut(|buffer| match stream.try_read(buffer) {
            Ok(0) => self.ended("closed"),
            Ok(count) => {
                let at = self.state.clock.read();
                self.take(&buffer[..count], at)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                After::Read
            }
            Err(error) => self.ended(&how(&error)),
        })
    }

    /// Enters the messages into the stream under one lock.
    fn take(&mut self, bytes: &[u8], at: Reading) -> After {
        let said = self.parser.feed(bytes);
        let mut after = After::Read;
        if let ([TargetMessage::Nonsense(nonsense)], None) = (&said[..], &self.claim) {
            self.drop_bytes(nonsense, at);
            return After::Refuse(nonsense.error.clone());
        }
        if !said.is_empty() {
            let Self { state, peer, claim, .. } = self;
            state.change(|merged| {
                for said in said {
                    match (said, &*claim) {
                        (TargetMessage::Hello(hello), _) => {
                            let (own, want) = merged.join(*hello, peer, at);
                            *claim = Some(own);
                            after = After::Answer(Want { want });
                        }
                        (said, Some(claim)) => {
                            if !merged.hear(claim, peer, &said, at) {
                                after = match said {
                                    TargetMessage::Nonsense(nonsense) => After::Refuse(nonsense.error),
                                    _ => After::End,
                                };
                                return;
                            }
                        }
                        // Before the greeting, the parser returns nothing else, and nonsense was dropped above.
                        (_, None) => after = After::End,
                    }
                }
            });
        }
        if matches!(after, After::Read | After::Answer(_))
            && let Some(refused) = self.watch_long_line()
        {
            return refused;
        }
        after
    }

    /// Takes a permit for a long unfinished line, and returns it when the line is finished.
    fn watch_long_line(&mut self) -> Option<After> {
        if self.parser.unfinished() <= LONG {
            self.long = None;
        } else if self.long.is_none() {
            match self.state.long_lines.take() {
                Some(permit) => self.long = Some((permit, Instant::now() + LONG_PATIENCE)),
                None => return Some(self.give_up("too many long lines at the same time; try again")),
            }
        }
        self.deadline = match &self.long {
            Some((_, deadline)) => Some(*deadline),
            None if self.parser.greeted() => None,
            None => self.deadline,
        };
        None
    }

    fn impatience(&self) -> String {
        if self.claim.is_some() {
            format!("a long line was not finished within {LONG_PATIENCE:?}")
        } else {
            format!("no greeting within {GREETING_PATIENCE:?}")
        }
    }

    fn give_up(&mut self, why: &str) -> After {
        let nonsense = self.parser.give_up(why);
        let at = self.state.clock.read();
        self.drop_bytes(&nonsense, at);
        self.leave("given up", at);
        After::Refuse(nonsense.error)
    }

    fn ended(&mut self, how: &str) -> After {
        let at = self.state.clock.read();
        if let Some(nonsense) = self.parser.end() {
            self.drop_bytes(&nonsense, at);
        }
        self.leave(how, at);
        After::End
    }

    /// Reports dropped bytes in the stream if the connection has shown the token. So nobody outside the run can fill the
    /// stream or cause doubts about the run.
    fn drop_bytes(&self, nonsense: &Nonsense, at: Reading) {
        if !self.parser.known() {
            self.state.strangers.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.state.change(|merged| merged.nonsense(&self.peer, nonsense, at));
    }

    fn leave(&self, how: &str, at: Reading) {
        if let Some(claim) = &self.claim {
            self.state.change(|merged| merged.leave(claim, how, at));
        }
    }
}

/// Sets the socket options. A peer that disappeared is disconnected after 25 s. Until then, it only counts as silent.
fn prepare(stream: &TcpStream) {
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(10))
        .with_interval(Duration::from_secs(5))
        .with_retries(3);
    // If this fails, the connection is broken, and the first read shows this.
    let _ = stream.set_nodelay(true);
    let _ = SockRef::from(stream).set_tcp_keepalive(&keepalive);
}

async fn answer(stream: &mut TcpStream, answer: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    timeout(ANSWER_PATIENCE, stream.write_all(&line)).await?
}

fn how(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => "reset".to_owned(),
        _ => error.to_string(),
    }
}
