//! `probity merge`: merges several runs into one, and writes its report, without a cluster.

use std::path::{Path, PathBuf};

use probity_report::merged_run::Allowed;
use probity_report::{Outline, Report};

use crate::arguments::MergeArgs;
use crate::cases::book;
use crate::exit_status::{Exit, Failure, Standard};
use crate::run_folder::foreign::RunFiles;
use crate::run_folder::merging::{merge_into, runs_below};
use crate::{output, provenance, report_files};

/// Merges the runs, and ends with the exit status of the merged report.
pub(crate) fn run(args: &MergeArgs) -> Result<Exit, Failure> {
    let folders = runs_below(&args.folders)?;
    let report = merged(&args.out, &folders, args.allowed.allowed(), args.standard.standard())?;
    output::out(&format!(
        "{}\nmerged {} runs into {}\n",
        report.in_words(),
        folders.len(),
        args.out.display()
    ))?;
    Ok(report.exit(args.standard.standard()))
}

/// Merges the runs in these folders into a new folder, writes their report there, and returns it.
pub(crate) fn merged(
    out: &Path,
    folders: &[PathBuf],
    allowed: Allowed,
    standard: Standard,
) -> Result<Report, Failure> {
    let registry = book::registry()?;
    let command: Vec<String> = std::env::args().collect();
    let book = provenance::book_facts()?;
    let (log, judged) = merge_into(out, folders, &registry, &command, allowed)?;
    let outline = Outline::of(&log).map_err(|error| Failure::wrong_file(out, error))?;
    let report = outline.report(&registry, judged).judged_by(&book.suite).certified(&book);
    report_files::write(out, &report, &RunFiles::Folder(out.to_owned()), standard)?;
    Ok(report)
}
