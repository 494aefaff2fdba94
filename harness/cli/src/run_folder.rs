//! The folder of a run: its log, its histories and its report as files.
//!
//! A history has one JSON object per line, plain (`.jsonl`) or compressed (`.jsonl.zst`). When a history is read, its first
//! bytes decide whether it is compressed, and not its name. Files are written under a temporary name and renamed, so a
//! file that exists is complete. The intact part of a truncated history is still read.

pub(crate) mod bundle;
pub(crate) mod foreign;
pub(crate) mod merging;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};

use probity_model::History;
use probity_report::{API_VERSION, KIND, LogLine, Report, SCHEMA_VERSION, run_log};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use self::foreign::RunFiles;
use crate::exit_status::Failure;
use crate::input_files::{self, FileArgument};
use crate::provenance::hex;

/// The log of a run.
pub(crate) const LOG: &str = "events.ndjson";

/// The canonical report.
pub(crate) const REPORT: &str = "report.json";

/// The page of a report.
pub(crate) const PAGE: &str = "report.html";

/// The first bytes of every file that is compressed with zstd.
pub(crate) const PACKED: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// The maximum size of a file, and of a history after unpacking. A real history has a few megabytes.
const LARGEST: u64 = 256 << 20;

/// The compression level of histories. They are small, and the end of a run should not wait for their compression.
const LEVEL: i32 = 3;

/// The argument that names histories.
pub(crate) const HISTORIES: FileArgument =
    FileArgument { name: "HISTORY", takes: "a history (.jsonl or .jsonl.zst), or a folder of histories" };

/// A history that was read from a file.
pub(crate) struct HistoryFile {
    /// The history.
    pub(crate) history: History,
    /// The digest of its lines.
    pub(crate) sha256: String,
    /// What is missing, if the file was cut off.
    pub(crate) torn: Option<String>,
}

/// The digest of a history's lines.
pub(crate) fn digest(text: &str) -> String {
    hex(Sha256::new_with_prefix(text))
}

/// The digest of bytes.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    hex(Sha256::new_with_prefix(bytes))
}

/// Reads the intact part of a history. Fails if the file cannot be read, or is not a history. The error does not contain
/// the path.
pub(crate) fn read_history(path: &Path) -> Result<HistoryFile, String> {
    history_from(File::open(path).map_err(|error| error.to_string())?)
}

/// Reads the intact part of a history, which may be compressed.
fn history_from(file: impl Read) -> Result<HistoryFile, String> {
    let mut file = BufReader::new(file);
    let begin = file.fill_buf().map_err(|error| error.to_string())?;
    let (bytes, cut) = if begin.starts_with(&PACKED) {
        unpack(zstd::Decoder::with_buffer(file).map_err(|error| error.to_string())?)
    } else {
        unpack(file)
    };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // A file may be truncated in the middle of a character.
        Err(error) if cut.is_some() => {
            let whole = error.utf8_error().valid_up_to();
            String::from_utf8_lossy(&error.as_bytes()[..whole]).into_owned()
        }
        Err(error) => return Err(format!("it is not text: {error}")),
    };
    let history = History::read(&text).map_err(|error| match &cut {
        _ if is_report(&text) => "this is a report; give the folder of its run".to_owned(),
        None if !text.is_empty() && !text.starts_with('{') => {
            "the first line is not the header of a history, because it is not JSON".to_owned()
        }
        Some(cut) => format!("{error} (and {cut})"),
        None => error.to_string(),
    })?;
    let torn = cut.or_else(|| (!text.ends_with('\n')).then(|| "its last line is incomplete".to_owned()));
    Ok(HistoryFile { history, sha256: digest(&text), torn })
}

/// Everything that can be read and, if the end is missing, the reason.
fn unpack(from: impl Read) -> (Vec<u8>, Option<String>) {
    let mut bytes = Vec::new();
    match from.take(LARGEST).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() as u64 == LARGEST => (bytes, Some(too_large())),
        Ok(_) => (bytes, None),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            (bytes, Some(format!("the file is truncated: {error}")))
        }
        Err(error) => (bytes, Some(format!("the file is damaged: {error}"))),
    }
}

/// Whether a text looks like a report.
pub(crate) fn is_report(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains(KIND)
}

/// The error for a file that is too large.
fn too_large() -> String {
    format!("the file is larger than {} MiB", LARGEST >> 20)
}

/// Reads a file from an untrusted source. Fails if it cannot be read, or is too large. The error does not contain the
/// path.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, String> {
    input_files::read(path, LARGEST).map_err(|error| input_files::in_words(&error))
}

fn read_text(path: &Path) -> Result<String, String> {
    String::from_utf8(read_bytes(path)?).map_err(|error| format!("it is not text: {error}"))
}

/// The histories that a command line names: files, and all histories in folders, sorted. Fails if a path does not exist, or a
/// folder contains no history.
pub(crate) fn histories_below(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    paths.iter().try_for_each(|path| not_standard_input(path))?;
    let files = input_files::below(paths, HISTORIES, is_history, "there is no history in this folder")?;
    // The user vouches for the files on the command line, but not for the files in a folder.
    match files.iter().find(|file| file.is_symlink() && !paths.contains(file)) {
        Some(link) => {
            Err(Failure::wrong_file(link, "this is a link; give the path of the file that it points to"))
        }
        None => Ok(files),
    }
}

/// Fails for `-`, which other programs accept, unless there is a file of this name.
fn not_standard_input(path: &Path) -> Result<(), Failure> {
    if path.as_os_str() == "-" && !path.exists() {
        return Err(Failure::wrong_file(path, "standard input cannot be read here; give a file or a folder"));
    }
    Ok(())
}

fn is_history(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.ends_with(".jsonl") || name.ends_with(".jsonl.zst")
}

/// Reads the log of a run, and opens its files. Histories are read from them one by one.
/// Fails if the folder has no log, or if the log has another format.
pub(crate) fn open(folder: &Path) -> Result<(Vec<LogLine>, RunFiles), Failure> {
    Ok((read_log(folder)?, RunFiles::Folder(folder.to_owned())))
}

/// Reads the log of a run.
/// Fails if the folder has no log, or if the log has another format.
pub(crate) fn read_log(folder: &Path) -> Result<Vec<LogLine>, Failure> {
    if folder.is_file() {
        return Err(Failure::wrong_file(folder, "this is a file; give the folder of the run"));
    }
    let path = folder.join(LOG);
    let text = RunFiles::Folder(folder.to_owned()).text(LOG).map_err(|error| {
        Failure::wrong_file(&path, format!("{error}; give the folder that `probity run --out` wrote"))
    })?;
    run_log::read(&text).map_err(|error| Failure::wrong_file(&path, error))
}

/// Resolves a path in a log. The log may come from an untrusted source, so it cannot name files outside its folder.
fn below(folder: &Path, file: &str) -> Result<PathBuf, String> {
    let plain = Path::new(file).components().all(|part| matches!(part, Component::Normal(_)));
    if plain && !file.is_empty() {
        Ok(folder.join(file))
    } else {
        Err("the log names a path outside the run's folder".to_owned())
    }
}

/// The file of a report: the given file itself, or the report in a run's folder.
pub(crate) fn report_file(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(REPORT) } else { path.to_owned() }
}

/// Reads a report: the given file itself, or the report in a run's folder.
/// Fails if it cannot be read, or is not a report of a known format.
pub(crate) fn read_report(path: &Path) -> Result<Report, Failure> {
    not_standard_input(path)?;
    let text = if path.is_dir() { RunFiles::Folder(path.to_owned()).text(REPORT) } else { read_text(path) };
    let path = report_file(path);
    let other = |why: String| {
        Failure::wrong_file(&path, format!("{why}; give a report.json, or the folder of a run that has one"))
    };
    let text = text.map_err(other)?;
    if !text.trim_start().starts_with('{') {
        return Err(other("this is not a report of a known format, because it is not JSON".to_owned()));
    }
    parse_report(&text).map_err(|why| Failure::wrong_file(&path, why))
}

/// The fields that name the format of a report.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReportFormat {
    api_version: String,
    kind: String,
    schema_version: String,
}

/// Parses a report. Fails if the text is not a report of a known format.
pub(crate) fn parse_report(text: &str) -> Result<Report, String> {
    check_format(text)?;
    serde_json::from_str(text).map_err(unknown_format)
}

/// Fails if a report does not name a format that this program knows. A report of another format may have the same fields
/// with other meanings.
pub(crate) fn check_format(text: &str) -> Result<(), String> {
    let ReportFormat { api_version, kind, schema_version } =
        serde_json::from_str(text).map_err(unknown_format)?;
    if (api_version.as_str(), kind.as_str()) != (API_VERSION, KIND) {
        return Err(format!(
            "this is a {kind} of {api_version}; this program reads a {KIND} of {API_VERSION}"
        ));
    }
    let major = SCHEMA_VERSION.split('.').next().unwrap_or_default();
    if schema_version.split('.').next() == Some(major) {
        Ok(())
    } else {
        Err(format!("this is a report of format {schema_version}; this program reads {major}.x"))
    }
}

fn unknown_format(error: serde_json::Error) -> String {
    format!("this is not a report of a known format: {error}")
}

/// Adds a line to the log of a run.
pub(crate) fn append(folder: &Path, line: &LogLine) -> io::Result<()> {
    let text = line.write().map_err(io::Error::other)?;
    File::options().append(true).open(folder.join(LOG))?.write_all(text.as_bytes())
}

/// Stores the lines of a history, compressed.
pub(crate) fn store_history(path: &Path, text: &str) -> io::Result<()> {
    store(path, &zstd::encode_all(text.as_bytes(), LEVEL)?)
}

/// Writes a file under a temporary name and renames it, so an existing file is always complete. The folder may come from
/// somebody else, so a link with one of these names is replaced and never followed.
pub(crate) fn store(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    match fs::remove_file(&part) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::create_new(&part)?;
    file.write_all(bytes).and_then(|()| file.sync_data())?;
    fs::rename(&part, path)
}

#[cfg(test)]
mod tests;
