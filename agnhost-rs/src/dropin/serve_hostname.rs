//! `serve-hostname`: answers with the host's name over HTTP, or raw over TCP and UDP.
//!
//! After SIGTERM it goes on for 60 seconds, so that endpoints have time to forget it, and ends with status 0.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use http::HeaderValue;
use nix::sys::signal::Signal;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, UdpSocket};

use super::go::flags::{boolean, integer};
use super::go::http::{Answer, Asked, Body, Reply, Server, clean_redirect};
use super::go::{klog, listen, signals, text};

const LINGER: Duration = Duration::from_secs(60);

/// Flags of `serve-hostname`.
#[derive(Args, Debug)]
pub struct Flags {
    /// Serve raw over TCP
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", value_parser = boolean, action = clap::ArgAction::Set)]
    tcp: bool,
    /// Serve raw over UDP
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", value_parser = boolean, action = clap::ArgAction::Set)]
    udp: bool,
    /// Serve over HTTP
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "true", default_missing_value = "true", value_parser = boolean, action = clap::ArgAction::Set)]
    http: bool,
    /// Close the connection after each HTTP request
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", value_parser = boolean, action = clap::ArgAction::Set)]
    close: bool,
    /// Port
    #[arg(long, default_value = "9376", value_parser = integer, allow_hyphen_values = true)]
    port: i64,
}

/// Serves until SIGTERM and a minute more.
pub(super) fn run(flags: &Flags) -> ExitCode {
    if flags.http && (flags.tcp || flags.udp) {
        klog::fatal("Can't server TCP/UDP mode and HTTP mode at the same time");
    }
    signals::watch(&[Signal::SIGTERM], |signal| {
        klog::info(format!("Shutting down after receiving signal: {}.", signals::name(signal)));
        klog::info("Awaiting pod deletion.");
        std::thread::sleep(LINGER);
        std::process::exit(0);
    });
    let name: Arc<str> = text::host_name().into();
    let port = flags.port;
    super::serve(async move {
        if flags.tcp {
            let listener = listen::tcp_async(port)
                .unwrap_or_else(|e| klog::fatal(format!("Error from net.Listen(): {e}")));
            tokio::spawn(raw_tcp(listener, Arc::clone(&name)));
        }
        if flags.udp {
            let socket =
                datagrams(port).unwrap_or_else(|e| klog::fatal(format!("Error from ListenUDP(): {e}")));
            tokio::spawn(raw_udp(socket, Arc::clone(&name)));
        }
        if flags.http {
            let listener = listen::tcp_async(port).unwrap_or_else(|e| klog::fatal(e));
            tokio::spawn(over_http(listener, name, flags.close));
        }
        klog::info(format!("Serving on port {port}."));
        std::future::pending().await
    })
}

fn datagrams(port: i64) -> Result<UdpSocket, String> {
    let socket = listen::udp(None, port)?;
    socket
        .set_nonblocking(true)
        .and_then(|()| UdpSocket::from_std(socket))
        .map_err(|error| text::errno(&error))
}

async fn raw_tcp(listener: TcpListener, name: Arc<str>) {
    loop {
        match listener.accept().await {
            Ok((mut stream, peer)) => {
                klog::info(format!("TCP request from {}", listen::plain(peer)));
                // A peer that is gone already is none of our business.
                let _ = stream.write_all(name.as_bytes()).await;
            }
            Err(error) => klog::fatal(format!("Error from Accept(): {}", text::errno(&error))),
        }
    }
}

async fn raw_udp(socket: UdpSocket, name: Arc<str>) {
    let mut buffer = [0; 16];
    loop {
        match socket.recv_from(&mut buffer).await {
            Ok((_, peer)) => {
                klog::info(format!("UDP request from {}", listen::plain(peer)));
                let _ = socket.send_to(name.as_bytes(), peer).await;
            }
            Err(error) => klog::fatal(format!("Error from ReadFrom(): {}", text::errno(&error))),
        }
    }
}

async fn over_http(listener: TcpListener, name: Arc<str>, close: bool) {
    let answer = move |asked: Asked| {
        let name = Arc::clone(&name);
        async move { answer(&asked, &name, close) }
    };
    Server::new(None).run(listener, answer).await;
}

fn answer(asked: &Asked, name: &str, close: bool) -> Answer {
    if let Some(redirected) = clean_redirect(asked) {
        return redirected;
    }
    klog::info(format!("HTTP request from {}", asked.peer()));
    let mut reply = Reply::new(Body::full(name.to_owned()));
    if close {
        reply.headers_mut().insert("connection", HeaderValue::from_static("close"));
    }
    Ok(reply)
}
