//! Requests per second, and the CPU time for each request.
//!
//! The load generator and the program run on the same machine. On a machine with few processors, the cost of the load
//! generator hides much of the difference between the programs, and other processes hide more of it. The CPU time of
//! the program itself is not affected by them.

use std::io;

use super::{Bench, Measured, columns};
use crate::contestant::Who;
use crate::load::{self, Flat};
use crate::meters;
use crate::report::{Finding, Section};
use crate::stats::{self, Series};

const WHO: [Who; 4] = [Who::Target, Who::Quiet, Who::Agnhost, Who::Floor];

/// The results of one program, round by round.
#[derive(Default)]
struct Run {
    rate: Vec<f64>,
    per_cpu: Vec<f64>,
    bad: u64,
}

/// Requests on 32 connections that stay open.
///
/// # Errors
///
/// If a program does not run.
pub fn kept(bench: &Bench) -> Measured {
    let mut section = compare(bench, false)?;
    section.title = "Requests on open connections";
    Ok(section)
}

/// Requests that each have their own connection, as a kubelet sends them.
///
/// # Errors
///
/// If a program does not run.
pub fn fresh(bench: &Bench) -> Measured {
    let mut section = compare(bench, true)?;
    section.title = "Requests on a new connection each";
    section.findings.clear();
    Ok(section)
}

fn compare(bench: &Bench, fresh: bool) -> Measured {
    let mut runs: [Run; 4] = Default::default();
    for _ in 0..bench.rounds {
        for (run, who) in runs.iter_mut().zip(WHO) {
            one(bench, who, fresh, run)?;
        }
    }
    let [target, _, agnhost, floor] = &runs;
    let series = |values: &[f64]| values.iter().copied().collect::<Series>().to_string();
    let rows = WHO.iter().zip(&runs).map(|(who, run)| {
        vec![
            who.name().to_owned(),
            series(&run.rate),
            stats::ratios(&run.rate, &floor.rate).to_string(),
            series(&run.per_cpu),
            stats::ratios(&run.per_cpu, &floor.per_cpu).to_string(),
            run.bad.to_string(),
        ]
    });
    let of = |below: &Run| {
        (stats::ratios(&target.rate, &below.rate), stats::ratios(&target.per_cpu, &below.per_cpu))
    };
    let aim = |what: &str, name: &str, least: f64, ratio: &Series| {
        let aim = format!("requests per {what} at least {least} × {name}");
        Finding::of(aim, ratio, ratio.to_string(), |ratio| ratio >= least)
    };
    let ((by_agnhost, _), (by_floor, by_floor_cpu)) = (of(agnhost), of(floor));
    Ok(Section {
        title: "",
        method: format!(
            "32 clients in one thread request `/healthz` for {} s at a time, {} times for each program. The load \
             generator is part of the benchmark, so that it can also use a new connection for each request, and \
             several addresses. The witness is on, except with `--quiet`, and a thread of the benchmark reads its \
             output. *Per processor second* divides the requests by the user and system time of the program alone: it \
             measures the CPU cost of the program itself, without that of the load generator.",
            bench.lasts.as_secs(),
            bench.rounds
        ),
        columns: columns([
            "program",
            "requests/s",
            "× bare hyper",
            "requests per processor second",
            "× bare hyper",
            "bad answers",
        ]),
        rows: rows.collect(),
        findings: vec![
            aim("second", "agnhost's", 1.8, &by_agnhost),
            aim("second", "bare hyper's", 0.9, &by_floor),
            aim("processor second", "bare hyper's", 0.85, &by_floor_cpu),
        ],
    })
}

fn one(bench: &Bench, who: Who, fresh: bool, run: &mut Run) -> io::Result<()> {
    let running = bench.programs.start(who, &[])?;
    let before = meters::cpu_seconds(running.pid())?;
    let answered = load::flat(running.address, Flat { connections: 32, lasts: bench.lasts, fresh })?;
    let took = meters::cpu_seconds(running.pid())? - before;
    run.rate.push(answered.rate());
    run.per_cpu.push(answered.good as f64 / took);
    run.bad += answered.bad;
    Ok(())
}

/// How much the rates of the bare server varied.
///
/// # Errors
///
/// If it does not run.
pub fn noise(bench: &Bench) -> io::Result<f64> {
    let mut run = Run::default();
    for _ in 0..bench.rounds {
        one(bench, Who::Floor, false, &mut run)?;
    }
    Ok(run.rate.into_iter().collect::<Series>().noise())
}
