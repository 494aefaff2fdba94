//! How the program ends: every exit status, in one place. They are a contract with scripts and CI, and do not change.

use std::fmt;

use probity_model::Verdict;
use probity_report::Undecided;
use probity_script::problem::Problem;

use crate::files::Trouble;

pub(crate) use probity_report::Exit;

/// The statuses, for `--help` and for the documentation.
pub(crate) const STATUSES: &str = "Exit statuses:
    0  it went well: nothing was violated, and nothing is left open
    1  a clause or an expectation is violated
    2  wrong use: flags, a case file, a name that does not exist, or a right that is missing
    3  nothing is violated, but something is inconclusive, or nothing ran at all
    4  the cluster, the harness or a file failed, so nothing can be said
    5  interrupted; all that was made on the cluster is removed
    6  something is left on the cluster; it is named, and `probity gc` removes it";

/// How several verdicts end the program. Of none it is said that nothing ran, which is never a pass.
pub(crate) fn of_verdicts<'v>(verdicts: impl IntoIterator<Item = &'v Verdict>, undecided: Undecided) -> Exit {
    match probity_model::verdict::merge(verdicts) {
        Some(Verdict::Violated { .. }) => Exit::Violated,
        Some(Verdict::Error { .. }) => Exit::Error,
        Some(Verdict::Inconclusive { .. }) if undecided == Undecided::Fails => Exit::Violated,
        Some(Verdict::Inconclusive { .. }) if undecided == Undecided::Told => Exit::Inconclusive,
        Some(Verdict::Inconclusive { .. } | Verdict::Diverges { .. } | Verdict::Holds { .. }) => {
            Exit::Success
        }
        Some(Verdict::Skipped { .. }) | None => Exit::Inconclusive,
    }
}

/// Why a verb could not be carried out.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How the program ends.
    pub(crate) exit: Exit,
    sentence: String,
}

impl Failure {
    /// The user can put it right.
    pub(crate) fn wrong_use(sentence: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, sentence: sentence.into() }
    }

    /// Something failed that no flag puts right.
    pub(crate) fn failed(sentence: impl Into<String>) -> Self {
        Self { exit: Exit::Error, sentence: sentence.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        Self { exit: trouble.exit, sentence: trouble.sentence }
    }
}

impl From<Box<Problem>> for Failure {
    fn from(problem: Box<Problem>) -> Self {
        Self::wrong_use(problem.to_string())
    }
}

#[cfg(test)]
mod tests {
    use probity_model::verdict::{Doubt, Skip};

    use super::*;

    #[test]
    fn a_run_in_which_nothing_ran_is_no_pass() {
        let skipped = Verdict::Skipped { reason: Skip::Precondition, why: String::new() };
        assert_eq!(of_verdicts([], Undecided::Passes), Exit::Inconclusive);
        assert_eq!(of_verdicts([&skipped], Undecided::Passes), Exit::Inconclusive);
    }

    #[test]
    fn an_error_outweighs_a_doubt_and_a_doubt_passes_only_when_told() {
        let doubt = Verdict::Inconclusive { doubt: Doubt::Unseen, why: String::new(), events: Vec::new() };
        let error = Verdict::Error { why: String::new() };
        assert_eq!(of_verdicts([&doubt, &error], Undecided::Passes), Exit::Error);
        assert_eq!(of_verdicts([&doubt], Undecided::Told), Exit::Inconclusive);
        assert_eq!(of_verdicts([&doubt], Undecided::Passes), Exit::Success);
    }
}
