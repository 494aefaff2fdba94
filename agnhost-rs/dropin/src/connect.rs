//! `connect`: opens one connection and reports in one word what went wrong: UNKNOWN, TIMEOUT, DNS, REFUSED or OTHER.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use clap::Args;

use super::go::flags::duration;
use super::go::{resolve, sctp, signals, text};

/// Room for an answer.
const ROOM: usize = 1024;

/// The flags of `connect`.
#[derive(Args, Debug)]
pub struct ConnectFlags {
    /// Where to connect: host:port
    #[arg(value_name = "HOST:PORT")]
    target: String,
    /// Longest time to wait; 0 waits as long as the system does
    #[arg(long, default_value = "0s", value_parser = duration)]
    timeout: Duration,
    /// Protocol: tcp, udp or sctp
    #[arg(long, default_value = "tcp")]
    protocol: String,
    /// What to send over UDP
    #[arg(long, alias = "udp_data", default_value = "hostname", allow_hyphen_values = true)]
    udp_data: String,
    /// What to send over SCTP
    #[arg(long, alias = "sctp_data", default_value = "hostname", allow_hyphen_values = true)]
    sctp_data: String,
}

/// Connects. The status is 0 on success; otherwise it is 1, and the word is printed on standard error.
pub(super) fn run(flags: &ConnectFlags) -> ExitCode {
    signals::end_by_default();
    let limit = Some(flags.timeout).filter(|limit| !limit.is_zero());
    let outcome = match flags.protocol.as_str() {
        "" | "tcp" => over_tcp(&flags.target, limit),
        "udp" => over_udp(&flags.target, limit, &flags.udp_data),
        "sctp" => over_sctp(&flags.target, flags.timeout, &flags.sctp_data),
        other => Err(format!("Unsupported protocol\n{other}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            // Without standard error, only the status reports the failure.
            let _ = io::stderr().lock().write_all(words.as_bytes());
            ExitCode::FAILURE
        }
    }
}

fn over_tcp(target: &str, limit: Option<Duration>) -> Result<(), String> {
    let (host, port) = resolve::split_host_port(target).map_err(|error| format!("UNKNOWN: {error}\n"))?;
    let addresses = resolve::addresses("tcp", host, port).map_err(|error| format!("DNS: {error}\n"))?;
    let mut first = None;
    for address in &addresses {
        let tried = match limit {
            Some(limit) => TcpStream::connect_timeout(address, limit),
            None => TcpStream::connect(address),
        };
        match tried {
            Ok(_) => return Ok(()),
            Err(error) => first = first.or(Some((*address, error))),
        }
    }
    Err(first.map_or_else(|| "OTHER: no address\n".to_owned(), |(address, error)| tcp_words(address, &error)))
}

fn tcp_words(address: SocketAddr, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "TIMEOUT\n".to_owned(),
        io::ErrorKind::ConnectionRefused => "REFUSED\n".to_owned(),
        _ => format!("OTHER: dial tcp {address}: connect: {}\n", text::errno(error)),
    }
}

fn over_udp(target: &str, limit: Option<Duration>, data: &str) -> Result<(), String> {
    let address = resolve::split_host_port(target)
        .and_then(|(host, port)| resolve::addresses("udp", host, port))
        .map_err(|error| format!("DNS: {error}\n"))?[0];
    let any: SocketAddr = if address.is_ipv4() { ([0; 4], 0).into() } else { ([0_u16; 8], 0).into() };
    let opened = UdpSocket::bind(any).and_then(|socket| {
        socket.set_read_timeout(limit)?;
        socket.connect(address)?;
        Ok(socket)
    });
    let other = |error: io::Error| format!("OTHER: dial udp {address}: connect: {}\n", text::errno(&error));
    let socket = opened.map_err(other)?;
    let from = socket.local_addr().map_or_else(|_| String::new(), |local| local.to_string());
    let words = |step: &str, error: &io::Error| udp_words(step, &format!("{from}->{address}"), error);
    socket.send(format!("{data}\n").as_bytes()).map_err(|error| words("write", &error))?;
    match socket.recv(&mut [0; ROOM]) {
        Ok(0) => Err(
            "OTHER: No data received from the server. Cannot guarantee the server received the request.\n"
                .into(),
        ),
        Ok(_) => Ok(()),
        Err(error) => Err(words("read", &error)),
    }
}

fn udp_words(step: &str, ends: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("TIMEOUT: {step} udp {ends}: i/o timeout\n")
        }
        io::ErrorKind::ConnectionRefused => {
            format!("REFUSED: {step} udp {ends}: {step}: {}\n", text::errno(error))
        }
        _ => format!("UNKNOWN: {step} udp {ends}: {step}: {}\n", text::errno(error)),
    }
}

/// As in agnhost, a limit of 0 expires immediately.
fn over_sctp(target: &str, limit: Duration, data: &str) -> Result<(), String> {
    let address = resolve::split_host_port(target)
        .and_then(|(host, port)| resolve::addresses("sctp", host, port))
        .map_err(|error| format!("DNS: {error}\n"))?[0];
    let (tell, told) = mpsc::channel();
    let request = format!("{data}\n").into_bytes();
    std::thread::spawn(move || {
        let outcome = sctp::connect(sctp::SCTP, address)
            .and_then(|socket| sctp::exchange(&socket, &request, ROOM, None))
            .map(drop);
        // Nobody receives this if the limit has expired.
        let _ = tell.send(outcome);
    });
    match told.recv_timeout(limit) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(format!("OTHER: {}\n", text::errno(&error))),
        Err(_) => Err("TIMEOUT\n".to_owned()),
    }
}
