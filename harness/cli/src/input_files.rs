//! The files that a command line selects: the named files, and the matching files in the named folders.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::exit_status::Failure;

/// The named files, and the matching files in named folders and their subfolders, sorted. Fails if a path does not exist,
/// or if a folder contains no matching file. `none` is the message for the latter.
pub(crate) fn below(
    paths: &[PathBuf],
    wanted: fn(&Path) -> bool,
    none: &str,
) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        let before = files.len();
        collect(path, true, wanted, &mut files)?;
        if files.len() == before {
            return Err(Failure::wrong_file(path, none));
        }
    }
    Ok(files)
}

/// Reads a file of at most this many bytes. Fails if it cannot be read or is larger.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("the file is larger than {} MiB", most >> 20),
        ));
    }
    Ok(bytes)
}

/// Collects matching files. Links to folders are not followed unless the user named them, because following a link to a
/// parent folder would never end. A broken link in a folder counts as a file, so that an attempt to read it fails with
/// its path. Fails with the path that cannot be listed.
fn collect(
    path: &Path,
    given: bool,
    wanted: fn(&Path) -> bool,
    files: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    let wrong = |error: io::Error| Failure::wrong_file(path, error);
    let is_folder = if given { fs::metadata(path).map_err(wrong)?.is_dir() } else { path.is_dir() };
    if !is_folder {
        if given || wanted(path) {
            files.push(path.to_owned());
        }
        return Ok(());
    }
    if !given && path.is_symlink() {
        return Ok(());
    }
    let entries = fs::read_dir(path).map_err(wrong)?;
    let mut inside: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().map_err(wrong)?;
    inside.sort();
    inside.iter().try_for_each(|path| collect(path, false, wanted, files))
}
