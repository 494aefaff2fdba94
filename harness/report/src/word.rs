//! The words for verdicts and their reasons, without sentences.

use std::fmt;

use probity_model::verdict::{Doubt, Skip, Verdict};
use serde::{Deserialize, Serialize};

/// The word for a verdict. A reader rejects a report with an unknown word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// The promise was broken.
    Violated,
    /// The harness or its environment failed.
    Error,
    /// The case ran, but its evidence does not decide the clause.
    Inconclusive,
    /// The behavior contradicts the documentation but matches a known upstream deviation.
    Diverges,
    /// The promise was kept.
    Holds,
    /// It did not run.
    Skipped,
}

/// The reason of a verdict, from a closed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Why it is inconclusive.
    Doubt(Doubt),
    /// Why it did not run.
    Skip(Skip),
}

impl Word {
    /// All words, the most severe first.
    pub const ALL: [Self; 6] =
        [Self::Violated, Self::Error, Self::Inconclusive, Self::Diverges, Self::Holds, Self::Skipped];

    /// The word of a verdict.
    #[must_use]
    pub fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Holds { .. } => Self::Holds,
            Verdict::Violated { .. } => Self::Violated,
            Verdict::Diverges { .. } => Self::Diverges,
            Verdict::Inconclusive { .. } => Self::Inconclusive,
            Verdict::Skipped { .. } => Self::Skipped,
            Verdict::Error { .. } => Self::Error,
        }
    }

    /// The word itself.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Violated => "violated",
            Self::Error => "error",
            Self::Inconclusive => "inconclusive",
            Self::Diverges => "diverges",
            Self::Holds => "holds",
            Self::Skipped => "skipped",
        }
    }

    /// The symbol for the word, which a terminal can show.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Violated => "✗",
            Self::Error => "!",
            Self::Inconclusive => "?",
            Self::Diverges => "≠",
            Self::Holds => "✓",
            Self::Skipped => "-",
        }
    }

    /// Whether the verdict says something about the cluster.
    #[must_use]
    pub fn decided(self) -> bool {
        matches!(self, Self::Violated | Self::Diverges | Self::Holds)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Reason {
    /// The reason of a verdict, if it has one.
    #[must_use]
    pub fn of(verdict: &Verdict) -> Option<Self> {
        match verdict {
            Verdict::Inconclusive { doubt, .. } => Some(Self::Doubt(*doubt)),
            Verdict::Skipped { reason, .. } => Some(Self::Skip(*reason)),
            _ => None,
        }
    }
}
