//! The totals of a report: counts, and the result of each profile.

use std::collections::BTreeMap;

use probity_case::Profile;
use probity_model::ClauseId;

use crate::document::{ClauseReport, Counts, ProfileOutcome, ProfileReport};
use crate::word::Word;

impl Counts {
    /// Counts words.
    #[must_use]
    pub fn of(words: impl IntoIterator<Item = Word>) -> Self {
        let mut counts = Self::default();
        for word in words {
            counts.total += 1;
            *counts.slot(word) += 1;
        }
        counts
    }

    fn slot(&mut self, word: Word) -> &mut u64 {
        match word {
            Word::Violated => &mut self.violated,
            Word::Error => &mut self.error,
            Word::Inconclusive => &mut self.inconclusive,
            Word::Diverges => &mut self.diverges,
            Word::Holds => &mut self.holds,
            Word::Skipped => &mut self.skipped,
        }
    }

    /// The count of a word.
    #[must_use]
    pub fn get(mut self, word: Word) -> u64 {
        *self.slot(word)
    }

    /// How many of the verdicts say something about the cluster.
    #[must_use]
    pub fn decided(self) -> u64 {
        self.holds + self.diverges + self.violated
    }

    /// The counts in words, the most severe first, without zeros: `1 violated, 67 holds`.
    #[must_use]
    pub fn in_words(self) -> String {
        let parts: Vec<String> = Word::ALL
            .into_iter()
            .filter(|word| self.get(*word) > 0)
            .map(|word| format!("{} {word}", self.get(word)))
            .collect();
        if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
    }
}

/// The maximum percentage of the time during which nodes may be overloaded. Above it, lateness can no longer be
/// distinguished from a fault, whatever the verdicts are.
const TOO_NOISY_PERCENT: i64 = 50;

/// The result of a profile whose cases were written for these clauses.
pub(super) fn profile(
    profile: Profile,
    clauses: &[&ClauseReport],
    modified: bool,
    overloaded_percent: i64,
) -> ProfileReport {
    let counts = Counts::of(clauses.iter().map(|clause| clause.verdict));
    let half_seen = clauses.iter().any(|clause| clause.is_half_seen());
    let (result, why) = outcome(counts, half_seen, modified, overloaded_percent);
    let mut names: BTreeMap<Word, Vec<ClauseId>> = BTreeMap::new();
    for clause in clauses {
        names.entry(clause.verdict).or_default().push(clause.id.clone());
    }
    ProfileReport { profile, result, why, counts, clauses: names }
}

fn outcome(
    counts: Counts,
    half_seen: bool,
    modified: bool,
    overloaded_percent: i64,
) -> (ProfileOutcome, String) {
    if overloaded_percent > TOO_NOISY_PERCENT {
        let why = format!(
            "the nodes are too noisy: they were overloaded for {overloaded_percent}% of the time, more than {TOO_NOISY_PERCENT}%"
        );
        return (ProfileOutcome::Invalid, why);
    }
    let (result, why) = if counts.violated > 0 {
        (ProfileOutcome::Failure, "a clause was violated")
    } else if counts.error > 0 {
        (ProfileOutcome::Invalid, "the harness or its environment failed")
    } else if counts.decided() == 0 && !half_seen {
        (ProfileOutcome::Invalid, "nothing was decided")
    } else if modified {
        (ProfileOutcome::Invalid, "the program was built from sources that differ from its commit")
    } else if counts.inconclusive + counts.skipped > 0 {
        (ProfileOutcome::Partial, "some clauses are not decided")
    } else {
        (ProfileOutcome::Success, "every clause holds, or diverges as the book records")
    };
    (result, why.to_owned())
}
