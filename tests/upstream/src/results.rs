//! The results of a comparison, as they are stored.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::outcome::SpecOutcome;

/// A comparison.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Results {
    /// The release of Kubernetes from which the specs are taken.
    pub(crate) release: String,
    /// The seed of the draw.
    pub(crate) seed: u64,
    /// How long all specs took with a stock kubelet.
    pub(crate) seconds: u64,
    /// The specs with a stock kubelet.
    pub(crate) stock: Vec<SpecRun>,
    /// The specs that ran without a defect while other specs ran with one.
    pub(crate) plain: Vec<SpecRun>,
    /// The results for each defect.
    pub(crate) defects: Vec<DefectResult>,
}

/// One run of one spec.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SpecRun {
    /// Its file and line.
    pub(crate) spec: String,
    /// Its outcome.
    pub(crate) outcome: SpecOutcome,
    /// How long it took.
    pub(crate) seconds: u64,
}

/// The results for one defect.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DefectResult {
    /// The name of the row.
    pub(crate) name: String,
    /// The bug or the class of defects after which it is modeled.
    pub(crate) like: String,
    /// The clauses of the book that the defect violates.
    pub(crate) violated: Vec<String>,
    /// How often it struck while upstream's specs ran.
    pub(crate) strikes: u32,
    /// The specs that ran with the defect.
    pub(crate) runs: Vec<SpecRun>,
}

impl Results {
    /// The specs that failed with this defect, but not without a defect.
    pub(crate) fn noticed<'a>(&'a self, defect: &'a DefectResult) -> impl Iterator<Item = &'a SpecRun> {
        let sound: BTreeSet<&str> = self.sound().collect();
        defect.runs.iter().filter(move |run| failed(run) && sound.contains(run.spec.as_str()))
    }

    /// The specs that passed every time without a defect, even on a node that was as busy as with the defects.
    pub(crate) fn sound(&self) -> impl Iterator<Item = &str> {
        let specs =
            self.stock.iter().filter(|run| passed(&self.plain, &run.spec)).map(|run| run.spec.as_str());
        specs.filter(|spec| passed(&self.stock, spec))
    }
}

fn failed(run: &SpecRun) -> bool {
    matches!(run.outcome, SpecOutcome::Failed(_))
}

/// Whether the spec is among these runs, and passed.
pub(crate) fn passed(runs: &[SpecRun], spec: &str) -> bool {
    runs.iter().any(|run| run.spec == spec && run.outcome == SpecOutcome::Passed)
}

/// How often the defects with this name prefix struck.
pub(crate) fn strikes(counts: &BTreeMap<String, u32>, beginning: &str) -> u32 {
    counts.iter().filter(|(name, _)| name.starts_with(beginning)).map(|(_, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(spec: &str, outcome: SpecOutcome) -> SpecRun {
        SpecRun { spec: spec.to_owned(), outcome, seconds: 1 }
    }

    fn bad() -> SpecOutcome {
        SpecOutcome::Failed("it failed".to_owned())
    }

    #[test]
    fn a_spec_that_fails_without_a_defect_notices_none() {
        let with_defect = vec![run("a", bad()), run("b", bad()), run("c", SpecOutcome::Passed)];
        let defect = DefectResult {
            name: "x".to_owned(),
            like: "y".to_owned(),
            violated: Vec::new(),
            strikes: 1,
            runs: with_defect,
        };
        let results = Results {
            release: "v1".to_owned(),
            seed: 1,
            seconds: 1,
            stock: ["a", "b", "c"].map(|spec| run(spec, SpecOutcome::Passed)).to_vec(),
            plain: vec![run("a", SpecOutcome::Passed), run("b", bad()), run("c", SpecOutcome::Passed)],
            defects: vec![defect],
        };
        let noticed: Vec<&str> = results.noticed(&results.defects[0]).map(|run| run.spec.as_str()).collect();
        assert_eq!(noticed, ["a"]);
    }

    #[test]
    fn the_defects_of_row_1_are_not_those_of_row_10() {
        let counts = BTreeMap::from([("row-1-0-1-0".to_owned(), 2), ("row-10-0-1-0".to_owned(), 5)]);
        assert_eq!(strikes(&counts, "row-1-"), 2);
    }
}
