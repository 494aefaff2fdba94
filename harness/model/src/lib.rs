//! The pure heart of the harness: what is promised, what is arranged, what happened, and what follows from it.
//!
//! ```text
//! Clause, Case  ->  History  ->  Timeline  ->  Judge  ->  Judgement  ->  Report
//! ```
//!
//! Everything here turns text and values into values. The crate refuses to read a clock, a file, the network or the
//! environment, so that a stored history is judged exactly as the live one was. What it needs to know of time is in
//! the events that it is given.

pub mod case;
pub mod clause;
pub mod clocks;
pub mod compose;
pub mod expect;
pub mod history;
pub mod judge;
pub mod manifest;
pub mod measure;
pub mod mechanisms;
pub mod metronome;
pub mod promise;
pub mod report;
pub mod run_log;
pub mod timeline;
pub mod trial;
pub mod verdict;
pub mod version;
pub mod wait;

pub use case::{Case, CaseName};
pub use clause::{Catalogue, Clause, ClauseId, Level};
pub use clocks::{Clock, Clocks, Order, Stamp};
pub use history::{Event, EventId, Happening, Header, History};
pub use judge::{Judge, Judgement, Registry};
pub use measure::{Bound, Interval, Measurement};
pub use report::Report;
pub use run_log::LogLine;
pub use timeline::Timeline;
pub use verdict::{Doubt, Evidence, Seen, Verdict};
