//! `probity judge`: the verdicts on stored histories, without a cluster.

use probity_model::{History, Registry};
use probity_report::Report;

use crate::arguments::{Format, JudgeArgs};
use crate::cases::book;
use crate::exit_status::{Exit, ExitFacts, Failure};
use crate::output::{self, did_you_mean};
use crate::run_folder::{self, LOG};
use crate::verdicts::CaseVerdicts;

/// Judges each history and prints the verdicts.
pub(crate) fn run(args: &JudgeArgs) -> Result<Exit, Failure> {
    let registry = book::registry()?;
    for id in &args.clause {
        known(&registry, id)?;
    }
    let mut facts = ExitFacts::default();
    for path in run_folder::histories_below(&args.histories)? {
        let file = run_folder::read_history(&path).map_err(|why| Failure::wrong_file(&path, why))?;
        if let Some(torn) = &file.torn {
            output::err(&format!(
                "probity judge: {}: {torn}; judging only the intact part\n",
                path.display()
            ));
        }
        let verdicts = CaseVerdicts::of(&registry, &file.history).only(&args.clause);
        output::out(&match args.format {
            Format::Json => verdicts.file().map_err(|error| Failure::failed(error.to_string()))?,
            Format::Text => text(&registry, &path.display().to_string(), &file.history, &verdicts),
        })?;
        verdicts.add_to(&mut facts);
    }
    if args.clause.is_empty() {
        facts = with_runs(args, &registry, facts)?;
    }
    Ok(facts.status(args.standard.standard()))
}

/// The facts that determine the exit status, including the facts about each complete run in the folders.
fn with_runs(args: &JudgeArgs, registry: &Registry, mut facts: ExitFacts) -> Result<ExitFacts, Failure> {
    for folder in args.histories.iter().filter(|path| path.join(LOG).exists()) {
        let (log, histories) = run_folder::load(folder)?;
        let report =
            Report::build(registry, &log, &histories).map_err(|error| Failure::wrong_file(folder, error))?;
        facts = facts.and(report.exit_facts());
    }
    Ok(facts)
}

fn known(registry: &Registry, id: &str) -> Result<(), Failure> {
    let ids = || registry.catalogue.iter().map(|clause| clause.id.as_str());
    if ids().any(|known| known == id) {
        return Ok(());
    }
    Err(Failure::wrong_use(format!("there is no clause `{id}`{}", did_you_mean(id, ids()))))
}

/// The verdicts as a table, and the findings.
fn text(registry: &Registry, path: &str, history: &History, verdicts: &CaseVerdicts) -> String {
    let events = history.events().len();
    let CaseVerdicts { case, verdict, run, server, .. } = verdicts;
    let mut text = format!("{case}  {verdict}  (run {run}, {server}, {events} events)\n");
    let row = |judgement: &probity_model::Judgement| {
        let measured = judgement.measurements.first().map(|measured| measured.in_words());
        [
            format!("  {}", judgement.verdict.word()),
            judgement.clause.to_string(),
            measured.unwrap_or_default(),
            if judgement.intended { "" } else { "(the case does not target it)" }.to_owned(),
        ]
    };
    text += &output::table(&verdicts.judgements.iter().map(row).collect::<Vec<_>>());
    for expected in &verdicts.expected {
        text += &format!("  {}  expected: {}\n", expected.verdict.word(), expected.what);
    }
    for finding in verdicts.findings(registry, history, path, &[]) {
        text += &format!("\n{finding}");
    }
    text + "\n"
}
