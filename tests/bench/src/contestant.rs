//! The programs that are compared. Each program is started alone on a free port, and ended when its handle is dropped.
//!
//! A thread of the benchmark reads the output of a program from a pipe, as a container runtime does.

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The number of worker threads in the target, and therefore in the floor. agnhost's runtime uses one thread for each
/// processor.
const WORKERS: &str = "2";

/// How long a program may take until it accepts a connection.
const START_PATIENCE: Duration = Duration::from_secs(20);

/// The programs that take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The target, with its witness on standard output.
    Target,
    /// The target without its witness.
    Quiet,
    /// agnhost's `netexec`.
    Agnhost,
    /// The bare server.
    Floor,
}

impl Who {
    /// The name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Target => "agnhost-rs",
            Self::Quiet => "agnhost-rs --quiet",
            Self::Agnhost => "agnhost netexec",
            Self::Floor => "bare hyper",
        }
    }
}

/// Where the programs are.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The target.
    pub target: PathBuf,
    /// The Go agnhost.
    pub agnhost: PathBuf,
    /// The bare server.
    pub floor: PathBuf,
}

/// A running program, which is ended when this value is dropped.
pub struct Running {
    child: Child,
    /// Where it answers.
    pub address: SocketAddr,
    /// The time from just before the start of the program to its first accepted connection.
    pub started_in: Duration,
    printed: Arc<Mutex<Printed>>,
}

/// The part of a program's output that is kept.
#[derive(Debug, Default)]
struct Printed {
    lines: u64,
    tail: Vec<u8>,
    is_all_kept: bool,
}

impl Programs {
    /// Starts a program and waits for its first accepted connection.
    ///
    /// # Errors
    ///
    /// If it cannot be started, ends, or accepts nothing for too long.
    pub fn start(&self, who: Who, more: &[&str]) -> io::Result<Running> {
        let port = free_port()?;
        let mut command = self.command(who, port);
        command.args(more);
        run(&mut command, port)
    }

    /// The command that starts a program. agnhost is healthy only when its UDP server is up.
    pub fn command(&self, who: Who, port: u16) -> Command {
        let number = port.to_string();
        let (program, args): (_, &[&str]) = match who {
            Who::Target => (&self.target, &["serve"]),
            Who::Quiet => (&self.target, &["serve", "--quiet"]),
            Who::Agnhost => (&self.agnhost, &["netexec", "--udp-port", &number, "--http-port", &number]),
            Who::Floor => (&self.floor, &[&number, WORKERS]),
        };
        let mut command = Command::new(program);
        command.args(args);
        let plan = format!("listeners: {{ http: {{ port: {port}, paths: {{ /healthz: 200 }} }} }}");
        command.env("AGNHOST_PLAN", plan);
        command
    }
}

/// Starts any program and waits until a port of it accepts a connection.
///
/// # Errors
///
/// If it cannot be started, ends, or accepts nothing for too long.
pub fn run(command: &mut Command, port: u16) -> io::Result<Running> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let began = Instant::now();
    let mut child = command.spawn()?;
    let first = loop {
        match TcpStream::connect(address) {
            Ok(stream) => break Ok(stream),
            Err(_) if began.elapsed() < START_PATIENCE => {}
            Err(error) => break Err(error),
        }
    };
    let started_in = began.elapsed();
    let printed = Arc::new(Mutex::new(Printed::default()));
    if let Some(output) = child.stdout.take() {
        let printed = Arc::clone(&printed);
        thread::spawn(move || drain(output, &printed));
    }
    let running = Running { child, address, started_in, printed };
    first.map_err(|error| {
        io::Error::new(error.kind(), format!("{command:?} accepts no connection: {error}"))
    })?;
    Ok(running)
}

/// A port that is free at this moment.
///
/// # Errors
///
/// If no port is free.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn drain(mut output: ChildStdout, printed: &Mutex<Printed>) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = output.read(&mut bytes) {
        let bytes = &bytes[..count];
        let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
        printed.lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        printed.tail.extend_from_slice(bytes);
        if !printed.is_all_kept {
            let old = printed.tail.len().saturating_sub(4096);
            printed.tail.drain(..old);
        }
    }
}

impl Running {
    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Keeps everything that the program prints from now on, and not only the end.
    pub fn keep_all(&self) {
        self.printed.lock().unwrap_or_else(PoisonError::into_inner).is_all_kept = true;
    }

    /// The complete lines that are kept.
    #[must_use]
    pub fn kept_lines(&self) -> Vec<String> {
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&printed.tail);
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(str::to_owned).collect()
    }

    /// The number of lines that the program has printed.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.printed.lock().unwrap_or_else(PoisonError::into_inner).lines
    }

    /// The last complete line that the program has printed.
    #[must_use]
    pub fn last_line(&self) -> Option<String> {
        self.kept_lines().pop()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // An error means that the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
