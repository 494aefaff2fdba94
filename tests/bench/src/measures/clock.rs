//! Compares the times that the target writes for an arrival with the kernel's own time of the packet.
//!
//! The kernel stamps a request when it passes it to the loopback interface, which delivers it in the same step. The client
//! reads this time from the error queue of its socket, so the target is measured as it is.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::cmsg_space;
use nix::sys::socket::sockopt::Timestamping;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, TimestampingFlag, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;
use serde_json::Value;

use super::{Bench, Measured, columns};
use crate::contestant::{Running, Who};
use crate::load::Client;
use crate::report::Section;
use crate::stats::Series;

/// Requests in a round, one every [`PAUSE`].
const REQUESTS: u64 = 500;
const PAUSE: Duration = Duration::from_millis(2);

/// How long the last line may take to be printed.
const PATIENCE: Duration = Duration::from_secs(5);

/// The times that a line has for an arrival, and the columns of the quantiles.
const TIMES: [&str; 2] = ["`first_byte_us`, the arrival", "the line's own time"];
const QUANTILES: [f64; 2] = [0.5, 0.99];

/// Measures the target on an idle machine and with all processors busy.
///
/// # Errors
///
/// If the target does not run, or gives a wrong answer, or the kernel does not stamp packets.
pub fn clock(bench: &Bench) -> Measured {
    let mut rows = Vec::new();
    for (state, is_busy) in [("idle", false), ("all processors busy", true)] {
        let mut rounds = Vec::new();
        for _ in 0..bench.rounds {
            let busy = is_busy.then(Busy::start);
            rounds.push(round(bench)?);
            drop(busy);
        }
        for (at, time) in TIMES.iter().enumerate() {
            let quantiles = QUANTILES
                .map(|quantile| rounds.iter().map(|late| late[at].quantile(quantile)).collect::<Series>());
            let ends = rounds.iter().flat_map(|late| [late[at].quantile(0.0), late[at].quantile(1.0)]);
            let (earliest, latest) = ends.collect::<Series>().range();
            let mut row = vec![state.to_owned(), (*time).to_owned()];
            row.extend(quantiles.iter().map(ToString::to_string));
            row.extend([format!("{earliest:.1}"), format!("{latest:.1}")]);
            rows.push(row);
        }
    }
    Ok(Section {
        title: "How exact the time of an arrival is",
        method: format!(
            "One client sends {REQUESTS} requests, one every {} ms, {} times. Microseconds from the kernel's own time of \
             the packet (`SO_TIMESTAMPING`) to the time that the witness writes for it; negative would be too early. To \
             compare it with the kernel's time, `first_byte_us` is converted to the wall clock with the two times of \
             its line. The earliest and the latest are those of all rounds.",
            PAUSE.as_millis(),
            bench.rounds
        ),
        columns: columns(["machine", "time", "p50", "p99", "earliest", "latest"]),
        rows,
        findings: Vec::new(),
    })
}

/// How late each of [`TIMES`] was for each request of a round, in microseconds.
fn round(bench: &Bench) -> io::Result<[Series; 2]> {
    let running = bench.programs.start(Who::Target, &[])?;
    running.keep_all();
    let mut client = Client::connect(running.address)?;
    let flags = TimestampingFlag::SOF_TIMESTAMPING_TX_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_OPT_TSONLY;
    setsockopt(&client.stream, Timestamping, &flags)?;
    let mut sent = Vec::new();
    for number in 0..REQUESTS {
        client.ask(request(number).as_bytes())?;
        sent.push(sent_at(&client.stream)?);
        thread::sleep(PAUSE);
    }
    let written = written(&running)?;
    let late = |at: usize| written.iter().zip(&sent).map(|(times, sent)| times[at] - sent).collect();
    Ok([late(0), late(1)])
}

fn request(number: u64) -> String {
    format!("GET /healthz?{number} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
}

/// When the kernel sent the last packet, in microseconds of the wall clock.
fn sent_at(stream: &TcpStream) -> io::Result<f64> {
    let mut space = cmsg_space!([TimeSpec; 3], [u8; 64]);
    let message = recvmsg::<()>(stream.as_raw_fd(), &mut [], Some(&mut space), MsgFlags::MSG_ERRQUEUE)?;
    let stamp = message.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampsns(stamps) => Some(stamps.system),
        _ => None,
    });
    let stamp = stamp.ok_or_else(|| io::Error::other("the kernel did not stamp a packet"))?;
    Ok(stamp.tv_sec() as f64 * 1e6 + stamp.tv_nsec() as f64 / 1e3)
}

/// The times that the witness wrote for each request, in order, in microseconds of the wall clock.
fn written(running: &Running) -> io::Result<Vec<[f64; 2]>> {
    let until = Instant::now() + PATIENCE;
    loop {
        let times: Vec<_> = running.kept_lines().iter().filter_map(|line| times(line)).collect();
        if times.len() as u64 == REQUESTS {
            return Ok(times);
        }
        if Instant::now() > until {
            let missing = format!("the witness wrote {} of {REQUESTS} requests", times.len());
            return Err(io::Error::other(missing));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// The times of a line, if it is a request's.
fn times(line: &str) -> Option<[f64; 2]> {
    let line: Value = serde_json::from_str(line).ok()?;
    let first_byte = line["fact"]["request"]["first_byte_us"].as_f64()?;
    let (mono, wall) = (line["mono_us"].as_f64()?, line["wall_us"].as_f64()?);
    Some([wall - (mono - first_byte), wall])
}

/// Keeps all processors busy until it is dropped.
struct Busy {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let spin = |over: Arc<AtomicBool>| {
            move || {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        };
        let count = thread::available_parallelism().map_or(1, usize::from);
        let threads = (0..count).map(|_| thread::spawn(spin(Arc::clone(&over)))).collect();
        Self { over, threads }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // The threads do not panic.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_is_converted_by_both_times_of_its_line() {
        let line = r#"{"mono_us":150,"wall_us":1000050,"fact":{"request":{"first_byte_us":110}}}"#;
        assert_eq!(times(line), Some([1_000_010.0, 1_000_050.0]));
        assert_eq!(times(r#"{"mono_us":150,"wall_us":1000050,"fact":{"answer":{}}}"#), None);
        assert_eq!(times("half a li"), None);
    }
}
