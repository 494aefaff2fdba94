//! The commands that are measured, and the sizes of their inputs.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use super::child::{Cost, cost};
use super::inputs::{self, Recorded};

/// The sizes of the inputs.
const SIZES: [usize; 3] = [100, 1_000, 10_000];
/// The largest number of reports for `matrix`, and of histories for `report --check`, `verify` and `diff`.
const MOST: usize = 1_000;
/// The number of histories behind each report of a matrix: a report grows with its histories.
const OF_A_REPORT: usize = 5;

/// What a command costs on inputs of one size.
#[derive(Clone, Debug)]
pub struct Sized {
    /// The number of histories or reports.
    pub size: usize,
    /// With one processor.
    pub one: Cost,
    /// With all processors.
    pub all: Cost,
}

/// What a command costs.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The command in words.
    pub command: &'static str,
    /// What its size counts.
    pub of: &'static str,
    /// Whether its result grows with the size, so that its memory must grow, too.
    pub grows: bool,
    /// The costs, the smallest size first.
    pub sizes: Vec<Sized>,
}

/// Measures every command.
///
/// # Errors
///
/// If an input cannot be made, or a command fails.
pub fn measure(probity: &Path, histories: &Path, work: &Path, most: usize) -> io::Result<Vec<Measured>> {
    let recorded = inputs::recorded(histories)?;
    let new = |command, of, grows| Measured { command, of, grows, sizes: Vec::new() };
    let mut judge = new("judge FOLDER/history", "histories", false);
    let mut judge_run = new("judge FOLDER", "histories", false);
    let mut report = new("report FOLDER", "histories", true);
    let mut check = new("report FOLDER --check", "histories", true);
    let mut verify = new("verify FOLDER", "histories", true);
    let mut diff = new("diff OLDER NEWER", "histories", true);
    for size in SIZES.into_iter().filter(|size| *size <= most) {
        let folder = made(work, size, &recorded)?;
        let path = folder.display().to_string();
        let report_json = folder.join("report.json").display().to_string();
        let below = format!("{path}/history");
        judge.add(probity, size, &["judge", &below])?;
        judge_run.add(probity, size, &["judge", &path])?;
        report.add(probity, size, &["report", &path])?;
        if size <= MOST {
            check.add(probity, size, &["report", &path, "--check"])?;
            verify.add(probity, size, &["verify", &path])?;
            diff.add(probity, size, &["diff", &report_json, &report_json])?;
        }
        fs::remove_dir_all(folder)?;
    }
    let matrix = matrix(probity, work, &recorded, most)?;
    Ok(vec![judge, judge_run, report, check, verify, diff, matrix])
}

fn made(work: &Path, size: usize, recorded: &[Recorded]) -> io::Result<std::path::PathBuf> {
    writeln!(io::stderr(), "bench: making a run of {size} histories")?;
    let folder = work.join(format!("run-{size}"));
    inputs::run(&folder, &format!("run-{size}"), size, recorded)?;
    Ok(folder)
}

fn matrix(probity: &Path, work: &Path, recorded: &[Recorded], most: usize) -> io::Result<Measured> {
    let mut matrix = Measured { command: "matrix REPORT...", of: "reports", grows: true, sizes: Vec::new() };
    let folder = made(work, OF_A_REPORT, recorded)?;
    cost(probity, &["report", &folder.display().to_string()], false)?;
    let most = most.min(MOST);
    let name = format!("run-{OF_A_REPORT}");
    let reports = inputs::reports(&folder.join("report.json"), &name, &work.join("reports"), most)?;
    let out = work.join("matrix.html").display().to_string();
    for size in [most / 10, most] {
        let named: Vec<String> =
            reports.iter().take(size).enumerate().map(|(at, path)| format!("r{at}={path}")).collect();
        let mut arguments = vec!["matrix", "--format", "html", "--out", &out];
        arguments.extend(named.iter().map(String::as_str));
        matrix.add(probity, size, &arguments)?;
    }
    Ok(matrix)
}

impl Measured {
    fn add(&mut self, probity: &Path, size: usize, arguments: &[&str]) -> io::Result<()> {
        writeln!(io::stderr(), "bench: {} of {size} {}", self.command, self.of)?;
        let one = cost(probity, arguments, true)?;
        let all = cost(probity, arguments, false)?;
        self.sizes.push(Sized { size, one, all });
        Ok(())
    }
}
