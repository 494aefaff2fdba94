//! A small HTTP client: for calls to a dependency, for traffic, and for an init container that waits.
//!
//! It sends one request on one connection, with a limited body and one timeout for everything. It supports only plain
//! HTTP, because targets send only such requests to each other.

use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// The largest body that is read. A larger one is an error.
const LARGEST_BODY: usize = 1 << 20;

/// The answer.
#[derive(Clone, Debug)]
pub struct ClientResponse {
    /// The status code.
    pub status: u16,
    /// The body.
    pub body: Bytes,
}

/// Why there was no answer, in the words of the witness.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The URL is not supported.
    #[error("`{0}` is not a URL of the form http://host:port/path")]
    Url(String),
    /// The connection failed.
    #[error("failed to connect: {0}")]
    Connect(std::io::Error),
    /// The exchange was cut off.
    #[error("failed to get an answer: {0}")]
    Exchange(Box<dyn std::error::Error + Send + Sync>),
    /// It took too long.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
}

/// Requests `url` and waits for the complete answer.
///
/// # Errors
///
/// If the URL is invalid, there is no answer, or it takes longer than `timeout`.
pub async fn get(url: &str, timeout: Duration) -> Result<ClientResponse, CallError> {
    tokio::time::timeout(timeout, exchange(url)).await.unwrap_or(Err(CallError::Timeout(timeout)))
}

async fn exchange(url: &str) -> Result<ClientResponse, CallError> {
    let wrong = || CallError::Url(url.to_owned());
    let uri: hyper::Uri = url.parse().map_err(|_| wrong())?;
    if uri.scheme_str() != Some("http") {
        return Err(wrong());
    }
    let authority = uri.authority().ok_or_else(wrong)?;
    let address = (authority.host().trim_matches(['[', ']']), authority.port_u16().unwrap_or(80));
    let stream = TcpStream::connect(address).await.map_err(CallError::Connect)?;
    let broken = |error: hyper::Error| CallError::Exchange(error.into());
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let driver = tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let request = hyper::Request::get(path)
        .header(hyper::header::HOST, authority.as_str())
        .header(hyper::header::USER_AGENT, concat!("agnhost-rs/", env!("CARGO_PKG_VERSION")))
        .header(hyper::header::CONNECTION, "close")
        .body(Empty::<Bytes>::new())
        .map_err(|_| wrong())?;
    let response = sender.send_request(request).await.map_err(broken)?;
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), LARGEST_BODY)
        .collect()
        .await
        .map_err(CallError::Exchange)?
        .to_bytes();
    driver.abort();
    Ok(ClientResponse { status, body })
}
