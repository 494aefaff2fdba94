//! The listeners of a plan. They are bound together, and served until the gate closes.
//!
//! There are three layers: `wire` handles bytes and closes, `connection` applies the plan before any protocol starts, and
//! `http1`, `http2` and `grpc` answer. For each protocol, one place looks up a request in the plan and records it before
//! it is answered.

mod connection;
mod context;
pub(crate) mod fuzzing;
mod grpc;
mod head;
mod head_text;
mod http1;
mod http2;
mod port;
mod reply;
mod report;
mod tls;
mod wire;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use probity_script::Listener;
use probity_script::answer::ListenState;

use crate::lifecycle::ShutdownGate;
use crate::meters::Meters;
use crate::stage::Stage;
use context::{ListenerContext, WorkerPool};
use port::Port;

pub use tls::TlsError;

/// Why a listener cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Its port cannot be bound.
    #[error("failed to open port {port} for listener `{listener}`: {source}")]
    Port {
        /// The listener.
        listener: String,
        /// The port.
        port: u16,
        /// The error of the system.
        source: io::Error,
    },
    /// Its TLS cannot be set up.
    #[error("listener `{listener}`: {source}")]
    Tls {
        /// The listener.
        listener: String,
        /// What went wrong.
        source: TlsError,
    },
}

/// Starts all listeners of the plan, or none of them. Returns the port of each listener that is bound.
///
/// # Errors
///
/// If a port is in use or a certificate cannot be created. In that case, no connection has been accepted.
pub fn start(
    stage: &Stage,
    gate: &ShutdownGate,
    meters: &Meters,
) -> Result<BTreeMap<String, u16>, ServeError> {
    let plan = stage.plan();
    let numbers = Arc::new(AtomicU64::new(0));
    let shared = Shared { stage, gate, meters, numbers: &numbers };
    let mut ready = Vec::new();
    for (name, listener) in &plan.listeners {
        ready.push(prepare(&shared, name, listener)?);
    }
    let mut bound = BTreeMap::new();
    for (context, port, state) in ready {
        let number = port.number().unwrap_or_else(|| plan.listeners[&context.name].port);
        bound.insert(context.name.clone(), number);
        tokio::spawn(port::keep(context, port, state, number));
    }
    Ok(bound)
}

/// The shared state of all listeners of a process.
struct Shared<'a> {
    stage: &'a Stage,
    gate: &'a ShutdownGate,
    meters: &'a Meters,
    numbers: &'a Arc<AtomicU64>,
}

fn prepare(
    shared: &Shared<'_>,
    name: &str,
    listener: &Listener,
) -> Result<(Arc<ListenerContext>, Port, ListenState), ServeError> {
    let tls = listener.tls.as_ref().map(|tls| tls::acceptor(tls, listener.protocol)).transpose();
    let tls = tls.map_err(|source| ServeError::Tls { listener: name.to_owned(), source })?;
    let context = ListenerContext {
        name: name.to_owned(),
        protocol: listener.protocol,
        stage: shared.stage.clone(),
        gate: shared.gate.clone(),
        meters: shared.meters.clone(),
        tls,
        numbers: Arc::clone(shared.numbers),
        pool: listener.workers.map(WorkerPool::new),
    };
    let state = port::wanted(&context);
    let failed = |source| ServeError::Port { listener: name.to_owned(), port: listener.port, source };
    let port = Port::enter(state, listener, listener.port).map_err(failed)?;
    Ok((Arc::new(context), port, state))
}
