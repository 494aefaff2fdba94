//! Whether the cases in the log of a run are the same as in the book.

use std::collections::BTreeSet;

use probity_case::{CaseName, Profile};

use super::{Flaw, LOG};
use crate::book_facts::BookFacts;
use crate::run_log::{LogLine, Planned};

/// The differences between a log and the book that it names. Call this function only if the log names `book`.
///
/// A run knows every case of the book, including those that it leaves out. It knows cases of known bugs only if they were
/// requested. Cases that a user added do not belong to the book.
#[must_use]
pub fn against_book(log: &[LogLine], book: &BookFacts) -> Vec<Flaw> {
    let Some(LogLine::Began(facts)) = log.first() else { return Vec::new() };
    let own = |planned: &Planned| facts.suite.added.contains(&planned.source);
    let mut found = Vec::new();
    let mut known: BTreeSet<CaseName> = BTreeSet::new();
    for planned in facts.cases.iter().filter(|planned| !own(planned)) {
        let name = &planned.case;
        known.insert(name.anywhere());
        let Some(case) = book.case(name) else {
            found.push(format!("it plans the case {name}, which the book does not have"));
            continue;
        };
        let expected = Planned { case: name.clone(), ..case.planned.clone() };
        found.extend(difference(planned, &expected));
    }
    let asked = |profile: Profile| profile != Profile::Regressions || facts.profiles.contains(&profile);
    let missing: Vec<&CaseName> = book
        .cases
        .iter()
        .filter(|case| asked(case.planned.profile) && !known.contains(&case.planned.case))
        .map(|case| &case.planned.case)
        .collect();
    // With --only-suite, a run knows no case of the book but has its own cases. A run without profiles is from `probity
    // try` or `reproduce`. Neither kind of run has a level, so nobody gains anything by pretending to have such a run.
    let only_own = known.is_empty() && !facts.suite.added.is_empty();
    if !only_own && !facts.profiles.is_empty() {
        found.extend(missing.into_iter().map(|name| format!("it does not list the case {name} of the book")));
    }
    found.into_iter().map(|what| Flaw::new(LOG, what)).collect()
}

/// The first difference between a case in the log and the same case in the book.
fn difference(planned: &Planned, expected: &Planned) -> Option<String> {
    let name = &planned.case;
    let said = |what: &str, here: String, there: String| {
        format!("it says that the {what} of the case {name} is {here}, but in the book it is {there}")
    };
    let judges = |of: &Planned| {
        let ids: Vec<&str> = of.judges.iter().map(|id| id.as_str()).collect();
        if ids.is_empty() { "empty".to_owned() } else { ids.join(", ") }
    };
    if planned.profile != expected.profile {
        return Some(said("profile", planned.profile.to_string(), expected.profile.to_string()));
    }
    if planned.judges != expected.judges {
        return Some(said("target", judges(planned), judges(expected)));
    }
    if planned.source != expected.source {
        return Some(said("file", planned.source.clone(), expected.source.clone()));
    }
    (planned.story != expected.story)
        .then(|| said("story", "one text".to_owned(), "a different text".to_owned()))
}
