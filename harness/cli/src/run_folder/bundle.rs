//! The folder of a run as one block of bytes, to transfer it out of a cluster. It contains the log and the histories,
//! from which everything else is generated again.

use std::collections::BTreeSet;
use std::path::Path;

use probity_image::{Entry, EntryKind, Tree};

use super::{HISTORIES, LARGEST, LEVEL, LOG, below, is_history, store};
use crate::exit_status::Failure;
use crate::input_files;

/// Packs the log and the histories of a run.
/// Fails if a file cannot be read.
pub(crate) fn pack(folder: &Path) -> Result<Vec<u8>, Failure> {
    let mut files = vec![folder.join(LOG)];
    let histories = folder.join("history");
    if histories.is_dir() {
        // A run in which no case ended has no histories. Its log shows this.
        files.extend(input_files::below(&[histories], HISTORIES, is_history, "").unwrap_or_default());
    }
    let mut tree = Tree::new();
    let mut folders = BTreeSet::new();
    let bug = |error: probity_image::Error| Failure::failed(format!("failed to pack the run: {error}"));
    for file in files {
        let bytes = std::fs::read(&file).map_err(|error| Failure::file_failed(&file, error))?;
        let name = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
        for (end, _) in name.match_indices('/') {
            if folders.insert(name[..end].to_owned()) {
                tree.insert(&name[..end], Entry::directory(0o755)).map_err(bug)?;
            }
        }
        tree.insert(&name, Entry::file(0o644, &bytes)).map_err(bug)?;
    }
    let tar = tree.to_tar().map_err(bug)?;
    zstd::encode_all(tar.as_slice(), LEVEL).map_err(|error| Failure::failed(error.to_string()))
}

/// The files of a packed run.
/// Fails if the bytes are not a packed run.
pub(crate) fn files(bytes: &[u8]) -> Result<Tree, Failure> {
    let (tar, cut) = super::unpack(zstd::Decoder::new(bytes).map_err(|error| wrong(error.to_string()))?);
    if let Some(cut) = cut {
        return Err(wrong(cut));
    }
    debug_assert!((tar.len() as u64) < LARGEST, "the reader stopped early");
    Tree::from_tar(&tar, "run").map_err(|error| wrong(error.to_string()))
}

/// The failure for bytes that are not a packed run.
pub(crate) fn wrong(why: impl std::fmt::Display) -> Failure {
    Failure::failed(format!("this is not a run that `probity run --store` packed: {why}"))
}

/// Unpacks a run into a folder. A packed run cannot write anywhere else.
/// Fails if the bytes are not a packed run, or a file cannot be written.
pub(crate) fn unpack(bytes: &[u8], folder: &Path) -> Result<(), Failure> {
    let tree = files(bytes)?;
    for (name, entry) in tree.iter() {
        if let EntryKind::File(bytes) = &entry.kind {
            let path = below(folder, name).map_err(wrong)?;
            store(&path, bytes).map_err(|error| Failure::file_failed(&path, error))?;
        }
    }
    if folder.join(LOG).exists() { Ok(()) } else { Err(wrong(format!("it has no {LOG}"))) }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use probity_report::Histories as _;

    use super::*;
    use crate::report_files::sample;
    use crate::run_folder;

    #[test]
    fn what_is_packed_comes_out_and_says_the_same() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        sample::store(&sample::run(), from.path());
        std::fs::write(from.path().join("report.html"), "made again").unwrap();
        unpack(&pack(from.path()).unwrap(), to.path()).unwrap();
        let (log, files) = run_folder::open(to.path()).unwrap();
        assert_eq!(log, run_folder::open(from.path()).unwrap().0);
        let names = files.histories();
        assert_eq!(names.len(), 3);
        assert!(names.iter().all(|name| files.read_history(name).is_ok()));
        assert!(!to.path().join("report.html").exists());
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        sample::store(&sample::run(), from.path());
        let bytes = pack(from.path()).unwrap();
        for wrong in [&bytes[..bytes.len() / 2], b"no run".as_slice()] {
            let why = unpack(wrong, to.path()).unwrap_err().to_string();
            assert!(why.contains("--store"), "{why}");
        }
    }
}
