//! `probity judge`: the verdicts on stored histories, without a cluster.

use std::path::{Path, PathBuf};

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
    Ok(judged(args, &registry)?.status(args.standard.standard()))
}

/// Judges and prints each history, and returns the facts that determine the exit status.
fn judged(args: &JudgeArgs, registry: &Registry) -> Result<ExitFacts, Failure> {
    let is_run = |path: &&PathBuf| args.clause.is_empty() && path.join(LOG).exists();
    let runs: Vec<&PathBuf> = args.histories.iter().filter(is_run).collect();
    let mut facts = ExitFacts::default();
    for path in run_folder::histories_below(&args.histories)? {
        let file = match run_folder::read_history(&path) {
            Ok(file) => file,
            Err(why) if args.histories.contains(&path) => return Err(Failure::wrong_file(&path, why)),
            Err(why) => {
                output::err(&format!("probity judge: {}: {why}\n", path.display()));
                facts.failed = true;
                continue;
            }
        };
        if let Some(torn) = &file.torn {
            output::err(&format!(
                "probity judge: {}: {torn}; judging only the intact part\n",
                path.display()
            ));
        }
        let verdicts = CaseVerdicts::of(registry, &file.history).only(&args.clause);
        let applies = args.clause.is_empty() || !verdicts.judgements.is_empty();
        output::out(&match args.format {
            Format::Json => verdicts.file().map_err(|error| Failure::failed(error.to_string()))?,
            Format::Text if applies => text(registry, &path.display().to_string(), &file.history, &verdicts),
            Format::Text => not_applicable(&verdicts.case, &args.clause),
        })?;
        // Which histories of a run count depends on its log: a case may have run again.
        if applies && !runs.iter().any(|run| path.starts_with(run)) {
            verdicts.add_to(&mut facts);
        }
    }
    runs.into_iter().try_fold(facts, |facts, run| Ok(facts.and(facts_of_run(run, registry)?)))
}

/// The facts about a run. Its report gives the same facts.
fn facts_of_run(folder: &Path, registry: &Registry) -> Result<ExitFacts, Failure> {
    let (log, histories) = run_folder::load(folder)?;
    let report = Report::build(registry, &log, &histories);
    Ok(report.map_err(|error| Failure::wrong_file(folder, error))?.exit_facts())
}

/// Explains why a history has no verdict on the requested clauses.
fn not_applicable(case: &str, clauses: &[String]) -> String {
    let line = |id: &String| {
        let needs = probity_suites::looks_at(id).map(|needs| format!(" (it needs: {needs})"));
        format!("{case}  the clause {id} does not apply to this case{}\n", needs.unwrap_or_default())
    };
    clauses.iter().map(line).collect::<String>() + "\n"
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
            if judgement.intended { "" } else { "(the case does not target it)" }.to_owned(),
            measured.unwrap_or_default(),
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::fs;

    use probity_report::LogLine;
    use probity_sample::{ON_TIME, PUNCTUAL, Run};

    use super::*;
    use crate::arguments::{Inconclusive, StandardArgs};
    use crate::report_files::sample;

    fn status(folder: &Path) -> Exit {
        let standard = StandardArgs { inconclusive: Inconclusive::Warn, strict: false };
        let histories = vec![folder.to_owned()];
        let args = JudgeArgs { histories, clause: Vec::new(), format: Format::Text, standard };
        judged(&args, &sample::registry()).unwrap().status(standard.standard())
    }

    #[test]
    fn a_case_that_ran_again_counts_once_as_in_the_report() {
        const SECOND: &str = "history/demo/calm.2.jsonl.zst";
        let of = |probes: &[f64]| Run::new().case("calm", ON_TIME, probes);
        let (first, second) = (of(&[2.0]), of(PUNCTUAL));
        let folder = tempfile::tempdir().unwrap();
        sample::store(&first, folder.path());
        let text = second.files().next().unwrap().1;
        run_folder::store_history(&folder.path().join(SECOND), &text).unwrap();
        let mut log = first.log();
        let mut again = second.log().remove(2);
        if let LogLine::CaseEnded { case, history, .. } = &mut again {
            SECOND.clone_into(history);
            log.insert(3, LogLine::TriedAgain { cases: vec![case.clone()] });
        }
        log.insert(4, again);
        let lines: String = log.iter().map(|line| line.write().unwrap()).collect();
        fs::write(folder.path().join(LOG), lines).unwrap();
        assert_eq!(status(folder.path()), Exit::Success);
        fs::remove_file(folder.path().join(LOG)).unwrap();
        assert_eq!(status(folder.path()), Exit::Inconclusive, "histories without a log all count");
    }

    #[test]
    fn a_damaged_history_of_a_folder_does_not_hide_the_others() {
        let folder = tempfile::tempdir().unwrap();
        sample::store(&Run::new().case("calm", ON_TIME, PUNCTUAL), folder.path());
        fs::remove_file(folder.path().join(LOG)).unwrap();
        assert_eq!(status(folder.path()), Exit::Success);
        fs::write(folder.path().join("history/a.jsonl"), "no history").unwrap();
        assert_eq!(status(folder.path()), Exit::Error);
    }
}
