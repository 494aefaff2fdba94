//! The floor: the smallest HTTP server on this stack. It answers `ok` to every request and records nothing.
//!
//! It is hyper on a tokio runtime with as many workers as the target has, without routing, a plan or a witness. The
//! additional time that the target needs is the cost of its features.

use std::convert::Infallible;
use std::net::Ipv4Addr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::service::service_fn;
use hyper::{Response, server::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

fn main() -> std::io::Result<()> {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u16>());
    let (Some(Ok(port)), Some(Ok(workers))) = (numbers.next(), numbers.next()) else {
        return Err(std::io::Error::other("usage: floor PORT WORKERS"));
    };
    let workers = usize::from(workers.max(1));
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()?
        .block_on(serve(port))
}

async fn serve(port: u16) -> std::io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await?;
    let ok = async |_| Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"ok"))));
    loop {
        let (stream, _) = listener.accept().await?;
        let _ = stream.set_nodelay(true);
        // This server records nothing, so it ignores a broken connection.
        tokio::spawn(async move {
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(ok)).await)
        });
    }
}
