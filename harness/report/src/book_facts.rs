//! What the book requires of a run: its cases, whether or not the run contains them.
//!
//! A report is generated from a log and its histories, and both come from the person who ran it. Only the book can tell
//! what should be in them.

use std::collections::BTreeSet;

use probity_case::{Case, CaseName};
use probity_model::clause::Need;

use crate::run_log::{Planned, Suite};

/// The built-in book of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BookFacts {
    /// Its name, version and digest.
    pub suite: Suite,
    /// Its cases, in its order.
    pub cases: Vec<BookCase>,
}

/// A case of the book.
#[derive(Clone, Debug, PartialEq)]
pub struct BookCase {
    /// What the log of a run must contain about it.
    pub planned: Planned,
    /// What the case needs from the cluster.
    pub needs: BTreeSet<Need>,
}

impl BookCase {
    /// The facts about a case in the file `source`.
    #[must_use]
    pub fn of(case: &Case, source: &str) -> Self {
        Self { planned: Planned::of(case, source), needs: case.needs.clone() }
    }
}

impl BookFacts {
    /// The case with this name, or the case that ran under this name on one of several nodes.
    #[must_use]
    pub fn case(&self, name: &CaseName) -> Option<&BookCase> {
        let anywhere = name.anywhere();
        self.cases.iter().find(|case| case.planned.case == anywhere)
    }

    /// Whether another book has the same clauses, cases and judges, apart from the files that a user added to it.
    #[must_use]
    pub fn is(&self, other: &Suite) -> bool {
        let Suite { name, version, digest, .. } = &self.suite;
        (name, version, digest) == (&other.name, &other.version, &other.digest)
    }
}
