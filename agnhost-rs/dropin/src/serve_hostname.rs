//! `serve-hostname`: answers with the host's name over HTTP, or without a protocol over TCP and UDP.
//!
//! After SIGTERM it serves for 60 more seconds, so that it can be removed from endpoints, and exits with status 0.

use std::future::ready;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use http::HeaderValue;
use nix::sys::signal::Signal;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, UdpSocket};

use super::go::flags::{boolean, integer};
use super::go::http::{HttpRequest, HttpResult, Server, clean_redirect, ok};
use super::go::{klog, listen, signals, text};

const LINGER: Duration = Duration::from_secs(60);

/// The flags of `serve-hostname`.
#[derive(Args, Debug)]
pub struct ServeHostnameFlags {
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

/// Serves until SIGTERM, and for one more minute.
pub(super) fn run(flags: &ServeHostnameFlags) -> ExitCode {
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
            let socket = listen::udp_async(None, port)
                .unwrap_or_else(|e| klog::fatal(format!("Error from ListenUDP(): {e}")));
            tokio::spawn(raw_udp(socket, Arc::clone(&name)));
        }
        if flags.http {
            let listener = listen::tcp_async(port).unwrap_or_else(|e| klog::fatal(e));
            let close = flags.close;
            let handler = move |request: HttpRequest| ready(answer(&request, &name, close));
            tokio::spawn(async move { Server::new(None).run(listener, handler).await });
        }
        klog::info(format!("Serving on port {port}."));
        std::future::pending().await
    })
}

async fn raw_tcp(listener: TcpListener, name: Arc<str>) {
    loop {
        match listener.accept().await {
            Ok((mut stream, peer)) => {
                klog::info(format!("TCP request from {}", listen::plain(peer)));
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

fn answer(request: &HttpRequest, name: &str, close: bool) -> HttpResult {
    if let Some(redirected) = clean_redirect(request) {
        return redirected;
    }
    klog::info(format!("HTTP request from {}", request.peer()));
    let mut response = ok(name.to_owned());
    if close {
        response.headers_mut().insert("connection", HeaderValue::from_static("close"));
    }
    Ok(response)
}
