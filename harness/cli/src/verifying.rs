//! Checks another person's run: its log, its histories, and everything that was generated from them.
//!
//! The rules are in `verification` of the crate `probity_report`. This module reads the files and collects the results.

mod read;
mod text;
mod unreadable;

use probity_model::Registry;
use probity_report::run_log::{Suite, Tool};
use probity_report::verification::{self, Flaw};
use probity_report::{BookFacts, Certificate, LogLine, Report, StoredHistory, Undecided, VerifyFacts};

use crate::exit_status::Standard;
use crate::run_folder::foreign::RunFiles;
use crate::run_folder::{LOG, REPORT};
use crate::verdicts::CaseVerdicts;
use crate::{provenance, report_files};

pub(crate) use read::Given;
use read::{RunRead, StoredReport};
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
        let Some(RunRead { log, facts, histories }) = read::run(files, &mut found.flaws) else {
            return found;
        };
        found.flaws.extend(verification::log(&log));
        found.flaws.extend(verification::histories(&log, &histories));
        found.flaws.extend(strangers(files, &log));
        found.checked.push("the log".to_owned());
        found.checked.push(format!("the digests, the ends and the headers of {} histories", histories.len()));
        if self.book.is(&facts.suite) {
            found.flaws.extend(verification::against_book(&log, &self.book));
            found.checked.push("the list of cases".to_owned());
            self.verdict_files(files, &log, &histories, &mut found);
        } else {
            found.unchecked.push(self.other_book("run", &facts.suite));
        }
        let Ok(report) = Report::build(&self.registry, &log, &histories) else { return found };
        let report = report.judged_by(&self.book.suite).certified(&self.book);
        let stored = read::report(files, &mut found.flaws);
        let unreadable = Unreadable::of(&log, &histories);
        match &stored {
            Some(stored) => self.stored_report(stored, &report, &unreadable, &mut found),
            None if !files.has(REPORT) => found.notes.push(format!(
                "there is no {REPORT}; this output is calculated from the log and the histories"
            )),
            None => {}
        }
        let book = stored.as_ref().map_or(&facts.suite, |stored| book_of(&stored.report));
        let same_program = facts.tool == self.tool && self.book.is(book);
        if unreadable.is_empty() {
            other_files(files, same_program, (&report, &histories), &mut found);
        } else {
            found.notes.push(unreadable.note());
        }
        found.report = Some(report);
        found
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
        let Ok(mut again) = serde_json::to_value(follows) else { return };
        let mut there = stored.value.clone();
        for report in [&mut there, &mut again] {
            unreadable.leave_out_of(report, &stored.report);
        }
        let mut differences = verification::differences(&there, &again);
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
        let Some(StoredReport { report, .. }) = read::report_of(text, &mut found.flaws) else { return found };
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

    /// Checks the files with the verdicts on each history. The program that ran the cases wrote them.
    fn verdict_files(
        &self,
        files: &RunFiles,
        log: &[LogLine],
        histories: &[StoredHistory],
        found: &mut Verified,
    ) {
        let mut known = Vec::new();
        let mut compared = 0_usize;
        for stored in histories {
            let plain = stored.file.trim_end_matches(".zst").trim_end_matches(".jsonl");
            let name = format!("verdicts/{}.json", plain.trim_start_matches("history/"));
            if let (Ok(told), true) = (&stored.contents, files.has(&name)) {
                let again = CaseVerdicts::of(&self.registry, &told.history).file().unwrap_or_default();
                let flaw = match files.text(&name) {
                    Ok(text) if text == again => None,
                    Ok(text) => Some(first_difference(&text, &again, "the verdicts on its history")),
                    Err(why) => Some(why),
                };
                compared += 1;
                found.flaws.extend(flaw.map(|what| Flaw::new(&name, what)));
            }
            known.push(name);
        }
        let strange = files.below("verdicts").into_iter().filter(|name| !known.contains(name));
        let of_a_failure = |name: &String| {
            let history = name.replacen("verdicts/", "history/", 1);
            verification::is_evidence_of_a_failure(log, &history)
        };
        let flaw = |name: String| Flaw::new(&name, "the log does not name a history for it");
        found.flaws.extend(strange.filter(|name| !of_a_failure(name)).map(flaw));
        if compared > 0 {
            found.checked.push(format!("{compared} files of verdicts"));
        }
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

/// Checks the other files that are generated from the report. Another build of the program may write them differently.
fn other_files(
    files: &RunFiles,
    same_program: bool,
    (report, histories): (&Report, &[StoredHistory]),
    found: &mut Verified,
) {
    let mut there: Vec<&str> = report_files::GENERATED.into_iter().filter(|name| files.has(name)).collect();
    if there.is_empty() {
        return;
    }
    if !same_program {
        found.notes.push(format!(
            "{} were generated by another build of the program and are not compared; `probity report` generates them again",
            there.join(", ")
        ));
        return;
    }
    let all = there.join(", ");
    for standard in standards() {
        let Ok(texts) = report_files::texts(report, histories, standard) else { return };
        let same = |name: &str| {
            texts.iter().any(|(of, text)| *of == name && files.text(name).is_ok_and(|here| here == *text))
        };
        there.retain(|name| !same(name));
        if there.is_empty() {
            break;
        }
    }
    let what = "it does not match the log and the histories; `probity report` generates it again";
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
    let named = |name: &str| {
        log.iter().any(|line| match line {
            LogLine::CaseEnded { history, .. } => history == name || history.trim_end_matches(".zst") == name,
            _ => false,
        })
    };
    let strange = files
        .histories()
        .into_iter()
        .filter(|name| !named(name) && !verification::is_evidence_of_a_failure(log, name));
    strange.map(|name| Flaw::new(&name, format!("{LOG} does not name it"))).collect()
}

/// The clauses whose verdict in the report differs from the verdict by this program's book.
fn changed_verdicts(stored: &Report, follows: &Report) -> Vec<String> {
    let changed = stored.clauses.iter().filter_map(|clause| {
        let now = follows.clause(&clause.id)?;
        let same = now.verdict == clause.verdict;
        (!same).then(|| {
            format!("{}: {} in the report, {} by this program's book", clause.id, clause.verdict, now.verdict)
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
