//! The kubelets' own server, as far as a run needs it: port-forwards to the control port of a metronome, which reports
//! the clocks of its node. All fake nodes have the clocks of this machine.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use futures_util::{SinkExt as _, StreamExt as _};
use nix::time::{ClockId, clock_gettime};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};

use crate::Failure;

/// The version of the port-forward's frames: the first byte of each names its channel.
const PROTOCOL: &str = "v4.channel.k8s.io";

/// The clocks of this machine, in microseconds.
#[derive(Clone, Copy)]
pub(crate) struct ClockTimes {
    pub(crate) mono_us: u64,
    pub(crate) wall_us: u64,
}

impl ClockTimes {
    pub(crate) fn now() -> Self {
        let us = |clock| {
            let at = clock_gettime(clock).map_or(0, |at| at.tv_sec() * 1_000_000 + at.tv_nsec() / 1_000);
            u64::try_from(at).unwrap_or_default()
        };
        Self { mono_us: us(ClockId::CLOCK_MONOTONIC), wall_us: us(ClockId::CLOCK_REALTIME) }
    }
}

/// The TLS side of the server, with this certificate.
pub(crate) fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, Failure> {
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<_, _>>()?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Serves port-forwards forever.
pub(crate) async fn serve(address: SocketAddr, acceptor: TlsAcceptor) -> Result<(), Failure> {
    let listener = TcpListener::bind(address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let _ = forward(stream, acceptor).await;
        });
    }
}

async fn forward(stream: TcpStream, acceptor: TlsAcceptor) -> Result<(), Failure> {
    let mut port = 0_u16;
    #[expect(clippy::result_large_err, reason = "the library defines the type")]
    let answer = |request: &Request, mut response: Response| -> Result<Response, ErrorResponse> {
        port = port_of(request.uri().query().unwrap_or_default());
        response.headers_mut().insert("sec-websocket-protocol", http::HeaderValue::from_static(PROTOCOL));
        Ok(response)
    };
    let mut socket = accept_hdr_async(acceptor.accept(stream).await?, answer).await?;
    let [low, high] = port.to_le_bytes();
    for channel in [0, 1] {
        socket.send(Message::binary(vec![channel, low, high])).await?;
    }
    let mut received = Vec::new();
    while let Some(message) = socket.next().await {
        let Message::Binary(bytes) = message? else { continue };
        if bytes.first() != Some(&0) {
            continue;
        }
        received.extend_from_slice(&bytes[1..]);
        while let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") {
            let is_clock = received.starts_with(b"GET /v1/clock ");
            received.drain(..end + 4);
            let mut frame = vec![0];
            frame.extend_from_slice(answer_to(is_clock).as_bytes());
            socket.send(Message::binary(frame)).await?;
        }
    }
    Ok(())
}

fn answer_to(is_clock: bool) -> String {
    let ClockTimes { mono_us, wall_us } = ClockTimes::now();
    let (status, body) = match is_clock {
        true => ("200 OK", format!(r#"{{"mono_us":{mono_us},"wall_us":{wall_us}}}"#)),
        false => ("404 Not Found", String::new()),
    };
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The port in a query such as `port=8080` or `ports=8080`.
fn port_of(query: &str) -> u16 {
    let port = query.split('&').find_map(|field| {
        let (name, value) = field.split_once('=')?;
        matches!(name, "port" | "ports").then(|| value.parse().ok())?
    });
    port.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_in_the_query() {
        assert_eq!(port_of("port=7071"), 7071);
        assert_eq!(port_of("x=1&ports=80"), 80);
        assert_eq!(port_of(""), 0);
    }
}
