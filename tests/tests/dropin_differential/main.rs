//! The same requests to the Go agnhost and to the drop-in: status line, headers and body must be the same after
//! times, process ids and chosen ports are masked.
//!
//! `AGNHOST_GO=/path/to/agnhost cargo test --test dropin_differential -- --ignored`

#![expect(clippy::unwrap_used, reason = "tests")]

mod commands;
mod netexec;
mod servers;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use probity_tests::program::{Program, Stream, binary, free_port};
use probity_tests::raw_http::{Answered, get, send};

fn both() -> [PathBuf; 2] {
    let go = std::env::var_os("AGNHOST_GO").map(PathBuf::from);
    [go.filter(|path| path.is_file()).unwrap_or_else(missing), binary("agnhost-rs")]
}

fn missing() -> PathBuf {
    unreachable!("set AGNHOST_GO to the path of the Go agnhost")
}

/// Times, client ports and similar values become letters; digits that differ between runs become `#`.
fn mask(text: &str, ports: &[u16]) -> String {
    let mut text = text.to_owned();
    for (index, port) in ports.iter().enumerate() {
        text = text.replace(&port.to_string(), &format!("PORT{index}"));
    }
    let masked: Vec<String> = text.split_inclusive([' ', '\n', '"', '\'', '>']).map(mask_word).collect();
    masked.concat()
}

fn mask_word(word: &str) -> String {
    let is_client = word.starts_with("127.0.0.1:") && !word.contains("PORT");
    let is_stamp = ["m=+", "20"].iter().any(|start| word.starts_with(start))
        && word.matches(['-', '.', ':']).count() > 0
        || word.len() > 8 && word.as_bytes()[2] == b':' && word.as_bytes()[5] == b':';
    if is_client || is_stamp { "MASKED ".to_owned() } else { word.to_owned() }
}

fn shown(answered: &Answered, ports: &[u16]) -> String {
    let mut headers: Vec<_> = answered
        .headers
        .iter()
        .map(|line| if line.starts_with("Date: ") { "Date: MASKED".to_owned() } else { line.clone() })
        .collect();
    headers.sort();
    // A masked body has a different length.
    let mut body = mask(&answered.text(), ports);
    if answered.header("transfer-encoding").is_some() {
        // The length of a chunk is hexadecimal in either case.
        body.make_ascii_lowercase();
    }
    if answered.status_line.starts_with("HTTP/1.1 400 Bad Request") && answered.header("date").is_none()
        || answered.text().starts_with("400 Bad Request")
    {
        // If Go's parser rejects a request, its answer has no date and no length.
        headers.retain(|line| !line.starts_with("Content-Length") && !line.starts_with("Date"));
    }
    if body != answered.text() {
        headers.retain(|line| !line.starts_with("Content-Length"));
    }
    format!("{}\n{}\n\n{body}", answered.status_line, headers.join("\n"))
}

/// Sends a request to both and compares; returns a list of differences.
fn compare(names: &[&str; 2], servers: &[(&mut Program, Vec<u16>)], requests: &[String]) -> Vec<String> {
    let mut differences = Vec::new();
    for request in requests {
        let answers: Vec<String> = servers
            .iter()
            .map(|(_, ports)| {
                let request = request.replace("{PORT}", &ports[0].to_string());
                shown(
                    &if request.starts_with('/') {
                        get(ports[0], &request)
                    } else {
                        send(ports[0], &request)
                    },
                    ports,
                )
            })
            .collect();
        if answers[0] != answers[1] {
            differences.push(format!(
                "== {request:?}\n-- {}:\n{}\n-- {}:\n{}\n",
                names[0], answers[0], names[1], answers[1]
            ));
        }
    }
    differences
}

const NAMES: [&str; 2] = ["agnhost", "agnhost-rs"];

fn logs(program: &Program, ports: &[u16]) -> Vec<String> {
    let text = program.text(Stream::Err);
    let mut lines: Vec<_> =
        text.lines().map(|line| mask(line.split_once("] ").map_or(line, |(_, text)| text), ports)).collect();
    lines.sort();
    lines
}

fn owned(targets: &[&str]) -> Vec<String> {
    targets.iter().map(|target| (*target).to_owned()).collect()
}
