//! What judging and comparing cost as runs grow: wall time, CPU time and peak memory of `probity` on 100 to 10,000
//! histories, with one processor and with all.

pub mod child;
pub mod inputs;
pub mod page;
pub mod sizes;

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Parser;

/// Measures what judging and comparing cost as runs grow
#[derive(Parser)]
#[command(name = "bench harness")]
pub struct HarnessTold {
    /// The program `probity`
    #[arg(long)]
    probity: PathBuf,
    /// A folder with recorded histories, from which the inputs are made
    #[arg(long)]
    histories: PathBuf,
    /// Where the inputs are made; they take about three gigabytes and are removed at the end
    #[arg(long)]
    work: PathBuf,
    /// Where to write the report; otherwise it is only printed
    #[arg(long)]
    out: Option<PathBuf>,
    /// The largest run, in histories: 100, 1000 or 10000
    #[arg(long, default_value_t = 10_000)]
    most: usize,
}

/// Makes the inputs, measures, and writes the page.
///
/// # Errors
///
/// If an input cannot be made, or the program cannot be started or fails.
pub fn run(arguments: impl Iterator<Item = String>) -> io::Result<()> {
    let told = HarnessTold::parse_from(arguments);
    let before = crate::meters::load();
    // The folder is removed at the end, so nothing else may be in it.
    std::fs::create_dir(&told.work)?;
    let measured = sizes::measure(&told.probity, &told.histories, &told.work, told.most);
    std::fs::remove_dir_all(&told.work)?;
    let page = page::page(&measured?, &[before, crate::meters::load()]);
    io::stdout().lock().write_all(page.as_bytes())?;
    told.out.map_or(Ok(()), |path| std::fs::write(path, page))
}

pub use child::{WORD as CHILD, measured as child};
