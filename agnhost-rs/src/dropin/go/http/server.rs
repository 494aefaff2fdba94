//! The accept loop and one task per connection: plain HTTP/1.x, or TLS with HTTP/1.x and HTTP/2 by ALPN.
//!
//! A plain request on a TLS port is told so in plain text, as Go tells it. There are no timeouts, as Go has none by
//! default: a drop-in keeps a connection as long as its peer does.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Request, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::reply::complete;
use super::{Abort, Answer, Asked, error_reply};
use crate::dropin::go::{klog, listen};

/// What answers requests.
pub(crate) trait Handler: Clone + Send + Sync + 'static {
    /// Answers one request.
    fn answer(&self, asked: Asked) -> impl Future<Output = Answer> + Send;
}

impl<F, Fut> Handler for F
where
    F: Fn(Asked) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Answer> + Send,
{
    fn answer(&self, asked: Asked) -> impl Future<Output = Answer> + Send {
        self(asked)
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
    /// A server that speaks TLS where a configuration is given.
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
                    // Out of descriptors, most likely: wait a moment, as Go does.
                    klog::info(format!("http: Accept error: {error}; retrying in 5ms"));
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        }
    }

    /// Stops accepting and waits for open requests; whether they ended within the limit.
    pub(crate) async fn shut_down(&self, limit: Duration) -> bool {
        self.stop.cancel();
        self.connections.close();
        tokio::time::timeout(limit, self.connections.wait()).await.is_ok()
    }

    async fn connection(self, stream: TcpStream, peer: SocketAddr, handler: impl Handler) {
        // Go sets this on every connection; a socket that refuses is served all the same.
        let _ = stream.set_nodelay(true);
        let Some(tls) = self.tls.clone() else {
            return self.http1(stream, peer, handler).await;
        };
        let mut stream = stream;
        if is_plain_http(&stream).await {
            const TOLD: &[u8] =
                b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
            let _ = stream.write_all(TOLD).await;
            let _ = stream.shutdown().await;
            return klog::info(format!(
                "http: TLS handshake error from {peer}: client sent an HTTP request to an HTTPS server"
            ));
        }
        match TlsAcceptor::from(tls).accept(stream).await {
            Ok(stream) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
                self.http2(stream, peer, handler).await;
            }
            Ok(stream) => self.http1(stream, peer, handler).await,
            Err(error) => {
                klog::info(format!("http: TLS handshake error from {peer}: {}", handshake_text(&error)))
            }
        }
    }

    async fn http1<S>(&self, stream: S, peer: SocketAddr, handler: impl Handler)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = service_fn(|request| respond(handler.clone(), request, peer));
        let mut builder = hyper::server::conn::http1::Builder::new();
        builder.title_case_headers(true).half_close(true);
        let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
        tokio::select! {
            // How a connection ends is the peer's business.
            _ = connection.as_mut() => return,
            () = self.stop.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }

    async fn http2<S>(&self, stream: S, peer: SocketAddr, handler: impl Handler)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = service_fn(move |request| respond(handler.clone(), request, peer));
        let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
        tokio::select! {
            _ = connection.as_mut() => return,
            () = self.stop.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }
}

async fn respond(handler: impl Handler, request: Request<Incoming>, peer: SocketAddr) -> Answer {
    let asked = Asked::new(request, peer);
    let method = asked.method();
    if let Some(words) = asked.refusal() {
        let mut reply = error_reply(StatusCode::BAD_REQUEST, "");
        *reply.body_mut() = super::Body::full(words);
        reply.headers_mut().remove("x-content-type-options");
        reply.extensions_mut().extend(reason_words(words));
        reply.headers_mut().insert("connection", HeaderValue::from_static("close"));
        return Ok(reply);
    }
    match handler.answer(asked).await {
        Ok(reply) => Ok(complete(&method, reply)),
        Err(Abort(why)) => {
            klog::info(format!("http: panic serving {peer}: {why}"));
            Err(Abort(why))
        }
    }
}

/// The words behind the status number, as an extension that hyper writes out.
fn reason_words(words: &'static str) -> http::Extensions {
    let mut extensions = http::Extensions::new();
    if let Ok(phrase) = hyper::ext::ReasonPhrase::try_from(words.trim_start_matches("400 ").as_bytes()) {
        extensions.insert(phrase);
    }
    extensions
}

/// Whether the first bytes of a connection are an HTTP request rather than a TLS record. A peer that stalls within
/// them, or leaves, is not waited for: TLS finds out what becomes of it.
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
