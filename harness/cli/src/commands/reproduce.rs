//! `probity reproduce`: turns a pasted pod or workload into a case, runs it, and writes the result as the text of an
//! issue.
//!
//! Whatever the manifest does not describe is guessed, and the case file lists these guesses. The case runs in the same
//! way as with `probity run` and its file.

use probity_cluster::RefusedPod;

use crate::arguments::ReproduceArgs;
use crate::cases::book::{Book, CaseFile};
use crate::cases::{case_text, rejected_pods};
use crate::exit_status::{Exit, Failure};
use crate::pipeline::{RunPlan, prepare};
use crate::reproductions::case_file::Reproduction;
use crate::reproductions::issue::Issue;
use crate::{output, run_folder};

/// Creates the case, writes it, and runs it unless only a plan is requested.
pub(crate) fn run(args: &ReproduceArgs) -> Result<Exit, Failure> {
    let made = Reproduction::of(&args.file, args.workload.as_deref())?;
    if let Some(path) = &args.case_out {
        if path.exists() {
            return Err(Failure::wrong_file(path, "it already exists and is not overwritten".to_owned()));
        }
        run_folder::store(path, made.text.as_bytes()).map_err(|error| Failure::wrong_file(path, error))?;
    }
    if args.plan {
        explain(&made);
        return if args.case_out.is_none() { output::out(&made.text) } else { Ok(Exit::Success) };
    }
    perform(args, &made)
}

/// Explains the case on standard error, so that standard output contains only the case.
fn explain(made: &Reproduction) {
    for case in &made.cases {
        output::err(&format!("{}, about {}\n{}", case.name, case.forecast(), case_text::of(case)));
    }
    if !made.guesses.is_empty() {
        output::err(&format!("\nguessed\n  {}\n", made.guesses.join("\n  ")));
    }
    if !made.differs.is_empty() {
        output::err(&format!("\ndifferences from the manifest\n  {}\n", made.differs.join("\n  ")));
    }
}

fn perform(args: &ReproduceArgs, made: &Reproduction) -> Result<Exit, Failure> {
    let standard = args.standard.standard();
    let refused = |rejected: &[RefusedPod]| format!("{}\nnothing was created", rejections(rejected, made));
    let prepared = prepare(&args.settings, args.settings.options())?;
    prepared.rehearse(&made.cases, refused)?;
    let book = Book::built_in()?;
    let title = format!("a reproduction of {}", made.source);
    let plan = RunPlan::shown_together(&book, title, made.cases.clone(), &made.source);
    let finished = prepared.conduct(RunPlan { standard, retries: 1, ..plan }, |_| ())?;
    let histories = finished.whole_histories();
    let histories: Vec<_> = histories.iter().collect();
    let (report, folder) = (&finished.report, finished.folder.as_path());
    output::out(&Issue { reproduction: made, report, histories: &histories, folder }.markdown())?;
    let facts = finished.report.exit_facts();
    finished.end(facts)
}

/// Why pods are rejected, with the place in the manifest or in the case file.
fn rejections(rejected: &[RefusedPod], made: &Reproduction) -> String {
    if let (Some(workload), Some(first)) = (&made.workload, rejected.first()) {
        return workload.rejected(&first.refusal);
    }
    let (source, text) = (made.source.clone(), made.text.clone());
    let file = CaseFile { source, text, cases: made.cases.clone(), own: true };
    let mut problems: Vec<String> = Vec::new();
    for pod in rejected {
        if let Some(case) = made.cases.iter().find(|case| case.name == pod.case) {
            problems.extend(rejected_pods::problems(&file, case, pod).iter().map(ToString::to_string));
        }
    }
    problems.dedup();
    problems.join("\n")
}
