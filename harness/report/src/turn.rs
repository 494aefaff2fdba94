//! How the verdict on a clause changes from one report to the next.

use serde::{Deserialize, Serialize};

use crate::word::Word;

/// A change of verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    /// It was not violated, and is violated now.
    NewViolation,
    /// It held, and diverges now.
    NewDivergence,
    /// It was decided, and is no longer decided.
    NoLongerDecided,
    /// It was undecided, and is undecided with another verdict: skipped, inconclusive or error.
    StillUndecided,
    /// It was undecided, and holds or diverges now.
    NowDecided,
    /// It diverged, and holds now.
    DivergenceEnded,
    /// It was violated, and is no longer violated.
    ViolationEnded,
}

impl Turn {
    /// How a verdict changed. `None` if the verdict is the same.
    #[must_use]
    pub fn between(from: Word, to: Word) -> Option<Self> {
        let turn = match (from, to) {
            _ if from == to => return None,
            (_, Word::Violated) => Self::NewViolation,
            (_, _) if from.decided() && !to.decided() => Self::NoLongerDecided,
            (Word::Violated, _) => Self::ViolationEnded,
            (Word::Holds, Word::Diverges) => Self::NewDivergence,
            (Word::Diverges, Word::Holds) => Self::DivergenceEnded,
            _ if to.decided() => Self::NowDecided,
            _ => Self::StillUndecided,
        };
        Some(turn)
    }

    /// Whether the verdict got worse, measured by the documentation.
    #[must_use]
    pub fn is_regression(self) -> bool {
        matches!(self, Self::NewViolation | Self::NewDivergence)
    }

    /// Whether it got better.
    #[must_use]
    pub fn is_recovery(self) -> bool {
        matches!(self, Self::ViolationEnded | Self::DivergenceEnded)
    }

    /// The change in words, such as `new violation`.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::NewViolation => "new violation",
            Self::NewDivergence => "new divergence",
            Self::NoLongerDecided => "no longer decided",
            Self::StillUndecided => "still undecided",
            Self::NowDecided => "now decided",
            Self::DivergenceEnded => "divergence ended",
            Self::ViolationEnded => "violation ended",
        }
    }

    /// The symbol for the change, if the change says something about the cluster.
    #[must_use]
    pub fn sign(self) -> Option<&'static str> {
        match self {
            _ if self.is_regression() => Some("▼"),
            _ if self.is_recovery() => Some("▲"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_has_its_name_and_no_change_has_none() {
        for from in Word::ALL {
            for to in Word::ALL {
                let turn = Turn::between(from, to);
                assert_eq!(turn.is_none(), from == to, "{from} -> {to}");
                let is_new = turn.is_some_and(Turn::is_regression);
                assert_eq!(
                    is_new,
                    from != to && (to == Word::Violated || (from, to) == (Word::Holds, Word::Diverges)),
                    "{from} -> {to}"
                );
            }
        }
    }

    #[test]
    fn a_violation_ends_only_by_a_decision() {
        assert_eq!(Turn::between(Word::Violated, Word::Holds), Some(Turn::ViolationEnded));
        assert_eq!(Turn::between(Word::Violated, Word::Diverges), Some(Turn::ViolationEnded));
        for undecided in [Word::Inconclusive, Word::Error, Word::Skipped] {
            assert_eq!(Turn::between(Word::Violated, undecided), Some(Turn::NoLongerDecided));
            assert_eq!(Turn::between(undecided, Word::Holds), Some(Turn::NowDecided));
        }
        assert_eq!(Turn::between(Word::Skipped, Word::Error), Some(Turn::StillUndecided));
    }
}
