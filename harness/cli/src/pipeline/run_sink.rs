//! The sink of a run's progress: it writes the log, judges and stores histories, and passes results on to the test output.
//!
//! It has its own thread, so that judging and writing never delay the watch of the cluster. If it cannot write, it
//! reports this and continues, because the cluster must always be cleaned up.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::Sender;

use probity_case::CaseName;
use probity_cluster::Progress;
use probity_model::{History, Registry};
use probity_report::run_log::{ClusterFacts, Leftover, Planned};
use probity_report::{LogLine, Standard, Undecided, Word};
use tokio::sync::mpsc::UnboundedReceiver;

use self::retries::Retries;
use super::libtest::TestResult;
use super::progress::console::Console;
use super::progress::screen::{self, SharedBoard};
use crate::output::counted;
use crate::run_folder::{self, LOG, digest};
use crate::verdicts::CaseVerdicts;

mod retries;

/// How many findings of a case the test output shows.
const SHOWN: usize = 6;

/// A case whose result is awaited.
pub(crate) struct AwaitedCase {
    /// Its name in the report.
    pub(crate) case: CaseName,
    /// The number of the repetition, counted from 1; `None` if it is the only one.
    pub(crate) repetition: Option<u32>,
    /// Where its result goes.
    pub(crate) result: Sender<TestResult>,
}

impl AwaitedCase {
    /// The path of one of its files relative to a folder.
    fn file(&self, folder: &str, end: &str) -> String {
        let repetition = self.repetition.map(|nth| format!(".{nth}")).unwrap_or_default();
        format!("{folder}/{}{repetition}.{end}", self.case.file())
    }
}

/// The sink of one run.
pub(crate) struct RunSink<'r> {
    registry: &'r Registry,
    folder: PathBuf,
    log: File,
    awaited: BTreeMap<CaseName, AwaitedCase>,
    board: SharedBoard,
    console: Console,
    standard: Standard,
    retries: Retries,
    interrupted: bool,
    /// Why the log ends early, if it does.
    broken_log: Option<String>,
}

impl<'r> RunSink<'r> {
    /// A sink that writes to this folder. The awaited cases have the names that they have in the cluster. Fails if the
    /// folder or the log cannot be created, or a log exists already.
    pub(crate) fn open(
        folder: PathBuf,
        registry: &'r Registry,
        awaited: BTreeMap<CaseName, AwaitedCase>,
        board: SharedBoard,
        standard: Standard,
    ) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        let log = File::options().append(true).create_new(true).open(folder.join(LOG))?;
        let console = Console::default();
        Ok(Self {
            registry,
            folder,
            log,
            awaited,
            board,
            console,
            standard,
            retries: Retries::default(),
            interrupted: false,
            broken_log: None,
        })
    }

    /// The same sink, which runs cases again if they left something undecided.
    pub(crate) fn retrying(mut self, times: u32, planned: &[Planned]) -> Self {
        self.retries = Retries::new(times, planned);
        self
    }

    /// Handles progress until no more can arrive. Cases that are then still awaited did not run. Returns why the log is
    /// incomplete, if it is.
    pub(crate) fn work(
        mut self,
        first: &[LogLine],
        mut progress: UnboundedReceiver<Progress>,
        console: Console,
    ) -> Option<String> {
        self.console = console;
        for line in first {
            self.write(line);
        }
        while let Some(progress) = progress.blocking_recv() {
            screen::with(&self.board, |board| board.note(&progress));
            self.take(progress);
        }
        self.let_go();
        for awaited in std::mem::take(&mut self.awaited).into_values() {
            let result = match self.interrupted {
                true => TestResult::Ignored("interrupted".to_owned()),
                false => TestResult::Failed("error: the run ended before this case did".to_owned()),
            };
            let _ = awaited.result.send(result);
        }
        self.broken_log
    }

    /// Writes a line of the log. If a line cannot be written, the log ends. A log without its last line means that the
    /// run failed.
    fn write(&mut self, line: &LogLine) {
        if self.broken_log.is_some() {
            return;
        }
        let text = line.write().map_err(io::Error::other);
        if let Err(error) = text.and_then(|text| self.log.write_all(text.as_bytes())) {
            let why = format!("failed to write a line of {LOG}: {error}");
            self.console.err(&format!("probity: {why}\n"));
            self.broken_log = Some(why);
        }
    }

    fn take(&mut self, progress: Progress) {
        match progress {
            Progress::Ready { context, cluster_uid, server, namespace, nodes, image, us } => {
                let ground = ClusterFacts { context, cluster_uid, server, namespace, nodes, image, us };
                self.retries.know(&ground);
                self.write(&LogLine::Ready(ground));
            }
            Progress::Began { case, us } => {
                if let Some(awaited) = self.awaited.get(&case) {
                    let case = awaited.case.clone();
                    self.write(&LogLine::CaseBegan { case, us });
                }
            }
            Progress::Doing { .. } => {}
            Progress::Ended { case, history, began_us, us, room: _room } => {
                if let Some(awaited) = self.awaited.remove(&case) {
                    self.ended(&case, awaited, *history, (began_us, us));
                }
            }
            Progress::Skipped { case, reason, why } => {
                if let Some(awaited) = self.awaited.remove(&case) {
                    self.write(&LogLine::CaseSkipped { case: awaited.case, reason, why: why.clone() });
                    let _ = awaited.result.send(TestResult::Ignored(why));
                }
            }
            Progress::Broken { case, why, history, room: _room } => {
                if let Some(awaited) = self.awaited.remove(&case) {
                    // The history is evidence of what went wrong. If it cannot be stored, the case is still broken.
                    let _ = self.store(&awaited.file("history", "jsonl.zst"), &history);
                    self.broken(&awaited, why);
                }
            }
            Progress::Undecided { again } => {
                let chosen = self.try_again();
                // If the run was interrupted in the meantime, nothing receives this.
                let _ = again.send(chosen);
            }
            Progress::Warning(what) => {
                self.console.err(&format!("probity: {what}\n"));
                self.write(&LogLine::Warning { what });
            }
            Progress::Leftover { what, why } => {
                self.console.err(&format!("probity: could not remove {what}: {why}\n"));
                self.write(&LogLine::Leftover(Leftover { what, why }));
            }
            Progress::Finished(usage) => {
                self.interrupted = usage.interrupted;
                self.write(&LogLine::Finished(usage));
            }
        }
    }

    /// Stores the history, judges it, stores the verdicts, and passes the result on.
    fn ended(
        &mut self,
        name: &CaseName,
        awaited: AwaitedCase,
        mut history: History,
        (began_us, us): (i64, i64),
    ) {
        awaited.case.0.clone_into(&mut history.header.case);
        let file = awaited.file("history", "jsonl.zst");
        let found = CaseVerdicts::of(self.registry, &history);
        let stored = self.store(&file, &history).and_then(|sha256| {
            let text = found.file().map_err(io::Error::other)?;
            let path = self.folder.join(awaited.file("verdicts", "json"));
            run_folder::store(&path, text.as_bytes()).map(|()| sha256)
        });
        match stored {
            Ok(sha256) => {
                let (case, history) = (awaited.case.clone(), file.clone());
                self.write(&LogLine::CaseEnded { case, history, sha256, began_us, us });
            }
            Err(error) => return self.broken(&awaited, format!("failed to write its history: {error}")),
        }
        let path = self.folder.join(file).display().to_string();
        let result = self.result(&found, &history, &path);
        let mut held_back = Some(result);
        if found.verdict != Word::Inconclusive || !self.retries.allow(&awaited) {
            held_back.take().into_iter().for_each(|result| self.pass_on(&awaited, result));
        }
        self.retries.hold(name, awaited, held_back, found);
    }

    /// Chooses the cases that run again now, and awaits them. If nothing else is awaited, nothing runs again later, and
    /// the results of the others are passed on.
    fn try_again(&mut self) -> Vec<CaseName> {
        let running: BTreeSet<&CaseName> = self.awaited.values().map(|awaited| &awaited.case).collect();
        let chosen = self.retries.choose(self.registry, &running);
        if chosen.is_empty() {
            if self.awaited.is_empty() {
                self.let_go();
            }
            return Vec::new();
        }
        let cases: Vec<CaseName> = chosen.iter().map(|(_, awaited)| awaited.case.clone()).collect();
        let text =
            format!("probity: {} left something undecided; running again\n", counted(cases.len(), "case"));
        self.console.err(&text);
        self.write(&LogLine::TriedAgain { cases });
        let names = chosen.iter().map(|(name, _)| name.clone()).collect();
        self.awaited.extend(chosen.into_iter().map(|(name, awaited)| (name.again(), awaited)));
        names
    }

    /// Passes on the results that were held back.
    fn let_go(&mut self) {
        for (awaited, result) in self.retries.let_go() {
            self.pass_on(&awaited, result);
        }
    }

    fn store(&self, file: &str, history: &History) -> io::Result<String> {
        let text = history.write().map_err(io::Error::other)?;
        run_folder::store_history(&self.folder.join(file), &text)?;
        Ok(digest(&text))
    }

    fn broken(&mut self, awaited: &AwaitedCase, why: String) {
        self.write(&LogLine::CaseBroken { case: awaited.case.clone(), why: why.clone() });
        self.pass_on(awaited, TestResult::Failed(format!("error: {why}")));
    }

    fn pass_on(&self, awaited: &AwaitedCase, result: TestResult) {
        if matches!(result, TestResult::Failed(_)) {
            screen::with(&self.board, |board| board.note_failure());
        }
        // If the test output has ended, it needs no results.
        let _ = awaited.result.send(result);
    }

    /// The result of a case in the test output, from its verdicts.
    fn result(&self, found: &CaseVerdicts, history: &History, path: &str) -> TestResult {
        let conclusion = found.conclusion();
        let word = Word::of(&conclusion);
        match word {
            Word::Skipped => return TestResult::Ignored(conclusion.sentence().to_owned()),
            Word::Diverges if self.standard.strict => {}
            Word::Holds | Word::Diverges => return TestResult::Passed,
            Word::Inconclusive if self.standard.undecided == Undecided::Passes => return TestResult::Passed,
            Word::Violated | Word::Error | Word::Inconclusive => {}
        }
        let findings = found.findings(self.registry, history, path, &[word]);
        let mut text = findings.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
        if findings.is_empty() {
            text = format!("{word}: {}", conclusion.sentence());
        } else if findings.len() > SHOWN {
            text += &format!("\nand {} more: probity judge {path}\n", findings.len() - SHOWN);
        }
        TestResult::Failed(text)
    }
}

#[cfg(test)]
mod tests;
