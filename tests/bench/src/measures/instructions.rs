//! Counts the instructions of a request with valgrind's callgrind. Unlike times, the count hardly depends on what else the
//! machine does.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Bench, Measured, columns};
use crate::contestant::{self, Who};
use crate::load::{Client, KEPT};
use crate::report::Section;
use crate::stats::{self, Series};

/// The difference between the numbers of requests of the two runs, and the number that both have. The latter cancels
/// out, as does the start.
const COUNTED: u32 = 2_000;
const COMMON: u32 = 500;

/// How long a program may take to end, and valgrind to write its result.
const PATIENCE: Duration = Duration::from_secs(30);

/// Counts in the target with and without its witness, and in the bare server.
///
/// # Errors
///
/// If a program does not run under valgrind, or gives a wrong answer.
pub fn instructions(bench: &Bench) -> Measured {
    let contestants = [Who::Target, Who::Quiet, Who::Floor];
    let mut counts: [Vec<f64>; 3] = Default::default();
    if is_installed() {
        for _ in 0..bench.rounds.min(3) {
            for (counts, who) in counts.iter_mut().zip(contestants) {
                counts.push(count(bench, who)?);
            }
        }
    }
    let rows = contestants.iter().zip(&counts).map(|(who, own)| {
        let series: Series = own.iter().copied().collect();
        vec![who.name().to_owned(), series.to_string(), stats::ratios(own, &counts[2]).to_string()]
    });
    Ok(Section {
        title: "Instructions for a request",
        method: format!(
            "Counted by valgrind's callgrind, in user space, with one request at a time on one open connection. The \
             difference between a run with {COMMON} and one with {} requests, for each request; up to 3 times. Without \
             valgrind, the table shows `-`.",
            COMMON + COUNTED
        ),
        columns: columns(["program", "instructions", "× bare hyper"]),
        rows: rows.collect(),
        findings: Vec::new(),
    })
}

fn is_installed() -> bool {
    let asked = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

/// The instructions of one request.
fn count(bench: &Bench, who: Who) -> io::Result<f64> {
    let few = total(bench, who, COMMON)?;
    let many = total(bench, who, COMMON + COUNTED)?;
    Ok((many - few) / f64::from(COUNTED))
}

/// The instructions of a program from its start to its end, with this many requests.
fn total(bench: &Bench, who: Who, requests: u32) -> io::Result<f64> {
    let port = contestant::free_port()?;
    let path = std::env::temp_dir().join(format!("callgrind.{}.{port}", std::process::id()));
    let mut command = under_valgrind(&bench.programs.command(who, port), &path);
    let running = contestant::run(&mut command, port)?;
    let mut client = Client::connect(running.address)?;
    for _ in 0..requests {
        client.ask(KEPT)?;
    }
    drop(client);
    let pid = Pid::from_raw(i32::try_from(running.pid()).unwrap_or(i32::MAX));
    kill(pid, Signal::SIGTERM)?;
    let counted = wait_for(&path);
    // Whatever happened, this file is of no further use.
    let _ = fs::remove_file(&path);
    counted
}

/// The same command under valgrind, which writes its result to a file.
fn under_valgrind(command: &Command, path: &Path) -> Command {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--fair-sched=yes"]);
    valgrind.arg(format!("--callgrind-out-file={}", path.display()));
    valgrind.arg(command.get_program()).args(command.get_args());
    valgrind.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    valgrind
}

fn wait_for(path: &Path) -> io::Result<f64> {
    let until = Instant::now() + PATIENCE;
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        if let Some(total) = total_of(&text) {
            return Ok(total);
        }
        if Instant::now() > until {
            return Err(io::Error::other("valgrind wrote no result"));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// The sum that a complete result of callgrind ends with.
fn total_of(text: &str) -> Option<f64> {
    let line = text.lines().rev().find_map(|line| line.strip_prefix("totals:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_complete_once_it_has_its_totals() {
        assert_eq!(total_of("version: 1\nsummary: 12\nfn=(1)\n1 12\ntotals: 12\n"), Some(12.0));
        assert_eq!(total_of("version: 1\nsummary: 12\nfn=(1)\n"), None);
    }
}
