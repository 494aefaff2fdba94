//! The judging core of the harness: the clauses, the history, and the verdicts that follow.
//!
//! ```text
//! Clause, History  ->  Timeline  ->  Judge  ->  Judgement
//! ```
//!
//! The crate turns text and values into values. It does not use any clock, file, network or environment, so a stored
//! history is judged exactly as it was judged during the run. Cases, reports and trials are separate crates, which
//! depend on this crate.

pub mod clause;
pub mod clocks;
pub mod echo;
pub mod expect;
pub mod expectation;
pub mod facets;
pub mod history;
pub mod judge;
pub mod kubelet_settings;
pub mod measure;
pub mod mechanisms;
pub mod metronome;
mod overload;
pub mod stage;
pub mod stamp;
pub mod timeline;
pub mod verdict;
pub mod version;

pub use clause::{Catalogue, Clause, ClauseId, Level};
pub use clocks::{Clocks, Order};
pub use history::{Event, Happening, Header, History};
pub use judge::{Judge, Judgement, Registry};
pub use measure::{Bound, Measurement};
pub use stamp::{Clock, EventId, Interval, Stamp};
pub use timeline::Timeline;
pub use verdict::{Doubt, Evidence, Seen, Verdict};
