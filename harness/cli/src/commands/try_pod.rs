//! `probity try`: a user's own probe settings under a standard set of faults.
//!
//! The file is read and checked completely before a cluster is contacted, and the pod is submitted as a dry run before
//! anything is created. The faults run as cases of a separate run, so their histories and verdicts are in the same
//! places as those of `probity run`, and can be judged again.

use std::path::Path;

use probity_case::Case;
use probity_cluster::{Permissions, RefusedPod};
use probity_script::Span;
use probity_trial::{Fault, StandIn, Trial, remarks, trial};

use crate::arguments::TryArgs;
use crate::cases::book::Book;
use crate::exit_status::{Exit, Failure};
use crate::pipeline::progress::clock;
use crate::pipeline::{RunPlan, prepare};
use crate::trials::manifests::{self, ChosenWorkload};
use crate::trials::stored_promises::{self, PROMISES};
use crate::trials::trial_report::{TrialReport, TrialRun};
use crate::trials::{json, text};
use crate::{output, run_folder};

/// Tries the settings of a file. The exit status depends on whether the promises were kept.
pub(crate) fn run(args: &TryArgs) -> Result<Exit, Failure> {
    let workload = manifests::read(&args.file)?.choose(args.workload.as_deref())?;
    let pod = StandIn::of(&workload.workload).map_err(|why| workload.misfit(&why))?;
    let boot = i64::try_from(args.slow_start.micros()).unwrap_or(i64::MAX);
    let chosen = |fault: &Fault| args.faults.is_empty() || args.faults.contains(fault);
    let trials = Fault::ALL.into_iter().filter(chosen).map(|fault| trial(&pod, fault, boot));
    let trials: Vec<Trial> = trials
        .collect::<Result<_, _>>()
        .map_err(|why| Failure::failed(format!("{why}; please report this with the file")))?;
    let attempt = Attempt { args, workload, pod, trials, boot };
    attempt.check_span()?;
    if args.plan {
        return attempt.print(None);
    }
    attempt.perform()
}

/// Requires the permissions for Services if clients call the pod through a Service. Without these permissions, every
/// such fault would fail in the middle of the run.
fn demand_service(permissions: &Permissions, trials: &[Trial]) -> Result<(), Failure> {
    if trials.iter().all(|trial| trial.case.objects.is_empty()) {
        return Ok(());
    }
    let missing: Vec<String> =
        ["Service", "EndpointSlice"].iter().filter_map(|kind| permissions.lacking_for(kind)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::wrong_use(format!(
        "some faults need clients that call the pod through a Service, and you lack permission to\n  {}\n\
         nothing was created; `probity rbac` prints all required permissions, and --faults slow-start needs no Service",
        missing.join("\n  ")
    )))
}

/// A minute in microseconds.
const MINUTE: i64 = 60_000_000;

/// A span as users write it: whole minutes as `5m`.
fn as_written(span: Span) -> String {
    match i64::try_from(span.micros()) {
        Ok(micros) if micros % MINUTE == 0 => format!("{}m", micros / MINUTE),
        _ => span.to_string(),
    }
}

/// Everything that is known before a cluster is contacted.
struct Attempt<'a> {
    args: &'a TryArgs,
    workload: ChosenWorkload,
    pod: StandIn,
    trials: Vec<Trial>,
    boot: i64,
}

impl Attempt<'_> {
    /// Rejects settings that take too long, and shows the arithmetic.
    fn check_span(&self) -> Result<(), Failure> {
        let most = i64::try_from(self.args.span.micros()).unwrap_or(i64::MAX);
        let too_long: Vec<&Trial> = self.trials.iter().filter(|trial| trial.takes.span.hi > most).collect();
        let Some(longest) = too_long.iter().map(|trial| trial.takes.span.hi).max() else { return Ok(()) };
        let line = |Trial { fault, takes, .. }: &Trial| {
            let longest = clock(takes.span.hi / 1_000_000);
            format!("  {} takes up to {longest} = {}\n", fault.word(), takes.formula)
        };
        let lines: String = too_long.into_iter().map(line).collect();
        Err(Failure::wrong_use(format!(
            "the settings are too slow for --span {}; nothing was created\n{lines}use --span {}m, or leave faults \
             out with --faults",
            as_written(self.args.span),
            longest / MINUTE + 1
        )))
    }

    fn cases(&self) -> Vec<Case> {
        self.trials.iter().map(|trial| trial.case.clone()).collect()
    }

    fn print(&self, run: Option<&TrialRun<'_>>) -> Result<Exit, Failure> {
        let remarks = remarks(&self.pod, self.boot);
        let (workload, pod, trials) = (&self.workload, &self.pod, &self.trials);
        let report = TrialReport { workload, pod, trials, remarks, run };
        if self.args.wants_json() {
            return output::out(&format!("{:#}\n", json::of(&report)));
        }
        output::out(&text::of(&report))
    }

    /// Stores the promises in the folder of the run, because the page of the run is generated from the files in this folder.
    /// Fails if the folder cannot be used.
    fn store_promises(&self, folder: &Path) -> Result<(), Failure> {
        let path = folder.join(PROMISES);
        let text = stored_promises::text(&self.workload.words(), &self.trials);
        let text = text.map_err(|error| Failure::file_failed(&path, error))?;
        run_folder::store(&path, text.as_bytes())
            .map_err(|error| Failure::wrong_file(folder, format!("{error}; choose another --out")))
    }

    fn perform(&self) -> Result<Exit, Failure> {
        let (args, cases) = (self.args, self.cases());
        let explain = |rejected: &[RefusedPod]| {
            let problems = rejected.first().map(|pod| self.workload.rejected(&pod.refusal));
            format!("{}\nnothing was created", problems.unwrap_or_default())
        };
        // All faults have the same pod, so the first case is enough.
        let rehearsed = cases.get(..1).unwrap_or_default();
        let prepared = prepare(&args.settings, args.settings.options())?;
        prepared.rehearse(rehearsed, explain)?;
        demand_service(&prepared.permissions, &self.trials)?;
        let book = Book::built_in()?;
        self.store_promises(&prepared.folder)?;
        let title = format!("{} faults of {}", cases.len(), self.workload.words());
        let plan = RunPlan::shown_together(&book, title, cases, &self.workload.source);
        let finished = prepared.conduct(plan, |_| ())?;
        let histories = finished.whole_histories();
        let histories: Vec<_> = histories.iter().collect();
        let run = TrialRun::of(&book.registry, &self.trials, &finished.folder, &finished.log, &histories);
        self.print(Some(&run))?;
        let facts = run.exit_facts(&self.trials, finished.report.exit_facts());
        finished.end(facts)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use probity_cluster::permissions::{Missing, RULES};
    use probity_trial::Workload;
    use serde_json::json;

    use super::*;

    fn trials(faults: &[Fault]) -> Vec<Trial> {
        let pod = json!({ "kind": "Pod", "spec": { "containers": [{ "name": "c" }] } });
        let pod = StandIn::of(&Workload::of(&pod).unwrap().unwrap()).unwrap();
        faults.iter().map(|fault| trial(&pod, *fault, 1_000_000).unwrap()).collect()
    }

    #[test]
    fn without_the_rights_to_a_service_nothing_begins_that_needs_one() {
        for resource in ["services", "endpointslices"] {
            let rule = *RULES.iter().find(|rule| rule.resource == resource).unwrap();
            let permissions = Permissions { missing: vec![Missing { rule, verbs: vec!["list"] }] };
            let said = demand_service(&permissions, &trials(&[Fault::SlowStart, Fault::Hang])).unwrap_err();
            assert_eq!(said.exit, Exit::Usage);
            let said = said.to_string();
            assert!(said.contains(&format!("list {resource}")) && said.contains("`probity rbac`"), "{said}");
            assert!(said.contains("nothing was created"), "{said}");
            assert!(demand_service(&permissions, &trials(&[Fault::SlowStart])).is_ok());
        }
        assert!(demand_service(&Permissions::default(), &trials(&[Fault::Hang])).is_ok());
    }
}
