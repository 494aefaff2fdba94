//! The table of defects, `defects.yaml`: what each is, what it is modelled after, which cases to run with it, and which
//! clauses must notice it.

use std::collections::{BTreeSet, HashSet};

use serde::Deserialize;

use crate::cri::fault::{CriFault, Method};
use crate::defect::{Defect, Fault, Scope, When};

/// One row: a defective kubelet.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Row {
    /// Its name, which is also a part of the name of the namespace that it is tried in.
    pub name: String,
    /// What it is modelled after: the number of an issue, or a class of defects in words.
    pub like: String,
    /// Whom it strikes; the namespace is left out.
    #[serde(default)]
    pub on: Scope,
    /// On which occasions.
    #[serde(default)]
    pub when: When,
    /// What goes wrong.
    pub fault: Fault,
    /// What goes wrong besides, at the same time.
    #[serde(default)]
    pub also: Vec<Also>,
    /// The cases of the book to run with it.
    pub cases: Vec<String>,
    /// The clauses that must be violated.
    #[serde(default)]
    pub notices: Vec<String>,
    /// Why no clause notices it yet; then `notices` is empty.
    #[serde(default)]
    pub unnoticed: Option<String>,
    /// No other row may run meanwhile: it strikes the whole node.
    #[serde(default)]
    pub alone: bool,
}

/// The second defect of a pair.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Also {
    /// Whom it strikes; the namespace is left out.
    #[serde(default)]
    pub on: Scope,
    /// On which occasions.
    #[serde(default)]
    pub when: When,
    /// What goes wrong.
    pub fault: Fault,
}

/// The longest name: with what is put before it, it must do as the name of a namespace.
const LONGEST_NAME: usize = 45;

impl Row {
    /// The defects of the row, for one namespace.
    #[must_use]
    pub fn defects(&self, namespace: &str) -> Vec<Defect> {
        let own = Also { on: self.on.clone(), when: self.when, fault: self.fault.clone() };
        let parts = std::iter::once(&own).chain(&self.also).enumerate();
        let place = |(number, part): (usize, &Also)| Defect {
            name: format!("{namespace}-{number}"),
            on: scope(namespace, &part.on),
            when: part.when,
            fault: part.fault.clone(),
        };
        parts.map(place).collect()
    }

    /// Whether its cases run commands in containers.
    #[must_use]
    pub fn execs(&self) -> bool {
        matches!(self.fault, Fault::Cri(CriFault::Exec { .. } | CriFault::Call { method: Method::Exec, .. }))
    }

    fn check(&self) -> Result<(), String> {
        let kebab = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        let problem =
            if self.name.is_empty() || !self.name.chars().all(kebab) || self.name.len() > LONGEST_NAME {
                "its name must be 1 to 45 lower-case letters, digits and hyphens"
            } else if self.cases.is_empty() {
                "it names no case"
            } else if self.notices.is_empty() == self.unnoticed.is_none() {
                "it needs either `notices` or `unnoticed`"
            } else if !self.on.namespace.is_empty()
                || self.also.iter().any(|also| !also.on.namespace.is_empty())
            {
                "it names a namespace: each row gets its own"
            } else if matches!(self.fault, Fault::Process(_)) && !self.alone {
                "a fault of the process needs `alone: true`"
            } else {
                return Ok(());
            };
        Err(format!("the row {}: {problem}", self.name))
    }
}

/// The pods that the harness adds to a run: a defect that strikes its witness would hide itself.
const HARNESS: &str = "probity-";

fn scope(namespace: &str, on: &Scope) -> Scope {
    let except = on.except.clone().or_else(|| Some(HARNESS.to_owned()));
    Scope { namespace: namespace.to_owned(), except, ..on.clone() }
}

/// Reads the table, which may be in several files.
///
/// # Errors
///
/// When it is not a valid table; the message says where and why.
pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Vec<Row>, String> {
    let read =
        |text: &T| serde_saphyr::from_str::<Vec<Row>>(text.as_ref()).map_err(|error| error.to_string());
    let rows = texts.iter().map(read).collect::<Result<Vec<_>, _>>()?.concat();
    let mut names = HashSet::new();
    for row in &rows {
        row.check()?;
        if !names.insert(&row.name) {
            return Err(format!("two rows are called {}", row.name));
        }
    }
    Ok(rows)
}

/// All cases that the rows name.
#[must_use]
pub fn cases<'r>(rows: impl IntoIterator<Item = &'r Row>) -> BTreeSet<String> {
    rows.into_iter().flat_map(|row| row.cases.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::parse;

    const ROW: &str = "
- name: exec-never-fails
  like: a class
  on: { container: target }
  when: { every: 5 }
  fault: { cri: { exec: { command: live, effect: { exit-code: { from: non-zero, to: 0 } } } } }
  also:
    - fault: { cri: { grace: { seconds: 1 } } }
  cases: [a/b]
  notices: [probe.exec.exit-zero]
";

    #[test]
    fn a_row_becomes_the_defects_of_one_namespace() {
        let rows = parse(&[ROW]).unwrap_or_default();
        let defects = rows[0].defects("row-1");
        let names: Vec<_> = defects.iter().map(|defect| defect.name.as_str()).collect();
        assert_eq!(names, ["row-1-0", "row-1-1"]);
        assert!(defects.iter().all(|defect| defect.on.namespace == "row-1"));
        assert_eq!(defects[0].when.every, Some(5));
    }

    #[test]
    fn a_row_that_nobody_must_notice_says_why() {
        let without = ROW.replace("  notices: [probe.exec.exit-zero]\n", "");
        assert!(parse(&[&without]).is_err_and(|error| error.contains("unnoticed")));
        assert!(parse(&[format!("{without}  unnoticed: no case shows it\n")]).is_ok());
    }

    #[test]
    fn two_rows_of_one_name_are_refused() {
        assert!(parse(&[ROW, ROW]).is_err_and(|error| error.contains("two rows")));
    }

    #[test]
    fn the_table_of_this_repository_is_valid() {
        assert_eq!(
            parse(&[include_str!("../defects.yaml"), include_str!("../defects-pods-api.yaml")]).err(),
            None
        );
    }
}
