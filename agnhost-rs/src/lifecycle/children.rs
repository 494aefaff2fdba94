//! Child processes: the same program, which runs beside this process or outlives it.
//!
//! This module manages all child processes, because only one place in a process can wait for them: see
//! [`reap`](super::reap). Nothing here ends a child. Only child processes that the plan configures to do so
//! outlive this process.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use clap::Args;
use probity_script::witness::ChildSeen;
use probity_script::{Child, Fact, Span};

use super::signal_queue::SignalQueue;
use crate::exec::protocol::{self, ExecHello, ExecReport};
use crate::locks::lock;
use crate::witness::Witness;

/// The children of this process.
pub struct Children {
    pub(super) witness: Witness,
    /// Whether orphaned processes are also reaped.
    pub(super) adopts: bool,
    pub(super) names: Mutex<BTreeMap<i32, String>>,
}

impl Children {
    /// No children yet. Orphans are adopted if the plan configures this and if this process is the first process.
    #[must_use]
    pub fn new(witness: &Witness, reap: bool) -> Self {
        let adopts = reap && std::process::id() == 1;
        Self { witness: witness.clone(), adopts, names: Mutex::default() }
    }

    /// Starts a child of the plan.
    pub fn start(&self, child: &Child) {
        // Held until the child is registered, so that its end is not taken for the end of an orphan.
        let mut names = lock(&self.names);
        let mut flags = Vec::new();
        if child.ignore_term {
            flags.push("--ignore-term".to_owned());
        }
        match spawn(&child.name, child.lives, &flags, true) {
            Ok(pid) => {
                names.insert(i32::try_from(pid).unwrap_or(0), child.name.clone());
                let (name, event) = (child.name.clone(), "started".to_owned());
                self.witness.record(&Fact::Child(ChildSeen { name, pid, event, status: None }));
            }
            Err(error) => {
                self.witness.trouble(&format!("starting the child `{}`", child.name), &error);
            }
        }
    }

    /// Whether this process started the child itself.
    #[must_use]
    pub fn knows(&self, pid: u32) -> bool {
        i32::try_from(pid).is_ok_and(|pid| lock(&self.names).contains_key(&pid))
    }
}

/// Starts this program as a child and returns its process id.
///
/// # Errors
///
/// If the program cannot be started, for example because of a limit on processes.
pub(crate) fn spawn(
    name: &str,
    lives: Option<Span>,
    flags: &[String],
    keeps_output: bool,
) -> io::Result<u32> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg0("agnhost-rs").arg("child").arg("--name").arg(name).args(flags).stdin(Stdio::null());
    if let Some(lives) = lives {
        command.arg("--lives").arg(lives.to_string());
    }
    if !keeps_output {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    Ok(command.spawn()?.id())
}

/// Runs for a while beside the serving process, and reports to it which signals arrive.
#[derive(Args, Clone, Debug)]
pub struct ChildArgs {
    /// Its name in the witness
    #[arg(long)]
    name: String,
    /// SIGTERM, SIGINT, SIGQUIT and SIGHUP do not end it
    #[arg(long)]
    ignore_term: bool,
    /// How long it runs, such as 30s; forever by default
    #[arg(long, value_name = "SPAN")]
    lives: Option<Span>,
}

impl ChildArgs {
    /// Runs, and exits with status 0 or with the signal that killed it.
    #[must_use]
    pub fn run(self) -> ExitCode {
        let Ok(queue) = SignalQueue::open() else { return ExitCode::FAILURE };
        let deadline = self.lives.map(|lives| Instant::now() + lives.0);
        // A child also runs without a connection to its parent.
        let mut parent = protocol::connect(std::time::Duration::from_millis(50)).ok();
        if let Some(stream) = &mut parent {
            let _ = protocol::send(stream, &ExecHello::Child { name: self.name, pid: std::process::id() });
        }
        while let Ok(Some(caught)) = queue.next(deadline) {
            if caught.is_of_a_child() {
                continue;
            }
            let ends = caught.asks_to_end() && !self.ignore_term;
            if let Some(stream) = &mut parent {
                let answer = if ends { "ends" } else { "noted" }.to_owned();
                let _ = protocol::send(stream, &ExecReport::Signal { signal: caught.to_string(), answer });
            }
            if ends {
                queue.yield_to(caught);
            }
        }
        ExitCode::SUCCESS
    }
}
