//! Connections to the API server: one for each connection of the kubelet, in the same protocol, and one for the proxy's
//! own requests.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use super::tls;

/// The body of any message that passes.
pub(super) type AnyBody = BoxBody<Bytes, hyper::Error>;

/// Windows as large as the API server's own: a long list must not wait for acknowledgements.
pub(super) const STREAM_WINDOW: u32 = 1 << 20;
/// The window of a whole connection.
pub(super) const CONNECTION_WINDOW: u32 = 16 << 20;

/// A body of known bytes.
pub(super) fn full(bytes: impl Into<Bytes>) -> AnyBody {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed()
}

/// A way to send requests on one connection.
#[derive(Clone)]
pub(super) enum Sender {
    /// One request after the other.
    Http1(Arc<Mutex<http1::SendRequest<AnyBody>>>),
    /// Many requests at the same time.
    Http2(http2::SendRequest<AnyBody>),
}

impl Sender {
    /// Sends one request.
    ///
    /// # Errors
    ///
    /// When the connection breaks.
    pub(super) async fn send(&self, request: Request<AnyBody>) -> hyper::Result<Response<Incoming>> {
        match self {
            Self::Http1(sender) => {
                let mut sender = sender.lock().await;
                sender.ready().await?;
                sender.send_request(request).await
            }
            Self::Http2(sender) => {
                let mut sender = sender.clone();
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }
}

/// The address of the API server, and the identity of the client.
#[derive(Clone)]
pub(super) struct Upstream {
    address: SocketAddr,
    config: ClientConfig,
    own: Arc<Mutex<Option<Sender>>>,
}

impl Upstream {
    /// An API server at this address.
    #[must_use]
    pub(super) fn new(address: SocketAddr, config: ClientConfig) -> Self {
        Self { address, config, own: Arc::default() }
    }

    /// Opens a connection in this protocol. The task ends when the connection ends.
    ///
    /// # Errors
    ///
    /// When there is no connection, or the API server's identity is wrong.
    pub(super) async fn connect(&self, protocol: Option<&[u8]>) -> io::Result<(Sender, JoinHandle<()>)> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let connector = TlsConnector::from(tls::speaking(&self.config, protocol));
        let stream = connector.connect(ServerName::from(self.address.ip()), stream).await?;
        if protocol == Some(b"h2") {
            let (sender, connection) = http2::Builder::new(TokioExecutor::new())
                .initial_stream_window_size(STREAM_WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW)
                .handshake(TokioIo::new(stream))
                .await
                .map_err(io::Error::other)?;
            Ok((Sender::Http2(sender), tokio::spawn(async move { drop(connection.await) })))
        } else {
            let (sender, connection) =
                http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
            let sender = Sender::Http1(Arc::new(Mutex::new(sender)));
            Ok((sender, tokio::spawn(async move { drop(connection.await) })))
        }
    }

    /// Sends one of the proxy's own requests over a kept connection, and reads the whole answer.
    ///
    /// # Errors
    ///
    /// When the request could not be sent on a new connection either.
    pub(super) async fn ask(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: Bytes,
    ) -> io::Result<(StatusCode, Bytes)> {
        let mut own = self.own.lock().await;
        for is_last in [false, true] {
            let sender = match own.take() {
                Some(sender) => sender,
                None => self.connect(Some(b"h2")).await?.0,
            };
            let request = self.request(&method, path, kind, body.clone())?;
            match sender.send(request).await {
                Ok(response) => {
                    *own = Some(sender);
                    drop(own);
                    let status = response.status();
                    let bytes = response.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
                    return Ok((status, bytes));
                }
                Err(error) if is_last => return Err(io::Error::other(error)),
                // The kept connection may have ended in the meantime: try again with a new one.
                Err(_) => {}
            }
        }
        Err(io::Error::other("unreachable: the second attempt returns"))
    }

    fn request(&self, method: &Method, path: &str, kind: &str, body: Bytes) -> io::Result<Request<AnyBody>> {
        Request::builder()
            .method(method)
            .uri(format!("https://{}{path}", self.address))
            .header("accept", "application/json")
            .header("content-type", kind)
            .header("user-agent", "saboteur")
            .body(full(body))
            .map_err(io::Error::other)
    }

    /// Reads an object. `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// When the API server does not answer with an object or its absence.
    pub(super) async fn read(&self, path: &str) -> io::Result<Option<Value>> {
        let (status, bytes) = self.ask(Method::GET, path, "application/json", Bytes::new()).await?;
        match status {
            StatusCode::OK => serde_json::from_slice(&bytes).map(Some).map_err(io::Error::other),
            StatusCode::NOT_FOUND => Ok(None),
            other => Err(io::Error::other(format!("GET {path}: {other}"))),
        }
    }
}
