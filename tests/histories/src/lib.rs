//! Runs that were recorded on real clusters.
//!
//! They are in the folder of this crate, in one folder for each cluster (`kubernetes-VERSION`), which has one folder for
//! each chapter, as a run of `probity` writes them. `tests/verdicts.rs` defines which verdicts the runs must get.
//! `tests/damage.rs` damages them on purpose, and defines which clauses must detect the damage. This library only reads
//! the runs and judges nothing.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use probity_model::History;

/// A recorded history.
pub struct Recorded {
    /// The case: its chapter, its name, and its variant if it has one.
    pub case: String,
    /// The history.
    pub history: History,
}

/// The clusters' folders, sorted.
///
/// # Errors
///
/// If the folder cannot be listed.
pub fn clusters() -> io::Result<Vec<PathBuf>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = entries(here)?;
    found.retain(|path| path.is_dir() && name(path).starts_with("kubernetes-"));
    Ok(found)
}

/// The histories of a cluster, in the order of their cases.
///
/// # Errors
///
/// If a file cannot be read, or is not a history.
pub fn recorded(cluster: &Path) -> io::Result<Vec<Recorded>> {
    let mut all = Vec::new();
    let mut folders = vec![cluster.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            if path.is_dir() {
                folders.push(path);
            } else if name(&path).ends_with(".jsonl.zst") {
                all.push(read(&path)?);
            }
        }
    }
    all.sort_by(|one, other| one.case.cmp(&other.case));
    Ok(all)
}

fn read(path: &Path) -> io::Result<Recorded> {
    let wrong = |error: &dyn std::fmt::Display| io::Error::other(format!("{}: {error}", path.display()));
    let mut text = String::new();
    let mut unpacked = zstd::Decoder::new(File::open(path)?)?;
    unpacked.read_to_string(&mut text).map_err(|error| wrong(&error))?;
    let history = History::read(&text).map_err(|error| wrong(&error))?;
    Ok(Recorded { case: history.header.case.clone(), history })
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<PathBuf>>>()?;
    paths.sort();
    Ok(paths)
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}
