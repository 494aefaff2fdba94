//! Measures the target against agnhost and against a bare server, in one run on one machine.
//!
//! `ci/bench target` builds the programs and calls this. It judges only the aims, and changes no program.

pub mod contestant;
pub mod harness;
pub mod load;
pub mod measures;
pub mod meters;
pub mod report;
pub mod stats;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use contestant::Programs;
use measures::{Bench, Measured};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use report::{Section, Setting};

/// Measures the target against agnhost and against a bare server
#[derive(Parser)]
struct Told {
    /// The target's program
    #[arg(long)]
    target: PathBuf,
    /// The Go agnhost's program
    #[arg(long)]
    agnhost: PathBuf,
    /// The version of the Go agnhost, for the report
    #[arg(long)]
    agnhost_version: String,
    /// The bare server's program
    #[arg(long)]
    floor: PathBuf,
    /// The target's image
    #[arg(long)]
    image: PathBuf,
    /// Where to write the report; otherwise it is only printed
    #[arg(long)]
    out: Option<PathBuf>,
    /// How many rounds of the programs to run
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// How many seconds one load lasts
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Only these measures: size, memory, start, kept, fresh, latency, instructions, clock, idle,
    /// recorder
    #[arg(long)]
    only: Vec<String>,
}

type Measure = fn(&Bench) -> Measured;

const MEASURES: [(&str, Measure); 10] = [
    ("size", measures::size),
    ("memory", measures::memory),
    ("start", measures::start),
    ("kept", measures::kept),
    ("fresh", measures::fresh),
    ("latency", measures::latency),
    ("instructions", measures::instructions),
    ("clock", measures::clock),
    ("idle", measures::idle),
    ("recorder", measures::recorder),
];

fn main() -> ExitCode {
    let arguments = std::env::args().skip(1);
    let done = match std::env::args().nth(1).as_deref() {
        Some("harness") => harness::run(arguments),
        Some(harness::CHILD) => harness::child(arguments.skip(1)),
        _ => run(&Told::parse()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If this fails, there is nowhere left to report it.
            let _ = writeln!(io::stderr(), "bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(told: &Told) -> io::Result<()> {
    raise_descriptor_limit();
    let programs =
        Programs { target: told.target.clone(), agnhost: told.agnhost.clone(), floor: told.floor.clone() };
    let lasts = Duration::from_secs(told.seconds.max(1));
    let bench = Bench { programs, image: told.image.clone(), rounds: told.rounds.max(1), lasts };
    let before = meters::load();
    let noise = measures::noise(&bench)?;
    let sections = measure(&bench, &told.only)?;
    let setting = Setting {
        machine: meters::machine(),
        load: [before, meters::load()],
        rounds: bench.rounds,
        agnhost: told.agnhost_version.clone(),
        noise,
    };
    let page = report::page(&setting, &sections);
    io::stdout().lock().write_all(page.as_bytes())?;
    told.out.as_ref().map_or(Ok(()), |path| std::fs::write(path, page))
}

fn measure(bench: &Bench, only: &[String]) -> io::Result<Vec<Section>> {
    if let Some(strange) = only.iter().find(|name| MEASURES.iter().all(|(known, _)| known != name)) {
        return Err(io::Error::other(format!("there is no measure `{strange}`; --help names them")));
    }
    let wanted = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
    let mut sections = Vec::new();
    for (name, measure) in MEASURES.into_iter().filter(|(name, _)| wanted(name)) {
        writeln!(io::stderr(), "bench: {name}")?;
        sections
            .push(measure(bench).map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?);
    }
    Ok(sections)
}

/// Raises the limit of file descriptors, because ten thousand connections need as many descriptors in this process.
fn raise_descriptor_limit() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // If it stays low, the measure that needs it reports this.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}
