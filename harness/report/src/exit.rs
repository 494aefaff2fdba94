//! How a program that runs or judges cases ends: one rule that derives the exit status from a few facts.
//!
//! `probity run`, `try`, `report` and `judge` collect the facts, each in its own way, and ask [`ExitFacts::status`]; `probity
//! verify` asks [`VerifyFacts::status`].

use crate::document::Report;
use crate::word::Word;

/// The exit statuses. They are published and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// Everything that ran holds or diverges.
    Success = 0,
    /// A clause or an expectation is violated.
    Violated = 1,
    /// The command is wrong.
    Usage = 2,
    /// Something is undecided, or nothing was decided.
    Inconclusive = 3,
    /// The cluster, the harness or a file failed.
    Error = 4,
    /// The run was interrupted and cleaned up.
    Interrupted = 5,
    /// Objects of the run are left on the cluster.
    LeftBehind = 6,
}

impl Exit {
    /// The code.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// How undecided results affect the exit status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undecided {
    /// The exit status reports it.
    #[default]
    Warns,
    /// It counts as a violation.
    Fails,
    /// It passes, provided that something was decided.
    Passes,
}

/// What the user counts as a failure, in addition to violations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standard {
    /// How undecided cases and clauses affect the exit status.
    pub undecided: Undecided,
    /// Whether a divergence counts as a violation, so that only the documentation counts and not the known behavior of
    /// upstream.
    pub strict: bool,
}

impl From<Undecided> for Standard {
    fn from(undecided: Undecided) -> Self {
        Self { undecided, strict: false }
    }
}

/// Everything that the exit status depends on, apart from the user's standard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExitFacts {
    /// Objects of the run are left on the cluster.
    pub left_behind: bool,
    /// The run was interrupted.
    pub interrupted: bool,
    /// A clause or an expectation is violated.
    pub violated: bool,
    /// A clause diverges from the documentation, as upstream is known to do.
    pub diverges: bool,
    /// The cluster, the harness or a file failed, or the run did not finish.
    pub failed: bool,
    /// A case is undecided, or a clause for which a case was written.
    pub undecided: bool,
    /// Something was decided about the cluster.
    pub decided: bool,
}

impl ExitFacts {
    /// Adds a verdict. `asked` is whether a case was written to decide it.
    pub fn add(&mut self, verdict: Word, asked: bool) {
        match verdict {
            Word::Violated => self.violated = true,
            Word::Diverges => self.diverges = true,
            Word::Error => self.failed = true,
            Word::Inconclusive => self.undecided |= asked,
            Word::Holds | Word::Skipped => {}
        }
        self.decided |= matches!(verdict, Word::Violated | Word::Holds | Word::Diverges);
    }

    /// The facts of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            left_behind: self.left_behind || other.left_behind,
            interrupted: self.interrupted || other.interrupted,
            violated: self.violated || other.violated,
            diverges: self.diverges || other.diverges,
            failed: self.failed || other.failed,
            undecided: self.undecided || other.undecided,
            decided: self.decided || other.decided,
        }
    }

    /// The exit status. If several apply, the precedence is 6 or 5, then 1, 4, 3.
    #[must_use]
    pub fn status(self, standard: impl Into<Standard>) -> Exit {
        let standard = standard.into();
        let open = self.undecided || !self.decided;
        match standard.undecided {
            _ if self.left_behind => Exit::LeftBehind,
            _ if self.interrupted => Exit::Interrupted,
            _ if self.violated || (standard.strict && self.diverges) => Exit::Violated,
            _ if self.failed => Exit::Error,
            Undecided::Fails if open => Exit::Violated,
            Undecided::Warns if open => Exit::Inconclusive,
            Undecided::Passes if !self.decided => Exit::Inconclusive,
            _ => Exit::Success,
        }
    }
}

/// Everything that the exit status of `probity verify` depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyFacts {
    /// A run contradicts itself, or lacks something.
    pub contradicts: bool,
    /// A run does not reach the conformance level that the user requested.
    pub below_level: bool,
    /// An argument is not a run.
    pub not_a_run: bool,
    /// A file could not be read because of a problem of this machine.
    pub failed: bool,
    /// Something could not be checked, because the run used a different book or a report has no histories.
    pub unchecked: bool,
}

impl VerifyFacts {
    /// The facts of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            contradicts: self.contradicts || other.contradicts,
            below_level: self.below_level || other.below_level,
            not_a_run: self.not_a_run || other.not_a_run,
            failed: self.failed || other.failed,
            unchecked: self.unchecked || other.unchecked,
        }
    }

    /// The exit status. If several apply, the precedence is 1, 2, 4, 3, because proof that a run is wrong is more
    /// important than a problem that prevented a check.
    #[must_use]
    pub fn status(self) -> Exit {
        match self {
            Self { contradicts: true, .. } | Self { below_level: true, .. } => Exit::Violated,
            Self { not_a_run: true, .. } => Exit::Usage,
            Self { failed: true, .. } => Exit::Error,
            Self { unchecked: true, .. } => Exit::Inconclusive,
            _ => Exit::Success,
        }
    }
}

impl Report {
    /// The exit status of the program that generated this report.
    #[must_use]
    pub fn exit(&self, standard: impl Into<Standard>) -> Exit {
        self.exit_facts().status(standard)
    }

    /// The facts that determine the exit status. A run whose log has no end failed.
    #[must_use]
    pub fn exit_facts(&self) -> ExitFacts {
        let mut facts = ExitFacts {
            left_behind: !self.leftovers.is_empty(),
            interrupted: self.usage.is_some_and(|usage| usage.interrupted),
            failed: self.usage.is_none(),
            ..ExitFacts::default()
        };
        for case in self.cases.iter().filter(|case| !case.tried_again) {
            facts.add(case.verdict, true);
        }
        for clause in &self.clauses {
            // Facets that were not observed because cases were left out are not a doubt about the cluster.
            let word = if clause.is_half_seen() { Word::Holds } else { clause.verdict };
            facts.add(word, clause.judged_in.iter().any(|judged| judged.intended));
        }
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every combination of facts with the status under each setting of `--inconclusive`.
    fn table() -> String {
        let mut table =
            "left  interrupted  violated  failed  undecided  decided |  warn  fail  pass\n".to_owned();
        for bits in 0..64_u8 {
            let bit = |place: u8| bits & (32 >> place) != 0;
            let facts = ExitFacts {
                left_behind: bit(0),
                interrupted: bit(1),
                violated: bit(2),
                failed: bit(3),
                undecided: bit(4),
                decided: bit(5),
                ..ExitFacts::default()
            };
            let mark = |place| if bit(place) { "yes" } else { "-" };
            let status = |undecided| facts.status(undecided).code();
            table += &format!(
                "{:<4}  {:<11}  {:<8}  {:<6}  {:<9}  {:<7} |  {:<4}  {:<4}  {}\n",
                mark(0),
                mark(1),
                mark(2),
                mark(3),
                mark(4),
                mark(5),
                status(Undecided::Warns),
                status(Undecided::Fails),
                status(Undecided::Passes),
            );
        }
        table
    }

    #[test]
    fn a_divergence_counts_as_a_violation_for_the_strict_only() {
        let mut facts = ExitFacts::default();
        facts.add(Word::Diverges, true);
        assert_eq!(facts.status(Undecided::Warns), Exit::Success);
        assert_eq!(facts.status(Standard { strict: true, ..Standard::default() }), Exit::Violated);
        let left_behind = ExitFacts { left_behind: true, ..facts };
        assert_eq!(left_behind.status(Standard { strict: true, ..Standard::default() }), Exit::LeftBehind);
    }

    #[test]
    fn what_is_wrong_with_a_run_outweighs_what_could_not_be_checked() {
        let unchecked = VerifyFacts { unchecked: true, ..VerifyFacts::default() };
        let failed = VerifyFacts { failed: true, ..unchecked };
        let not_a_run = VerifyFacts { not_a_run: true, ..failed };
        let contradicts = VerifyFacts { contradicts: true, ..not_a_run };
        let below_level = VerifyFacts { below_level: true, ..VerifyFacts::default() };
        for (facts, status) in [
            (VerifyFacts::default(), 0),
            (unchecked, 3),
            (failed, 4),
            (not_a_run, 2),
            (contradicts, 1),
            (below_level, 1),
            (unchecked.and(below_level), 1),
        ] {
            assert_eq!(facts.status().code(), status, "{facts:?}");
        }
    }

    #[test]
    fn every_combination_of_facts_has_the_status_of_the_table() {
        let table = table();
        assert_eq!(table, include_str!("exit_status.txt"), "the table would now be\n{table}");
    }
}
