//! Comparisons of reports: where the reports are, what they are called, and how the result is written.

pub(crate) mod links;
pub(crate) mod markdown;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use probity_report::{MatrixColumn, Report, ReportFacts, names_by_facts};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::arguments::ComparisonOutput;
use crate::exit_status::{Exit, Failure};
use crate::provenance::hex;
use crate::{output, run_folder};

/// A report (or only the part of it that a comparison needs), its name and its file.
pub(crate) struct ComparedReport<R = Report> {
    /// The report.
    pub(crate) report: R,
    /// The name that the user gave it, if any.
    given: Option<String>,
    /// The canonical path of the file.
    file: PathBuf,
}

impl ComparedReport {
    /// Reads a report to which the user gave no name.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let report = run_folder::read_report(path)?;
        let file = run_folder::report_file(path);
        let file = std::fs::canonicalize(&file).map_err(|error| Failure::wrong_file(&file, error))?;
        Ok(Self { report, given: None, file })
    }

    /// Reads `NAME=REPORT` or `REPORT`. An argument that is an existing path is read as a path, even if it contains `=`.
    pub(crate) fn read_named(argument: &OsStr) -> Result<Self, Failure> {
        let path = Path::new(argument);
        let Some((name, place)) =
            argument.to_str().and_then(|text| text.split_once('=')).filter(|_| !path.exists())
        else {
            return Self::read(path);
        };
        let name = name.trim();
        if name.is_empty() {
            let sentence =
                format!("`{}`: there is no name before the `=`; write NAME=REPORT", argument.display());
            return Err(Failure::wrong_use(sentence));
        }
        if place.is_empty() {
            let sentence =
                format!("`{}`: there is no report after the `=`; write NAME=REPORT", argument.display());
            return Err(Failure::wrong_use(sentence));
        }
        Ok(Self { given: Some(name.to_owned()), ..Self::read(Path::new(place))? })
    }

    /// The column of the report. The report itself is dropped, because a matrix may have more of them than fit into memory.
    pub(crate) fn column(self) -> ComparedReport<Column> {
        let Self { report, given, file } = self;
        let column = MatrixColumn::of("", &report);
        ComparedReport { report: Column { column, digest: digest(&report) }, given, file }
    }
}

impl<R> ComparedReport<R> {
    /// The page of the report, if it is in the same folder.
    pub(crate) fn page(&self) -> Option<PathBuf> {
        Some(self.file.with_file_name(run_folder::PAGE)).filter(|page| page.is_file())
    }
}

/// A report in a matrix.
pub(crate) struct Column {
    /// What the matrix shows.
    pub(crate) column: MatrixColumn,
    /// The digest of the report, which is equal only for equal reports.
    digest: String,
}

/// The digest of a report, however its file is formatted.
fn digest(report: &Report) -> String {
    let mut digest = Digested(Sha256::new());
    // Neither serializing a report nor writing to the digest can fail.
    let _ = serde_json::to_writer(&mut digest, report);
    hex(digest.0)
}

/// A writer that keeps only the digest.
struct Digested(Sha256);

impl io::Write for Digested {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The names of reports: the names that the user gave, and generated names for the other reports. Fails if the same
/// report is given twice, or if two reports have the same name.
pub(crate) fn names(reports: &[ComparedReport<Column>]) -> Result<Vec<String>, Failure> {
    each_once(reports)?;
    let unnamed = reports.iter().filter(|one| one.given.is_none());
    let unnamed: Vec<&ReportFacts> = unnamed.map(|one| &one.report.column.facts).collect();
    let mut made = names_by_facts(&unnamed).into_iter();
    let names: Vec<String> =
        reports.iter().map(|one| one.given.clone().or_else(|| made.next()).unwrap_or_default()).collect();
    let mut known = BTreeSet::new();
    match names.iter().find(|name| !known.insert(*name)) {
        None => Ok(names),
        Some(name) => Err(Failure::wrong_use(format!(
            "two reports are called `{name}`; give each a different name with NAME=REPORT"
        ))),
    }
}

/// Fails if the same report is given twice.
fn each_once(reports: &[ComparedReport<Column>]) -> Result<(), Failure> {
    let (mut files, mut digests) = (BTreeSet::new(), BTreeMap::new());
    for one in reports {
        let file = &one.file;
        if !files.insert(file) {
            let sentence = format!("{} is given twice; give each report once", file.display());
            return Err(Failure::wrong_use(sentence));
        }
        if let Some(same) = digests.insert(&one.report.digest, file) {
            let (same, file) = (same.display(), file.display());
            return Err(Failure::wrong_use(format!(
                "{same} and {file} are the same report; give each report once"
            )));
        }
    }
    Ok(())
}

/// Writes a comparison to standard output or to the requested file. For a file, it also prints a message.
pub(crate) fn write(to: &ComparisonOutput, text: &str) -> Result<Exit, Failure> {
    match &to.out {
        None => output::out(text),
        Some(path) => {
            run_folder::store(path, text.as_bytes()).map_err(|error| Failure::file_failed(path, error))?;
            output::out(&format!("wrote {}\n", path.display()))
        }
    }
}

/// A comparison for programs.
pub(crate) fn json(of: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(of);
    text.map(|text| text + "\n").map_err(|error| Failure::failed(format!("failed to write JSON: {error}")))
}
