//! The journal: lines on a volume that survives the container, and the count of its attempts.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A journal that reaches this size is renamed before the next attempt begins, so that at most two files exist.
const LARGEST: u64 = 64 * 1024 * 1024;

/// A directory with the files `attempt` (how many times the container has started) and `witness.jsonl` (the lines of all
/// attempts).
#[derive(Debug)]
pub struct Journal {
    /// The attempt of the container, counted from 0.
    pub attempt: u64,
    /// The file in which attempts are counted.
    pub counter: PathBuf,
    /// The file to append to.
    pub file: File,
}

/// Why a journal cannot be kept.
#[derive(Debug, thiserror::Error)]
#[error("failed to {doing} {path}: {source}")]
pub struct JournalError {
    doing: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl Journal {
    /// Opens the journal in a directory, and counts this attempt. Creates the directory if it does not exist.
    ///
    /// # Errors
    ///
    /// If the directory cannot be written, or its count is not a number.
    pub fn open(directory: &Path) -> Result<Self, JournalError> {
        let failed = |doing, path: &Path| {
            let path = path.to_owned();
            move |source| JournalError { doing, path, source }
        };
        fs::create_dir_all(directory).map_err(failed("make the journal's directory", directory))?;
        let counter = directory.join("attempt");
        let attempt = match fs::read_to_string(&counter) {
            Ok(text) => text
                .trim()
                .parse()
                .map_err(io::Error::other)
                .map_err(failed("read the count in", &counter))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0_u64,
            Err(error) => return Err(failed("read", &counter)(error)),
        };
        // Written under another name and renamed, so that a kill at this moment leaves a complete number.
        let next = directory.join("attempt.next");
        fs::write(&next, format!("{}\n", attempt + 1)).map_err(failed("write", &next))?;
        fs::rename(&next, &counter).map_err(failed("replace", &counter))?;
        let path = directory.join("witness.jsonl");
        if fs::metadata(&path).is_ok_and(|data| data.len() > LARGEST) {
            fs::rename(&path, directory.join("witness.old.jsonl")).map_err(failed("put aside", &path))?;
        }
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed("open", &path))?;
        Ok(Self { attempt, counter, file })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn lives_are_counted_from_zero() {
        let directory = tempfile::tempdir().unwrap();
        let lives: Vec<_> =
            (0..3).map(|_| Journal::open(&directory.path().join("deep")).unwrap().attempt).collect();
        assert_eq!(lives, [0, 1, 2]);
    }

    #[test]
    fn a_count_that_is_no_number_is_refused_with_its_path() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("attempt"), "two").unwrap();
        let error = Journal::open(directory.path()).unwrap_err().to_string();
        assert!(error.contains("attempt") && error.contains("invalid digit"), "{error}");
    }

    #[test]
    fn a_large_journal_is_put_aside() {
        let directory = tempfile::tempdir().unwrap();
        File::create(directory.path().join("witness.jsonl")).unwrap().set_len(LARGEST + 1).unwrap();
        let journal = Journal::open(directory.path()).unwrap();
        assert_eq!(journal.file.metadata().unwrap().len(), 0);
        assert!(directory.path().join("witness.old.jsonl").exists());
    }
}
