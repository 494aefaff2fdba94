//! Reads the files to verify. A problem with a file of a run is a flaw of the run. A path that is not a run at all is an
//! error.

use std::fs;
use std::path::{Path, PathBuf};

use probity_report::run_log::{self, RunFacts};
use probity_report::verification::Flaw;
use probity_report::{LogLine, Report};

use crate::exit_status::Failure;
use crate::input_files::FileArgument;
use crate::run_folder::foreign::RunFiles;
use crate::run_folder::{self, LOG, PACKED, REPORT, bundle};

/// The argument that names the runs to verify.
const RUN: FileArgument =
    FileArgument { name: "RUN", takes: "the folder of a run, a packed run (run.tar.zst), or a report.json" };

/// The first bytes of every file that is compressed with gzip.
const GZIP: [u8; 2] = [0x1F, 0x8B];

/// The bytes at [`TAR_AT`] in every tar archive.
const TAR: &[u8] = b"ustar";

/// Where a tar archive has its mark.
const TAR_AT: usize = 257;

/// An argument of the command line.
pub(crate) enum Given {
    /// A run: its folder, or a packed run.
    Run(RunFiles),
    /// The text of a report without its run.
    Report(String),
}

/// A log and its first line.
pub(super) struct LogRead {
    pub(super) log: Vec<LogLine>,
    pub(super) facts: RunFacts,
}

/// A stored report, as a document and as the text of the file.
pub(super) struct StoredReport {
    pub(super) report: Report,
    pub(super) text: String,
}

impl Given {
    /// Opens what is at a path. The path of a run's report stands for the folder of the run.
    /// Fails if it is neither a run nor a report.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let metadata = fs::metadata(path).map_err(|error| RUN.unreadable(path, &error))?;
        if metadata.is_dir() {
            return Self::of_folder(path);
        }
        let beside = path.parent().map_or_else(PathBuf::new, Path::to_owned);
        let is_report = path.file_name().is_some_and(|name| name == REPORT);
        let beside = if beside.as_os_str().is_empty() { ".".into() } else { beside };
        if is_report && is_run(&beside) {
            return Ok(Self::Run(RunFiles::Folder(beside)));
        }
        let wrong = |why: String| Failure::wrong_file(path, why);
        if !metadata.is_file() {
            return Err(wrong("it is not a regular file".to_owned()));
        }
        let bytes = run_folder::read_bytes(path).map_err(wrong)?;
        if bytes.starts_with(&PACKED) {
            let unpack = "; if it is an archive of another tool, unpack it and give the folder of the run";
            let packed = |failure: Failure| wrong(failure.sentence + unpack);
            let tree = bundle::files(&bytes).map_err(packed)?;
            if tree.get(LOG).is_none() {
                return Err(packed(bundle::wrong(format!("it has no {LOG}"))));
            }
            return Ok(Self::Run(RunFiles::Packed(tree)));
        }
        if bytes.starts_with(&GZIP) || bytes.get(TAR_AT..).is_some_and(|rest| rest.starts_with(TAR)) {
            return Err(wrong("this is an archive; unpack it and give the folder of the run".to_owned()));
        }
        let text = String::from_utf8(bytes).map_err(|_| wrong(neither()))?;
        if run_folder::is_report(&text) {
            run_folder::check_format(&text).map_err(wrong)?;
            Ok(Self::Report(text))
        } else {
            Err(wrong(neither()))
        }
    }

    fn of_folder(path: &Path) -> Result<Self, Failure> {
        if is_run(path) {
            return Ok(Self::Run(RunFiles::Folder(path.to_owned())));
        }
        let report = path.join(REPORT);
        if report.is_file() && !report.is_symlink() {
            return Self::open(&report);
        }
        Err(Failure::wrong_file(path, format!("it has no {LOG}: {}", neither())))
    }
}

/// Whether a folder has a part of a run. A run without its log is still a run: the missing log is its flaw.
fn is_run(folder: &Path) -> bool {
    folder.join(LOG).exists() || folder.join("history").is_dir()
}

fn neither() -> String {
    "this is neither the folder of a run, nor a packed run, nor a report.json".to_owned()
}

/// The log. A log that cannot be read is a flaw, and nothing else can be checked then.
pub(super) fn log(files: &RunFiles, flaws: &mut Vec<Flaw>) -> Option<LogRead> {
    let mut flaw = |what: String| flaws.push(Flaw::new(LOG, what));
    let text = files.text(LOG).map_err(&mut flaw).ok()?;
    if !text.ends_with('\n') {
        flaw("its last line is incomplete".to_owned());
    }
    let log = run_log::read(&text).map_err(|error| flaw(error.to_string())).ok()?;
    let Some(LogLine::Began(facts)) = log.first() else { return None };
    let facts = facts.as_ref().clone();
    Some(LogRead { facts, log })
}

/// The stored report of a run, if it exists and can be read.
pub(super) fn report(files: &RunFiles, flaws: &mut Vec<Flaw>) -> Option<StoredReport> {
    if !files.has(REPORT) {
        return None;
    }
    match files.text(REPORT) {
        Ok(text) => report_of(text, flaws),
        Err(why) => {
            flaws.push(Flaw::new(REPORT, why));
            None
        }
    }
}

/// Parses a report.
pub(super) fn report_of(text: String, flaws: &mut Vec<Flaw>) -> Option<StoredReport> {
    match run_folder::parse_report(&text) {
        Ok(report) => Some(StoredReport { report, text }),
        Err(why) => {
            flaws.push(Flaw::new(REPORT, why));
            None
        }
    }
}
