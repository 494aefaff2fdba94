//! The proxy between kubelet and container runtime: gRPC over a unix socket, altered message by message. The proxy
//! knows only the numbers of a few fields of the runtime's API, so that it works with every release. Calls and fields
//! that it does not know pass unchanged.

mod call;
mod events;
pub mod fault;
mod grpc;
mod plan;
mod proxy;
mod replace;
mod shown;
mod users;
pub mod wire;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::UnixStream;

use crate::{board::Board, control::listen};
use proxy::Proxy;

/// Where the proxy listens, and the socket to which it forwards.
#[derive(Clone, Debug, clap::Args)]
pub struct CriOptions {
    /// Listen here for the kubelet.
    #[arg(long, default_value = "/run/saboteur/cri.sock")]
    pub cri_listen: PathBuf,
    /// Forward to this socket of the container runtime.
    #[arg(long, default_value = "/run/containerd/containerd.sock")]
    pub cri_forward: PathBuf,
}

/// Serves until it fails.
///
/// # Errors
///
/// When it cannot listen.
pub async fn serve(options: CriOptions, board: Board) -> io::Result<()> {
    let listener = listen(&options.cri_listen)?;
    let proxy = Arc::new(Proxy::new(board));
    loop {
        let (kubelet, _) = listener.accept().await?;
        let (proxy, forward) = (proxy.clone(), options.cri_forward.clone());
        // A broken connection is ignored, because both sides connect again.
        tokio::spawn(async move { connect(proxy, kubelet, &forward).await.ok() });
    }
}

/// The limit of concurrent calls, which is more than a kubelet with hundreds of pods makes. The runtime sets no limit,
/// so the proxy must not set one either.
const CALLS: u32 = 10_000;

/// Serves one connection of the kubelet, with a separate connection to the runtime. If either connection ends, the
/// other one ends too.
async fn connect(proxy: Arc<Proxy>, kubelet: UnixStream, forward: &Path) -> io::Result<()> {
    let runtime = UnixStream::connect(forward).await?;
    let (upstream, runtime) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
        .handshake(TokioIo::new(runtime))
        .await
        .map_err(io::Error::other)?;
    let service = service_fn(move |request| proxy.clone().handle(request, upstream.clone()));
    let serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .auto_date_header(false)
        .max_concurrent_streams(CALLS)
        .serve_connection(TokioIo::new(kubelet), service);
    tokio::select! {
        ended = serving => ended.map_err(io::Error::other),
        ended = runtime => ended.map_err(io::Error::other),
    }
}
