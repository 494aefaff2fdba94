//! Complete HTTP/1 connections without a network, for fuzzing. They read bytes and discard the answers.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use probity_script::Protocol;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

use super::context::{ConnectionContext, ListenerContext};
use super::head::{self, ParsedHead};
use super::http1::Http1;
use super::wire::Wire;
use crate::clock::Clock;
use crate::lifecycle::ShutdownGate;
use crate::stage::Stage;
use crate::witness::{Identity, Witness};

const PLAN: &str = r#"{"listeners":{"web":{"port":0,"paths":{"/":200,"/h":"hang","/c":"close","/r":"reset","/x":{"redirect":{"hops":3,"base":"http://{ip}:{port}"}},"*":{"body":{"bytes":100},"framing":"chunked"}}}}}"#;

/// Reads a head and checks that it is consistent.
pub(crate) fn request_head(bytes: &[u8]) {
    if let ParsedHead::Head(head) = head::parse(bytes) {
        assert!(head.length <= bytes.len(), "a head is no longer than what came");
        assert!(std::str::from_utf8(head.text.target().as_bytes()).is_ok(), "a target is text");
        let _ = (head.keeps_alive(), head.expects_leave(), head.announced_body());
    }
}

/// The parts of a connection that fuzzing does not vary, created once for each thread.
struct FuzzedConnection {
    runtime: Runtime,
    context: Arc<ListenerContext>,
    wire: Arc<Wire>,
    local: std::net::SocketAddr,
}

thread_local! {
    static CONNECTION: RefCell<Option<FuzzedConnection>> = RefCell::new(fuzzed().ok());
}

/// Serves one connection on which a client sends exactly these bytes.
pub(crate) fn request_stream(bytes: &[u8]) {
    CONNECTION.with_borrow(|fuzzed| {
        let Some(FuzzedConnection { runtime, context, wire, local }) = fuzzed else { return };
        let context = ConnectionContext {
            listener: Arc::clone(context),
            conn: 0,
            local: *local,
            wire: Arc::clone(wire),
        };
        let stream = tokio::io::join(bytes, tokio::io::sink());
        runtime.block_on(async { drop(Http1::new(context, stream).run().await) });
    });
}

fn fuzzed() -> std::io::Result<FuzzedConnection> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let clock = Clock::start();
    let identity = Identity { boot: "fuzzing".to_owned(), attempt: 0, counter: None };
    let plan = serde_saphyr::from_str(PLAN).map_err(std::io::Error::other)?;
    let context = ListenerContext {
        name: "web".to_owned(),
        protocol: Protocol::Http,
        stage: Stage::new(plan, Witness::new(clock, identity, 1 << 16)),
        gate: ShutdownGate::default(),
        tls: None,
        numbers: Arc::new(AtomicU64::new(0)),
        pool: None,
        meters: crate::meters::Meters::default(),
    };
    // Counts the bytes that would be sent. Nothing is sent.
    let (stream, local) = runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let local = listener.local_addr()?;
        TcpStream::connect(local).await.map(|stream| (stream, local))
    })?;
    let wire = Wire::new(stream, clock);
    Ok(FuzzedConnection { runtime, context: Arc::new(context), wire, local })
}
