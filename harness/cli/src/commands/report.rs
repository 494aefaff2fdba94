//! `probity report`: regenerates the files of a run from its log and histories, without a cluster.

use std::path::Path;

use probity_model::Registry;
use probity_report::{BookFacts, Report, Workers};

use crate::arguments::ReportArgs;
use crate::cases::book;
use crate::exit_status::{Exit, Failure};
use crate::report_files::{self, Github};
use crate::run_folder::foreign::RunFiles;
use crate::run_folder::{self, REPORT};
use crate::{output, provenance};

/// Judges the histories of the run with the book of this program, and writes the resulting files.
pub(crate) fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let (exit, text) =
        generate(args, &book::registry()?, &provenance::book_facts()?, &Github::of_environment())?;
    output::out(&text)?;
    Ok(exit)
}

/// The report on an earlier run or another person's run, judged with the book of this program, and the files of the run.
/// Fails if the folder has no log, or if the log has another format.
pub(crate) fn judged_again(
    folder: &Path,
    registry: &Registry,
    book: &BookFacts,
) -> Result<(Report, RunFiles), Failure> {
    let (log, files) = run_folder::open(folder)?;
    let report = Report::build(registry, &log, &files, Workers::all());
    let report = report.map_err(|error| Failure::wrong_file(folder, error))?;
    Ok((report.judged_by(&book.suite).certified(book), files))
}

fn generate(
    args: &ReportArgs,
    registry: &Registry,
    book: &BookFacts,
    github: &Github,
) -> Result<(Exit, String), Failure> {
    let standard = args.standard.standard();
    let (report, files) = judged_again(&args.folder, registry, book)?;
    if args.check {
        return check(args, &report);
    }
    let written = report_files::write(&args.folder, &report, &files, standard)?;
    let annotations = github.publish(&report, standard)?;
    let wrote = format!("\nwrote {} to {}\n", written.join(", "), args.folder.display());
    Ok((report.exit(standard), report.in_words() + &annotations + &wrote))
}

/// Compares with the existing report.
fn check(args: &ReportArgs, report: &Report) -> Result<(Exit, String), Failure> {
    let path = args.folder.join(REPORT);
    let there = RunFiles::Folder(args.folder.clone()).text(REPORT);
    let there = there.map_err(|error| Failure::wrong_file(&path, error))?;
    if report_files::is_json_of(report, &there) {
        return Ok((Exit::Success, format!("{}: it matches the histories\n", path.display())));
    }
    let book = |of: &Report| provenance::named(of.judged_by.as_ref().unwrap_or(&of.suite));
    if let Some(other) = run_folder::parse_report(&there).ok().map(|stored| book(&stored))
        && other != book(report)
    {
        let why = format!(
            "it cannot be checked, because it is based on the book {other}, which is not the one in this program; \
             `probity verify` compares what can be compared"
        );
        return Err(Failure::file_failed(&path, why));
    }
    let again = report_files::json(report).map_err(|error| Failure::file_failed(&path, error))?;
    let at = there.lines().zip(again.lines()).take_while(|(there, again)| there == again).count() + 1;
    let why = format!(
        "it does not match the histories: the first difference is in line {at}; run `probity report` to regenerate it"
    );
    Err(Failure::file_failed(&path, why))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::arguments::{Inconclusive, StandardArgs};
    use crate::report_files::sample;

    fn book() -> BookFacts {
        sample::book()
    }

    fn args(folder: &std::path::Path, check: bool) -> ReportArgs {
        {
            let standard = StandardArgs { inconclusive: Inconclusive::Warn, strict: false };
            ReportArgs { folder: folder.to_owned(), check, standard }
        }
    }

    fn made(folder: &std::path::Path, check: bool) -> Result<(Exit, String), Failure> {
        generate(&args(folder, check), &sample::registry(), &book(), &Github::default())
    }

    #[test]
    fn a_report_made_again_is_the_same_and_a_changed_one_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        sample::store(&sample::run(), folder.path());
        let (exit, text) = made(folder.path(), false).unwrap();
        assert_eq!(exit, Exit::Violated);
        assert!(text.contains("demo.hostile  must  VIOLATED"), "{text}");
        let path = folder.path().join(REPORT);
        let first = std::fs::read_to_string(&path).unwrap();
        made(folder.path(), false).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), first);
        assert_eq!(made(folder.path(), true).unwrap().0, Exit::Success);
        std::fs::write(&path, first.replacen("\"violated\"", "\"holds\"", 1)).unwrap();
        let trouble = made(folder.path(), true).unwrap_err();
        assert_eq!(trouble.exit, Exit::Error);
        assert!(trouble.sentence.contains("does not match the histories"), "{trouble}");
    }

    #[test]
    fn what_is_not_decided_may_pass_or_fail() {
        let folder = tempfile::tempdir().unwrap();
        sample::store(&sample::undecided_run(), folder.path());
        let exit = |inconclusive| {
            let standard = StandardArgs { inconclusive, strict: false };
            let args = ReportArgs { standard, ..args(folder.path(), false) };
            generate(&args, &sample::registry(), &book(), &Github::default()).unwrap().0
        };
        assert_eq!(exit(Inconclusive::Warn), Exit::Inconclusive);
        assert_eq!(exit(Inconclusive::Fail), Exit::Violated);
        assert_eq!(exit(Inconclusive::Pass), Exit::Success);
    }

    #[test]
    fn another_book_is_named_in_the_report() {
        let folder = tempfile::tempdir().unwrap();
        sample::store(&sample::run(), folder.path());
        let mut later = book();
        later.suite.version = "9".to_owned();
        generate(&args(folder.path(), false), &sample::registry(), &later, &Github::default()).unwrap();
        assert_eq!(run_folder::read_report(folder.path()).unwrap().judged_by, Some(later.suite));
    }

    #[test]
    fn the_report_of_a_run_of_another_book_is_not_said_to_be_wrong() {
        let folder = tempfile::tempdir().unwrap();
        sample::store(&sample::run(), folder.path());
        made(folder.path(), false).unwrap();
        let mut later = book();
        later.suite.version = "9".to_owned();
        let checked = generate(&args(folder.path(), true), &sample::registry(), &later, &Github::default());
        let trouble = checked.unwrap_err();
        assert!(
            trouble
                .sentence
                .contains("the book demo 0.1.0 (no digest), which is not the one in this program"),
            "{trouble}"
        );
    }
}
