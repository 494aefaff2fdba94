//! How large the target is on disk and in memory, and how soon it answers.

use std::thread;
use std::time::Duration;

use super::{Bench, Measured, columns, megabytes};
use crate::contestant::Who;
use crate::meters;
use crate::report::{Finding, Section};
use crate::stats::{self, Series};

const LARGEST_IMAGE: u64 = 8_000_000;
const REST: Duration = Duration::from_secs(5);
const STARTS: usize = 31;

/// The sizes of programs and image.
///
/// # Errors
///
/// None today; all measures have this form.
pub fn size(bench: &Bench) -> Measured {
    let aim = "image at most 8 MB";
    let image = meters::size(&bench.image);
    let finding = match image {
        Some(bytes) => Finding::new(aim, megabytes(bytes as f64), bytes <= LARGEST_IMAGE),
        None => Finding::unmeasured(aim, "no image; `ci/image` builds it"),
    };
    let program = meters::size(&bench.programs.target).unwrap_or(u64::MAX);
    let unpacked =
        Finding::new("program at most 8 MB unpacked", megabytes(program as f64), program <= LARGEST_IMAGE);
    let cell = |bytes: Option<u64>| bytes.map_or("-".to_owned(), |bytes| megabytes(bytes as f64));
    let row = |name: &str, bytes| vec![name.to_owned(), cell(bytes)];
    Ok(Section {
        title: "Size",
        method:
            "The sizes of the files. agnhost's image contains more than its program; only the program is counted \
             here."
                .to_owned(),
        columns: columns(["what", "size"]),
        rows: vec![
            row("agnhost-rs, image", image),
            row("agnhost-rs, program", meters::size(&bench.programs.target)),
            row("agnhost, program", meters::size(&bench.programs.agnhost)),
        ],
        findings: vec![finding, unpacked],
    })
}

/// Memory after a pause, with one listener and no connections.
///
/// # Errors
///
/// If a program does not run.
pub fn memory(bench: &Bench) -> Measured {
    let contestants = [Who::Target, Who::Agnhost, Who::Floor];
    let mut resident: [Vec<f64>; 3] = Default::default();
    let mut proportional: [Vec<f64>; 3] = Default::default();
    for _ in 0..bench.rounds.min(3) {
        let running = contestants.map(|who| bench.programs.start(who, &[]));
        thread::sleep(REST);
        for (at, running) in running.into_iter().enumerate() {
            let memory = meters::memory(running?.pid())?;
            resident[at].push(memory.resident as f64);
            proportional[at].push(memory.proportional as f64);
        }
    }
    let cell = |values: &[f64]| megabytes(values.iter().copied().collect::<Series>().median());
    let rows = contestants
        .iter()
        .enumerate()
        .map(|(at, who)| vec![who.name().to_owned(), cell(&resident[at]), cell(&proportional[at])]);
    let share = stats::ratios(&resident[1], &resident[0]);
    let own: Series = resident[0].iter().map(|bytes| bytes / 1e6).collect();
    Ok(Section {
        title: "Idle memory",
        method: "Measured five seconds after the start, with one listener. *Proportional* divides shared pages among the processes that share them.".to_owned(),
        columns: columns(["program", "resident", "proportional"]),
        rows: rows.collect(),
        findings: vec![
            Finding::of("idle with at most 5 MB resident", &own, format!("{own} MB"), |own| own <= 5.0),
            Finding::of("idle memory at most a sixth of agnhost's", &share, format!("agnhost takes {share} times as much"), |share| share >= 6.0),
        ],
    })
}

/// The time from just before the start of the process to its first accepted connection.
///
/// # Errors
///
/// If a program does not run.
pub fn start(bench: &Bench) -> Measured {
    let contestants = [Who::Target, Who::Agnhost, Who::Floor];
    let mut took: [Vec<f64>; 3] = Default::default();
    for _ in 0..STARTS {
        for (at, who) in contestants.into_iter().enumerate() {
            took[at].push(bench.programs.start(who, &[])?.started_in.as_secs_f64() * 1e3);
        }
    }
    let series: Vec<Series> = took.iter().map(|took| took.iter().copied().collect()).collect();
    let by_floor = stats::ratios(&took[0], &took[2]);
    let rows =
        contestants.iter().zip(&series).map(|(who, series)| vec![who.name().to_owned(), series.to_string()]);
    Ok(Section {
        title: "Start",
        method: format!(
            "Each program is started {STARTS} times, alternating between the programs. From just before the \
             start, a client tries to connect without a pause until a connection is accepted."
        ),
        columns: columns(["program", "milliseconds"]),
        rows: rows.collect(),
        findings: vec![Finding::of(
            "first connection accepted within 1.2 × bare hyper's time",
            &by_floor,
            format!("{by_floor}; agnhost takes {} times as long", stats::ratios(&took[1], &took[0])),
            |ratio| ratio <= 1.2,
        )],
    })
}
