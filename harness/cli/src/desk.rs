//! Where everything that a run tells arrives: it is written down, judged, shown, and passed on to the front end.
//!
//! The desk works on a thread of its own, so that judging and writing never hold up those who watch the cluster. What it
//! cannot write it says, and goes on: the cluster has to be cleaned up in any case.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::Sender;

use probity_case::CaseName;
use probity_cluster::Progress;
use probity_model::{History, Registry, Verdict};
use probity_report::LogLine;
use probity_report::run_log::{Ground, Leftover, Usage};
use probity_report::{Undecided, Word};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::files::{LOG, digest};
use crate::front::Outcome;
use crate::live::screen::{self, SharedBoard};
use crate::live::voice::Voice;
use crate::stored;
use crate::verdicts::CaseVerdicts;

/// So many findings of a case are told by the front end.
const TOLD: usize = 6;

/// A case for which the front end waits.
pub(crate) struct Seat {
    /// Its name in the report.
    pub(crate) case: CaseName,
    /// Which repetition it is, counted from 1; none if it is the only one.
    pub(crate) repetition: Option<u32>,
    /// Where its outcome is told.
    pub(crate) tell: Sender<Outcome>,
}

impl Seat {
    /// Where a file of it lies below a folder.
    fn file(&self, folder: &str, end: &str) -> String {
        let repetition = self.repetition.map(|nth| format!(".{nth}")).unwrap_or_default();
        format!("{folder}/{}{repetition}.{end}", self.case.file())
    }
}

/// What a run told in the end.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// What it took, if it came to its end.
    pub(crate) usage: Option<Usage>,
    /// What could not be removed.
    pub(crate) leftovers: Vec<Leftover>,
    /// What could not be written.
    pub(crate) troubles: Vec<String>,
}

/// The desk of one run.
pub(crate) struct Desk {
    registry: Registry,
    folder: PathBuf,
    log: File,
    seats: BTreeMap<CaseName, Seat>,
    board: SharedBoard,
    voice: Voice,
    undecided: Undecided,
    told: Told,
}

impl Desk {
    /// A desk whose files lie in this folder. The seats are by the names that the cases have in the cluster.
    ///
    /// # Errors
    ///
    /// If the folder or the log cannot be made, or there is a log already.
    pub(crate) fn open(
        folder: PathBuf,
        registry: Registry,
        seats: BTreeMap<CaseName, Seat>,
        board: SharedBoard,
        undecided: Undecided,
    ) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        let log = File::options().append(true).create_new(true).open(folder.join(LOG))?;
        let (voice, told) = (Voice::default(), Told::default());
        Ok(Self { registry, folder, log, seats, board, voice, undecided, told })
    }

    /// Speaks by this voice from here on.
    pub(crate) fn speak_by(&mut self, voice: Voice) {
        self.voice = voice;
    }

    /// Writes a line of the log.
    pub(crate) fn write(&mut self, line: &LogLine) {
        let text = line.write().map_err(io::Error::other);
        if let Err(error) = text.and_then(|text| self.log.write_all(text.as_bytes())) {
            self.trouble(format!("a line of {LOG} could not be written: {error}"));
        }
    }

    /// Works until nobody tells anything any more. Cases that are still waited for then did not run.
    pub(crate) fn work(mut self, mut tidings: UnboundedReceiver<Progress>) -> Told {
        while let Some(progress) = tidings.blocking_recv() {
            screen::with(&self.board, |board| board.note(&progress));
            self.take(progress);
        }
        let interrupted = self.told.usage.is_some_and(|usage| usage.interrupted);
        for seat in std::mem::take(&mut self.seats).into_values() {
            let outcome = match interrupted {
                true => Outcome::Ignored("interrupted".to_owned()),
                false => Outcome::Failed("error: the run ended before this case did".to_owned()),
            };
            let _ = seat.tell.send(outcome);
        }
        self.told
    }

    fn take(&mut self, progress: Progress) {
        match progress {
            Progress::Ready { context, server, namespace, nodes, image, us } => {
                self.write(&LogLine::Ready(Ground { context, server, namespace, nodes, image, us }));
            }
            Progress::Began { case, us } => {
                if let Some(seat) = self.seats.get(&case) {
                    let case = seat.case.clone();
                    self.write(&LogLine::CaseBegan { case, us });
                }
            }
            Progress::Doing { .. } => {}
            Progress::Ended { case, history, began_us, us } => {
                if let Some(seat) = self.seats.remove(&case) {
                    self.ended(&seat, *history, (began_us, us));
                }
            }
            Progress::Skipped { case, reason, why } => {
                if let Some(seat) = self.seats.remove(&case) {
                    self.write(&LogLine::CaseSkipped { case: seat.case, reason, why: why.clone() });
                    let _ = seat.tell.send(Outcome::Ignored(why));
                }
            }
            Progress::Broken { case, why, history } => {
                if let Some(seat) = self.seats.remove(&case) {
                    // Evidence of what went wrong; that it cannot be kept is no second fault of the case.
                    let _ = self.store(&seat.file("history", "jsonl.zst"), &history);
                    self.broken(&seat, why);
                }
            }
            Progress::Warning(what) => {
                self.voice.err(&format!("probity: {what}\n"));
                self.write(&LogLine::Warning { what });
            }
            Progress::Leftover { what, why } => {
                self.voice.err(&format!("probity: could not remove {what}: {why}\n"));
                let leftover = Leftover { what, why };
                self.write(&LogLine::Leftover(leftover.clone()));
                self.told.leftovers.push(leftover);
            }
            Progress::Finished(usage) => {
                self.write(&LogLine::Finished(usage));
                self.told.usage = Some(usage);
            }
        }
    }

    /// Stores the history, judges it, stores the verdicts, and tells.
    fn ended(&mut self, seat: &Seat, mut history: History, (began_us, us): (i64, i64)) {
        seat.case.0.clone_into(&mut history.header.case);
        let file = seat.file("history", "jsonl.zst");
        let found = CaseVerdicts::of(&self.registry, &history);
        let stored = self.store(&file, &history).and_then(|sha256| {
            let verdicts = seat.file("verdicts", "json");
            let text = found.file().map_err(io::Error::other)?;
            stored::store(&self.folder.join(verdicts), text.as_bytes())?;
            Ok(sha256)
        });
        match stored {
            Ok(sha256) => {
                let (case, history) = (seat.case.clone(), file.clone());
                self.write(&LogLine::CaseEnded { case, history, sha256, began_us, us });
            }
            Err(error) => return self.broken(seat, format!("its history could not be written: {error}")),
        }
        let path = self.folder.join(file).display().to_string();
        let outcome = self.outcome(&found, &history, &path);
        self.tell(seat, outcome);
    }

    fn store(&self, file: &str, history: &History) -> io::Result<String> {
        let text = history.write().map_err(io::Error::other)?;
        stored::write(&self.folder.join(file), &text)?;
        Ok(digest(&text))
    }

    fn broken(&mut self, seat: &Seat, why: String) {
        self.write(&LogLine::CaseBroken { case: seat.case.clone(), why: why.clone() });
        self.tell(seat, Outcome::Failed(format!("error: {why}")));
    }

    fn tell(&self, seat: &Seat, outcome: Outcome) {
        if matches!(outcome, Outcome::Failed(_)) {
            screen::with(&self.board, |board| board.note_failure());
        }
        // A front end that went away has no more use for outcomes.
        let _ = seat.tell.send(outcome);
    }

    /// What the front end shows of a case's verdicts.
    fn outcome(&self, found: &CaseVerdicts, history: &History, path: &str) -> Outcome {
        let words: &[Word] = match found.conclusion() {
            Verdict::Violated { .. } => &[Word::Violated],
            Verdict::Error { .. } => &[Word::Error],
            Verdict::Inconclusive { .. } if self.undecided != Undecided::Passes => &[Word::Inconclusive],
            Verdict::Skipped { why, .. } => return Outcome::Ignored(why),
            Verdict::Holds { .. } | Verdict::Diverges { .. } | Verdict::Inconclusive { .. } => {
                return Outcome::Passed;
            }
        };
        let findings = found.findings(&self.registry, history, path, words);
        let mut text = findings.iter().take(TOLD).map(String::as_str).collect::<Vec<_>>().join("\n");
        if findings.is_empty() {
            text = format!("{}: {}", found.conclusion().word(), found.conclusion().sentence());
        } else if findings.len() > TOLD {
            text += &format!("\nand {} more: probity judge {path}\n", findings.len() - TOLD);
        }
        Outcome::Failed(text)
    }

    fn trouble(&mut self, what: String) {
        self.voice.err(&format!("probity: {what}\n"));
        self.told.troubles.push(what);
    }
}

#[cfg(test)]
mod tests;
