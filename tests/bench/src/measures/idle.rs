//! Ten thousand idle connections.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::{Bench, Measured, columns, megabytes};
use crate::contestant::Who;
use crate::load;
use crate::meters;
use crate::report::{Finding, Section};

const MANY: usize = 10_000;
const MOST: f64 = 40e6;
const CLIENTS: usize = 4;
const SETTLE: Duration = Duration::from_secs(2);

/// Opens many connections to each program, measures its memory, and sends one more request.
///
/// # Errors
///
/// If a program does not run, or the system does not allow that many file descriptors.
pub fn idle(bench: &Bench) -> Measured {
    let mut rows = Vec::new();
    let mut findings = Vec::new();
    for who in [Who::Target, Who::Agnhost, Who::Floor] {
        let running = bench.programs.start(who, &[])?;
        let before = meters::memory(running.pid())?.resident as f64;
        let held = hold(running.address);
        std::thread::sleep(SETTLE);
        let after = meters::memory(running.pid())?.resident as f64;
        let more = held.is_ok() && ask(running.address).unwrap_or(false);
        let count = held.as_ref().map_or(0, Vec::len);
        rows.push(vec![
            who.name().to_owned(),
            held.as_ref().map_or_else(ToString::to_string, |held| held.len().to_string()),
            if more { "yes" } else { "no" }.to_owned(),
            megabytes(after),
            format!("{:.1} KB", (after - before) / 1e3 / count.max(1) as f64),
        ]);
        if who == Who::Target {
            let was = if more { "was" } else { "was not" };
            let measured =
                format!("{count} held with {} resident, one more request {was} answered", megabytes(after));
            let met = count == MANY && more && after <= MOST;
            findings.push(Finding::new("10,000 idle connections in at most 40 MB", measured, met));
        }
    }
    Ok(Section {
        title: "Idle connections",
        method: format!(
            "{MANY} connections from {CLIENTS} addresses, opened one by one. Memory is measured {} s after the last \
             one, and then one more request is sent.",
            SETTLE.as_secs()
        ),
        columns: columns(["program", "held", "one more request answered", "resident", "for each connection"]),
        rows,
        findings,
    })
}

fn hold(address: SocketAddr) -> io::Result<Vec<Socket>> {
    (0..MANY).map(|n| connect(address, u8::try_from(1 + n % CLIENTS).unwrap_or(1))).collect()
}

fn connect(address: SocketAddr, client: u8) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&load::source(client).into())?;
    socket.connect(&address.into())?;
    Ok(socket)
}

fn ask(address: SocketAddr) -> io::Result<bool> {
    let mut socket = connect(address, 9)?;
    socket.set_read_timeout(Some(Duration::from_secs(5)))?;
    socket.write_all(b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    Ok(answer.starts_with("HTTP/1.1 200 "))
}
