//! The result of a trial, for people and for programs: the pod that ran, each fault with promises and observations side
//! by side, remarks, and the clauses that the kubelet itself violated.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use probity_model::measure::Fit;
use probity_model::{History, Registry};
use probity_report::{LogLine, Word};
use probity_trial::{Remark, StandIn, Trial, TrialResult};

use super::manifests::ChosenWorkload;
use crate::exit_status::ExitFacts;
use crate::run_folder::PAGE;
use crate::verdicts::CaseVerdicts;

/// Everything that is reported.
pub(crate) struct TrialReport<'a> {
    /// The workload that was tried.
    pub(crate) workload: &'a ChosenWorkload,
    /// The pod that ran in its place.
    pub(crate) pod: &'a StandIn,
    /// The faults.
    pub(crate) trials: &'a [Trial],
    /// What the documentation says about such settings.
    pub(crate) remarks: Vec<Remark>,
    /// The run of the faults, if there was one.
    pub(crate) run: Option<&'a TrialRun<'a>>,
}

/// What the run of the faults showed.
pub(crate) struct TrialRun<'a> {
    folder: &'a Path,
    results: Vec<TrialResult>,
    /// Why faults did not run, by case.
    not_run: BTreeMap<String, String>,
    /// The clauses that the kubelet violated, with the findings.
    pub(super) violations: Vec<(String, String)>,
}

impl<'a> TrialRun<'a> {
    /// Reads the effects of the faults, and judges the histories by the book.
    pub(crate) fn of(
        registry: &Registry,
        trials: &[Trial],
        folder: &'a Path,
        log: &[LogLine],
        histories: &[&History],
    ) -> Self {
        let result = |trial: &Trial| {
            let history = histories.iter().find(|history| history.header.case == trial.case.name.0)?;
            Some(TrialResult::of(trial, history))
        };
        let not_run = log.iter().filter_map(|line| match line {
            LogLine::CaseSkipped { case, why, .. } | LogLine::CaseBroken { case, why } => {
                Some((case.0.clone(), why.clone()))
            }
            _ => None,
        });
        let results = trials.iter().filter_map(result).collect();
        let mut run = Self { folder, results, not_run: not_run.collect(), violations: Vec::new() };
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

    /// Where all histories are.
    pub(super) fn histories(&self) -> PathBuf {
        self.folder.join("history/try")
    }

    /// Where the page of the run is.
    pub(super) fn page(&self) -> PathBuf {
        self.folder.join(PAGE)
    }

    /// The result of a fault; `None` if it did not run.
    pub(super) fn result(&self, trial: &Trial) -> Option<&TrialResult> {
        self.results.iter().find(|result| result.fault == trial.fault)
    }

    /// Why a fault did not run.
    pub(super) fn not_run(&self, trial: &Trial) -> Option<&str> {
        let why = self.not_run.get(&trial.case.name.0).filter(|_| self.result(trial).is_none());
        why.map(String::as_str)
    }

    /// The number of observations that fit their promises in this way.
    pub(super) fn count(&self, fit: Fit) -> usize {
        let observations = self.results.iter().flat_map(|result| &result.observations);
        observations.filter(|seen| seen.fit == Some(fit)).count()
    }

    /// The facts that determine the exit status, based on the facts of the run. Undecided clauses do not matter here.
    pub(crate) fn exit_facts(&self, trials: &[Trial], run: ExitFacts) -> ExitFacts {
        let any = |fit| self.results.iter().any(|result| result.fit() == fit);
        ExitFacts {
            violated: run.violated || any(Fit::Missed),
            failed: run.failed || self.results.len() < trials.len(),
            undecided: any(Fit::Undecided),
            decided: any(Fit::Met) || any(Fit::Missed),
            ..run
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use probity_case::CaseName;
    use probity_trial::{Fault, trial};

    use super::*;
    use crate::exit_status::{Exit, Undecided};
    use crate::trials::{json, text};

    #[test]
    fn a_fault_that_did_not_run_is_told_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pod.yaml");
        std::fs::write(&path, "{ kind: Pod, spec: { containers: [{ name: c }] } }\n").unwrap();
        let workload = crate::trials::manifests::read(&path).unwrap().choose(None).unwrap();
        let pod = StandIn::of(&workload.workload).unwrap();
        let trials = [trial(&pod, Fault::Hang, 1).unwrap()];
        let (case, why) = (CaseName("try/hang".to_owned()), "the node is full".to_owned());
        let log = [LogLine::CaseBroken { case, why }];
        let registry = crate::cases::book::registry().unwrap();
        let run = TrialRun::of(&registry, &trials, folder.path(), &log, &[]);
        let (remarks, workload) = (Vec::new(), &workload);
        let report = TrialReport { workload, pod: &pod, trials: &trials, remarks, run: Some(&run) };
        let text = text::of(&report);
        assert!(text.contains("  not run: the node is full\n"), "{text}");
        assert!(text.ends_with("/report.html\n"), "{text}");
        assert_eq!(json::of(&report)["faults"][0]["notRun"], "the node is full");
        let facts = run.exit_facts(&trials, ExitFacts::default());
        assert_eq!(facts, ExitFacts { failed: true, ..ExitFacts::default() });
        let interrupted = ExitFacts { interrupted: true, violated: true, ..facts };
        assert_eq!(run.exit_facts(&trials, interrupted).status(Undecided::Warns), Exit::Interrupted);
    }
}
