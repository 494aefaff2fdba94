//! The sum of a report: counts, what became of each profile, and the exit code.

use std::collections::BTreeMap;

use probity_case::Profile;
use probity_model::ClauseId;

use crate::document::{ClauseReport, Counts, Outcome, ProfileReport, Report};
use crate::word::Word;

/// What the program's exit code says. The codes are published and stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// All that ran holds or diverges.
    Success = 0,
    /// A promise was broken.
    Violated = 1,
    /// The command is wrong.
    Usage = 2,
    /// Something is not decided, or nothing ran.
    Inconclusive = 3,
    /// The harness or its surroundings failed.
    Error = 4,
    /// The run was interrupted and cleaned up.
    Interrupted = 5,
    /// The run was interrupted, and something was left behind.
    LeftBehind = 6,
}

impl Exit {
    /// The code.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// What the user wants of a run in which something is not decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undecided {
    /// It is told by the exit code.
    #[default]
    Told,
    /// It counts as a violation.
    Fails,
    /// It passes, as long as something was decided.
    Passes,
}

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

    /// How many there are of a word.
    #[must_use]
    pub fn get(mut self, word: Word) -> u64 {
        *self.slot(word)
    }

    /// How many say something about the cluster.
    #[must_use]
    pub fn decided(self) -> u64 {
        self.holds + self.diverges + self.violated
    }

    /// The counts in words, the heaviest first, those without any left out: `1 violated, 67 holds`.
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

impl Report {
    /// What the program that made this report says when it ends. An interruption comes first, since the run is not
    /// whole; a broken promise outweighs faults of ours; and a run in which nothing was decided never passes.
    #[must_use]
    pub fn exit(&self, undecided: Undecided) -> Exit {
        if self.usage.is_some_and(|usage| usage.interrupted) {
            return if self.leftovers.is_empty() { Exit::Interrupted } else { Exit::LeftBehind };
        }
        let (clauses, cases) = (self.result.clauses, self.result.cases);
        let any = |word: Word| clauses.get(word) + cases.get(word) > 0;
        if any(Word::Violated) {
            return Exit::Violated;
        }
        if any(Word::Error) {
            return Exit::Error;
        }
        let doubt = self.asks_in_vain();
        let nothing = clauses.decided() + cases.decided() == 0;
        match undecided {
            Undecided::Fails if doubt => Exit::Violated,
            Undecided::Told if doubt => Exit::Inconclusive,
            _ if nothing => Exit::Inconclusive,
            _ => Exit::Success,
        }
    }
}

impl Report {
    /// Whether something that was asked for is not decided: a case, or a clause that a case was written for. What
    /// another clause leaves open in passing is told, and decides nothing.
    fn asks_in_vain(&self) -> bool {
        let open = |clause: &&ClauseReport| clause.verdict == Word::Inconclusive;
        let asked = |clause: &ClauseReport| clause.judged_in.iter().any(|judged| judged.intended);
        self.result.cases.inconclusive > 0 || self.clauses.iter().filter(open).any(asked)
    }
}

/// What became of a profile whose cases were written for these clauses.
pub(super) fn profile(profile: Profile, clauses: &[&ClauseReport], modified: bool) -> ProfileReport {
    let counts = Counts::of(clauses.iter().map(|clause| clause.verdict));
    let (result, why) = outcome(counts, modified);
    let mut names: BTreeMap<Word, Vec<ClauseId>> = BTreeMap::new();
    for clause in clauses {
        names.entry(clause.verdict).or_default().push(clause.id.clone());
    }
    ProfileReport { profile, result, why, counts, clauses: names }
}

fn outcome(counts: Counts, modified: bool) -> (Outcome, String) {
    let (result, why) = if counts.violated > 0 {
        (Outcome::Failure, "a clause was violated")
    } else if counts.error > 0 {
        (Outcome::Invalid, "the harness or its surroundings failed")
    } else if counts.decided() == 0 {
        (Outcome::Invalid, "nothing was decided")
    } else if modified {
        (Outcome::Invalid, "the program was built from sources that differ from its commit")
    } else if counts.inconclusive + counts.skipped > 0 {
        (Outcome::Partial, "some clauses are not decided")
    } else {
        (Outcome::Success, "every clause holds or diverges as catalogued")
    };
    (result, why.to_owned())
}
