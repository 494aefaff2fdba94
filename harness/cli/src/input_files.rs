//! The files that a command line selects: the named files, and the matching files in the named folders.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use crate::exit_status::Failure;

/// An argument of the command line that names files or folders. Errors say which argument is wrong, and what it takes.
#[derive(Clone, Copy)]
pub(crate) struct FileArgument {
    /// The flag, such as `--suite`, or the name of a positional argument in the usage, such as `FILE`.
    pub(crate) name: &'static str,
    /// What can be given.
    pub(crate) takes: &'static str,
}

impl FileArgument {
    /// The failure for a path that cannot be used.
    pub(crate) fn wrong(self, path: &Path, why: impl fmt::Display) -> Failure {
        let Self { name, takes } = self;
        let path = path.display();
        Failure::wrong_use(match name.starts_with('-') {
            true => format!("{name} {path}: {why}; give {takes}"),
            false => format!("{path}: {why}; {name} must be {takes}"),
        })
    }

    /// The failure for a path that cannot be read.
    pub(crate) fn unreadable(self, path: &Path, error: &io::Error) -> Failure {
        self.wrong(path, in_words(error))
    }
}

/// Why a file or folder cannot be read, in words for the user who named it.
pub(crate) fn in_words(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        ErrorKind::IsADirectory => "this is a folder and not a file".to_owned(),
        ErrorKind::NotADirectory => "this is a file and not a folder".to_owned(),
        _ => error.to_string(),
    }
}

/// The named files, and the matching files in named folders and their subfolders, sorted. Fails if a path does not exist,
/// or if a folder contains no matching file. `none` is the message for the latter.
pub(crate) fn below(
    paths: &[PathBuf],
    argument: FileArgument,
    wanted: fn(&Path) -> bool,
    none: &str,
) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        let before = files.len();
        collect(path, argument, true, wanted, &mut files)?;
        if files.len() == before {
            return Err(argument.wrong(path, none));
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
    argument: FileArgument,
    given: bool,
    wanted: fn(&Path) -> bool,
    files: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    let wrong = |error: io::Error| argument.unreadable(path, &error);
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
    inside.iter().try_for_each(|path| collect(path, argument, false, wanted, files))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_argument_the_path_and_what_to_give() {
        let missing = || io::Error::from(ErrorKind::NotFound);
        let suite = FileArgument { name: "--suite", takes: "a case file" };
        let said = suite.unreadable(Path::new("mine"), &missing()).to_string();
        assert_eq!(said, "--suite mine: there is no such file or folder; give a case file");
        let file = FileArgument { name: "FILE", takes: "a case file" };
        let said = file.unreadable(Path::new("mine"), &missing()).to_string();
        assert_eq!(said, "mine: there is no such file or folder; FILE must be a case file");
    }
}
