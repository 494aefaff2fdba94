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

use std::fmt;
use std::path::Path;

use probity_report::{Report, StoredHistory};

use crate::exit_status::{Exit, Failure, Standard};
use crate::run_folder::{self, PAGE, REPORT};

pub(crate) use github::Github;
pub(crate) use page::chapters;

/// The files that are generated from a report, besides the report itself.
pub(crate) const GENERATED: [&str; 5] = ["report.yaml", "junit.xml", "summary.md", PAGE, "badge.json"];

/// All files that are generated from a report and its histories: names and texts. Fails if a format cannot express the
/// report, which is a bug.
pub(crate) fn texts(
    report: &Report,
    histories: &[StoredHistory],
    standard: Standard,
) -> Result<Vec<(&'static str, String)>, Failure> {
    let bug = |name: &str, error: &dyn fmt::Display| {
        Failure::failed(format!("failed to write {name}: {error}; please report this with the run's folder"))
    };
    Ok(vec![
        (REPORT, json(report).map_err(|error| bug(REPORT, &error))?),
        ("report.yaml", report_yaml::yaml(report).map_err(|error| bug("report.yaml", &error))?),
        ("junit.xml", junit::xml(report, standard).map_err(|error| bug("junit.xml", &error))?),
        ("summary.md", summary::markdown(report, standard).map_err(|error| bug("summary.md", &error))?),
        (PAGE, page::html(report, histories, standard)),
        ("badge.json", badge::json(report, standard)),
    ])
}

/// Writes all files that are generated from a report to a run's folder, and returns their names.
pub(crate) fn write(
    folder: &Path,
    report: &Report,
    histories: &[StoredHistory],
    standard: Standard,
) -> Result<Vec<&'static str>, Failure> {
    let mut written = Vec::new();
    for (name, text) in texts(report, histories, standard)? {
        let path = folder.join(name);
        run_folder::store(&path, text.as_bytes()).map_err(|error| Failure::file_failed(&path, error))?;
        written.push(name);
    }
    Ok(written)
}

/// The canonical report. The keys are in the order that the report format defines.
pub(crate) fn json(report: &Report) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(report)? + "\n")
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
        let standard = Standard::default();
        let all = || texts(&sample::report(), &sample::run().stored(), standard).unwrap();
        assert_eq!(all(), all());
    }

    #[test]
    fn every_generated_file_is_listed() {
        let all = texts(&sample::report(), &sample::run().stored(), Standard::default()).unwrap();
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).filter(|name| *name != REPORT).collect();
        assert_eq!(names, GENERATED);
    }

    #[test]
    fn a_report_reads_back() {
        let text = json(&sample::report()).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), sample::report());
    }
}
