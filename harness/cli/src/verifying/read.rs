//! Reads the files to verify. A problem with a file of a run is a flaw of the run. A path that is not a run at all is an
//! error.

use std::fs;
use std::path::{Path, PathBuf};

use probity_report::run_log::{self, RunFacts};
use probity_report::verification::Flaw;
use probity_report::{LogLine, Report, StoredHistory};
use serde_json::Value;

use crate::exit_status::Failure;
use crate::run_folder::foreign::RunFiles;
use crate::run_folder::{self, LOG, REPORT, bundle};

/// The first bytes of every file that is compressed with zstd.
const PACKED: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// An argument of the command line.
pub(crate) enum Given {
    /// A run: its folder, or a packed run.
    Run(RunFiles),
    /// The text of a report without its run.
    Report(String),
}

/// A log and the histories that it names.
pub(super) struct RunRead {
    pub(super) log: Vec<LogLine>,
    pub(super) facts: RunFacts,
    pub(super) histories: Vec<StoredHistory>,
}

/// A stored report, as a document and as the text of the file.
pub(super) struct StoredReport {
    pub(super) report: Report,
    pub(super) value: Value,
}

impl Given {
    /// Opens what is at a path. The path of a run's report stands for the folder of the run.
    /// Fails if it is neither a run nor a report.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let metadata = fs::metadata(path).map_err(|error| Failure::wrong_file(path, error))?;
        if metadata.is_dir() {
            return Self::of_folder(path);
        }
        let beside = path.parent().map_or_else(PathBuf::new, Path::to_owned);
        let is_report = path.file_name().is_some_and(|name| name == REPORT);
        if is_report && beside.join(LOG).exists() {
            return Ok(Self::Run(RunFiles::Folder(if beside.as_os_str().is_empty() {
                ".".into()
            } else {
                beside
            })));
        }
        let wrong = |why: String| Failure::wrong_file(path, why);
        if !metadata.is_file() {
            return Err(wrong("it is not a regular file".to_owned()));
        }
        let bytes = run_folder::read_bytes(path).map_err(wrong)?;
        if bytes.starts_with(&PACKED) {
            let tree = bundle::files(&bytes).map_err(|failure| wrong(failure.sentence))?;
            return Ok(Self::Run(RunFiles::Packed(tree)));
        }
        let text = String::from_utf8(bytes).map_err(|_| wrong(neither()))?;
        if text.trim_start().starts_with('{') && text.contains("ConformanceReport") {
            Ok(Self::Report(text))
        } else {
            Err(wrong(neither()))
        }
    }

    fn of_folder(path: &Path) -> Result<Self, Failure> {
        if path.join(LOG).exists() {
            return Ok(Self::Run(RunFiles::Folder(path.to_owned())));
        }
        let report = path.join(REPORT);
        if report.is_file() && !report.is_symlink() {
            return Self::open(&report);
        }
        Err(Failure::wrong_file(path, format!("it has no {LOG}: {}", neither())))
    }
}

fn neither() -> String {
    "this is neither the folder of a run, nor a packed run, nor a report.json".to_owned()
}

/// The log and the histories. A log that cannot be read is a flaw, and nothing else can be checked then.
pub(super) fn run(files: &RunFiles, flaws: &mut Vec<Flaw>) -> Option<RunRead> {
    let mut flaw = |what: String| flaws.push(Flaw::new(LOG, what));
    let text = files.text(LOG).map_err(&mut flaw).ok()?;
    if !text.ends_with('\n') {
        flaw("its last line is incomplete".to_owned());
    }
    let log = run_log::read(&text).map_err(|error| flaw(error.to_string())).ok()?;
    let Some(LogLine::Began(facts)) = log.first() else { return None };
    let facts = facts.as_ref().clone();
    let named = log.iter().filter_map(|line| match line {
        LogLine::CaseEnded { history, .. } => Some(files.history(history)),
        _ => None,
    });
    let histories = named.collect();
    Some(RunRead { facts, histories, log })
}

/// The stored report of a run, if it exists and can be read.
pub(super) fn report(files: &RunFiles, flaws: &mut Vec<Flaw>) -> Option<StoredReport> {
    if !files.has(REPORT) {
        return None;
    }
    match files.text(REPORT) {
        Ok(text) => report_of(&text, flaws),
        Err(why) => {
            flaws.push(Flaw::new(REPORT, why));
            None
        }
    }
}

/// Parses a report.
pub(super) fn report_of(text: &str, flaws: &mut Vec<Flaw>) -> Option<StoredReport> {
    let read = serde_json::from_str::<Value>(text).and_then(|value| {
        let report = serde_json::from_str(text)?;
        Ok(StoredReport { report, value })
    });
    read.map_err(|error| {
        flaws.push(Flaw::new(REPORT, format!("this is not a report of a known format: {error}")));
    })
    .ok()
}
