//! Which cases run again: those that left something undecided. Their results are held back until it is known.

use std::collections::{BTreeMap, BTreeSet};

use probity_case::CaseName;
use probity_model::Registry;
use probity_report::run_log::{ClusterFacts, Planned};
use probity_report::tries::{self, JudgedCase};

use super::AwaitedCase;
use crate::pipeline::libtest::TestResult;
use crate::verdicts::CaseVerdicts;

/// The cases that may run again.
#[derive(Default)]
pub(super) struct Retries {
    /// How many more times each case may run.
    times: u32,
    planned: Vec<Planned>,
    /// The cluster, once it is known.
    ground: Option<ClusterFacts>,
    judged: Vec<JudgedCase>,
    /// By the names in the report.
    held: BTreeMap<CaseName, HeldCase>,
}

/// A case that has run and may run again.
struct HeldCase {
    /// Its name in the cluster.
    name: CaseName,
    awaited: AwaitedCase,
    /// Its result, unless it was passed on already.
    result: Option<TestResult>,
}

impl Retries {
    pub(super) fn new(times: u32, planned: &[Planned]) -> Self {
        Self { times, planned: planned.to_vec(), ..Self::default() }
    }

    /// Records what is known about the cluster.
    pub(super) fn know(&mut self, ground: &ClusterFacts) {
        self.ground = Some(ground.clone());
    }

    /// Whether this case may run again. Its repetition number counts its tries, because a run with `--repeat` has no
    /// retries.
    pub(super) fn allow(&self, awaited: &AwaitedCase) -> bool {
        awaited.repetition.unwrap_or(1) <= self.times
    }

    /// Records a case that has run under this name in the cluster.
    pub(super) fn hold(
        &mut self,
        name: &CaseName,
        awaited: AwaitedCase,
        result: Option<TestResult>,
        found: CaseVerdicts,
    ) {
        if self.times == 0 {
            return;
        }
        let case = awaited.case.clone();
        let CaseVerdicts { verdict, judgements, expected, .. } = found;
        self.judged.retain(|judged| judged.case != case);
        self.judged.push(JudgedCase { case: case.clone(), verdict, judgements, expected }.reduced());
        if self.allow(&awaited) {
            self.held.insert(case, HeldCase { name: name.clone(), awaited, result });
        }
    }

    /// The cases that run again now, under the names that they had in the cluster, each with its next number. A case is
    /// not chosen while running cases may still decide what it left undecided.
    pub(super) fn choose(
        &mut self,
        registry: &Registry,
        running: &BTreeSet<&CaseName>,
    ) -> Vec<(CaseName, AwaitedCase)> {
        let chosen = tries::undecided(registry, (&self.planned, running), &self.judged, self.ground.as_ref());
        let held = chosen.iter().filter_map(|case| self.held.remove(case));
        held.map(|HeldCase { name, awaited, .. }| {
            let next = awaited.repetition.map_or(2, |nth| nth + 1);
            (name, AwaitedCase { repetition: Some(next), ..awaited })
        })
        .collect()
    }

    /// The cases that do not run again and whose results were held back.
    pub(super) fn let_go(&mut self) -> Vec<(AwaitedCase, TestResult)> {
        let held = std::mem::take(&mut self.held).into_values();
        held.filter_map(|held| Some((held.awaited, held.result?))).collect()
    }
}
