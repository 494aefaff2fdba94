//! A serving process under test, and its records so far.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use probity_script::{Fact, WitnessLine};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_agnhost-rs");
const PATIENCE: Duration = Duration::from_secs(20);

static SOCKETS: AtomicU32 = AtomicU32::new(0);

/// A name for a socket that no other test uses.
pub(crate) fn socket() -> String {
    format!("agnhost-rs-test/{}/{}", std::process::id(), SOCKETS.fetch_add(1, Ordering::Relaxed))
}

/// A process that serves a plan. It is killed when it is dropped.
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) socket: String,
    /// All lines that were read.
    pub(crate) seen: Vec<WitnessLine>,
    lines: Receiver<WitnessLine>,
}

impl Serving {
    /// Starts the program and returns immediately.
    pub(crate) fn start(plan: &str) -> Self {
        Self::start_by(Command::new(PROGRAM), plan, &[])
    }

    /// Starts the program with a command that runs it, and with more flags.
    pub(crate) fn start_by(mut command: Command, plan: &str, flags: &[&str]) -> Self {
        let socket = socket();
        let mut child = command
            .args(["serve", "--plan-inline", plan])
            .args(flags)
            .env("AGNHOST_SOCKET", &socket)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if to.send(serde_json::from_str(&line).unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { child, socket, seen: Vec::new(), lines }
    }

    /// Starts the program and waits until it answers commands.
    pub(crate) fn ready(plan: &str) -> Self {
        let mut serving = Self::start(plan);
        serving.command(&["--note", "ready"]);
        serving.wait_for(|fact| matches!(fact, Fact::ExecEnded(_)));
        serving
    }

    /// Waits for a fact that has not been waited for before, and returns its line.
    pub(crate) fn wait_for(&mut self, wanted: impl Fn(&Fact) -> bool) -> WitnessLine {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if wanted(&line.fact) {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("the fact did not come; seen: {:#?}", self.facts())
                }
            }
        }
    }

    /// Waits for the process to exit, and reads the rest of its output.
    pub(crate) fn end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "it did not end; seen: {:#?}", self.facts());
            thread::sleep(Duration::from_millis(2));
        };
        while let Ok(line) = self.lines.recv_timeout(Duration::from_millis(300)) {
            self.seen.push(line);
        }
        status
    }

    pub(crate) fn facts(&self) -> Vec<&Fact> {
        self.seen.iter().map(|line| &line.fact).collect()
    }

    /// The statuses and reasons that the process recorded for its end.
    pub(crate) fn last_words(&self) -> Vec<(u8, &str)> {
        let ends = self.seen.iter().filter_map(|line| match &line.fact {
            Fact::Exiting(end) => Some((end.code, end.why.as_str())),
            _ => None,
        });
        ends.collect()
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    /// A command in the same container, ready to be run.
    pub(crate) fn prepare(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.arg("exec").args(args).env("AGNHOST_SOCKET", &self.socket);
        command
    }

    /// Runs a command in the same container.
    pub(crate) fn command(&self, args: &[&str]) -> Output {
        self.prepare(args).output().unwrap()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
