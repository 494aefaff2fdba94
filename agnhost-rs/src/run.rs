//! The role that runs a plan. It starts the parts in an order such that nothing is bound before everything is checked,
//! and nothing happens without a record.

use std::io;
use std::net::TcpListener;
use std::process::ExitCode;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use probity_script::witness::Started;
use probity_script::{Fact, Plan};
use sha2::{Digest, Sha256};

use crate::cli::{ControlAddress, ServeOrder, WRONG_USE};
use crate::clock::Clock;
use crate::control::{self, Control};
use crate::identity;
use crate::lifecycle::{self, ShutdownGate, SignalQueue, exit};
use crate::meters::Meters;
use crate::serve::{self, ServeError};
use crate::stage::Stage;
use crate::token::Token;
use crate::witness::{self, Identity, Journal, JournalError, Outlet, Witness};

/// How many bytes of lines the witness remembers for late readers.
const MEMORY: usize = 4 << 20;

/// How many bytes may wait for a reader that is behind.
const BUFFER: usize = 1 << 20;

/// How many threads answer. Probes are few and small. With a second thread, a slow body does not delay another probe.
const WORKERS: usize = 2;

/// Why the role could not start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The journal cannot be kept.
    #[error("{0}; give --journal a directory that can be written, or leave it out")]
    Journal(#[from] JournalError),
    /// The control port cannot be opened.
    #[error("failed to open the control port at {address}: {source}; choose another --control")]
    Control {
        /// The address of the port.
        address: ControlAddress,
        /// The error of the system.
        source: io::Error,
    },
    /// A listener of the plan cannot be started.
    #[error("{0}")]
    Serve(#[from] ServeError),
    /// The system lacks resources.
    #[error("failed to start: {0}")]
    System(#[from] io::Error),
}

impl RunError {
    /// The exit status: 2 for errors that a flag or the plan can fix.
    #[must_use]
    pub fn status(&self) -> u8 {
        match self {
            Self::System(_) => 1,
            Self::Journal(_) | Self::Control { .. } | Self::Serve(_) => WRONG_USE,
        }
    }
}

/// Runs the plan until the process ends because of a signal, the plan, or a control call.
///
/// # Errors
///
/// If the role cannot start. In that case, no connection has been accepted.
pub fn run(order: ServeOrder, clock: Clock, queue: SignalQueue) -> Result<ExitCode, RunError> {
    lifecycle::take_all_descriptors();
    let control = order.control.as_ref().map(|(address, token)| open_control(*address, token)).transpose()?;
    let journal = order.journal.as_deref().map(Journal::open).transpose()?;
    let witness = begin_witness(&order, clock, journal);
    let stop = order.stop_signals.into_iter().collect();
    let stage = Stage::new(order.plan, witness);
    let gate = ShutdownGate::default();
    let meters = Meters::default();
    if let Some((listener, token)) = control {
        let stage = stage.clone();
        control::start(listener, steering(stage, gate.clone(), meters.clone(), token))?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    runtime.block_on(async {
        lifecycle::begin(&stage, &gate, queue, stop).await;
        if let Err(error) = serve::start(&stage, &gate, &meters) {
            // Clients that read only the witness should also learn of this error.
            stage.witness().flush(std::time::Duration::from_millis(200));
            return Err(error.into());
        }
        std::future::pending().await
    })
}

fn open_control(address: ControlAddress, token: &Token) -> Result<(TcpListener, Token), RunError> {
    let listener = address.bind().map_err(|source| RunError::Control { address, source })?;
    Ok((listener, token.clone()))
}

fn steering(stage: Stage, gate: ShutdownGate, meters: Meters, token: Token) -> Control {
    let ending = stage.clone();
    let exit = Box::new(move |order: control::ExitOrder| {
        exit::leave(ending.witness(), order.code, order.way, "control");
    });
    Control { stage, gate, meters, token, dump: lifecycle::dump::take, exit }
}

/// Opens the outlets and writes the first line.
fn begin_witness(order: &ServeOrder, clock: Clock, journal: Option<Journal>) -> Witness {
    let attempt = journal.as_ref().map_or(0, |journal| journal.attempt);
    let counter = journal.as_ref().map(|journal| journal.counter.clone());
    let attempt_known = counter.is_some();
    let identity = Identity { boot: identity::random_name(), attempt, counter };
    let witness = Witness::new(clock, identity, MEMORY);
    if !order.quiet {
        witness.add(Outlet::stdout(BUFFER));
    }
    if let Some(journal) = journal {
        witness.add(Outlet::file("journal", journal.file, BUFFER));
    }
    // The recorder's outlet has room for the whole memory, so that a resumed link loses nothing.
    let recorder = order.recorder.as_ref().map(|_| Outlet::unconnected("recorder", 2 * MEMORY));
    recorder.iter().for_each(|outlet| witness.add(Arc::clone(outlet)));
    witness.record(&Fact::Started(Started {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        args: arguments(),
        host: identity::host(),
        plan: digest(&order.plan),
        seed: order.plan.seed,
        attempt_known,
        began_mono_us: clock.began_mono_us(),
        identity: identity::from_environment(),
    }));
    if let (Some(outlet), Some(link)) = (&recorder, &order.recorder) {
        witness::link_to_recorder(witness.clone(), Arc::clone(outlet), link.clone());
    }
    witness::start_ticker(witness.clone(), recorder, order.watch_node);
    witness
}

/// The arguments without the token, which is never recorded.
fn arguments() -> Vec<String> {
    let mut hide = false;
    let shown = |argument: String| {
        let hidden = std::mem::replace(&mut hide, argument == "--token");
        match argument.split_once('=') {
            Some(("--token", _)) => "--token=…".to_owned(),
            _ if hidden => "…".to_owned(),
            _ => argument,
        }
    };
    std::env::args().map(shown).collect()
}

/// A digest of the plan's content, which does not depend on how the plan was written.
fn digest(plan: &Plan) -> String {
    let text = serde_json::to_vec(plan).unwrap_or_default();
    format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(&text)))
}
