//! The files of a run, all but its log and its histories: each is made of the report, and the report of those two.
//!
//! What is written here can be made again at any time and comes out the same, byte for byte. The renderers turn a
//! report into text and do nothing else; reading and writing is in `folder`.

mod badge;
mod folder;
mod github;
mod junit;
mod short;
mod summary;

#[cfg(test)]
pub(crate) mod sample;

use std::fmt;

use probity_report::Report;
use probity_report::{Exit, Undecided};

pub(crate) use folder::{JSON, LOG, digest, load, read_report, write};
pub(crate) use github::Github;

/// Why something could not be done with the files of a run.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// What the exit code says.
    pub(crate) exit: Exit,
    /// What, where, and what to do.
    pub(crate) sentence: String,
}

impl Trouble {
    /// The user can put it right.
    pub(crate) fn usage(sentence: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, sentence: sentence.into() }
    }

    /// Something failed that no flag puts right.
    pub(crate) fn failed(sentence: impl Into<String>) -> Self {
        Self { exit: Exit::Error, sentence: sentence.into() }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// A file by name, and what it says.
pub(crate) type Text = (&'static str, String);

/// All files that are made of a report.
///
/// # Errors
///
/// If a format cannot hold what the report says, which is a fault of ours.
pub(crate) fn texts(report: &Report, undecided: Undecided) -> Result<Vec<Text>, Trouble> {
    let fault = |name: &str, error: &dyn fmt::Display| {
        Trouble::failed(format!("failed to make {name}: {error}; please report this with the run's folder"))
    };
    Ok(vec![
        (JSON, json(report).map_err(|error| fault(JSON, &error))?),
        ("report.yaml", short::yaml(report).map_err(|error| fault("report.yaml", &error))?),
        ("junit.xml", junit::xml(report, undecided).map_err(|error| fault("junit.xml", &error))?),
        ("summary.md", summary::markdown(report, undecided).map_err(|error| fault("summary.md", &error))?),
        ("badge.json", badge::json(report, undecided)),
    ])
}

/// The canonical report. Its keys stand in the order of the format.
pub(crate) fn json(report: &Report) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(report)? + "\n")
}

/// What a run came to, in one word, as its exit code says it.
pub(crate) fn word(exit: Exit) -> &'static str {
    match exit {
        Exit::Success => "passed",
        Exit::Violated => "violated",
        Exit::Usage => "wrong use",
        Exit::Inconclusive => "inconclusive",
        Exit::Error => "error",
        Exit::Interrupted => "interrupted",
        Exit::LeftBehind => "interrupted, and something was left behind",
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn every_file_comes_out_the_same_again() {
        let undecided = Undecided::Told;
        assert_eq!(
            texts(&sample::report(), undecided).unwrap(),
            texts(&sample::report(), undecided).unwrap()
        );
    }

    #[test]
    fn a_report_reads_back() {
        let text = json(&sample::report()).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), sample::report());
    }
}
