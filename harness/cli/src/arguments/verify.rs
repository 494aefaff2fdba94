//! The flags of `probity verify`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use probity_report::ConformanceLevel;

/// Checks runs of other people
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The folder of a run, a packed run (run.tar.zst), or a report.json
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Fail unless each run reaches this conformance level
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) level: Option<LevelWord>,
}

/// A conformance level, as on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LevelWord {
    /// All MUST clauses of the core profile
    Core,
    /// All MUST clauses of the core and extended profiles
    Extended,
}

impl From<LevelWord> for ConformanceLevel {
    fn from(word: LevelWord) -> Self {
        match word {
            LevelWord::Core => Self::Core,
            LevelWord::Extended => Self::Extended,
        }
    }
}
