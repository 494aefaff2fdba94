//! `probity judge`: the verdicts on stored histories, without a cluster.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use probity_case::names::no_clause;
use probity_model::{History, Registry};
use probity_report::{
    Citations, Essentials, Histories as _, JudgedHistory, LogLine, NamedHistory, Outline, ReadHistory,
    Workers,
};

use crate::arguments::{Format, JudgeArgs};
use crate::cases::book;
use crate::exit_status::{Exit, ExitFacts, Failure};
use crate::output;
use crate::run_folder::foreign::RunFiles;
use crate::run_folder::{self, HistoryFile, LOG};
use crate::verdicts::CaseVerdicts;

/// Judges each history and prints the verdicts.
pub(crate) fn run(args: &JudgeArgs) -> Result<Exit, Failure> {
    let registry = book::registry()?;
    for id in &args.clause {
        known(&registry, id)?;
    }
    Ok(judged(args, &registry, Workers::all())?.status(args.standard.standard()))
}

/// Judges and prints each history, and returns the facts that determine the exit status. Each history is dropped as soon as
/// it is judged.
fn judged(args: &JudgeArgs, registry: &Registry, workers: Workers) -> Result<ExitFacts, Failure> {
    let is_run = |path: &&PathBuf| args.clause.is_empty() && path.join(LOG).exists();
    let folders: Vec<&PathBuf> = args.histories.iter().filter(is_run).collect();
    let opened: Vec<_> = folders.iter().map(|folder| (folder.as_path(), run_folder::open(folder))).collect();
    let whole = opened.iter().filter_map(|(folder, run)| Some((*folder, run.as_ref().ok()?)));
    let runs: Vec<RunToJudge<'_>> = whole.filter_map(|(folder, run)| RunToJudge::of(folder, run)).collect();
    let mut found: Vec<_> = runs.iter().map(RunFound::of).collect();
    let mut facts = ExitFacts::default();
    let paths = run_folder::histories_below(&args.histories)?;
    let judge = |path: &PathBuf| Judging { args, registry, folders: &folders, runs: &runs }.judge(path);
    workers.in_order(&paths, judge, |one| {
        let JudgedFile { warning, said, facts: of_file, of_run } = one?;
        warning.iter().for_each(|warning| output::err(warning));
        output::out(&said)?;
        facts = facts.and(of_file);
        if let Some((run, place, judged)) = of_run {
            found[run].add(place, judged);
        }
        Ok::<(), Failure>(())
    })?;
    let of_runs = runs.iter().zip(found).map(|(run, found)| found.facts(registry, run));
    let facts = of_runs.fold(facts, ExitFacts::and);
    // If the log of a run cannot be read, the command fails, but only after it has judged all histories.
    opened.into_iter().try_for_each(|(_, run)| run.map(|_| ()))?;
    Ok(facts)
}

/// What all threads share.
struct Judging<'a> {
    args: &'a JudgeArgs,
    registry: &'a Registry,
    /// The folders of runs among the arguments.
    folders: &'a [&'a PathBuf],
    runs: &'a [RunToJudge<'a>],
}

/// What to print about a history, and what it adds to the exit status.
#[derive(Default)]
struct JudgedFile {
    warning: Option<String>,
    said: String,
    facts: ExitFacts,
    /// The run, the place in the run, and the conclusions, if the history counts as part of a run.
    of_run: Option<(usize, usize, JudgedHistory)>,
}

impl Judging<'_> {
    fn judge(&self, path: &Path) -> Result<JudgedFile, Failure> {
        let warning = |why: &str| Some(format!("probity judge: {}: {why}\n", path.display()));
        let HistoryFile { history, sha256, torn } = match run_folder::read_history(path) {
            Ok(file) => file,
            Err(why) if self.args.histories.iter().any(|given| given == path) => {
                return Err(Failure::wrong_file(path, why));
            }
            Err(why) => {
                let facts = ExitFacts { failed: true, ..ExitFacts::default() };
                return Ok(JudgedFile { warning: warning(&why), facts, ..JudgedFile::default() });
            }
        };
        let warning =
            torn.as_ref().and_then(|torn| warning(&format!("{torn}; judging only the intact part")));
        let read = ReadHistory { sha256, history };
        let in_a_run = self.runs.iter().enumerate().find_map(|(at, run)| Some((at, run.places.get(path)?)));
        let of_run = in_a_run.filter(|_| torn.is_none()).map(|(at, (place, named))| {
            (at, *place, JudgedHistory::of(self.registry, named, &read, &Citations::none()))
        });
        let header = &read.history.header;
        let verdicts = match &of_run {
            Some((.., judged)) => CaseVerdicts::of_judged(header, judged),
            None => CaseVerdicts::of(self.registry, &read.history).only(&self.args.clause),
        };
        let applies = self.args.clause.is_empty() || !verdicts.judgements.is_empty();
        let said = match self.args.format {
            Format::Json => verdicts.file().map_err(|error| Failure::failed(error.to_string()))?,
            Format::Text if applies => {
                text(self.registry, &path.display().to_string(), &read.history, &verdicts)
            }
            Format::Text => not_applicable(&verdicts.case, &self.args.clause),
        };
        let mut facts = ExitFacts::default();
        // Which histories of a run count depends on its log: a case may have run again.
        if applies && !self.folders.iter().any(|run| path.starts_with(run)) {
            verdicts.add_to(&mut facts);
        }
        Ok(JudgedFile { warning, said, facts, of_run })
    }
}

/// A run among the arguments.
struct RunToJudge<'a> {
    files: &'a RunFiles,
    outline: Outline<'a>,
    /// The paths of the histories that its log names, each with its place.
    places: BTreeMap<PathBuf, (usize, NamedHistory<'a>)>,
}

impl<'a> RunToJudge<'a> {
    fn of(folder: &Path, (log, files): &'a (Vec<LogLine>, RunFiles)) -> Option<Self> {
        let outline = Outline::of(log).ok()?;
        let named = outline.histories().into_iter().enumerate();
        let places = named.map(|one| (folder.join(files.name_of_history(one.1.file)), one)).collect();
        Some(Self { files, outline, places })
    }
}

/// The conclusions about a run that determine its exit status.
struct RunFound {
    essentials: Essentials,
    judged: Vec<Option<JudgedHistory>>,
}

impl RunFound {
    fn of(run: &RunToJudge<'_>) -> Self {
        let judged = run.outline.histories().iter().map(|_| None).collect();
        Self { essentials: Essentials::default(), judged }
    }

    fn add(&mut self, place: usize, mut judged: JudgedHistory) {
        self.essentials.reduce(&mut judged);
        self.judged[place] = Some(judged);
    }

    /// The facts about the run. Its report gives the same facts. Histories that were not among the files, such as one that
    /// the log names twice, are judged now.
    fn facts(self, registry: &Registry, run: &RunToJudge<'_>) -> ExitFacts {
        let judge = |(judged, named): (Option<JudgedHistory>, NamedHistory<'_>)| match judged {
            Some(judged) => Ok(judged),
            None => run
                .files
                .read_history(named.file)
                .map(|read| JudgedHistory::of(registry, &named, &read, &Citations::none())),
        };
        let judged = self.judged.into_iter().zip(run.outline.histories()).map(judge);
        run.outline.report(registry, judged.collect()).exit_facts()
    }
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
    if registry.catalogue.iter().any(|clause| clause.id.as_str() == id) {
        return Ok(());
    }
    Err(Failure::wrong_use(no_clause(id, &registry.catalogue)))
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
        judged(&args, &sample::registry(), Workers::of(2)).unwrap().status(standard.standard())
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
