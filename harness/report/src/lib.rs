//! The report: what a run says about each clause, with the evidence, as one typed and versioned document.
//!
//! It is generated only from the run's log and the histories, so anyone can generate it again and compare. It contains
//! nothing that changes from one generation to the next, such as the time of writing or a random name. Unknown values are
//! left out, never invented.

mod book_facts;
mod build;
mod causes;
mod certificate;
mod chapters;
mod clauses;
mod diff;
mod document;
mod essentials;
mod exit;
mod fleet;
mod judged;
mod matrix;
mod merge;
mod merged_facts;
pub mod merged_run;
mod outline;
mod quantity;
mod report_facts;
mod result;
pub mod run_log;
pub mod tries;
mod turn;
pub mod verification;
mod word;
mod words;
mod workers;

pub use book_facts::{BookCase, BookFacts};
pub use build::{AtHand, Judged};
pub use certificate::{Certificate, ConformanceLevel, Exception, Kubelets, LevelReport, Obstacle, Subject};
pub use chapters::BookChapter;
pub use diff::{ClauseFound, Diff, Moved, MovedFacet, MovedFacets, MovedMeasurement};
pub use document::{
    API_VERSION, CaseReport, Cited, ClauseReport, Counts, EvidenceRef, HistoryRef, JudgedIn, KIND,
    MeasuredIn, ProfileOutcome, ProfileReport, Report, RunResult, SCHEMA_VERSION, Spread, UndecidedIn,
};
pub use essentials::Essentials;
pub use exit::{Exit, ExitFacts, Standard, Undecided, VerifyFacts};
pub use fleet::NodeGroup;
pub use judged::{Citations, Histories, JudgedHistory, ReadHistory, StoredHistory};
pub use matrix::{Matrix, MatrixCell, MatrixColumn, MatrixCounts, MatrixRow};
pub use merge::{Poll, Vote};
pub use outline::{NamedHistory, Outline};
pub use quantity::likened;
pub use report_facts::{ProfileFacts, ReportFacts, began_in_words, names_by_facts, names_of};
pub use run_log::LogLine;
pub use turn::Turn;
pub use word::{Reason, Word};
pub use words::{again, course_in_words, event_in_words, paragraph, sight_in_words};
pub use workers::Workers;

#[cfg(test)]
mod tests;
