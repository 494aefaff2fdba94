//! The folder of a run: reading its log and histories, and writing the files that are made of them.
//!
//! A history is read where the log says it lies, below the folder and nowhere else. One that cannot be read is told to
//! whoever makes the report, which says so case by case; only a folder without a log is refused.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use probity_model::History;
use probity_report::Report;
use probity_report::run_log::{self, LogLine};
use probity_report::{Stored, Told, Undecided};
use sha2::{Digest, Sha256};

use super::{Trouble, texts};

/// The log of a run.
pub(crate) const LOG: &str = "events.ndjson";

/// The canonical report.
pub(crate) const JSON: &str = "report.json";

/// What a stored history may measure once it is unpacked; a real one has a few megabytes.
const LARGEST: u64 = 1 << 30;

/// The digest of a history's lines.
pub(crate) fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the log of a run and the histories that it names.
///
/// # Errors
///
/// If there is no log, or it is none of ours.
pub(crate) fn load(folder: &Path) -> Result<(Vec<LogLine>, Vec<Stored>), Trouble> {
    let path = folder.join(LOG);
    let text = fs::read_to_string(&path).map_err(|error| {
        let hint = "give the folder that `probity run --out` wrote";
        Trouble::usage(format!("{}: {error}; {hint}", path.display()))
    })?;
    let log = run_log::read(&text).map_err(|error| Trouble::usage(format!("{}: {error}", path.display())))?;
    let stored = log
        .iter()
        .filter_map(|line| match line {
            LogLine::CaseEnded { history, .. } => Some(history),
            _ => None,
        })
        .map(|file| Stored { file: file.clone(), told: read(folder, file) })
        .collect();
    Ok((log, stored))
}

/// Reads one history: compressed if its name says so, and else plain, as it is after unpacking by hand.
fn read(folder: &Path, file: &str) -> Result<Told, String> {
    let path = below(folder, file)?;
    let (path, packed) = match file.strip_suffix(".zst").map(|plain| folder.join(plain)) {
        Some(plain) if !path.exists() && plain.exists() => (plain, false),
        Some(_) => (path, true),
        None => (path, false),
    };
    let text = unpack(&path, packed).map_err(|error| error.to_string())?;
    let history = History::read(&text).map_err(|error| error.to_string())?;
    Ok(Told { sha256: digest(&text), history })
}

fn unpack(path: &Path, packed: bool) -> io::Result<String> {
    let file = fs::File::open(path)?;
    let mut text = String::new();
    let read = if packed {
        zstd::Decoder::new(file)?.take(LARGEST).read_to_string(&mut text)?
    } else {
        file.take(LARGEST).read_to_string(&mut text)?
    };
    if read as u64 == LARGEST {
        return Err(io::Error::other(format!("it is larger than {LARGEST} bytes")));
    }
    Ok(text)
}

/// A log may come from anywhere, so it cannot name files outside its folder.
fn below(folder: &Path, file: &str) -> Result<PathBuf, String> {
    let plain = Path::new(file).components().all(|part| matches!(part, Component::Normal(_)));
    if plain && !file.is_empty() {
        Ok(folder.join(file))
    } else {
        Err("the log names a place outside of the run's folder".to_owned())
    }
}

/// Writes all files that are made of the report, and gives their names.
///
/// # Errors
///
/// If one cannot be made or written.
pub(crate) fn write(
    folder: &Path,
    report: &Report,
    undecided: Undecided,
) -> Result<Vec<&'static str>, Trouble> {
    let mut written = Vec::new();
    for (name, text) in texts(report, undecided)? {
        let path = folder.join(name);
        store(&path, &text)
            .map_err(|error| Trouble::failed(format!("failed to write {}: {error}", path.display())))?;
        written.push(name);
    }
    Ok(written)
}

/// Writes beside the place and renames, so whoever finds the file finds all of it.
fn store(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    fs::write(&part, text)?;
    fs::rename(&part, path)
}

/// Reads a report: the file, or that of a run's folder.
///
/// # Errors
///
/// If it cannot be read, or is no report that is known here.
pub(crate) fn read_report(path: &Path) -> Result<Report, Trouble> {
    let path = if path.is_dir() { path.join(JSON) } else { path.to_owned() };
    let wrong = |why: &dyn std::fmt::Display| Trouble::usage(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(&path).map_err(|error| wrong(&error))?;
    serde_json::from_str(&text)
        .map_err(|error| wrong(&format!("this is no report that is known here: {error}")))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use probity_report::Word;

    use super::*;
    use crate::files::sample;

    fn again(folder: &Path) -> Report {
        let (log, stored) = load(folder).unwrap();
        Report::build(&sample::registry(), &log, &stored).unwrap()
    }

    #[test]
    fn a_stored_run_gives_the_report_of_the_live_one() {
        let folder = tempfile::tempdir().unwrap();
        sample::run().store(folder.path());
        assert_eq!(again(folder.path()), sample::report());
        let names = write(folder.path(), &sample::report(), Undecided::Told).unwrap();
        assert_eq!(names, ["report.json", "report.yaml", "junit.xml", "summary.md", "badge.json"]);
        assert_eq!(read_report(folder.path()).unwrap(), sample::report());
    }

    #[test]
    fn a_history_that_was_unpacked_by_hand_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let run = sample::run();
        run.store(folder.path());
        let (file, history) = &run.histories[0];
        fs::remove_file(folder.path().join(file)).unwrap();
        fs::write(folder.path().join(file.trim_end_matches(".zst")), history.write().unwrap()).unwrap();
        assert_eq!(again(folder.path()), sample::report());
    }

    #[test]
    fn a_history_that_is_missing_cut_or_changed_is_an_error_of_its_case() {
        let broken = |change: fn(&Path)| {
            let folder = tempfile::tempdir().unwrap();
            let run = sample::run();
            run.store(folder.path());
            change(&folder.path().join(&run.histories[0].0));
            again(folder.path()).cases.swap_remove(0)
        };
        let missing = broken(|path| fs::remove_file(path).unwrap());
        let cut = broken(|path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        });
        let changed = broken(|path| {
            let text = zstd::decode_all(fs::File::open(path).unwrap()).unwrap();
            let text = String::from_utf8(text).unwrap().replacen("\"us\":0", "\"us\":1", 1);
            fs::write(path, zstd::encode_all(text.as_bytes(), 3).unwrap()).unwrap();
        });
        for case in [&missing, &cut, &changed] {
            assert_eq!(case.verdict, Word::Error, "{case:?}");
        }
        assert!(changed.finding.contains("its digest differs"), "{}", changed.finding);
    }

    #[test]
    fn a_log_cannot_name_files_outside_of_its_folder() {
        for file in ["../secret.jsonl", "/etc/passwd", "history/../../x", ""] {
            assert!(below(Path::new("out"), file).is_err(), "{file}");
        }
        assert!(below(Path::new("out"), "history/a/b=c.jsonl.zst").is_ok());
    }

    #[test]
    fn a_folder_without_a_log_is_refused_with_a_hint() {
        let folder = tempfile::tempdir().unwrap();
        let trouble = load(folder.path()).unwrap_err();
        assert!(trouble.to_string().contains("probity run --out"), "{trouble}");
    }
}
