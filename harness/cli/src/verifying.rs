//! Checks another person's run: its log, its histories, and everything that was generated from them.
//!
//! The rules are in `verification` of the crate `probity_report`. This module reads the files and collects the results.

mod read;
mod text;
mod unreadable;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

use probity_model::Registry;
use probity_report::run_log::{Suite, Tool};
use probity_report::verification::{self, Differences, Flaw};
use probity_report::{
    AtHand, BookFacts, Certificate, Judged, LogLine, Outline, Report, Undecided, VerifyFacts, Workers,
};

use crate::exit_status::Standard;
use crate::run_folder::foreign::RunFiles;
use crate::run_folder::{LOG, REPORT};
use crate::verdicts::{self, CaseVerdicts};
use crate::{provenance, report_files};

pub(crate) use read::Given;
use read::{LogRead, StoredReport};
use unreadable::Unreadable;

/// The book of this program and the program itself, with which a run is compared.
pub(crate) struct Verifier {
    /// Clauses and judges.
    pub(crate) registry: Registry,
    /// What the book requires of a run.
    pub(crate) book: BookFacts,
    /// This program.
    pub(crate) tool: Tool,
}

/// The results of checking a run.
pub(crate) struct Verified {
    /// The contradictions.
    pub(crate) flaws: Vec<Flaw>,
    /// What could not be checked, and why. If there is any, the run is not verified.
    pub(crate) unchecked: Vec<String>,
    /// Other information for the reader.
    pub(crate) notes: Vec<String>,
    /// What was checked.
    pub(crate) checked: Vec<String>,
    /// The report that follows from the log and the histories. If there are none, the stored report.
    pub(crate) report: Option<Report>,
}

impl Verified {
    fn new() -> Self {
        let (flaws, unchecked, notes, checked) = Default::default();
        Self { flaws, unchecked, notes, checked, report: None }
    }

    /// The facts that determine the exit status.
    pub(crate) fn exit_facts(&self) -> VerifyFacts {
        VerifyFacts {
            contradicts: !self.flaws.is_empty(),
            unchecked: !self.unchecked.is_empty(),
            ..VerifyFacts::default()
        }
    }

    /// The certificate of the report.
    pub(crate) fn certificate(&self) -> Option<&Certificate> {
        self.report.as_ref()?.certificate.as_ref()
    }
}

impl Verifier {
    /// Checks a run.
    pub(crate) fn verify(&self, given: &Given) -> Verified {
        match given {
            Given::Run(files) => self.run(files),
            Given::Report(text) => self.lone_report(text),
        }
    }

    fn run(&self, files: &RunFiles) -> Verified {
        let mut found = Verified::new();
        let Some(LogRead { log, facts }) = read::log(files, &mut found.flaws) else { return found };
        let Ok(outline) = Outline::of(&log) else { return found };
        let verdicts_of = if self.book.is(&facts.suite) { Some(files) } else { None };
        let (judged, checks) = self.judge(&outline, files, verdicts_of);
        found.flaws.extend(verification::log(&log));
        found.flaws.extend(checks.iter().flat_map(|check| check.history.clone()));
        found.flaws.extend(strangers(files, &log));
        found.checked.push("the log".to_owned());
        found.checked.push(format!("the digests, the ends and the headers of {} histories", judged.len()));
        if verdicts_of.is_some() {
            found.flaws.extend(verification::against_book(&log, &self.book));
            found.checked.push("the list of cases".to_owned());
            verdict_files(files, &log, checks, &mut found);
        } else {
            found.unchecked.push(self.other_book("run", &facts.suite));
        }
        let unreadable = Unreadable::of(&outline, &judged);
        let report = outline.report(&self.registry, judged);
        let report = report.judged_by(&self.book.suite).certified(&self.book);
        let stored = read::report(files, &mut found.flaws);
        match &stored {
            Some(stored) => self.stored_report(stored, &report, &unreadable, &mut found),
            None if !files.has(REPORT) => found.notes.push(format!(
                "there is no {REPORT}; this output is calculated from the log and the histories"
            )),
            None => {}
        }
        let book = stored.as_ref().map_or(&facts.suite, |stored| book_of(&stored.report));
        let same_program = facts.tool == self.tool && self.book.is(book);
        drop(stored);
        if unreadable.is_empty() {
            other_files(files, same_program, &report, &mut found);
        } else {
            found.notes.push(unreadable.note());
        }
        found.report = Some(report);
        found
    }

    /// Judges the histories, and checks each while it is in memory. The checks are in the order of the log.
    fn judge(
        &self,
        outline: &Outline<'_>,
        files: &RunFiles,
        verdicts_of: Option<&RunFiles>,
    ) -> (Judged, Vec<HistoryCheck>) {
        let checks = Mutex::new(Vec::new());
        let Ok(judged) = outline.judge(&self.registry, files, Workers::all(), |named, at_hand| {
            let verdicts = verdicts_of.map(|files| VerdictFile::check(files, named.file, at_hand));
            let history = verification::history(outline, named, at_hand.map(|(read, _)| read));
            let check = HistoryCheck { line: named.line, history, verdicts };
            checks.lock().unwrap_or_else(PoisonError::into_inner).push(check);
            Ok::<(), Infallible>(())
        });
        let mut checks = checks.into_inner().unwrap_or_else(PoisonError::into_inner);
        checks.sort_by_key(|check| check.line);
        (judged, checks)
    }

    /// Compares a stored report with the one that follows from the log and the histories, except what depends on
    /// unreadable histories.
    fn stored_report(
        &self,
        stored: &StoredReport,
        follows: &Report,
        unreadable: &Unreadable,
        found: &mut Verified,
    ) {
        let mut differences = match report_files::is_json_of(follows, &stored.text) {
            true => Differences::default(),
            false => differences(stored, follows, unreadable),
        };
        let judged_by = book_of(&stored.report);
        let mut flaws = std::mem::take(&mut differences.facts);
        if self.book.is(judged_by) {
            flaws.append(&mut differences.conclusions);
            found.checked.push(format!("{REPORT} against the histories, verdict by verdict"));
        } else {
            found.flaws.extend(verification::numbers(&stored.report, &self.book));
            found.notes.extend(changed_verdicts(&stored.report, follows));
            if self.book.is(&follows.suite) {
                found.unchecked.push(self.other_book("report", judged_by));
            }
        }
        found.flaws.extend(flaws.into_iter().map(|what| Flaw::new(REPORT, what)));
    }

    /// Checks what can be checked of a report without its log and histories.
    fn lone_report(&self, text: &str) -> Verified {
        let mut found = Verified::new();
        let Some(StoredReport { report, .. }) = read::report_of(text.to_owned(), &mut found.flaws) else {
            return found;
        };
        found.flaws.extend(verification::numbers(&report, &self.book));
        found.checked.push("that the numbers of the report agree with each other".to_owned());
        found.unchecked.push(
            "there is no log and there are no histories, so its verdicts cannot be checked against what happened; \
             ask for the folder of the run"
                .to_owned(),
        );
        if !self.book.is(&report.suite) {
            found.unchecked.push(self.other_book("report", &report.suite));
        }
        found.report = Some(report);
        found
    }

    /// The sentence that explains which checks are impossible because the book differs.
    fn other_book(&self, what: &str, other: &Suite) -> String {
        format!(
            "the {what} used the book {}, and this program has {}, with different clauses, cases or judges. Only the \
             program that ran can check whether cases are missing and whether the verdicts are those of its book",
            provenance::named(other),
            provenance::named(&self.book.suite)
        )
    }
}

/// The checks of a history while it was in memory.
struct HistoryCheck {
    /// The place of its line in the log.
    line: usize,
    history: Vec<Flaw>,
    verdicts: Option<VerdictFile>,
}

/// The file with the verdicts on a history.
struct VerdictFile {
    name: String,
    /// Its contradictions with the history; absent if one of the two does not exist.
    compared: Option<Vec<Flaw>>,
}

impl VerdictFile {
    fn check(files: &RunFiles, history: &str, at_hand: AtHand<'_>) -> Self {
        let name = verdicts::file_of(history);
        let Some((read, judged)) = at_hand.ok().filter(|_| files.has(&name)) else {
            return Self { name, compared: None };
        };
        let again = CaseVerdicts::of_judged(&read.history.header, judged).file().unwrap_or_default();
        let flaw = match files.text(&name) {
            Ok(text) if text == again => None,
            Ok(text) => Some(first_difference(&text, &again, "the verdicts on its history")),
            Err(why) => Some(why),
        };
        let compared = flaw.map(|what| Flaw::new(&name, what)).into_iter().collect();
        Self { name, compared: Some(compared) }
    }
}

/// Adds what was found in the files with verdicts. The program that ran the cases wrote them.
fn verdict_files(files: &RunFiles, log: &[LogLine], checks: Vec<HistoryCheck>, found: &mut Verified) {
    let all: Vec<VerdictFile> = checks.into_iter().filter_map(|check| check.verdicts).collect();
    let known: BTreeSet<String> = all.iter().map(|file| file.name.clone()).collect();
    let compared: Vec<Vec<Flaw>> = all.into_iter().filter_map(|file| file.compared).collect();
    let count = compared.len();
    found.flaws.extend(compared.into_iter().flatten());
    let strange = files.below("verdicts").into_iter().filter(|name| !known.contains(name));
    let of_a_failure = |name: &String| {
        let history = name.replacen("verdicts/", "history/", 1);
        verification::is_evidence_of_a_failure(log, &history)
    };
    let flaw = |name: String| Flaw::new(&name, "the log does not name a history for it");
    found.flaws.extend(strange.filter(|name| !of_a_failure(name)).map(flaw));
    if count > 0 {
        found.checked.push(format!("{count} files of verdicts"));
    }
}

/// The differences between a stored report and the one that follows from the histories, without unreadable histories.
fn differences(stored: &StoredReport, follows: &Report, unreadable: &Unreadable) -> Differences {
    let values =
        serde_json::from_str(&stored.text).and_then(|there| Ok((there, serde_json::to_value(follows)?)));
    let (mut there, mut again) = match values {
        Ok(values) => values,
        // What readers of the report ignore can still be too deep or too large for a comparison.
        Err(error) => {
            let facts = vec![format!("it cannot be compared: {error}")];
            return Differences { facts, ..Differences::default() };
        }
    };
    for report in [&mut there, &mut again] {
        unreadable.leave_out_of(report, &stored.report);
    }
    verification::differences(&there, &again)
}

/// Checks the other files that are generated from the report. Another build of the program may write them differently.
fn other_files(files: &RunFiles, same_program: bool, report: &Report, found: &mut Verified) {
    let mut there: Vec<&str> = report_files::GENERATED.into_iter().filter(|name| files.has(name)).collect();
    if there.is_empty() {
        return;
    }
    if !same_program {
        found.notes.push(format!(
            "{} were generated by another build of the program and are not compared; `probity report` regenerates them",
            there.join(", ")
        ));
        return;
    }
    let all = there.join(", ");
    for standard in standards() {
        there.retain(|name| {
            let text = report_files::text(name, report, files, standard).ok();
            text.is_none_or(|text| files.text(name).map_or(true, |here| here != text))
        });
        if there.is_empty() {
            break;
        }
    }
    let what = "it does not match the log and the histories; `probity report` regenerates it";
    found.flaws.extend(there.into_iter().map(|name| Flaw::new(name, what)));
    found.checked.push(all);
}

/// The book on which the verdicts of a report are based.
fn book_of(report: &Report) -> &Suite {
    report.judged_by.as_ref().unwrap_or(&report.suite)
}

/// Every standard that a generated file may depend on, the default first.
fn standards() -> impl Iterator<Item = Standard> {
    [false, true].into_iter().flat_map(|strict| {
        [Undecided::Warns, Undecided::Fails, Undecided::Passes]
            .map(|undecided| Standard { undecided, strict })
    })
}

/// Histories that no line of the log names.
fn strangers(files: &RunFiles, log: &[LogLine]) -> Vec<Flaw> {
    let ended = log.iter().filter_map(|line| match line {
        LogLine::CaseEnded { history, .. } => Some(history.as_str()),
        _ => None,
    });
    let named: BTreeSet<&str> = ended.flat_map(|name| [name, name.trim_end_matches(".zst")]).collect();
    let strange = files.histories().into_iter().filter(|name| !named.contains(name.as_str()));
    let strange = strange.filter(|name| !verification::is_evidence_of_a_failure(log, name));
    strange.map(|name| Flaw::new(&name, format!("{LOG} does not name it"))).collect()
}

/// The clauses whose verdict in the report differs from the verdict according to this program's book.
fn changed_verdicts(stored: &Report, follows: &Report) -> Vec<String> {
    let changed = stored.clauses.iter().filter_map(|clause| {
        let now = follows.clause(&clause.id)?;
        let same = now.verdict == clause.verdict;
        (!same).then(|| {
            format!(
                "{}: {} in the report, {} with this program's book",
                clause.id, clause.verdict, now.verdict
            )
        })
    });
    changed.collect()
}

/// The first difference between two texts.
fn first_difference(here: &str, there: &str, what: &str) -> String {
    let same = here.lines().zip(there.lines()).take_while(|(here, there)| here == there).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("the end").trim().to_owned();
    format!("line {} is {}; {what} give {}", same + 1, line(here), line(there))
}

#[cfg(test)]
mod tests;
