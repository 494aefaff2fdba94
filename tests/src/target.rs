//! The program under test as a process: started with a plan, observed through its witness, and ended with the test.
//!
//! Nothing here sleeps in the hope that something has happened by then: a test waits for the line that reports
//! it. If a wait times out, the failure shows everything that was reported instead. This module does not look
//! inside the program.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use probity_script::witness::{Accepted, Answered, Closed, Request, TlsSeen};
use probity_script::{Fact, WitnessLine};

/// How long a line may take. On any busy machine, a line takes much less time, so only a failing test waits for this
/// long.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A running target. It is killed when it is dropped.
pub struct Target {
    child: Child,
    heard: Arc<Heard>,
}

#[derive(Default)]
struct Heard {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Default)]
struct State {
    lines: Vec<WitnessLine>,
    complaints: String,
    ended: bool,
}

/// One request as the witness records it, with its answer.
#[derive(Clone, Debug)]
pub struct Story {
    /// The request.
    pub request: Request,
    /// Its answer.
    pub answer: Answered,
}

impl Target {
    /// Starts the program with a plan.
    #[must_use]
    pub fn start(plan: &str) -> Self {
        Self::start_with(plan, &[])
    }

    /// Starts the program with a plan and additional environment variables.
    #[must_use]
    pub fn start_with(plan: &str, env: &[(&str, &str)]) -> Self {
        let program = program();
        let mut command = Command::new(&program);
        command.arg("serve").env("AGNHOST_PLAN", plan).envs(env.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display()));
        let heard = Arc::new(Heard::default());
        if let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) {
            let (lines, complaints) = (Arc::clone(&heard), Arc::clone(&heard));
            thread::spawn(move || lines.read_lines(BufReader::new(out)));
            thread::spawn(move || complaints.read_complaints(err));
        }
        Self { child, heard }
    }

    /// The process's id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The address of a listener, once it is open.
    #[must_use]
    pub fn address(&self, listener: &str) -> SocketAddr {
        let port = self.wait_for(&format!("the port of listener {listener}"), |line| match &line.fact {
            Fact::Listening(seen) if seen.listener == listener => {
                seen.address.parse::<SocketAddr>().ok().map(|address| address.port())
            }
            _ => None,
        });
        (Ipv4Addr::LOCALHOST, port).into()
    }

    /// Waits until a listener has entered a state for the `nth` time, counted from 1.
    pub fn listening(&self, listener: &str, state: &str, nth: usize) -> WitnessLine {
        let mut times = 0;
        self.wait_for(&format!("listener {listener} to be {state} ({nth})"), |line| {
            let Fact::Listening(seen) = &line.fact else { return None };
            times += usize::from(seen.listener == listener && seen.state == state);
            (times == nth).then(|| line.clone())
        })
    }

    /// Waits for the first line in which `find` finds something. It sees each line once, in order.
    pub fn wait_for<T>(&self, what: &str, mut find: impl FnMut(&WitnessLine) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        let (mut state, mut seen) = (self.lock(), 0);
        loop {
            for line in &state.lines[seen..] {
                if let Some(found) = find(line) {
                    return found;
                }
            }
            seen = state.lines.len();
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || state.ended {
                let why = if state.ended { "the program ended" } else { "no such line came" };
                panic!("waited for {what}, but {why}; the witness said:\n{}", told(&state));
            }
            state = self.heard.news.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// All lines so far.
    #[must_use]
    pub fn lines(&self) -> Vec<WitnessLine> {
        self.lock().lines.clone()
    }

    /// The `nth` of all requests, counted from 1, with its answer.
    #[must_use]
    pub fn story(&self, nth: usize) -> Story {
        let request = self.request(nth);
        let answer = self.answer(request.conn, request.nth);
        Story { request, answer }
    }

    /// The `nth` of all requests, counted from 1.
    #[must_use]
    pub fn request(&self, nth: usize) -> Request {
        let mut count = 0;
        self.wait_for(&format!("request {nth}"), |line| {
            let Fact::Request(request) = &line.fact else { return None };
            count += 1;
            (count == nth).then(|| request.clone())
        })
    }

    /// The answer to a request.
    #[must_use]
    pub fn answer(&self, conn: u64, nth: u64) -> Answered {
        self.wait_for(&format!("the answer to request {nth} on connection {conn}"), |line| match &line.fact {
            Fact::Answer(answer) if answer.conn == conn && answer.nth == nth => Some(answer.clone()),
            _ => None,
        })
    }

    /// The connection that came from this address.
    #[must_use]
    pub fn accepted(&self, peer: SocketAddr) -> Accepted {
        self.wait_for(&format!("the connection from {peer}"), |line| match &line.fact {
            Fact::Accepted(accepted) if accepted.peer == peer.to_string() => Some(accepted.clone()),
            _ => None,
        })
    }

    /// How the connection from this address ended.
    #[must_use]
    pub fn closed(&self, peer: SocketAddr) -> Closed {
        self.closed_conn(self.accepted(peer).conn)
    }

    /// How a connection ended.
    #[must_use]
    pub fn closed_conn(&self, conn: u64) -> Closed {
        self.wait_for(&format!("the end of connection {conn}"), |line| match &line.fact {
            Fact::Closed(closed) if closed.conn == conn => Some(closed.clone()),
            _ => None,
        })
    }

    /// How the TLS handshake on the connection from this address ended.
    #[must_use]
    pub fn tls(&self, peer: SocketAddr) -> TlsSeen {
        let conn = self.accepted(peer).conn;
        self.wait_for(&format!("the handshake on connection {conn}"), |line| match &line.fact {
            Fact::Tls(tls) if tls.conn == conn => Some(tls.clone()),
            _ => None,
        })
    }

    /// How much memory the process holds, in KiB.
    #[must_use]
    pub fn resident_kib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.pid());
        let status =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {path}: {error}"));
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|kib| kib.parse().ok());
        kib.unwrap_or_else(|| panic!("{path} names no VmRSS; the process has ended: {}", told(&self.lock())))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.heard.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // An error means that the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Heard {
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.news.notify_all();
    }

    fn read_lines(&self, out: impl BufRead) {
        for line in out.lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(line) => self.change(|state| state.lines.push(line)),
                Err(error) => self.change(|state| {
                    state.complaints.push_str(&format!("no witness line ({error}): {line}\n"));
                }),
            }
        }
        self.change(|state| state.ended = true);
    }

    fn read_complaints(&self, mut err: impl Read) {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = err.read(&mut bytes) {
            let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
            self.change(|state| state.complaints.push_str(&text));
        }
    }
}

/// The last lines of the witness, and the output on standard error.
fn told(state: &State) -> String {
    let last = &state.lines[state.lines.len().saturating_sub(40)..];
    let lines: Vec<_> = last.iter().map(|line| format!("  {} {:?}", line.seq, line.fact)).collect();
    format!("{}\nand on standard error:\n{}", lines.join("\n"), state.complaints)
}

/// The program next to the test: both are built into the same directory.
fn program() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_else(|error| panic!("where is this test? {error}"));
    let found = own.ancestors().skip(1).take(2).map(|dir| dir.join("agnhost-rs")).find(|path| path.is_file());
    found.unwrap_or_else(|| {
        panic!(
            "there is no agnhost-rs beside {}: build it first with `cargo build -p agnhost-rs`",
            own.display()
        )
    })
}
