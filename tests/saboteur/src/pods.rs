//! The proxy between kubelet and pods. The node's packet filter shows it the first packet of each connection that the
//! node itself opens to a pod (IPv4 over TCP). It lets the packet pass, drops it, delays it, refuses it, or takes
//! over the connection and serves it with the defects that strike it. If no defect applies to the pod, the packet
//! passes immediately and the proxy does not see the connection again. If the proxy does not run, all packets pass.

mod choice;
mod connect;
mod effects;
mod exchange;
pub mod fault;
mod health;
mod http;
mod http1;
mod http2;
mod kept;
mod memory;
mod messages;
mod netlink;
mod pace;
mod packet;
pub mod probes;
mod queue;
mod rules;
mod session;
mod takeover;
mod tls;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};

use crate::board::Board;

/// Where the proxy listens, and which connections it handles.
#[derive(Clone, Debug, clap::Args)]
pub struct PodsOptions {
    /// The addresses of this node's pods, such as 10.244.1.0/24; may be repeated. Without such a range, the proxy does
    /// not run.
    #[arg(long)]
    pub pods_range: Vec<String>,
    /// Connections that are taken over go to this port of the loopback address.
    #[arg(long, default_value_t = 6446)]
    pub pods_port: u16,
    /// The number of the packet queue.
    #[arg(long, default_value_t = 6446)]
    pub pods_queue: u16,
}

/// A connection of either side, plain or with TLS.
trait Io: AsyncRead + AsyncWrite + Send + Sync + Unpin {
    /// Makes the connection end with a reset when it is dropped.
    fn reset(&mut self);
}

/// Any of them.
type Stream = Box<dyn Io>;

impl Io for TcpStream {
    fn reset(&mut self) {
        // If this fails, the socket is already closed.
        self.set_zero_linger().ok();
    }
}

impl Io for tokio_rustls::server::TlsStream<Stream> {
    fn reset(&mut self) {
        self.get_mut().0.reset();
    }
}

impl Io for tokio_rustls::client::TlsStream<Stream> {
    fn reset(&mut self) {
        self.get_mut().0.reset();
    }
}

/// The shared state of all connections.
struct Shared {
    board: Board,
    identity: Arc<tls::Identity>,
    memory: memory::Memory,
    flows: takeover::Flows,
    pacers: pace::Pacers,
    kept: kept::Kept,
}

/// Serves until it fails, or the process is asked to end. The rules of the packet filter are removed in both cases.
///
/// # Errors
///
/// When it cannot listen, or lacks the permission to use the packet filter.
pub async fn serve(options: PodsOptions, board: Board) -> io::Result<()> {
    if options.pods_range.is_empty() {
        return std::future::pending().await;
    }
    let shared = Arc::new(Shared {
        board,
        identity: Arc::new(tls::Identity::make()?),
        memory: memory::Memory::default(),
        flows: takeover::Flows::default(),
        pacers: pace::Pacers::default(),
        kept: kept::Kept::default(),
    });
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.pods_port)).await?;
    let mut queue = queue::Queue::open(options.pods_queue)?;
    let _rules = rules::Rules::make(&options.pods_range, options.pods_queue, options.pods_port)?;
    let (mut terminated, mut interrupted) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        ended = watch(&shared, &mut queue) => ended,
        ended = accept(&shared, &listener) => ended,
        _ = terminated.recv() => Ok(()),
        _ = interrupted.recv() => Ok(()),
    }
}

async fn watch(shared: &Arc<Shared>, queue: &mut queue::Queue) -> io::Result<()> {
    loop {
        takeover::decide(shared, queue.next().await?);
    }
}

async fn accept(shared: &Arc<Shared>, listener: &TcpListener) -> io::Result<()> {
    loop {
        let (kubelet, source) = listener.accept().await?;
        let SocketAddr::V4(source) = source else { continue };
        // Connections from another source are dropped.
        let Some(session) = shared.flows.session(source) else { continue };
        // A broken connection is ignored.
        tokio::spawn(async move { session.run(kubelet).await.ok() });
    }
}
