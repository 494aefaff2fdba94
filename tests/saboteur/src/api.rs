//! The proxy between a kubelet and the API server, or between the controllers and the API server: TLS on both sides,
//! HTTP/1.1 and HTTP/2. It understands the pod statuses and events that the kubelet writes, the lists and watches from
//! which the kubelet learns of pods, and what the controllers write. All of this must be in JSON: the kubelet must be
//! configured with `contentType: application/json`, and the controller manager with
//! `--kube-api-content-type=application/json`. All other requests pass unchanged, and so do these requests while no
//! defect affects them.

pub mod alter;
mod events;
pub mod fault;
mod forward;
mod heard;
mod learn;
mod merge;
mod other;
mod route;
mod shadow;
mod status;
mod stream;
mod tls;
mod upstream;
mod writer;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::board::Board;
use forward::Proxy;
use heard::Ear;
use upstream::{CONNECTION_WINDOW, STREAM_WINDOW, Upstream};

/// Where the proxy listens, and the server to which it forwards.
#[derive(Clone, Debug, clap::Args)]
pub struct ApiOptions {
    /// Listen here for the kubelet.
    #[arg(long, default_value = "127.0.0.1:6444")]
    pub api_listen: SocketAddr,
    /// Forward to this address of the API server. Without it, the proxy does not run.
    #[arg(long)]
    pub api_forward: Option<SocketAddr>,
    /// The certificate authority of the API server's certificate.
    #[arg(long, default_value = "/var/lib/saboteur/authority.crt")]
    pub api_authority: PathBuf,
    /// The certificate to show the kubelet.
    #[arg(long, default_value = "/var/lib/saboteur/server.crt")]
    pub api_certificate: PathBuf,
    /// Its key.
    #[arg(long, default_value = "/var/lib/saboteur/server.key")]
    pub api_key: PathBuf,
    /// The kubelet's certificate.
    #[arg(long, default_value = "/var/lib/saboteur/client.crt")]
    pub api_client_certificate: PathBuf,
    /// Its key.
    #[arg(long, default_value = "/var/lib/saboteur/client.key")]
    pub api_client_key: PathBuf,
}

/// The client of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// A kubelet.
    Kubelet,
    /// The controllers of the controller manager.
    Controllers,
}

/// The number of concurrent requests that the API server allows on one connection. A kubelet that needs more opens
/// another connection.
const STREAMS: u32 = 100;

/// Serves until it fails.
///
/// # Errors
///
/// When it cannot listen, or a key or certificate is unreadable.
pub async fn serve(options: ApiOptions, board: Board, client: Client) -> io::Result<()> {
    let Some(forward) = options.api_forward else { return std::future::pending().await };
    let config =
        tls::client(&options.api_authority, &options.api_client_certificate, &options.api_client_key)?;
    let server = tls::server(&options.api_certificate, &options.api_key)?;
    let listener = TcpListener::bind(options.api_listen).await?;
    let proxy = Proxy {
        client,
        ear: Ear { board: board.clone(), shadows: shadow::Shadows::default() },
        board,
        upstream: Upstream::new(forward, config),
        fates: events::Fates::default(),
    };
    let acceptor = TlsAcceptor::from(Arc::new(server));
    loop {
        let (kubelet, _) = listener.accept().await?;
        let (proxy, acceptor) = (proxy.clone(), acceptor.clone());
        // A broken connection is ignored, because the kubelet connects again.
        tokio::spawn(async move { connect(proxy, acceptor, kubelet).await.ok() });
    }
}

/// Serves one connection of the kubelet, with a separate connection to the API server. If either connection ends, the
/// other one ends too.
async fn connect(proxy: Proxy, acceptor: TlsAcceptor, kubelet: TcpStream) -> io::Result<()> {
    kubelet.set_nodelay(true)?;
    let kubelet = acceptor.accept(kubelet).await?;
    let protocol = kubelet.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
    let (sender, mut upstream) = proxy.upstream.connect(protocol.as_deref()).await?;
    let service = service_fn(move |request| {
        let (proxy, sender) = (proxy.clone(), sender.clone());
        async move { proxy.handle(sender, request).await }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http2()
        .max_concurrent_streams(STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    let mut serving = pin!(builder.serve_connection(TokioIo::new(kubelet), service));
    tokio::select! {
        ended = serving.as_mut() => ended.map_err(io::Error::other),
        _ = &mut upstream => {
            // Complete answers may not have been sent yet.
            serving.as_mut().graceful_shutdown();
            tokio::time::timeout(Duration::from_secs(1), serving).await.ok();
            Ok(())
        }
    }
}
