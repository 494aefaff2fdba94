//! The accept loop and one task per connection: plain HTTP/1.x, or TLS with HTTP/1.x and HTTP/2 by ALPN.
//!
//! A plain request on a TLS port gets Go's plain text answer. There are no timeouts, because Go has none by default: a
//! drop-in keeps a connection open as long as its peer does.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Request, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::response::{complete, set_reason};
use super::{Abort, Body, HttpRequest, HttpResult, with_status};
use crate::go::{klog, listen};

/// What answers requests.
pub(crate) trait Handler: Clone + Send + Sync + 'static {
    /// Answers one request.
    fn answer(&self, request: HttpRequest) -> impl Future<Output = HttpResult> + Send;
}

impl<F, Fut> Handler for F
where
    F: Fn(HttpRequest) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = HttpResult> + Send,
{
    fn answer(&self, request: HttpRequest) -> impl Future<Output = HttpResult> + Send {
        self(request)
    }
}

/// A server and its connections.
#[derive(Clone, Default)]
pub(crate) struct Server {
    tls: Option<Arc<ServerConfig>>,
    stop: CancellationToken,
    connections: TaskTracker,
}

impl Server {
    /// A server that uses TLS if there is a configuration for it.
    pub(crate) fn new(tls: Option<Arc<ServerConfig>>) -> Self {
        Self { tls, ..Self::default() }
    }

    /// Accepts connections until the server is stopped.
    pub(crate) async fn run(&self, listener: TcpListener, handler: impl Handler) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.stop.cancelled() => return,
            };
            match accepted {
                Ok((stream, peer)) => {
                    self.connections.spawn(self.clone().connection(
                        stream,
                        listen::plain(peer),
                        handler.clone(),
                    ));
                }
                Err(error) => {
                    // The process is probably out of descriptors. Wait a moment, as Go does.
                    klog::info(format!("http: Accept error: {error}; retrying in 5ms"));
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        }
    }

    /// Stops accepting and waits for open requests. Returns whether they ended within the limit.
    pub(crate) async fn shut_down(&self, limit: Duration) -> bool {
        self.stop.cancel();
        self.connections.close();
        tokio::time::timeout(limit, self.connections.wait()).await.is_ok()
    }

    async fn connection(self, mut stream: TcpStream, peer: SocketAddr, handler: impl Handler) {
        // Go sets this on every connection. A socket that refuses this option is served anyway.
        let _ = stream.set_nodelay(true);
        let Some(tls) = self.tls.clone() else {
            return self.exchange(stream, false, peer, handler).await;
        };
        if is_plain_http(&stream).await {
            const WRONG_SCHEME: &[u8] =
                b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
            let _ = stream.write_all(WRONG_SCHEME).await;
            let _ = stream.shutdown().await;
            return klog::info(format!(
                "http: TLS handshake error from {peer}: client sent an HTTP request to an HTTPS server"
            ));
        }
        match TlsAcceptor::from(tls).accept(stream).await {
            Ok(stream) => {
                let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                self.exchange(stream, http2, peer, handler).await;
            }
            Err(error) => {
                klog::info(format!("http: TLS handshake error from {peer}: {}", handshake_text(&error)))
            }
        }
    }

    /// Answers the requests of one connection until the peer ends it or the server stops.
    async fn exchange<S>(&self, stream: S, http2: bool, peer: SocketAddr, handler: impl Handler)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = service_fn(move |request| answer(handler.clone(), request, peer));
        let mut builder = auto::Builder::new(TokioExecutor::new()).title_case_headers(true);
        builder.http1().half_close(true);
        let builder = if http2 { builder.http2_only() } else { builder.http1_only() };
        let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
        tokio::select! {
            // How a connection ends is up to the peer.
            _ = connection.as_mut() => return,
            () = self.stop.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }
}

async fn answer(handler: impl Handler, request: Request<Incoming>, peer: SocketAddr) -> HttpResult {
    let request = HttpRequest::new(request, peer);
    let method = request.method();
    if let Some(words) = request.refusal() {
        let mut refusal = with_status(StatusCode::BAD_REQUEST, Body::full(words));
        let headers = refusal.headers_mut();
        headers.insert("content-type", HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert("connection", HeaderValue::from_static("close"));
        set_reason(&mut refusal, words.trim_start_matches("400 "));
        return Ok(refusal);
    }
    match handler.answer(request).await {
        Ok(response) => Ok(complete(&method, response)),
        Err(Abort(why)) => {
            klog::info(format!("http: panic serving {peer}: {why}"));
            Err(Abort(why))
        }
    }
}

/// Whether the first bytes of a connection are an HTTP request rather than a TLS record. It does not wait for a peer
/// that stalls or disconnects while it sends these bytes: TLS reports the result.
async fn is_plain_http(stream: &TcpStream) -> bool {
    const LOOKS: u32 = 1000;
    const BEGINNINGS: [&[u8; 5]; 5] = [b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO"];
    let mut first = [0; 5];
    for _ in 0..LOOKS {
        match stream.peek(&mut first).await {
            Ok(5) => return BEGINNINGS.contains(&&first),
            Ok(count @ 1..) if BEGINNINGS.iter().any(|beginning| beginning.starts_with(&first[..count])) => {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            _ => return false,
        }
    }
    false
}

fn handshake_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        _ => error.to_string(),
    }
}
