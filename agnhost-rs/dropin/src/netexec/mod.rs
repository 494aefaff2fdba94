//! `netexec`: many small endpoints over HTTP(S), and four commands over UDP and SCTP.
//!
//! It refuses `/shell` and `/upload` with 403 and a sentence, because this program runs no shell commands and stores no
//! uploaded files.

mod commands;
mod dial;
mod exit;
mod routes;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use nix::sys::signal::Signal;

use super::go::flags::integer;
use super::go::http::{HttpRequest, Server};
use super::go::{klog, listen, signals, tls};

/// The flags of `netexec`.
#[derive(Args, Debug)]
pub struct NetexecFlags {
    /// Port of HTTP or HTTPS
    #[arg(long, alias = "http_port", default_value = "8080", value_parser = integer, allow_hyphen_values = true)]
    http_port: i64,
    /// Port of UDP; none if -1
    #[arg(long, alias = "udp_port", default_value = "8081", value_parser = integer, allow_hyphen_values = true)]
    udp_port: i64,
    /// Port of SCTP; none if -1
    #[arg(long, alias = "sctp_port", default_value = "-1", value_parser = integer, allow_hyphen_values = true)]
    sctp_port: i64,
    /// Certificate chain (PEM), which enables HTTPS
    #[arg(long, alias = "tls_cert_file", default_value = "", hide_default_value = true)]
    tls_cert_file: String,
    /// Key of the certificate (PEM)
    #[arg(long, alias = "tls_private_key_file", default_value = "", hide_default_value = true)]
    tls_private_key_file: String,
    /// Answer every request as if it were a GET of this path and query
    #[arg(long, alias = "http_override", default_value = "", hide_default_value = true)]
    http_override: String,
    /// Addresses for UDP, separated by commas; all addresses if empty
    #[arg(long, alias = "udp_listen_addresses", default_value = "", hide_default_value = true)]
    udp_listen_addresses: String,
    /// Seconds to keep running after SIGTERM, with /readyz answering 503
    #[arg(long, alias = "delay_shutdown", default_value = "0", value_parser = integer, allow_hyphen_values = true)]
    delay_shutdown: i64,
}

/// The shared state of the endpoints.
struct NetexecState {
    http_port: i64,
    http_override: String,
    /// Whether a UDP or SCTP server has started.
    ready: AtomicBool,
    terminating: AtomicBool,
    server: Server,
}

/// Serves until a signal or a request ends the process.
pub(super) fn run(flags: NetexecFlags) -> ExitCode {
    let encrypted = !flags.tls_cert_file.is_empty();
    let config = encrypted
        .then(|| tls::server(&flags.tls_cert_file, &flags.tls_private_key_file, &[b"h2", b"http/1.1"]))
        .transpose();
    // A wrong certificate is reported where agnhost reports it: after the port was opened.
    let (config, wrong) = match config {
        Ok(config) => (config, None),
        Err(error) => (None, Some(error)),
    };
    let state = Arc::new(NetexecState {
        http_port: flags.http_port,
        http_override: flags.http_override.clone(),
        ready: AtomicBool::new(false),
        terminating: AtomicBool::new(false),
        server: Server::new(config),
    });
    end_on_sigterm(Arc::clone(&state), flags.delay_shutdown);
    super::serve(serve(flags, state, wrong))
}

fn end_on_sigterm(state: Arc<NetexecState>, delay: i64) {
    signals::watch(&[Signal::SIGTERM], move |_| {
        state.terminating.store(true, Ordering::SeqCst);
        if let Some(seconds) = u64::try_from(delay).ok().filter(|seconds| *seconds > 0) {
            klog::info(format!("Sleeping {seconds} seconds before terminating..."));
            std::thread::sleep(Duration::from_secs(seconds));
        }
        std::process::exit(0);
    });
}

async fn serve(flags: NetexecFlags, state: Arc<NetexecState>, wrong: Option<String>) -> ExitCode {
    if flags.udp_port != -1 {
        for address in addresses(&flags.udp_listen_addresses) {
            tokio::spawn(commands::over_udp(address, flags.udp_port, Arc::clone(&state)));
        }
    }
    if flags.sctp_port != -1 {
        let state = Arc::clone(&state);
        std::thread::spawn(move || commands::over_sctp(flags.sctp_port, &state));
    }
    klog::info(format!("Started HTTP server on port {}", flags.http_port));
    let listener = listen::tcp_async(flags.http_port).unwrap_or_else(|error| klog::fatal(error));
    if let Some(error) = wrong {
        klog::fatal(error);
    }
    let shared = Arc::clone(&state);
    let answer = move |request: HttpRequest| {
        let state = Arc::clone(&shared);
        async move { routes::answer(request, &state).await }
    };
    state.server.run(listener, answer).await;
    // A request to /exit stopped the server, and ends the process when its time is over.
    std::future::pending().await
}

/// The addresses of a list, sorted by their text and without duplicates. If the list is empty, a single `None` stands
/// for all addresses.
fn addresses(list: &str) -> Vec<Option<(String, IpAddr)>> {
    if list.is_empty() {
        return vec![None];
    }
    let texts: BTreeSet<&str> = list.split(',').collect();
    let parsed = texts.into_iter().map(|text| match sloppy(text) {
        Some(ip) => Some((text.to_owned(), ip)),
        None => klog::fatal(format!("parseAddress: invalid address {text}")),
    });
    parsed.collect()
}

/// An address. The parts of an IPv4 address may have leading zeros.
fn sloppy(text: &str) -> Option<IpAddr> {
    let plain = |part: &str| match part.trim_start_matches('0') {
        "" if !part.is_empty() => "0".to_owned(),
        rest => rest.to_owned(),
    };
    let text = if text.contains(':') {
        text.to_owned()
    } else {
        text.split('.').map(plain).collect::<Vec<_>>().join(".")
    };
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::sloppy;

    #[test]
    fn addresses_may_have_zeros_in_front() {
        assert_eq!(sloppy("010.0.00.1").map(|ip| ip.to_string()).as_deref(), Some("10.0.0.1"));
        assert_eq!(sloppy("::1").map(|ip| ip.to_string()).as_deref(), Some("::1"));
        assert_eq!(sloppy("localhost"), None);
        assert_eq!(sloppy("1..2.3"), None);
    }
}
