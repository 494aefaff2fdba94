//! What contradicts itself in a run that somebody else made.
//!
//! A run is a log, histories, and a report that follows from them. Nothing in it is signed, so nothing here proves who made
//! it, or that its histories were recorded and not invented. What can be shown is that the parts fit: that the log is whole,
//! that each history is the one that the log names and belongs to this run and this cluster, that the book's cases are all
//! there, and that the report says what follows. Each contradiction is a [`Flaw`] with the file that it was found in.
//!
//! All functions here are pure; `probity verify` reads the files.

mod against_book;
mod histories;
mod log;
mod numbers;
mod same;

pub use against_book::against_book;
pub use histories::{histories, is_evidence_of_a_failure};
pub use log::log;
pub use numbers::numbers;
pub use same::{Differences, differences};

/// A contradiction in a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flaw {
    /// The file, below the folder of the run.
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
