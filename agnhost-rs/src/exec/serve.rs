//! The serving process's side: it chooses what a command does, records this, answers, and waits for the result.

use std::io;
use std::os::unix::net::UnixListener as StdListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use probity_script::answer::{CommandOrders, ExecAnswer};
use probity_script::witness::{ChildSeen, Command, ExecEnded, ExecSeen, SignalSeen};
use probity_script::{Endpoint, Fact};
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::orders::ExecFlags;
use super::protocol::{self, ExecHello, ExecReply, ExecReport, LONGEST_LINE};
use crate::lifecycle::Children;
use crate::stage::{EXEC, ProbedEndpoint, Stage};

/// The maximum number of simultaneous connections of commands and child processes.
const AT_ONCE: usize = 1024;
/// How long a connection may take to identify itself.
const INTRODUCTION: Duration = Duration::from_secs(5);
/// The longest name that is recorded.
const LONGEST_NAME: usize = 253;
/// The maximum number of recorded signals of one command.
const MOST_SIGNALS: usize = 1000;
/// The name under which commands without an entry in the plan are counted.
const UNPLANNED: &str = "-";

/// Serves commands and children until the process ends.
///
/// # Errors
///
/// If the container's socket is in use, because another serving process shares the mount namespace.
pub fn serve(stage: &Stage, children: &Arc<Children>) -> io::Result<()> {
    let listener = StdListener::bind_addr(&protocol::address()?)?;
    listener.set_nonblocking(true)?;
    let listener = UnixListener::from_std(listener)?;
    let server = Arc::new(ExecServer {
        stage: stage.clone(),
        children: Arc::clone(children),
        execs: AtomicU64::new(1),
    });
    tokio::spawn(accept(listener, server));
    Ok(())
}

struct ExecServer {
    stage: Stage,
    children: Arc<Children>,
    execs: AtomicU64,
}

async fn accept(listener: UnixListener, server: Arc<ExecServer>) {
    let free = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let Ok(permit) = Arc::clone(&free).try_acquire_owned() else { continue };
                let server = Arc::clone(&server);
                tokio::spawn(async move {
                    let _permit = permit;
                    server.attend(stream).await;
                });
            }
            Err(error) => {
                server.stage.witness().trouble("accepting a command's connection", &error);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

type CommandStream = BufReader<UnixStream>;

/// Reads one line. `None` if the connection has ended.
async fn receive<T: DeserializeOwned>(peer: &mut CommandStream) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    let read = peer.take(LONGEST_LINE as u64).read_until(b'\n', &mut line).await?;
    if read == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

impl ExecServer {
    async fn attend(&self, stream: UnixStream) {
        let mut peer = BufReader::new(stream);
        match timeout(INTRODUCTION, receive(&mut peer)).await {
            Ok(Ok(Some(ExecHello::Exec { name, flags, command }))) => {
                self.command(&mut peer, name, flags, *command).await;
            }
            Ok(Ok(Some(ExecHello::Child { name, pid }))) => self.child(&mut peer, name, pid).await,
            Ok(Ok(None)) => {}
            Ok(Err(error)) => self.unreadable(&error),
            Err(_) => self.unreadable(&"nothing was sent for 5s"),
        }
    }

    fn unreadable(&self, error: &dyn std::fmt::Display) {
        self.stage.witness().trouble("reading who connected to the socket for commands", error);
    }

    async fn command(
        &self,
        peer: &mut CommandStream,
        name: Option<String>,
        flags: ExecFlags,
        command: Command,
    ) {
        let exec = self.execs.fetch_add(1, Ordering::Relaxed);
        let began_us = command.began_mono_us;
        let reply = self.choose(exec, name, flags, command);
        let refused = matches!(reply, ExecReply::Unknown { .. });
        if let Ok(line) = protocol::line(&reply) {
            let _ = peer.get_mut().write_all(&line).await;
        }
        let mut signals = Vec::new();
        let mut exit = refused.then_some(126);
        while exit.is_none() {
            match receive(peer).await {
                Ok(Some(ExecReport::Signal { signal, .. })) if signals.len() < MOST_SIGNALS => {
                    signals.push(bounded(signal));
                }
                Ok(Some(ExecReport::Signal { .. })) => {}
                Ok(Some(ExecReport::Ended(status))) => exit = Some(status),
                Ok(None) | Err(_) => break,
            }
        }
        let lived_us = self.stage.witness().clock().mono_us().saturating_sub(began_us);
        self.stage.witness().record(&Fact::ExecEnded(ExecEnded { exec, exit, signals, lived_us }));
    }

    /// Chooses what the command does, and records the command and its orders before it answers.
    fn choose(&self, exec: u64, name: Option<String>, flags: ExecFlags, command: Command) -> ExecReply {
        let name = name.map_or_else(|| UNPLANNED.to_owned(), bounded);
        let by = Endpoint::Exec(name.clone());
        let (reply, mark) = self.stage.with_plan(|plan| {
            let script = plan.exec.get(&name);
            let probe = self.stage.count(EXEC, if script.is_some() { &name } else { UNPLANNED });
            let asked = ProbedEndpoint { name: &by.to_string(), probe, host: None };
            let choice = script.map(|script| self.stage.choose(script, asked));
            let (step, mark) = choice.as_ref().map_or((0, None), |choice| (choice.step, choice.mark.clone()));
            let orders: Option<CommandOrders> = match choice {
                Some(choice) => Some(flags.over(&choice.answer)),
                None if name == UNPLANNED || !flags.is_empty() => Some(flags.over(&ExecAnswer::Succeed)),
                None => None,
            };
            let answer = orders.as_ref().map_or_else(|| "unknown".to_owned(), CommandOrders::to_string);
            let endpoint = by.clone();
            self.stage.witness().arrival(&Fact::Exec(ExecSeen {
                exec,
                endpoint,
                probe,
                step,
                answer,
                command,
            }));
            let unknown = || ExecReply::Unknown { names: plan.exec.keys().cloned().collect() };
            (orders.map_or_else(unknown, ExecReply::Orders), mark)
        });
        if let Some(mark) = mark {
            self.stage.mark(&mark, &by.to_string());
        }
        reply
    }

    /// Serves the connection of a child. This process did not start a child that a command left behind, so its start and
    /// end are recorded here.
    async fn child(&self, peer: &mut CommandStream, name: String, pid: u32) {
        let name = bounded(name);
        let witness = self.stage.witness();
        let seen = |event: &str| {
            let (name, event) = (name.clone(), event.to_owned());
            Fact::Child(ChildSeen { name, pid, event, status: None })
        };
        let stranger = !self.children.knows(pid);
        if stranger {
            witness.record(&seen("started"));
        }
        while let Ok(Some(ExecReport::Signal { signal, answer })) = receive(peer).await {
            let (signal, answer) = (bounded(signal), bounded(answer));
            witness.arrival(&Fact::Signal(SignalSeen { signal, child: Some(name.clone()), answer }));
        }
        if stranger {
            witness.record(&seen("ended"));
        }
    }
}

fn bounded(mut name: String) -> String {
    if name.len() > LONGEST_NAME {
        name = name.chars().take(LONGEST_NAME / 4).collect();
    }
    name
}
