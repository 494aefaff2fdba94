//! Combines the verdicts of several histories into one verdict.
//!
//! A [`Vote`] is the verdict of one history. Votes are combined in a [`Poll`], in any order and any grouping, and the
//! poll is evaluated once. The most severe vote wins, with one exception: the doubt of a history that was not written
//! for the question is set aside if another case was written for it, even if that case was skipped. Skipped votes count
//! only if there are no other votes. A poll without votes has no outcome, so its clause never holds.

use probity_model::expect::Expected;
use probity_model::judge::Judgement;
use probity_model::verdict::Verdict;

/// What one history says about a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vote<'v> {
    /// The place of the history in the run's order, which decides between equal votes.
    pub place: usize,
    /// Whether its case was written for the question.
    pub intended: bool,
    /// Its verdict.
    pub verdict: &'v Verdict,
}

/// The votes so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Poll<'v> {
    counted: Option<Vote<'v>>,
    aside: Option<Vote<'v>>,
    intended: bool,
}

impl<'v> Poll<'v> {
    /// A poll with one vote.
    #[must_use]
    pub fn of(vote: Vote<'v>) -> Self {
        let doubt = matches!(vote.verdict, Verdict::Inconclusive { .. });
        let intended = vote.intended && vote.verdict.weight() > 0;
        if doubt && !vote.intended {
            Self { counted: None, aside: Some(vote), intended }
        } else {
            Self { counted: Some(vote), aside: None, intended }
        }
    }

    /// The poll on a case. Its judgements vote first, then its own expectations, for each of which it was written.
    #[must_use]
    pub fn of_case(judgements: &'v [Judgement], expected: &'v [Expected]) -> Self {
        let judged = judgements.iter().map(|judgement| (judgement.intended, &judgement.verdict));
        let expected = expected.iter().map(|expected| (true, &expected.verdict));
        let votes = judged.chain(expected).enumerate();
        votes.map(|(place, (intended, verdict))| Vote { place, intended, verdict }).collect()
    }

    /// Both polls together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            counted: heavier(self.counted, other.counted),
            aside: heavier(self.aside, other.aside),
            intended: self.intended || other.intended,
        }
    }

    /// The deciding vote. `None` without votes.
    #[must_use]
    pub fn outcome(self) -> Option<Vote<'v>> {
        let skipped = self.counted.filter(|vote| vote.intended && vote.verdict.weight() == 0);
        if self.intended || skipped.is_some() { self.counted } else { heavier(self.counted, self.aside) }
    }

    /// Whether the doubts of histories that were not written for the question are set aside.
    #[must_use]
    pub fn sets_doubts_aside(self) -> bool {
        self.intended
    }
}

impl<'v> FromIterator<Vote<'v>> for Poll<'v> {
    fn from_iter<I: IntoIterator<Item = Vote<'v>>>(votes: I) -> Self {
        votes.into_iter().map(Self::of).fold(Self::default(), Self::and)
    }
}

fn heavier<'v>(a: Option<Vote<'v>>, b: Option<Vote<'v>>) -> Option<Vote<'v>> {
    let rank = |vote: &Vote<'_>| (vote.verdict.weight(), std::cmp::Reverse(vote.place));
    match (a, b) {
        (Some(a), Some(b)) => Some(if rank(&b) > rank(&a) { b } else { a }),
        (one, None) | (None, one) => one,
    }
}

#[cfg(test)]
mod tests;
