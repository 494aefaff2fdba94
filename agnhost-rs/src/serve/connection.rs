//! One connection, from its start to its end: what the plan does with it outside the protocol.

use std::io::Cursor;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use probity_script::answer::{ConnectionAnswer, Then};
use probity_script::wire::PlannedConnection;
use probity_script::witness::{Accepted, Closed, TlsSeen};
use probity_script::{Fact, Protocol};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::context::{ConnectionContext, ListenerContext};
use super::grpc::Health;
use super::http1::{Http1, ProtocolEnd};
use super::http2::{self, ConnectionCutter, Scripted};
use super::wire::{Wire, WireStream, read_piece};
use crate::stage::{self, ProbedEndpoint};

const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(30);
const LAST_WAIT: Duration = Duration::from_secs(1);

/// Handles a connection until it closes, and records how it ended.
pub(super) async fn host(context: Arc<ListenerContext>, stream: TcpStream, peer: SocketAddr) {
    let clock = *context.stage.witness().clock();
    let local = canonical(stream.local_addr().unwrap_or(peer));
    let _ = stream.set_nodelay(true);
    let _open = context.meters.connection();
    let conn = context.numbers.fetch_add(1, Ordering::Relaxed);
    let wire = Wire::new(stream, clock);
    let context = ConnectionContext { listener: context, conn, local, wire };
    let (accepted, planned) = context.welcome(canonical(peer));
    let mut gate = context.listener.gate.watch();
    tokio::select! {
        biased;
        () = treat(&context, planned) => {}
        () = gate.shut() => context.wire.reset(),
    }
    let end = context.wire.end();
    context.witness().record(&Fact::Closed(Closed {
        conn,
        how: end.how,
        received: context.wire.received(),
        sent: context.wire.sent(),
        lived_us: clock.mono_us().saturating_sub(accepted),
        error: end.error,
    }));
}

/// An address in canonical form. A socket for both families shows an IPv4 address as an IPv6 address.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

impl ConnectionContext {
    /// Records the connection and chooses what is done with it.
    fn welcome(&self, peer: SocketAddr) -> (u64, PlannedConnection) {
        let context = &self.listener;
        let (at, planned, mark) = context.stage.with_plan(|plan| {
            let Some(listener) = plan.listeners.get(&context.name) else {
                return (0, PlannedConnection::of(&ConnectionAnswer::Close), None);
            };
            let probe = context.stage.count(stage::CONNECTIONS, &context.name);
            let choice = context
                .stage
                .choose(&listener.connections, ProbedEndpoint { name: &context.name, probe, host: None });
            let planned = PlannedConnection::of(&choice.answer);
            let stamp = self.witness().arrival(&Fact::Accepted(Accepted {
                conn: self.conn,
                listener: context.name.clone(),
                peer: peer.to_string(),
                local: self.local.to_string(),
                step: choice.step,
                answer: planned.word.to_owned(),
            }));
            (stamp.at.mono_us, planned, choice.mark)
        });
        if let Some(mark) = mark {
            context.stage.mark(&mark, &format!("{}@connections", context.name));
        }
        (at, planned)
    }
}

async fn treat(context: &ConnectionContext, planned: PlannedConnection) {
    let mut stream = WireStream(Arc::clone(&context.wire));
    if let Some(delay) = planned.delay {
        Box::pin(sleep(delay.0)).await;
    }
    // The next operation notices a closed peer.
    let _ = stream.write_all(&planned.first).await;
    // The boxes here and below reduce the memory of idle connections to what they currently need.
    let act = Box::pin(async {
        match planned.then {
            Then::Serve => speak(context, stream.clone()).await,
            Then::Hold => swallow(&mut stream.clone()).await,
            Then::Echo => echo(&mut stream.clone()).await,
            Then::Close => Box::pin(close(&mut stream.clone())).await,
            Then::Reset => context.wire.reset(),
        }
    });
    match planned.close_after {
        None => act.await,
        Some(after) => {
            if Box::pin(timeout(after.0, act)).await.is_err() {
                Box::pin(close(&mut stream)).await;
            }
        }
    }
}

/// Reads until the peer ends the connection.
async fn swallow(stream: &mut (impl AsyncRead + Unpin)) {
    while matches!(read_piece(stream, |_| ()).await, Ok(count) if count > 0) {}
}

async fn echo(stream: &mut WireStream) {
    let mut bytes = vec![0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut bytes).await {
        if stream.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

/// Closes gracefully: closes this side, reads what is still in transit, and waits for the peer's end.
pub(super) async fn close(stream: &mut WireStream) {
    let _ = stream.shutdown().await;
    let _ = timeout(LAST_WAIT, swallow(stream)).await;
}

/// Hands the connection to the listener's protocol.
async fn speak(context: &ConnectionContext, mut stream: WireStream) {
    match &context.listener.tls {
        None if context.listener.protocol == Protocol::Tcp => swallow(&mut stream).await,
        None => protocol(context, stream, false).await,
        Some(acceptor) => Box::pin(speak_tls(context, stream, acceptor)).await,
    }
}

async fn speak_tls(context: &ConnectionContext, mut stream: WireStream, acceptor: &TlsAcceptor) {
    let handshake = timeout(HANDSHAKE_PATIENCE, acceptor.accept(stream.clone())).await;
    match handshake {
        Ok(Ok(mut stream)) => {
            let h2 = note_tls(context, &stream);
            match context.listener.protocol {
                Protocol::Tcp => swallow(&mut stream).await,
                _ => protocol(context, stream, h2).await,
            }
        }
        Ok(Err(error)) => {
            note_failure(context, &error.to_string());
            // Close gracefully, so that the client can read the alert.
            close(&mut stream).await;
        }
        Err(_) => note_failure(context, "the client took longer than 30 s"),
    }
}

/// Records the handshake. Returns whether HTTP/2 was negotiated.
fn note_tls(context: &ConnectionContext, stream: &TlsStream<WireStream>) -> bool {
    let (_, session) = stream.get_ref();
    let alpn = session.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned());
    let h2 = alpn.as_deref() == Some("h2");
    context.witness().record(&Fact::Tls(TlsSeen {
        conn: context.conn,
        version: session.protocol_version().and_then(|version| version.as_str().map(str::to_owned)),
        alpn,
        server_name: session.server_name().map(str::to_owned),
        client_certificate: session.peer_certificates().is_some(),
        error: None,
    }));
    h2
}

fn note_failure(context: &ConnectionContext, error: &str) {
    context.witness().record(&Fact::Tls(TlsSeen {
        conn: context.conn,
        version: None,
        alpn: None,
        server_name: None,
        client_certificate: false,
        error: Some(error.to_owned()),
    }));
}

async fn protocol<S>(context: &ConnectionContext, stream: S, h2: bool)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    if context.listener.protocol == Protocol::Grpc {
        let cutter = Arc::new(ConnectionCutter::default());
        let requests = Arc::new(AtomicU64::new(0));
        let health = Health { context: context.clone(), cutter: Arc::clone(&cutter), requests };
        return Box::pin(http2::serve(context, stream, &cutter, health)).await;
    }
    if h2 {
        return Box::pin(scripted_http2(context, stream)).await;
    }
    match Http1::new(context.clone(), stream).run().await {
        ProtocolEnd::Over => {}
        ProtocolEnd::Http2(stream, read) => {
            // Replay the bytes that have already been read.
            let (reader, writer) = tokio::io::split(stream);
            let again = tokio::io::join(Cursor::new(read).chain(reader), writer);
            Box::pin(scripted_http2(context, again)).await;
        }
    }
}

async fn scripted_http2<S>(context: &ConnectionContext, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let cutter = Arc::new(ConnectionCutter::default());
    let requests = Arc::new(AtomicU64::new(0));
    let scripted = Scripted { context: context.clone(), cutter: Arc::clone(&cutter), requests };
    http2::serve(context, stream, &cutter, scripted).await;
}
