//! The files that a command line selects: the named ones, and those of a kind in the named folders.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::exit_status::Failure;

/// The named files, and the matching files in named folders and their subfolders, sorted. Fails if a path does
/// not exist, or a folder holds no such file: `none` says so.
pub(crate) fn below(
    paths: &[PathBuf],
    wanted: fn(&Path) -> bool,
    none: &str,
) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        let before = files.len();
        collect(path, true, wanted, &mut files).map_err(|error| Failure::wrong_file(path, error))?;
        if files.len() == before {
            return Err(Failure::wrong_file(path, none));
        }
    }
    Ok(files)
}

fn collect(path: &Path, given: bool, wanted: fn(&Path) -> bool, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !fs::metadata(path)?.is_dir() {
        if given || wanted(path) {
            files.push(path.to_owned());
        }
        return Ok(());
    }
    let mut inside: Vec<PathBuf> =
        fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    inside.sort();
    inside.iter().try_for_each(|path| collect(path, false, wanted, files))
}
