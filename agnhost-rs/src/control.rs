//! The control port: changes plans, reads counters and the witness, and ends the process, separately from everything
//! that is probed.
//!
//! It has its own listener, thread and runtime, so neither side can slow down the other. Every request needs the bearer
//! token. A request without it is refused and recorded. The port limits connections, headers, bodies and waits. For
//! invalid input, it returns an error or closes the connection.

mod error;
mod files;
mod metrics;
mod routes;

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::IntoResponse;
use hyper::body::Incoming;
use hyper::header::WWW_AUTHENTICATE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use probity_script::witness::{Dump, Listening, Refused};
use probity_script::{ExitWay, Fact, Span};
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tower_service::Service;

use crate::lifecycle::ShutdownGate;
use crate::meters::Meters;
use crate::stage::Stage;
use crate::token::Token;

/// The maximum number of connections. Further ones are closed immediately.
const CONNECTIONS: usize = 64;
/// A head must be complete within this time. This also ends idle connections.
const HEAD_PATIENCE: Duration = Duration::from_secs(5);
/// The maximum length of a header section.
const LARGEST_HEAD: usize = 16 * 1024;
/// If the peer does not read an answer, the connection is closed after this time.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);
/// The pause after a failed accept. The usual cause is a temporary shortage of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// An order to end the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ExitOrder {
    /// The exit status.
    pub code: u8,
    /// How the process ends.
    pub way: ExitWay,
    /// How long after the answer the process ends.
    pub after: Span,
}

/// The state that the control port uses.
pub struct Control {
    /// The plan in force, the counters and the witness.
    pub stage: Stage,
    /// Whether listeners accept connections.
    pub gate: ShutdownGate,
    /// Connection counts.
    pub meters: Meters,
    /// The token that every request must contain.
    pub token: Token,
    /// Looks at the container from inside.
    pub dump: fn() -> Dump,
    /// Ends the process now. It is called when `after` has passed.
    pub exit: Box<dyn Fn(ExitOrder) + Send + Sync>,
}

/// Serves the control port on its own thread. Returns the address.
///
/// # Errors
///
/// If the listener cannot be used or the thread cannot be started.
pub fn start(listener: TcpListener, control: Control) -> io::Result<SocketAddr> {
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    // Each connection can wait for a line or a slow volume at the same time. There are never more blocking tasks than
    // connections.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(CONNECTIONS + 8)
        .thread_keep_alive(Duration::from_secs(1))
        .build()?;
    let control = Arc::new(control);
    let state =
        Listening { listener: "control".to_owned(), address: address.to_string(), state: "open".to_owned() };
    control.stage.witness().record(&Fact::Listening(state));
    let body = move || runtime.block_on(accept(listener, control));
    std::thread::Builder::new().name("control".to_owned()).spawn(body)?;
    Ok(address)
}

async fn accept(listener: TcpListener, control: Arc<Control>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return control.stage.witness().trouble("opening the control port", &error),
    };
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut failing = false;
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Report this once, because the same error occurs again until descriptors are free.
                if !std::mem::replace(&mut failing, true) {
                    control.stage.witness().trouble("accepting a control connection", &error);
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        failing = false;
        match Arc::clone(&room).try_acquire_owned() {
            Ok(place) => {
                let control = Arc::clone(&control);
                tokio::spawn(async move {
                    serve(stream, peer, control).await;
                    drop(place);
                });
            }
            Err(_) => refuse(&control, peer, "connect", "too many control connections are open"),
        }
    }
}

async fn serve(stream: TcpStream, peer: SocketAddr, control: Arc<Control>) {
    // Both settings are optional: the port works without them.
    let _ = stream.set_nodelay(true);
    let _ = socket2::SockRef::from(&stream).set_tcp_user_timeout(Some(ANSWER_PATIENCE));
    let router = routes::router(Arc::clone(&control));
    let service = service_fn(move |request: Request<Incoming>| {
        let (control, mut router) = (Arc::clone(&control), router.clone());
        async move {
            match gate(&control, peer, &request) {
                Some(refusal) => Ok::<_, Infallible>(refusal),
                None => router.call(request).await,
            }
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_buf_size(LARGEST_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    // Hyper has already answered the peer if possible. Nothing can be done about a broken connection.
    let _ = connection.await;
}

/// Refuses a request without the token.
fn gate(control: &Control, peer: SocketAddr, request: &Request<Incoming>) -> Option<Response<Body>> {
    let why = control.token.check(request.headers()).err()?;
    refuse(control, peer, &format!("{} {}", request.method(), request.uri()), why);
    let mut answer = error::ControlError::new(StatusCode::UNAUTHORIZED, why).into_response();
    answer.headers_mut().insert(WWW_AUTHENTICATE, hyper::header::HeaderValue::from_static("Bearer"));
    Some(answer)
}

fn refuse(control: &Control, peer: SocketAddr, request: &str, why: &str) {
    // A hostile request target may be as long as a head. Its beginning is enough to identify it.
    let request = request.chars().take(256).collect();
    let refused = Refused { peer: peer.to_string(), request, why: why.to_owned() };
    control.stage.witness().record(&Fact::Refused(refused));
}

#[cfg(test)]
#[path = "control/hostile_tests.rs"]
mod hostile_tests;
#[cfg(test)]
#[path = "control/tests.rs"]
mod tests;
