//! The table of defects, in the files of `defects/`: the definition of each defect, the bug after which it is modeled,
//! the cases to run with it, and the clauses that must detect it.

use std::{
    collections::{BTreeSet, HashSet},
    io,
    path::Path,
};

use serde::Deserialize;

use crate::defect::{Defect, Fault, Scope, When};

/// One row: a defective kubelet.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Row {
    /// Its name, which is also part of the name of its namespace.
    pub name: String,
    /// What it is modeled after: the number of an issue, or a class of defects in words.
    pub like: String,
    /// The pods and containers that it strikes; the namespace is left out.
    #[serde(default)]
    pub on: Scope,
    /// The occasions.
    #[serde(default)]
    pub when: When,
    /// The fault.
    pub fault: Fault,
    /// Additional faults at the same time.
    #[serde(default)]
    pub also: Vec<Also>,
    /// The cases of the book to run with it.
    pub cases: Vec<String>,
    /// How many times each case runs in parallel, because a crowd can show a fault that a single pod does not show.
    #[serde(default = "once")]
    pub copies: u32,
    /// The clauses that must be violated.
    #[serde(default)]
    pub notices: Vec<String>,
    /// Why no clause detects it yet; then `notices` is empty.
    #[serde(default)]
    pub unnoticed: Option<String>,
    /// No other row may run at the same time, because this row affects the whole node.
    #[serde(default)]
    pub alone: bool,
    /// Its cases need something that the cluster may lack, such as another container runtime. If they are skipped, so is the
    /// row.
    #[serde(default)]
    pub skippable: bool,
    /// Its cases run for more than a minute each, and alone. The daily third leaves it out.
    #[serde(default)]
    pub slow: bool,
}

fn once() -> u32 {
    1
}

/// The second defect of a pair.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Also {
    /// The pods and containers that it strikes; the namespace is left out.
    #[serde(default)]
    pub on: Scope,
    /// The occasions.
    #[serde(default)]
    pub when: When,
    /// The fault.
    pub fault: Fault,
}

/// The longest name: together with its prefix, it must be a valid namespace name.
const LONGEST_NAME: usize = 45;

impl Row {
    /// The defects of the row, for the pods in one namespace that have this mark in their names.
    #[must_use]
    pub fn defects(&self, namespace: &str, mark: &str) -> Vec<Defect> {
        let own = Also { on: self.on.clone(), when: self.when, fault: self.fault.clone() };
        let parts = std::iter::once(&own).chain(&self.also).enumerate();
        let place = |(number, part): (usize, &Also)| Defect {
            name: format!("{mark}{number}"),
            on: scope(namespace, mark, &part.on),
            when: part.when,
            fault: part.fault.clone(),
        };
        parts.map(place).collect()
    }

    fn scopes(&self) -> impl Iterator<Item = &Scope> {
        std::iter::once(&self.on).chain(self.also.iter().map(|also| &also.on))
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
            } else if self.scopes().any(|on| !on.namespace.is_empty() || on.pod.is_some()) {
                "it names a namespace or a pod: each row gets its own"
            } else if matches!(self.fault, Fault::Process(_)) && !self.alone {
                "a fault of the process needs `alone: true`"
            } else if self.copies == 0 || (self.copies > 1 && !self.alone) {
                "`copies` must be at least 1, and more than one copy needs `alone: true`"
            } else {
                return Ok(());
            };
        Err(format!("the row {}: {problem}", self.name))
    }
}

fn scope(namespace: &str, mark: &str, on: &Scope) -> Scope {
    Scope { namespace: namespace.to_owned(), pod: Some(mark.to_owned()), ..on.clone() }
}

/// Reads all files of a folder as one table, in the order of their names.
///
/// # Errors
///
/// When a file cannot be read, or is not a valid part of the table; the message says which, where and why.
pub fn read(folder: &Path) -> io::Result<Vec<Row>> {
    let entries = std::fs::read_dir(folder)
        .map_err(|error| io::Error::other(format!("{}: {error}", folder.display())))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|path| path.extension().is_some_and(|end| end == "yaml"));
    files.sort();
    let mut rows = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path)?;
        let of_file = serde_saphyr::from_str::<Vec<Row>>(&text)
            .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
        rows.extend(of_file);
    }
    check(&rows).map_err(io::Error::other)?;
    Ok(rows)
}

/// Reads one text as a table.
///
/// # Errors
///
/// When it is not a valid table; the message says where and why.
pub fn parse(text: &str) -> Result<Vec<Row>, String> {
    let rows = serde_saphyr::from_str::<Vec<Row>>(text).map_err(|error| error.to_string())?;
    check(&rows)?;
    Ok(rows)
}

fn check(rows: &[Row]) -> Result<(), String> {
    let mut names = HashSet::new();
    for row in rows {
        row.check()?;
        if !names.insert(&row.name) {
            return Err(format!("two rows are called {}", row.name));
        }
    }
    Ok(())
}

/// All cases that the rows name.
#[must_use]
pub fn cases<'r>(rows: impl IntoIterator<Item = &'r Row>) -> BTreeSet<String> {
    rows.into_iter().flat_map(|row| row.cases.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{parse, read};

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
        let rows = parse(ROW).unwrap_or_default();
        let defects = rows[0].defects("saboteur", "row-001-");
        let names: Vec<_> = defects.iter().map(|defect| defect.name.as_str()).collect();
        assert_eq!(names, ["row-001-0", "row-001-1"]);
        assert!(defects.iter().all(|defect| defect.on.namespace == "saboteur"));
        assert!(defects.iter().all(|defect| defect.on.pod.as_deref() == Some("row-001-")));
        assert_eq!(defects[0].when.every, Some(5));
    }

    #[test]
    fn a_row_that_nobody_must_notice_says_why() {
        let without = ROW.replace("  notices: [probe.exec.exit-zero]\n", "");
        assert!(parse(&without).is_err_and(|error| error.contains("unnoticed")));
        assert!(parse(&format!("{without}  unnoticed: no case shows it\n")).is_ok());
    }

    #[test]
    fn two_rows_of_one_name_are_refused() {
        assert!(parse(&ROW.repeat(2)).is_err_and(|error| error.contains("two rows")));
    }

    #[test]
    fn the_table_of_this_repository_is_valid() {
        let rows = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("defects")).map(|rows| rows.len());
        assert!(rows.as_ref().is_ok_and(|rows| *rows >= 150), "{rows:?}");
    }
}
