//! One connection, from its accept to its end: what the plan does with it before, below and beside the protocol.

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

use super::grpc::Health;
use super::http1::{Http1, Left};
use super::http2::{self, Scissors, Scripted};
use super::site::{Site, Visitor};
use super::tap::{Tap, Wire};
use crate::stage::{self, Asked};

const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(30);
const LAST_WAIT: Duration = Duration::from_secs(1);

/// Takes a connection through its life and writes down how it ended.
pub(super) async fn host(site: Arc<Site>, stream: TcpStream, peer: SocketAddr) {
    let clock = *site.stage.witness().clock();
    let local = canonical(stream.local_addr().unwrap_or(peer));
    let _ = stream.set_nodelay(true);
    let _open = site.meters.connection();
    let conn = site.numbers.fetch_add(1, Ordering::Relaxed);
    let wire = Wire::new(stream, clock);
    let visitor = Visitor { site, conn, local, wire };
    let (accepted, planned) = visitor.welcome(canonical(peer));
    let mut door = visitor.site.doors.watch();
    tokio::select! {
        () = treat(&visitor, planned) => {}
        () = door.shut() => visitor.wire.reset(),
    }
    let end = visitor.wire.end();
    visitor.witness().record(&Fact::Closed(Closed {
        conn,
        how: end.how,
        received: visitor.wire.received(),
        sent: visitor.wire.sent(),
        lived_us: clock.mono_us().saturating_sub(accepted),
        error: end.error,
    }));
}

/// An IPv4 address is one, even where a socket for both families calls it by an IPv6 name.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

impl Visitor {
    /// Writes the connection down and chooses what is done with it.
    fn welcome(&self, peer: SocketAddr) -> (u64, PlannedConnection) {
        let site = &self.site;
        let (at, planned, mark) = site.stage.with_plan(|plan| {
            let Some(listener) = plan.listeners.get(&site.name) else {
                return (0, PlannedConnection::of(&ConnectionAnswer::Close), None);
            };
            let probe = site.stage.count(stage::CONNECTIONS, &site.name);
            let choice =
                site.stage.choose(&listener.connections, Asked { name: &site.name, probe, host: None });
            let planned = PlannedConnection::of(&choice.answer);
            let stamp = self.witness().arrival(&Fact::Accepted(Accepted {
                conn: self.conn,
                listener: site.name.clone(),
                peer: peer.to_string(),
                local: self.local.to_string(),
                step: choice.step,
                answer: planned.word.to_owned(),
            }));
            (stamp.at.mono_us, planned, choice.mark)
        });
        if let Some(mark) = mark {
            site.stage.mark(&mark, &format!("{}@connections", site.name));
        }
        (at, planned)
    }
}

async fn treat(visitor: &Visitor, planned: PlannedConnection) {
    let mut tap = Tap(Arc::clone(&visitor.wire));
    if let Some(delay) = planned.delay {
        sleep(delay.0).await;
    }
    // A peer that is gone is noticed by whatever comes next.
    let _ = tap.write_all(&planned.first).await;
    // A box, and boxes below: what every idle connection holds is then only what it does, not the most that it might.
    let act = Box::pin(async {
        match planned.then {
            Then::Serve => speak(visitor, tap.clone()).await,
            Then::Hold => swallow(&mut tap.clone()).await,
            Then::Echo => echo(&mut tap.clone()).await,
            Then::Close => close(&mut tap.clone()).await,
            Then::Reset => visitor.wire.reset(),
        }
    });
    match planned.close_after {
        None => act.await,
        Some(after) => {
            if timeout(after.0, act).await.is_err() {
                close(&mut tap).await;
            }
        }
    }
}

/// Reads until the peer ends the connection.
async fn swallow(stream: &mut (impl AsyncRead + Unpin)) {
    let mut bytes = [0; 512];
    while matches!(stream.read(&mut bytes).await, Ok(count) if count > 0) {}
}

async fn echo(tap: &mut Tap) {
    let mut bytes = vec![0; 4096];
    while let Ok(count @ 1..) = tap.read(&mut bytes).await {
        if tap.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

/// Closes in good order: our end, then what is still under way, then the peer's end.
pub(super) async fn close(tap: &mut Tap) {
    let _ = tap.shutdown().await;
    let _ = timeout(LAST_WAIT, swallow(tap)).await;
}

/// Hands the connection to the listener's protocol.
async fn speak(visitor: &Visitor, mut tap: Tap) {
    match &visitor.site.tls {
        None if visitor.site.protocol == Protocol::Tcp => swallow(&mut tap).await,
        None => protocol(visitor, tap, false).await,
        Some(acceptor) => Box::pin(speak_tls(visitor, tap, acceptor)).await,
    }
}

async fn speak_tls(visitor: &Visitor, mut tap: Tap, acceptor: &TlsAcceptor) {
    let handshake = timeout(HANDSHAKE_PATIENCE, acceptor.accept(tap.clone())).await;
    match handshake {
        Ok(Ok(mut stream)) => {
            let h2 = note_tls(visitor, &stream);
            match visitor.site.protocol {
                Protocol::Tcp => swallow(&mut stream).await,
                _ => protocol(visitor, stream, h2).await,
            }
        }
        Ok(Err(error)) => {
            note_failure(visitor, &error.to_string());
            // In good order, so that the client gets to read the alert.
            close(&mut tap).await;
        }
        Err(_) => note_failure(visitor, "the client took longer than 30 s"),
    }
}

/// Writes the handshake down. Returns whether HTTP/2 was agreed on.
fn note_tls(visitor: &Visitor, stream: &TlsStream<Tap>) -> bool {
    let (_, session) = stream.get_ref();
    let alpn = session.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned());
    let h2 = alpn.as_deref() == Some("h2");
    visitor.witness().record(&Fact::Tls(TlsSeen {
        conn: visitor.conn,
        version: session.protocol_version().and_then(|version| version.as_str().map(str::to_owned)),
        alpn,
        server_name: session.server_name().map(str::to_owned),
        client_certificate: session.peer_certificates().is_some(),
        error: None,
    }));
    h2
}

fn note_failure(visitor: &Visitor, error: &str) {
    visitor.witness().record(&Fact::Tls(TlsSeen {
        conn: visitor.conn,
        version: None,
        alpn: None,
        server_name: None,
        client_certificate: false,
        error: Some(error.to_owned()),
    }));
}

async fn protocol<S>(visitor: &Visitor, stream: S, h2: bool)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    if visitor.site.protocol == Protocol::Grpc {
        let scissors = Arc::new(Scissors::default());
        let requests = Arc::new(AtomicU64::new(0));
        let health = Health { visitor: visitor.clone(), scissors: Arc::clone(&scissors), requests };
        return Box::pin(http2::serve(visitor, stream, &scissors, health)).await;
    }
    if h2 {
        return Box::pin(scripted_http2(visitor, stream)).await;
    }
    match Http1::new(visitor.clone(), stream).run().await {
        Left::Over => {}
        Left::Http2(stream, read) => {
            // The bytes that have been read come once more.
            let (reader, writer) = tokio::io::split(stream);
            let again = tokio::io::join(Cursor::new(read).chain(reader), writer);
            Box::pin(scripted_http2(visitor, again)).await;
        }
    }
}

async fn scripted_http2<S>(visitor: &Visitor, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let scissors = Arc::new(Scissors::default());
    let requests = Arc::new(AtomicU64::new(0));
    let scripted = Scripted { visitor: visitor.clone(), scissors: Arc::clone(&scissors), requests };
    http2::serve(visitor, stream, &scissors, scripted).await;
}
