//! The HTTP server of the query port. It limits connections and the time for headers, and then calls the router.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tower_service::Service as _;

use super::state::Slots;

/// Further connections are closed immediately.
const MOST_CONNECTIONS: usize = 256;
/// The head of a request must arrive within this time, counted from the accept or from the last answer.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);
/// The maximum size of a head. No valid head needs more.
const LARGEST_HEAD: usize = 16 * 1024;

/// Answers until it is dropped. Its connections are dropped with it.
pub(super) async fn listen(listener: TcpListener, router: Router) {
    let places = Slots::new(MOST_CONNECTIONS);
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let accepted: Result<(TcpStream, SocketAddr), _> = listener.accept().await;
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let Some(place) = places.take() else { continue };
        let router = router.clone();
        connections.spawn(async move {
            let _ = stream.set_nodelay(true);
            attend(stream, router).await;
            drop(place);
        });
    }
}

async fn attend(stream: TcpStream, router: Router) {
    let service = service_fn(move |request: Request<Incoming>| {
        let mut router = router.clone();
        async move { router.call(request.map(Body::new)).await }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE).max_buf_size(LARGEST_HEAD);
    // How a reader disconnects does not matter.
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}
