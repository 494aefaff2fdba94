//! Contradictions in another person's run.
//!
//! A run is a log, histories, and a report that follows from them. Nothing in it is signed, so nothing here proves who
//! ran it, or that its histories were recorded and not invented. The checks show only that the parts fit: the log is
//! complete, each history is the one that the log names and belongs to this run and cluster, all cases of the book are
//! present, and the report follows from the log and the histories. Each contradiction is a [`Flaw`] with the file in
//! which it was found.
//!
//! All functions here are pure. `probity verify` reads the files.

mod against_book;
mod histories;
mod log;
mod numbers;
mod same;

pub use against_book::against_book;
pub use histories::{history, is_evidence_of_a_failure};
pub use log::log;
pub use numbers::numbers;
pub use same::{Differences, differences};

/// A contradiction in a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flaw {
    /// The file, relative to the folder of the run.
    pub file: String,
    /// What is wrong with it, in a sentence without the file's name.
    pub what: String,
}

impl Flaw {
    /// A flaw of a file.
    #[must_use]
    pub fn new(file: &str, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), what: what.into() }
    }
}

/// The name of the log in messages.
const LOG: &str = "events.ndjson";

/// The name of the report in messages.
const REPORT: &str = "report.json";

#[cfg(test)]
mod tests;
