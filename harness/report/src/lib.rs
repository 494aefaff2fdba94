//! The report: what a run says about each clause, with the evidence, as one typed and versioned document.
//!
//! It is made of the run's log and the histories alone, so anyone can make it again and compare. Nothing of its
//! making is in it: no time of writing, no random name. What is not known is left out, never invented.

mod build;
mod causes;
mod clauses;
mod diff;
mod document;
mod exit;
mod merge;
mod result;
pub mod run_log;
mod word;
mod words;

pub use build::{ReadHistory, StoredHistory};
pub use diff::{Diff, Moved};
pub use document::{
    API_VERSION, CaseReport, Cited, ClauseReport, Counts, EvidenceRef, HistoryRef, JudgedIn, KIND,
    MeasuredIn, ProfileOutcome, ProfileReport, Report, RunResult, SCHEMA_VERSION, Spread, UndecidedIn,
};
pub use exit::{Exit, ExitFacts, Standard, Undecided};
pub use merge::{Poll, Vote};
pub use run_log::LogLine;
pub use word::{Reason, Word};
pub use words::{again, event_in_words, paragraph};

#[cfg(test)]
mod tests;
