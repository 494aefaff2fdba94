//! What the book asks of a run: its cases, whatever a run did of them.
//!
//! A report is made of a log and its histories, and both come from whoever made the run. What should be there, nobody
//! but the book can say.

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
    /// What the log of a run says of it.
    pub planned: Planned,
    /// What a cluster may lack for it.
    pub needs: BTreeSet<Need>,
}

impl BookCase {
    /// What the book says of a case that stands in the file `source`.
    #[must_use]
    pub fn of(case: &Case, source: &str) -> Self {
        Self { planned: Planned::of(case, source), needs: case.needs.clone() }
    }
}

impl BookFacts {
    /// The case of this name, or the one that ran under this name on one of several nodes.
    #[must_use]
    pub fn case(&self, name: &CaseName) -> Option<&BookCase> {
        let anywhere = name.anywhere();
        self.cases.iter().find(|case| case.planned.case == anywhere)
    }

    /// Whether another book is the same: its clauses, cases and judges, not the files that a user added to it.
    #[must_use]
    pub fn is(&self, other: &Suite) -> bool {
        let Suite { name, version, digest, .. } = &self.suite;
        (name, version, digest) == (&other.name, &other.version, &other.digest)
    }
}
