//! Comparisons of reports: where the reports are, what they are called, and how the result is written.

pub(crate) mod links;
pub(crate) mod markdown;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use probity_report::{Report, names_of};
use serde::Serialize;

use crate::arguments::ComparisonOutput;
use crate::exit_status::{Exit, Failure};
use crate::{output, run_folder};

/// A report with its folder.
pub(crate) struct ComparedReport {
    /// The report.
    pub(crate) report: Report,
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

    /// The page of the report, if it is in the same folder.
    pub(crate) fn page(&self) -> Option<PathBuf> {
        Some(self.file.with_file_name(run_folder::PAGE)).filter(|page| page.is_file())
    }
}

/// The names of reports: the names that the user gave, and generated names for the other reports. Fails if the same
/// report is given twice, or if two reports have the same name.
pub(crate) fn names(reports: &[ComparedReport]) -> Result<Vec<String>, Failure> {
    for (at, one) in reports.iter().enumerate() {
        if let Some(same) =
            reports[..at].iter().find(|other| other.file == one.file || other.report == one.report)
        {
            let files = if same.file == one.file {
                format!("{} is given twice", one.file.display())
            } else {
                format!("{} and {} are the same report", same.file.display(), one.file.display())
            };
            return Err(Failure::wrong_use(format!("{files}; give each report once")));
        }
    }
    let unnamed: Vec<&Report> =
        reports.iter().filter(|one| one.given.is_none()).map(|one| &one.report).collect();
    let mut made = names_of(&unnamed).into_iter();
    let names: Vec<String> =
        reports.iter().map(|one| one.given.clone().or_else(|| made.next()).unwrap_or_default()).collect();
    for (at, name) in names.iter().enumerate() {
        if names[..at].contains(name) {
            let sentence =
                format!("two reports are called `{name}`; give each a different name with NAME=REPORT");
            return Err(Failure::wrong_use(sentence));
        }
    }
    Ok(names)
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
