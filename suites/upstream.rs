//! What the end-to-end suite of Kubernetes checks about probes, and which clauses check it here, from `upstream.yaml`.
//!
//! The file is checked against the book: every clause that it names must exist, every spec must be covered by one, and
//! no spec may be listed twice.

use std::collections::BTreeSet;

use probity_document as document;
use probity_model::{Catalogue, ClauseId};
use probity_script::problem::{Problem, pin};
use serde::Deserialize;

const SOURCE: &str = "suites/upstream.yaml";
static WRITTEN: &str = include_str!("upstream.yaml");

/// The probe specs of one release of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Upstream {
    /// The tag that the line numbers are of.
    pub release: String,
    /// What they check, in the order in which specs are numbered.
    pub checks: Vec<Check>,
}

/// What one spec, or several alike, arrange and assert.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The file in the Kubernetes repository.
    pub file: String,
    /// The line at which each spec begins.
    pub lines: Vec<u32>,
    /// What they arrange.
    pub arranges: String,
    /// What they assert.
    pub asserts: String,
    /// The clauses that check it here.
    pub clauses: Vec<ClauseId>,
    /// What those clauses add to it.
    pub adds: String,
    /// What of it no clause covers, and why.
    #[serde(default)]
    pub beyond: Option<String>,
}

impl Upstream {
    /// How many specs there are.
    #[must_use]
    pub fn specs(&self) -> usize {
        self.checks.iter().map(|check| check.lines.len()).sum()
    }

    /// The checks with the numbers of their specs, counted from one: the first and the last.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, usize, &Check)> {
        self.checks.iter().scan(0, |before, check| {
            let first = *before + 1;
            *before += check.lines.len();
            Some((first, *before, check))
        })
    }
}

/// The table of upstream's specs.
///
/// # Errors
///
/// If it is not well written: a build that passes its tests never says so.
pub fn upstream() -> Result<Upstream, Box<Problem>> {
    read(WRITTEN, &crate::catalogue()?)
}

fn read(text: &str, catalogue: &Catalogue) -> Result<Upstream, Box<Problem>> {
    let upstream: Upstream = document::read(SOURCE, "table of upstream's specs", text)?;
    let mut specs = BTreeSet::new();
    for (at, check) in upstream.checks.iter().enumerate() {
        let refuse = |field: &str, why: String| {
            let path = ["checks".to_owned(), at.to_string(), field.to_owned()];
            Err(Box::new(document::misfit(SOURCE, text, &pin(&why, &path))))
        };
        if check.lines.is_empty() {
            return refuse("lines", "a check belongs to at least one spec".to_owned());
        }
        if check.clauses.is_empty() {
            return refuse("clauses", "no clause covers these specs".to_owned());
        }
        if let Some(unknown) = check.clauses.iter().find(|clause| catalogue.get(clause).is_none()) {
            return refuse("clauses", format!("there is no clause `{unknown}`"));
        }
        if let Some(line) = check.lines.iter().find(|line| !specs.insert((&check.file, **line))) {
            return refuse("lines", format!("the spec at line {line} is listed twice"));
        }
    }
    Ok(upstream)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn refused(check: &str) -> String {
        let more = "arranges: x, asserts: y, adds: z";
        let good = "{ file: f, lines: [7], clauses: [probe.exec.exit-zero], ";
        let text = format!("release: v1\nchecks:\n  - {good}{more} }}\n  - {check}{more} }}\n");
        read(&text, &crate::catalogue().unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn each_of_the_71_specs_is_there_once_and_covered() {
        let upstream = upstream().unwrap_or_else(|problem| panic!("{problem}"));
        let of = |file: &str| -> usize {
            upstream
                .checks
                .iter()
                .filter(|check| check.file.ends_with(file))
                .map(|check| check.lines.len())
                .sum()
        };
        assert_eq!((of("container_probe.go"), upstream.specs()), (46, 71));
        assert_eq!(upstream.numbered().last().map(|(first, last, _)| (first, last)), Some((70, 71)));
    }

    #[test]
    fn a_spec_that_nothing_covers_is_refused() {
        assert!(refused("{ file: f, lines: [8], clauses: [], ").contains("no clause covers"));
        assert!(
            refused("{ file: f, lines: [], clauses: [probe.exec.exit-zero], ").contains("at least one spec")
        );
    }

    #[test]
    fn a_clause_that_does_not_exist_and_a_spec_that_is_there_twice_are_refused() {
        let unknown = refused("{ file: f, lines: [8], clauses: [probe.exec.exit-one], ");
        assert!(unknown.contains("no clause `probe.exec.exit-one`"), "{unknown}");
        let twice = refused("{ file: f, lines: [7], clauses: [probe.exec.exit-zero], ");
        assert!(twice.contains("line 7 is listed twice"), "{twice}");
    }

    #[test]
    fn a_word_that_means_nothing_is_refused() {
        let wrong = refused("{ file: f, lines: [8], clauses: [probe.exec.exit-zero], specs: 2, ");
        assert!(wrong.contains("specs"), "{wrong}");
    }
}
