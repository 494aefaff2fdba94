//! A stream of witness lines from the target to the recorder, and whether any line is lost.

use std::io;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use super::{Bench, Measured, columns};
use crate::contestant::{self, Who};
use crate::load::{self, Flat};
use crate::report::{Finding, Section};
use crate::stats::plain;

const AIM: &str = "20,000 lines/s to the recorder without loss";
const LASTS: Duration = Duration::from_secs(10);
const LEAST: f64 = 20_000.0;
const TOKEN: &str = "bench";
const PATIENCE: Duration = Duration::from_secs(10);

/// Loads the target as fast as possible and compares the number of lines at both ends of its connection.
///
/// # Errors
///
/// If a program does not run.
pub fn recorder(bench: &Bench) -> Measured {
    let mut section = Section {
        title: "Lines to the recorder",
        method: format!(
            "32 clients send requests without a pause for {} s; each request causes two lines. At the end, the number \
             of the target's last line is compared with the number of lines that the recorder received. The recorder \
             also reports how many lines are missing.",
            LASTS.as_secs()
        ),
        columns: columns([
            "lines written",
            "lines/s",
            "received by the recorder",
            "missing",
            "lost by the target",
        ]),
        ..Section::default()
    };
    let help = Command::new(&bench.programs.target).args(["recorder", "--help"]).output()?;
    if !help.status.success() {
        section.findings.push(Finding::unmeasured(AIM, "this build has no recorder"));
        return Ok(section);
    }
    let (ingest, query) = (contestant::free_port()?, contestant::free_port()?);
    let mut command = Command::new(&bench.programs.target);
    command.args(["recorder", "--address", "127.0.0.1", "--memory", "64MiB", "--token", TOKEN]);
    command.args(["--ingest-port", &ingest.to_string(), "--query-port", &query.to_string()]);
    let recorder = contestant::run(&mut command, query)?;
    let target = bench
        .programs
        .start(Who::Target, &["--recorder", &format!("127.0.0.1:{ingest}"), "--token", TOKEN])?;
    let answered = load::flat(target.address, Flat { connections: 32, lasts: LASTS, fresh: false })?;
    let (made, taken, missing) = settle(&target, recorder.address)?;
    let rate = 2.0 * answered.rate();
    let lost = made.abs_diff(taken);
    section.rows.push(vec![
        made.to_string(),
        plain(rate),
        taken.to_string(),
        missing.to_string(),
        lost.to_string(),
    ]);
    let measured = format!("{} lines/s, {made} made, {taken} taken, {missing} missing", plain(rate));
    section.findings.push(Finding::new(AIM, measured, rate >= LEAST && lost == 0 && missing == 0));
    Ok(section)
}

/// Waits until the recorder has all lines of the target, or until no more arrive.
fn settle(target: &contestant::Running, recorder: SocketAddr) -> io::Result<(u64, u64, u64)> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let made = made(target)?;
        let text = metrics(recorder)?;
        let (taken, missing) = (counter(&text, "lines_total"), counter(&text, "missing_lines_total"));
        if made == taken || Instant::now() >= deadline {
            return Ok((made, taken, missing));
        }
    }
}

/// How many lines the target has written, according to the number of its last line.
fn made(target: &contestant::Running) -> io::Result<u64> {
    let line = target.last_line().unwrap_or_default();
    let line: serde_json::Value = serde_json::from_str(&line)?;
    line["seq"]
        .as_u64()
        .map(|seq| seq + 1)
        .ok_or_else(|| io::Error::other("the target's last line has no number"))
}

fn metrics(recorder: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(recorder)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "GET /metrics HTTP/1.1\r\nHost: r\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n"
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

fn counter(text: &str, name: &str) -> u64 {
    let name = format!("probity_recorder_{name} ");
    let value = text.lines().find_map(|line| line.strip_prefix(&name));
    value.and_then(|value| value.trim().parse::<f64>().ok()).map_or(0, |value| value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_by_its_whole_name() {
        let text = "probity_recorder_missing_lines_total 3\nprobity_recorder_lines_total 41\n";
        assert_eq!((counter(text, "lines_total"), counter(text, "missing_lines_total")), (41, 3));
    }
}
