//! The result of a trial, for people and for programs: the pod that ran, each fault with promise and observation side by
//! side, remarks, and the clauses that the kubelet itself violated.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use probity_model::{History, Registry};
use probity_report::{LogLine, Word};
use probity_trial::{Outcome, Remark, Stand, Standing, Trial};

use super::manifests::ChosenWorkload;
use crate::exit_status::ExitFacts;
use crate::verdicts::CaseVerdicts;

/// Everything that is reported.
pub(crate) struct TrialReport<'a> {
    /// The workload that was tried.
    pub(crate) workload: &'a ChosenWorkload,
    /// The pod that ran in its place.
    pub(crate) stand: &'a Stand,
    /// The faults.
    pub(crate) trials: &'a [Trial],
    /// What the documentation says of such settings.
    pub(crate) remarks: Vec<Remark>,
    /// The run of the faults, if there was one.
    pub(crate) run: Option<&'a TrialRun<'a>>,
}

/// What the run of the faults showed.
pub(crate) struct TrialRun<'a> {
    folder: &'a Path,
    outcomes: Vec<Outcome>,
    /// Why faults did not run, by their cases.
    not_run: BTreeMap<String, String>,
    /// The clauses that the kubelet violated, with the findings.
    pub(super) violations: Vec<(String, String)>,
}

impl<'a> TrialRun<'a> {
    /// Reads what followed from the faults, and judges the histories by the book.
    pub(crate) fn of(
        registry: &Registry,
        trials: &[Trial],
        folder: &'a Path,
        log: &[LogLine],
        histories: &[&History],
    ) -> Self {
        let outcome = |trial: &Trial| {
            let history = histories.iter().find(|history| history.header.case == trial.case.name.0)?;
            Some(Outcome::of(trial, history))
        };
        let not_run = log.iter().filter_map(|line| match line {
            LogLine::CaseSkipped { case, why, .. } | LogLine::CaseBroken { case, why } => {
                Some((case.0.clone(), why.clone()))
            }
            _ => None,
        });
        let outcomes = trials.iter().filter_map(outcome).collect();
        let mut run = Self { folder, outcomes, not_run: not_run.collect(), violations: Vec::new() };
        for history in histories {
            let verdicts = CaseVerdicts::of(registry, history);
            let path = run.history(&history.header.case).display().to_string();
            let violated = verdicts.judgements.iter().filter(|one| Word::of(&one.verdict) == Word::Violated);
            let ids = violated.map(|one| one.clause.to_string());
            let findings = verdicts.findings(registry, history, &path, &[Word::Violated]);
            run.violations.extend(ids.zip(findings));
        }
        run
    }

    /// Where the history of a case is.
    pub(super) fn history(&self, case: &str) -> PathBuf {
        self.folder.join("history").join(format!("{case}.jsonl.zst"))
    }

    /// Where all of them are.
    pub(super) fn histories(&self) -> PathBuf {
        self.folder.join("history/try")
    }

    /// What followed from a fault; none if it did not run.
    pub(super) fn outcome(&self, trial: &Trial) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| outcome.fault == trial.fault)
    }

    /// Why a fault did not run.
    pub(super) fn not_run(&self, trial: &Trial) -> Option<&str> {
        let why = self.not_run.get(&trial.case.name.0).filter(|_| self.outcome(trial).is_none());
        why.map(String::as_str)
    }

    /// How many promises stand like this.
    pub(super) fn count(&self, standing: Standing) -> usize {
        let rows = self.outcomes.iter().flat_map(|outcome| &outcome.rows);
        rows.filter(|row| row.standing == standing).count()
    }

    /// What the exit status follows from, by the facts of the run. What the clauses leave undecided does not matter here.
    pub(crate) fn exit_facts(&self, trials: &[Trial], run: ExitFacts) -> ExitFacts {
        let any = |standing| self.outcomes.iter().any(|outcome| outcome.standing() == standing);
        ExitFacts {
            violated: run.violated || any(Standing::Broken),
            failed: run.failed || self.outcomes.len() < trials.len(),
            undecided: any(Standing::Unsure),
            decided: any(Standing::Kept) || any(Standing::Told) || any(Standing::Broken),
            ..run
        }
    }
}

impl TrialReport<'_> {
    /// For people.
    pub(crate) fn text(&self) -> String {
        super::text::of(self)
    }

    /// For programs.
    pub(crate) fn json(&self) -> serde_json::Value {
        super::json::of(self)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use probity_case::CaseName;
    use probity_trial::{Fault, trial};

    use super::*;

    #[test]
    fn a_fault_that_did_not_run_is_told_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pod.yaml");
        std::fs::write(&path, "{ kind: Pod, spec: { containers: [{ name: c }] } }\n").unwrap();
        let workload = crate::trials::manifests::read(&path).unwrap().choose(None).unwrap();
        let stand = Stand::of(&workload.workload).unwrap();
        let trials = [trial(&stand, Fault::Hang, 1).unwrap()];
        let (case, why) = (CaseName("try/hang".to_owned()), "the node is full".to_owned());
        let log = [LogLine::CaseBroken { case, why }];
        let registry = crate::cases::book::registry().unwrap();
        let run = TrialRun::of(&registry, &trials, folder.path(), &log, &[]);
        let (remarks, workload) = (Vec::new(), &workload);
        let report = TrialReport { workload, stand: &stand, trials: &trials, remarks, run: Some(&run) };
        assert!(report.text().contains("  not run: the node is full\n"), "{}", report.text());
        assert_eq!(report.json()["faults"][0]["notRun"], "the node is full");
        let facts = run.exit_facts(&trials, ExitFacts::default());
        assert_eq!(facts, ExitFacts { failed: true, ..ExitFacts::default() });
    }
}
