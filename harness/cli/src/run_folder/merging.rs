//! Merges the folders of several runs into the folder of one run.
//!
//! The histories are copied unchanged. `merged_run` of the crate `probity_report` determines the log of the merged run.

use std::fs;
use std::path::{Path, PathBuf};

use probity_model::Registry;
use probity_report::merged_run::{Allowed, MergedRun, RunToMerge, merge};
use probity_report::{Judged, LogLine, Outline, Workers};

use super::foreign::RunFiles;
use super::{LOG, append, below, read_log, store};
use crate::exit_status::Failure;
use crate::input_files::FileArgument;
use crate::verdicts::{self, CaseVerdicts};

/// The argument that names the runs to merge.
const RUNS: FileArgument =
    FileArgument { name: "DIR", takes: "the folder of a run, or a folder that contains such folders" };

/// The run folders among these: the folders themselves, or their subfolders. Fails if a folder is not the folder of a run
/// and contains none.
pub(crate) fn runs_below(folders: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut runs = Vec::new();
    for folder in folders {
        if folder.join(LOG).exists() {
            runs.push(folder.clone());
            continue;
        }
        let inside = fs::read_dir(folder).map_err(|error| RUNS.unreadable(folder, &error))?;
        let mut inside: Vec<PathBuf> = inside
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| !path.is_symlink() && path.join(LOG).exists())
            .collect();
        if inside.is_empty() {
            let why = format!("this is not the folder of a run and contains none: there is no {LOG}");
            return Err(Failure::wrong_file(folder, why));
        }
        inside.sort();
        runs.append(&mut inside);
    }
    Ok(runs)
}

/// Merges the runs in these folders into a new folder: its log, its histories and the verdicts on them. Returns the log,
/// and the conclusions from the histories.
/// Fails if the runs do not belong together, or files cannot be read or written.
pub(crate) fn merge_into(
    out: &Path,
    folders: &[PathBuf],
    registry: &Registry,
    command: &[String],
    allowed: Allowed,
) -> Result<(Vec<LogLine>, Judged), Failure> {
    if out.exists() && !out.is_dir() {
        return Err(Failure::wrong_file(out, "this is not a folder; choose another --out"));
    }
    let path = out.join(LOG);
    if path.exists() {
        return Err(Failure::wrong_file(&path, "it already exists; choose another --out"));
    }
    let mut runs = Vec::new();
    for folder in folders {
        runs.push(RunToMerge { place: folder.display().to_string(), log: read_log(folder)? });
    }
    let merged = merge(&runs, command, allowed)
        .map_err(|error| Failure::wrong_use(format!("{error}{}", error.advice())))?;
    copy(out, folders, &merged)?;
    let judged = judge(out, registry, &merged.log)?;
    // The log is written last, so that a folder with a log has all the histories that it names.
    write_log(out, &merged.log).map_err(|error| Failure::file_failed(&path, error))?;
    Ok((merged.log, judged))
}

fn copy(out: &Path, folders: &[PathBuf], merged: &MergedRun) -> Result<(), Failure> {
    for moved in &merged.histories {
        let wrong = |why: String| Failure::wrong_file(&folders[moved.run], why);
        let from = RunFiles::Folder(folders[moved.run].clone()).bytes(&moved.from);
        let to = below(out, &moved.to).map_err(wrong)?;
        // A missing or damaged history is an error of its case in the merged report, as in the report of its own run.
        let Ok(bytes) = from else { continue };
        store(&to, &bytes).map_err(|error| Failure::file_failed(&to, error))?;
    }
    Ok(())
}

/// Judges the histories, and writes the verdicts on each of them.
fn judge(out: &Path, registry: &Registry, log: &[LogLine]) -> Result<Judged, Failure> {
    let outline = Outline::of(log).map_err(|error| Failure::failed(error.to_string()))?;
    let files = RunFiles::Folder(out.to_owned());
    outline.judge(registry, &files, Workers::all(), |named, at_hand| {
        let Ok((read, judged)) = at_hand else { return Ok(()) };
        let verdicts = CaseVerdicts::of_judged(&read.history.header, judged);
        let text = verdicts.file().map_err(|error| Failure::failed(error.to_string()))?;
        let path = below(out, &verdicts::file_of(named.file)).map_err(Failure::failed)?;
        store(&path, text.as_bytes()).map_err(|error| Failure::file_failed(&path, error))
    })
}

fn write_log(out: &Path, log: &[LogLine]) -> std::io::Result<()> {
    fs::create_dir_all(out)?;
    fs::File::options().append(true).create_new(true).open(out.join(LOG))?;
    log.iter().try_for_each(|line| append(out, line))
}
