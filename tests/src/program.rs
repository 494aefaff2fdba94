//! Starts a program as a process, collects its output with the time of each line, and kills it when dropped.
//!
//! It panics with a message if a test cannot continue, because only tests use it.

#![expect(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test's helper fails the test")]

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How long a test waits for a program to do something.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Where a line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// A line that a program printed.
#[derive(Clone, Debug)]
pub struct Line {
    /// When it was read.
    pub at: Instant,
    /// Where it was printed.
    pub stream: Stream,
    /// The line without its line ending.
    pub text: String,
}

#[derive(Default)]
struct Printed {
    lines: Mutex<Vec<Line>>,
    more: Condvar,
}

/// A running program.
pub struct Program {
    child: Child,
    printed: Arc<Printed>,
    readers: Vec<std::thread::JoinHandle<()>>,
    started: Instant,
}

/// The path of a binary of this workspace, built in the same profile as the tests.
///
/// # Panics
/// If it does not exist.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let profile = test.parent().and_then(Path::parent).expect("tests are in target/<profile>/deps");
    let path = profile.join(name);
    assert!(
        path.is_file(),
        "{} is missing: build it first with `cargo build --workspace --all-features --bin {name}`",
        path.display()
    );
    path
}

/// A port that is free for TCP and for UDP, outside the system's ephemeral range: a connection of a parallel test
/// could take an ephemeral port before it is bound.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 12_000 + u16::try_from(std::process::id() % 16_000).unwrap_or(0);
    for _ in 0..1000 {
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed);
        let any = (Ipv4Addr::UNSPECIFIED, port);
        if TcpListener::bind(any).is_ok() && UdpSocket::bind(any).is_ok() {
            return port;
        }
    }
    panic!("no free port between {first} and {}", first + 1000);
}

impl Program {
    /// Starts a program.
    ///
    /// # Panics
    /// If it can't be started.
    #[must_use]
    pub fn start(path: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(path);
        command.args(arguments).envs(environment.iter().copied()).stdin(Stdio::null());
        Self::spawn(&mut command)
    }

    /// Starts a command whose output is to be collected.
    ///
    /// # Panics
    /// If it can't be started.
    #[must_use]
    pub fn spawn(command: &mut Command) -> Self {
        let started = Instant::now();
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let printed = Arc::new(Printed::default());
        let out = collect(child.stdout.take().expect("piped"), Stream::Out, Arc::clone(&printed));
        let err = collect(child.stderr.take().expect("piped"), Stream::Err, Arc::clone(&printed));
        Self { child, printed, readers: vec![out, err], started }
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// When it was started.
    #[must_use]
    pub fn started(&self) -> Instant {
        self.started
    }

    /// All lines so far.
    ///
    /// # Panics
    /// If a reader panicked.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        self.printed.lines.lock().unwrap().clone()
    }

    /// Waits for a line that contains a text.
    ///
    /// # Panics
    /// If no such line appears in time.
    pub fn wait_for_line(&self, part: &str) -> Line {
        let deadline = Instant::now() + PATIENCE;
        let mut lines = self.printed.lines.lock().unwrap();
        loop {
            if let Some(line) = lines.iter().find(|line| line.text.contains(part)) {
                return line.clone();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no line with {part:?} in {PATIENCE:?}, only {lines:#?}");
            lines = self.printed.more.wait_timeout(lines, left).unwrap().0;
        }
    }

    /// Waits until a TCP port of this machine accepts connections.
    ///
    /// # Panics
    /// If the port does not accept connections in time, or if the program has exited.
    pub fn wait_for_port(&mut self, port: u16) {
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "the program ended with {ended:?} after {:#?}", self.lines());
            assert!(
                Instant::now() < deadline,
                "port {port} is closed after {PATIENCE:?}: {:#?}",
                self.lines()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// If it can't be sent.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    /// Waits until the program has exited and all of its output has been read.
    ///
    /// # Panics
    /// If it does not end in time.
    pub fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.readers.drain(..).for_each(|reader| reader.join().unwrap());
                return status;
            }
            assert!(Instant::now() < deadline, "still running after {PATIENCE:?}: {:#?}", self.lines());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Everything that was printed to one stream so far, line by line.
    #[must_use]
    pub fn text(&self, stream: Stream) -> String {
        let lines = self.lines();
        lines.iter().filter(|line| line.stream == stream).map(|line| format!("{}\n", line.text)).collect()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn collect(
    from: impl Read + Send + 'static,
    stream: Stream,
    into: Arc<Printed>,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut bytes = Vec::new();
        while from.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
            let text = String::from_utf8_lossy(bytes.strip_suffix(b"\n").unwrap_or(&bytes)).into_owned();
            into.lines.lock().unwrap().push(Line { at: Instant::now(), stream, text });
            into.more.notify_all();
            bytes.clear();
        }
    })
}
