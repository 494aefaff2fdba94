//! The recorder role: receives the witness lines of all targets of a run and offers them as one stream.
//!
//! Targets connect to the ingest port, and readers to the query port. The recorder stamps everything that it receives
//! with its own clocks, immediately detects a broken connection, and reports what is missing. It keeps the newest entries
//! in a limited memory and, with `--file`, all of them in a file. It judges nothing.
//!
//! A target greets with the token of the run. A client without the token is only counted, and nothing that it sends is
//! recorded. The token is in the manifest of each target, so everyone who can read the pods of the run can add lines.
//! Nobody can make the recorder use more than `--memory` plus about 192 MiB: 32 unfinished lines of up to 2 MiB, 4096
//! connections with 16 KiB and a greeting of 8 KiB, 16 MiB about targets that left, and 16 MiB for slow readers. An
//! ordinary run uses `--memory` plus a few MiB.

mod file;
mod http;
mod ingest;
pub mod merged;
pub mod messages;
mod metrics;
mod query;
mod state;
pub mod target;

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use probity_script::Size;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::bind::{BACKLOG, bind};
use crate::clock::Clock;
use crate::lifecycle::take_all_descriptors;
use crate::token::Token;
use state::RecorderState;

/// The maximum time to write the last entries to the file before the recorder exits.
const FLUSH_PATIENCE: Duration = Duration::from_secs(5);
const SMALLEST_MEMORY: u64 = 1 << 20;
/// The exit status for errors that the user can fix.
const WRONG_USE: u8 = 2;

/// Receives the witness lines of all targets, and offers them as one stream.
#[derive(clap::Args, Clone, Debug)]
pub struct RecorderArgs {
    /// The port that targets connect to.
    #[arg(long, default_value_t = 7070, value_name = "PORT")]
    pub ingest_port: u16,
    /// The port that answers queries.
    #[arg(long, default_value_t = 7071, value_name = "PORT")]
    pub query_port: u16,
    /// The address to listen on, for both ports; by default every address of the machine.
    #[arg(long, value_name = "ADDRESS")]
    pub address: Option<IpAddr>,
    /// How many bytes of the newest entries to keep in memory, such as 256MiB.
    #[arg(long, default_value = "256MiB", value_name = "SIZE")]
    pub memory: Size,
    /// A file to append every entry to.
    #[arg(long, value_name = "PATH")]
    pub file: Option<PathBuf>,
    /// The token that targets must send first, and that queries must send as `authorization: Bearer TOKEN`. Required.
    #[arg(long, env = "AGNHOST_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub token: Option<String>,
}

/// The settings of a recorder other than its listeners.
pub struct Options {
    /// The clock that stamps what is received.
    pub clock: Clock,
    /// The token that greetings and queries must contain.
    pub token: Token,
    /// How many bytes of entries to remember.
    pub memory: usize,
    /// A file to append every entry to.
    pub file: Option<File>,
}

/// Why a recorder could not start.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error(
        "there is no token for targets and queries; set AGNHOST_TOKEN or --token to printable ASCII without spaces"
    )]
    Token,
    #[error("the memory of {0} is too small; give at least {least}", least = Size(SMALLEST_MEMORY))]
    Memory(Size),
    #[error("failed to open {path} for appending: {source}; choose another --file")]
    File { path: PathBuf, source: io::Error },
    #[error("failed to listen on {address}: {source}; choose another {option}")]
    Bind { address: SocketAddr, source: io::Error, option: &'static str },
    #[error("failed to prepare the process: {0}")]
    Process(io::Error),
}

/// Runs the recorder until SIGTERM or SIGINT.
///
/// The exit status is 0 after a signal, and 2 with one line on standard error if it could not start.
#[must_use]
pub fn run(args: &RecorderArgs, clock: Clock) -> ExitCode {
    match start(args, clock) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If this cannot be printed, the exit status still shows the failure.
            let _ = writeln!(io::stderr().lock(), "agnhost-rs recorder: {error}");
            ExitCode::from(WRONG_USE)
        }
    }
}

fn start(args: &RecorderArgs, clock: Clock) -> Result<(), StartError> {
    let options = prepare(args, clock)?;
    take_all_descriptors();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(StartError::Process)?;
    let result = runtime.block_on(async {
        let ingest = listen(args.address, args.ingest_port, "--ingest-port")?;
        let query = listen(args.address, args.query_port, "--query-port")?;
        let mut terminate = signal(SignalKind::terminate()).map_err(StartError::Process)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(StartError::Process)?;
        announce(&ingest, &query);
        let shutdown = async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        serve(ingest, query, options, shutdown).await;
        Ok(())
    });
    // A hanging disk must not delay the exit.
    runtime.shutdown_background();
    result
}

/// Checks for all errors before it binds a port.
fn prepare(args: &RecorderArgs, clock: Clock) -> Result<Options, StartError> {
    let token = args.token.as_deref().and_then(|text| Token::new(text).ok()).ok_or(StartError::Token)?;
    if args.memory.0 < SMALLEST_MEMORY {
        return Err(StartError::Memory(args.memory));
    }
    let memory = usize::try_from(args.memory.0).unwrap_or(usize::MAX);
    let open = |path: &PathBuf| {
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.map_err(|source| StartError::File { path: path.clone(), source })
    };
    let file = args.file.as_ref().map(open).transpose()?;
    Ok(Options { clock, token, memory, file })
}

/// Binds a port. Without an address, it serves both address families, or only IPv4 on a node without IPv6.
fn listen(address: Option<IpAddr>, port: u16, option: &'static str) -> Result<TcpListener, StartError> {
    let listener = bind(address, port, BACKLOG).and_then(|socket| TcpListener::from_std(socket.into()));
    let shown = SocketAddr::new(address.unwrap_or(Ipv6Addr::UNSPECIFIED.into()), port);
    listener.map_err(|source| StartError::Bind { address: shown, source, option })
}

fn announce(ingest: &TcpListener, query: &TcpListener) {
    let address =
        |listener: &TcpListener| listener.local_addr().map_or_else(|_| "?".to_owned(), |a| a.to_string());
    // The recorder also works with a closed standard output.
    let _ = writeln!(
        io::stdout().lock(),
        "recorder: targets connect to {}, queries to {}",
        address(ingest),
        address(query)
    );
}

/// Records what arrives at `ingest` and answers queries at `query` until `shutdown`. Then both are closed immediately,
/// and the recorded entries are written to the file.
pub async fn serve(
    ingest: TcpListener,
    query: TcpListener,
    options: Options,
    shutdown: impl Future<Output = ()>,
) {
    let Options { clock, token, memory, file } = options;
    let state = Arc::new(RecorderState::new(clock, token.clone(), memory));
    let mut tasks = JoinSet::new();
    tasks.spawn(ingest::listen(Arc::clone(&state), ingest));
    tasks.spawn(ingest::sweep(Arc::clone(&state)));
    tasks.spawn(http::listen(query, query::router(Arc::clone(&state), token)));
    let stop = CancellationToken::new();
    let writer =
        file.map(|file| tokio::spawn(file::FileWriter::new(file).follow(Arc::clone(&state), stop.clone())));
    shutdown.await;
    tasks.shutdown().await;
    stop.cancel();
    if let Some(writer) = writer {
        // Entries that a hanging disk has not written by then are lost.
        let _ = tokio::time::timeout(FLUSH_PATIENCE, writer).await;
    }
}

#[cfg(test)]
#[path = "recorder/tests.rs"]
mod tests;
