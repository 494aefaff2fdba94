//! Histories as files: one JSON object a line, plain (`.jsonl`) or compressed (`.jsonl.zst`).
//!
//! A file is written to a temporary name and renamed, so a history that is there is whole. One that was cut off on its
//! way here is read as far as it goes, and whoever asked is told.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use probity_model::History;

use crate::exit::Failure;
use crate::found;

/// What a stored history may measure once it is unpacked; a real one has a few megabytes.
const LARGEST: u64 = 1 << 30;

/// How hard histories are compressed: they are small, and a run's end should not wait for them.
const LEVEL: i32 = 3;

/// A history that was read.
pub(crate) struct Stored {
    /// Where.
    pub(crate) path: PathBuf,
    /// The history.
    pub(crate) history: History,
    /// What is amiss, if the file was cut off.
    pub(crate) torn: Option<String>,
}

/// Reads a history.
///
/// # Errors
///
/// If the file cannot be read, or is no history.
pub(crate) fn read(path: &Path) -> Result<Stored, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::wrong_use(format!("{}: {why}", path.display()));
    let file = File::open(path).map_err(|error| wrong(&error))?;
    let (bytes, cut) = if path.extension() == Some(OsStr::new("zst")) {
        unpack(zstd::Decoder::new(file).map_err(|error| wrong(&error))?)
    } else {
        unpack(file)
    };
    let (text, cut) = match (String::from_utf8(bytes), cut) {
        (Ok(text), cut) => (text, cut),
        // A cut may fall into the middle of a character.
        (Err(error), Some(cut)) => {
            let whole = error.utf8_error().valid_up_to();
            let bytes = error.into_bytes();
            (String::from_utf8_lossy(&bytes[..whole]).into_owned(), Some(cut))
        }
        (Err(error), None) => return Err(wrong(&format!("it is no text: {error}"))),
    };
    let history = History::read(&text).map_err(|error| match &cut {
        Some(cut) => wrong(&format!("{error} (and {cut})")),
        None => wrong(&error),
    })?;
    let torn = cut.or_else(|| (!text.ends_with('\n')).then(|| "its last line is torn".to_owned()));
    Ok(Stored { path: path.to_owned(), history, torn })
}

/// All that can be read, and why there is no more if the end is missing.
fn unpack(from: impl Read) -> (Vec<u8>, Option<String>) {
    let mut bytes = Vec::new();
    match from.take(LARGEST).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() as u64 == LARGEST => (bytes, Some(format!("it is larger than {LARGEST} bytes"))),
        Ok(_) => (bytes, None),
        Err(error) => (bytes, Some(format!("the file is cut off: {error}"))),
    }
}

/// The histories that are meant: files as they are given, and of folders all histories below, sorted.
///
/// # Errors
///
/// If one does not exist, or a folder holds none.
pub(crate) fn below(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    found::below(paths, is_history, "there is no history here (.jsonl or .jsonl.zst)")
}

fn is_history(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.ends_with(".jsonl") || name.ends_with(".jsonl.zst")
}

/// Stores the lines of a history, compressed.
///
/// # Errors
///
/// If it cannot be written.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    store(path, &zstd::encode_all(text.as_bytes(), LEVEL)?)
}

/// Writes a file beside its place and renames it: whoever finds it finds all of it.
///
/// # Errors
///
/// If it cannot be written.
pub(crate) fn store(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let mut file = File::create(&part)?;
    file.write_all(bytes).and_then(|()| file.sync_data())?;
    fs::rename(&part, path)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use probity_composer::Composer;
    use serde_json::json;

    use super::*;

    fn history() -> History {
        let mut run = Composer::new(&["probe.startup.gates-liveness"]);
        run.create(0.0, &json!({ "containers": [{ "name": "target" }] })).start(1.0, 0).left(2.0);
        run.done()
    }

    #[test]
    fn what_is_stored_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chapter/case.jsonl.zst");
        write(&path, &history().write().unwrap()).unwrap();
        let stored = read(&path).unwrap();
        assert_eq!((stored.history, stored.torn), (history(), None));
        let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(names.len(), 1, "nothing temporary stays");
    }

    #[test]
    fn a_file_that_was_cut_off_is_read_as_far_as_it_goes_and_said_to_be_torn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("torn.jsonl");
        let text = history().write().unwrap();
        fs::write(&path, &text[..text.len() - 20]).unwrap();
        let stored = read(&path).unwrap();
        assert_eq!(stored.history.events().len(), history().events().len() - 1);
        assert!(stored.torn.is_some());
    }
}
