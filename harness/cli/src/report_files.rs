//! The files that are generated from a report, for tools, CI and people.
//!
//! They can be generated again at any time and are then identical, byte for byte. The renderers only turn a report into
//! text.

mod badge;
mod github;
mod junit;
mod page;
mod report_yaml;
#[cfg(test)]
pub(crate) mod sample;
mod summary;

use std::path::Path;
use std::{fmt, io};

use probity_report::{Histories, Report, StoredHistory};

use crate::exit_status::{Exit, Failure, Standard};
use crate::run_folder::foreign::RunFiles;
use crate::run_folder::{self, PAGE, REPORT};
use crate::trials::stored_promises::PROMISES;

pub(crate) use github::Github;
pub(crate) use page::chapters;

/// The files that are generated from a report, besides the report itself.
pub(crate) const GENERATED: [&str; 5] = ["report.yaml", "junit.xml", "summary.md", PAGE, "badge.json"];

/// The files of a run from which the page is generated, besides the log.
pub(crate) trait RunSources: Histories {
    /// The promises that `probity try` stored, or why they cannot be read. `None` if there are none.
    fn promises(&self) -> Option<Result<String, String>>;
}

impl RunSources for RunFiles {
    fn promises(&self) -> Option<Result<String, String>> {
        self.has(PROMISES).then(|| self.text(PROMISES))
    }
}

impl RunSources for Vec<StoredHistory> {
    fn promises(&self) -> Option<Result<String, String>> {
        None
    }
}

/// The text of a file that is generated from a report and the files of its run. The names are [`REPORT`] and [`GENERATED`].
/// Fails if a format cannot express the report, which is a bug.
pub(crate) fn text(
    name: &str,
    report: &Report,
    sources: &dyn RunSources,
    standard: Standard,
) -> Result<String, Failure> {
    let bug = |error: &dyn fmt::Display| {
        Failure::failed(format!("failed to write {name}: {error}; please report this with the run's folder"))
    };
    match name {
        REPORT => json(report).map_err(|error| bug(&error)),
        "report.yaml" => report_yaml::yaml(report).map_err(|error| bug(&error)),
        "junit.xml" => junit::xml(report, standard).map_err(|error| bug(&error)),
        "summary.md" => summary::markdown(report, standard).map_err(|error| bug(&error)),
        PAGE => Ok(page::html(report, sources, standard)),
        "badge.json" => Ok(badge::json(report, standard)),
        _ => Err(bug(&"no file of a run has this name")),
    }
}

/// Writes all files that are generated from a report to a run's folder, one by one, and returns their names.
pub(crate) fn write(
    folder: &Path,
    report: &Report,
    sources: &dyn RunSources,
    standard: Standard,
) -> Result<Vec<&'static str>, Failure> {
    let mut written = Vec::new();
    for name in std::iter::once(REPORT).chain(GENERATED) {
        let path = folder.join(name);
        let text = text(name, report, sources, standard)?;
        run_folder::store(&path, text.as_bytes()).map_err(|error| Failure::file_failed(&path, error))?;
        written.push(name);
    }
    Ok(written)
}

/// The canonical report. The keys are in the order that the report format defines.
pub(crate) fn json(report: &Report) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(report)? + "\n")
}

/// Whether a text is the canonical report. This does not build a second text.
pub(crate) fn is_json_of(report: &Report, text: &str) -> bool {
    let Some(text) = text.strip_suffix('\n') else { return false };
    let mut rest = Expected(text.as_bytes());
    serde_json::to_writer_pretty(&mut rest, report).is_ok() && rest.0.is_empty()
}

/// A writer that accepts only these bytes.
struct Expected<'t>(&'t [u8]);

impl io::Write for Expected<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.strip_prefix(bytes).ok_or(io::ErrorKind::InvalidData)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The exit status of a run as a word.
fn exit_word(exit: Exit) -> &'static str {
    match exit {
        Exit::Success => "passed",
        Exit::Violated => "violated",
        Exit::Usage => "wrong usage",
        Exit::Inconclusive => "inconclusive",
        Exit::Error => "error",
        Exit::Interrupted => "interrupted",
        Exit::LeftBehind => "objects left behind",
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn every_file_comes_out_the_same_again() {
        for name in GENERATED {
            let text = || text(name, &sample::report(), &sample::run().stored(), Standard::default());
            assert_eq!(text().unwrap(), text().unwrap(), "{name}");
        }
    }

    #[test]
    fn a_report_reads_back() {
        let text = json(&sample::report()).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), sample::report());
        assert!(is_json_of(&sample::report(), &text));
        for other in
            [text.trim_end(), &text[1..], &(text.clone() + "\n"), &text.replacen("violated", "holds", 1)]
        {
            assert!(!is_json_of(&sample::report(), other), "{}", other.len());
        }
    }
}
