//! `tcp-reset`: reads one byte of each connection and closes it; the unread data makes the kernel send RST.
//!
//! Connections are served concurrently. Unlike in agnhost, a silent peer does not delay the others.

use std::process::ExitCode;

use clap::Args;
use nix::sys::signal::Signal;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::go::flags::integer;
use super::go::{klog, listen, signals, text};

/// The flags of `tcp-reset`.
#[derive(Args, Debug)]
pub struct TcpResetFlags {
    /// Port
    #[arg(long, default_value = "8080", value_parser = integer, allow_hyphen_values = true)]
    port: i64,
}

/// Serves until SIGTERM.
pub(super) fn run(flags: &TcpResetFlags) -> ExitCode {
    signals::watch(&[Signal::SIGTERM], |signal| {
        klog::info(format!("Shutting down after receiving signal: {}.", signals::name(signal)));
        klog::info("Awaiting pod deletion.");
        std::process::exit(0);
    });
    let port = flags.port;
    super::serve(async move {
        let listener = listen::tcp_async(port)
            .unwrap_or_else(|error| klog::fatal(format!("Error from net.Listen(): {error}")));
        klog::info(format!("Serving on port {port}."));
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => drop(tokio::spawn(reset(stream, listen::plain(peer).to_string()))),
                Err(error) => klog::fatal(format!("Error from Accept(): {}", text::errno(&error))),
            }
        }
    })
}

async fn reset(mut stream: TcpStream, peer: String) {
    // Whether or not a byte came, the connection is closed now.
    let _ = stream.read(&mut [0]).await;
    drop(stream);
    klog::info(format!("TCP request from {peer}"));
}
