//! The checks of the end-to-end suite of Kubernetes on probes and the pod lifecycle, and the clauses of the book that
//! check the same. They are read from the files in `upstream`, one for each area.
//!
//! The files are checked against the book: every clause that they name must exist, specs that no clause covers must be
//! listed with the reason, and no spec may be listed twice.

use std::collections::BTreeSet;

use probity_document as document;
use probity_model::{Catalogue, ClauseId};
use probity_script::problem::{Problem, pin};
use serde::Deserialize;

/// The tag to which the line numbers refer.
const RELEASE: &str = "v1.36.3";

/// The files, in the order in which specs are numbered.
static WRITTEN: [(&str, &str); 13] = [
    ("suites/upstream/probes.yaml", include_str!("upstream/probes.yaml")),
    ("suites/upstream/restarts.yaml", include_str!("upstream/restarts.yaml")),
    ("suites/upstream/restart_rules.yaml", include_str!("upstream/restart_rules.yaml")),
    ("suites/upstream/hooks.yaml", include_str!("upstream/hooks.yaml")),
    ("suites/upstream/termination.yaml", include_str!("upstream/termination.yaml")),
    ("suites/upstream/init.yaml", include_str!("upstream/init.yaml")),
    ("suites/upstream/sidecars.yaml", include_str!("upstream/sidecars.yaml")),
    ("suites/upstream/conditions.yaml", include_str!("upstream/conditions.yaml")),
    ("suites/upstream/phases.yaml", include_str!("upstream/phases.yaml")),
    ("suites/upstream/podgc.yaml", include_str!("upstream/podgc.yaml")),
    ("suites/upstream/endpoints.yaml", include_str!("upstream/endpoints.yaml")),
    ("suites/upstream/disruption.yaml", include_str!("upstream/disruption.yaml")),
    ("suites/upstream/resizes.yaml", include_str!("upstream/resizes.yaml")),
];

/// The specs of one release of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// The tag to which the line numbers refer.
    pub release: &'static str,
    /// What the specs are about, in the order in which they are numbered.
    pub areas: Vec<Area>,
}

/// The specs on one subject.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Area {
    /// The subject.
    pub title: String,
    /// What they check.
    pub checks: Vec<Check>,
}

/// The arrangement and the assertions of one spec, or of several similar ones.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The file in the Kubernetes repository.
    pub file: String,
    /// The line at which each spec begins; for specs that are generated from a table, the line of the row.
    pub lines: Vec<u32>,
    /// What they arrange.
    pub arranges: String,
    /// What they assert.
    pub asserts: String,
    /// The clauses of the book that check the same.
    pub clauses: Vec<ClauseId>,
    /// What those clauses check beyond the specs.
    #[serde(default)]
    pub adds: Option<String>,
    /// The part that no clause covers, and why.
    #[serde(default)]
    pub beyond: Option<String>,
}

impl Upstream {
    /// How many specs there are.
    #[must_use]
    pub fn specs(&self) -> usize {
        self.areas.iter().map(Area::specs).sum()
    }

    /// The checks, each with the numbers of its first and last spec. Specs are numbered from one.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, usize, &Check)> {
        self.areas.iter().flat_map(|area| &area.checks).scan(0, |before, check| {
            let first = *before + 1;
            *before += check.lines.len();
            Some((first, *before, check))
        })
    }
}

impl Area {
    /// How many specs there are.
    #[must_use]
    pub fn specs(&self) -> usize {
        self.checks.iter().map(|check| check.lines.len()).sum()
    }

    /// How many of the specs no clause covers.
    #[must_use]
    pub fn uncovered(&self) -> usize {
        let uncovered = self.checks.iter().filter(|check| check.clauses.is_empty());
        uncovered.map(|check| check.lines.len()).sum()
    }
}

/// The tables of upstream's specs.
///
/// # Errors
///
/// If a table is invalid, which cannot happen in a build that passes its tests.
pub fn upstream() -> Result<Upstream, Box<Problem>> {
    read(&WRITTEN, &crate::catalogue()?)
}

fn read(written: &[(&str, &str)], catalogue: &Catalogue) -> Result<Upstream, Box<Problem>> {
    let mut areas = Vec::new();
    let mut specs = BTreeSet::new();
    for (source, text) in written {
        let area: Area = document::read(source, "table of upstream's specs", text)?;
        for (at, check) in area.checks.iter().enumerate() {
            if let Err((field, why)) = validate(check, catalogue, &mut specs) {
                let path = ["checks".to_owned(), at.to_string(), field.to_owned()];
                return Err(Box::new(document::misfit(source, text, &pin(&why, &path))));
            }
        }
        areas.push(area);
    }
    Ok(Upstream { release: RELEASE, areas })
}

/// Returns the name of the wrong field and the reason as an error.
fn validate(
    check: &Check,
    catalogue: &Catalogue,
    specs: &mut BTreeSet<(String, u32)>,
) -> Result<(), (&'static str, String)> {
    if check.lines.is_empty() {
        return Err(("lines", "a check belongs to at least one spec".to_owned()));
    }
    if check.clauses.is_empty() && check.beyond.is_none() {
        return Err(("clauses", "no clause covers these specs, and `beyond` does not say why".to_owned()));
    }
    if check.clauses.is_empty() && check.adds.is_some() {
        return Err(("adds", "no clause covers these specs, so `adds` must be absent".to_owned()));
    }
    if !check.clauses.is_empty() && check.adds.is_none() {
        return Err(("clauses", "`adds` does not say what these clauses add".to_owned()));
    }
    if let Some(unknown) = check.clauses.iter().find(|clause| catalogue.get(clause).is_none()) {
        return Err(("clauses", format!("there is no clause `{unknown}`")));
    }
    if let Some(line) = check.lines.iter().find(|line| !specs.insert((check.file.clone(), **line))) {
        return Err(("lines", format!("the spec at line {line} is listed twice")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const GOOD: &str =
        "{ file: f, lines: [7], arranges: x, asserts: y, clauses: [probe.exec.exit-zero], adds: z }";

    fn table(checks: &[&str]) -> String {
        let row = |check: &&str| format!("  - {check}\n");
        format!("title: t\nchecks:\n{}", checks.iter().map(row).collect::<String>())
    }

    /// The problem of an invalid check that follows a valid one.
    fn refused(check: &str) -> String {
        let check = format!("{{ arranges: x, asserts: y, {check} }}");
        let text = table(&[GOOD, &check]);
        read(&[("a.yaml", text.as_str())], &crate::catalogue().unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn no_spec_of_an_area_is_missing() {
        let upstream = upstream().unwrap_or_else(|problem| panic!("{problem}"));
        let specs: Vec<(&str, usize)> =
            upstream.areas.iter().map(|area| (area.title.as_str(), area.specs())).collect();
        let expected = [
            ("Probes", 71),
            ("Restart policy, back-off and exit status", 37),
            ("Restart policies and rules of containers", 14),
            ("Lifecycle hooks", 23),
            ("Termination and grace periods", 28),
            ("Init containers", 21),
            ("Sidecars", 103),
            ("Conditions, readiness gates and generation", 21),
            ("Phases, admission and events", 14),
            ("Collection of pods and containers", 4),
            ("Endpoint conditions", 20),
            ("Disruptions", 21),
            ("Resizes in place", 51),
        ];
        assert_eq!(specs, expected);
        assert_eq!(upstream.numbered().last().map(|(_, last, _)| last), Some(upstream.specs()));
    }

    #[test]
    fn every_probe_spec_is_covered() {
        let upstream = upstream().unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(upstream.areas.first().map(Area::uncovered), Some(0));
    }

    #[test]
    fn specs_that_no_clause_covers_must_have_the_reason() {
        assert!(refused("file: f, lines: [8], clauses: []").contains("`beyond` does not say why"));
        assert!(refused("file: f, lines: [8], clauses: [], adds: z, beyond: b").contains("must be absent"));
        let uncovered = "{ file: f, lines: [8], arranges: x, asserts: y, clauses: [], beyond: because }";
        let text = table(&[GOOD, uncovered]);
        let good = read(&[("a.yaml", text.as_str())], &crate::catalogue().unwrap()).unwrap();
        assert_eq!(good.areas.iter().map(Area::uncovered).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_check_without_specs_and_one_whose_clauses_add_nothing_are_refused() {
        let clauses = "clauses: [probe.exec.exit-zero]";
        assert!(refused(&format!("file: f, lines: [], {clauses}, adds: z")).contains("at least one spec"));
        assert!(refused(&format!("file: f, lines: [8], {clauses}")).contains("what these clauses add"));
    }

    #[test]
    fn a_clause_that_does_not_exist_and_a_spec_that_is_there_twice_are_refused() {
        let unknown = refused("file: f, lines: [8], clauses: [probe.exec.exit-one], adds: z");
        assert!(unknown.contains("no clause `probe.exec.exit-one`"), "{unknown}");
        let twice = refused("file: f, lines: [7], clauses: [probe.exec.exit-zero], adds: z");
        assert!(twice.contains("line 7 is listed twice"), "{twice}");
        let text = table(&[GOOD]);
        let both = [("a.yaml", text.as_str()), ("b.yaml", text.as_str())];
        let twice = read(&both, &crate::catalogue().unwrap()).unwrap_err().to_string();
        assert!(twice.contains("b.yaml") && twice.contains("line 7 is listed twice"), "{twice}");
    }

    #[test]
    fn a_word_that_means_nothing_is_refused() {
        let wrong = refused("file: f, lines: [8], clauses: [probe.exec.exit-zero], adds: z, specs: 2");
        assert!(wrong.contains("specs"), "{wrong}");
    }
}
