//! Measures how much time the witness adds to an answer at a moderate rate.

use super::{Bench, Measured, columns};
use crate::contestant::Who;
use crate::load;
use crate::report::{Finding, Section};
use crate::stats::{self, Series};

const JUDGED: u32 = 2_000;
const RATES: [u32; 2] = [500, JUDGED];

/// Quantiles in microseconds, round by round.
#[derive(Default)]
struct Run {
    half: Vec<f64>,
    p99: Vec<f64>,
}

/// Measures the target with and without its witness, request by request in turns.
///
/// # Errors
///
/// If the target does not run, or gives a wrong answer.
pub fn latency(bench: &Bench) -> Measured {
    let mut rows = Vec::new();
    let mut findings = Vec::new();
    for rate in RATES {
        let mut runs: [Run; 2] = Default::default();
        for _ in 0..bench.rounds {
            let started = [bench.programs.start(Who::Target, &[])?, bench.programs.start(Who::Quiet, &[])?];
            let addresses = started.each_ref().map(|running| running.address);
            for (run, histogram) in runs.iter_mut().zip(load::pair(addresses, rate, bench.lasts)?) {
                run.half.push(histogram.value_at_quantile(0.5) as f64 / 1e3);
                run.p99.push(histogram.value_at_quantile(0.99) as f64 / 1e3);
            }
        }
        let [loud, quiet] = &runs;
        let added = stats::differences(&loud.p99, &quiet.p99);
        let series = |values: &[f64]| values.iter().copied().collect::<Series>().to_string();
        for (name, run) in [("witness on", loud), ("`--quiet`", quiet)] {
            rows.push(vec![rate.to_string(), name.to_owned(), series(&run.half), series(&run.p99)]);
        }
        let halves = stats::differences(&loud.half, &quiet.half).to_string();
        rows.push(vec![rate.to_string(), "added".to_owned(), halves, added.to_string()]);
        if rate == JUDGED {
            let aim = format!("the witness adds at most 10 µs at p99, {rate} requests/s");
            findings.push(Finding::of(aim, &added, format!("{added} µs"), |added| added <= 10.0));
        }
    }
    Ok(Section {
        title: "What the witness adds to an answer",
        method: format!(
            "Two targets run at the same time, one with its witness and one without. One client sends requests to both \
             in turns, each at a fixed rate, for {} s at a time, {} times. Which of them goes first changes from turn \
             to turn, so whatever else the machine does slows both alike. Times are in microseconds; differences are \
             calculated for each round.",
            bench.lasts.as_secs(),
            bench.rounds
        ),
        columns: columns(["requests/s", "program", "p50", "p99"]),
        rows,
        findings,
    })
}
