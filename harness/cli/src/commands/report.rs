//! `probity report`: makes the files of a run again from its log and histories, without a cluster.

use std::path::PathBuf;

use probity_model::Registry;
use probity_report::Report;
use probity_report::run_log::Suite;
use probity_report::{Exit, Undecided};

use crate::files::{self, Github, JSON, Trouble};

/// Makes the files of a run again
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct ReportArgs {
    /// The folder of a run
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Write nothing: compare with the report that is there, and fail if it says something else
    #[arg(long)]
    pub(crate) check: bool,
    /// What becomes of clauses that are not decided
    #[arg(long, value_enum, default_value = "warn")]
    pub(crate) inconclusive: Inconclusive,
}

/// What becomes of clauses that are not decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Inconclusive {
    /// The exit status tells of them
    Warn,
    /// They count as violated
    Fail,
    /// They pass, as long as something was decided
    Pass,
}

impl From<Inconclusive> for Undecided {
    fn from(choice: Inconclusive) -> Self {
        match choice {
            Inconclusive::Warn => Self::Told,
            Inconclusive::Fail => Self::Fails,
            Inconclusive::Pass => Self::Passes,
        }
    }
}

/// Judges the run's histories by this book and writes what follows; gives the text for standard output as well.
pub(crate) fn run(
    args: &ReportArgs,
    registry: &Registry,
    suite: &Suite,
    github: &Github,
) -> Result<(Exit, String), Trouble> {
    let undecided = Undecided::from(args.inconclusive);
    let (log, histories) = files::load(&args.folder)?;
    let report = Report::build(registry, &log, &histories)
        .map_err(|error| Trouble::usage(format!("{}: {error}", args.folder.display())))?
        .judged_by(suite);
    if args.check {
        return check(args, &report);
    }
    let written = files::write(&args.folder, &report, undecided)?;
    let annotations = github.tell(&report, undecided)?;
    let wrote = format!("\nwrote {} to {}\n", written.join(", "), args.folder.display());
    Ok((report.exit(undecided), report.in_words() + &annotations + &wrote))
}

/// Compares with the report that is there.
fn check(args: &ReportArgs, report: &Report) -> Result<(Exit, String), Trouble> {
    let path = args.folder.join(JSON);
    let wrong = |error: &dyn std::fmt::Display| Trouble::usage(format!("{}: {error}", path.display()));
    let there = std::fs::read_to_string(&path).map_err(|error| wrong(&error))?;
    let again = files::json(report).map_err(|error| wrong(&error))?;
    if there == again {
        return Ok((Exit::Success, format!("{}: it is what the histories say\n", path.display())));
    }
    let at = there.lines().zip(again.lines()).take_while(|(there, again)| there == again).count() + 1;
    let why = format!("it is not what the histories say, from line {at} on; `probity report` makes it again");
    Err(Trouble::failed(format!("{}: {why}", path.display())))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::files::sample;

    fn suite() -> Suite {
        sample::report().suite
    }

    fn args(folder: &std::path::Path, check: bool) -> ReportArgs {
        ReportArgs { folder: folder.to_owned(), check, inconclusive: Inconclusive::Warn }
    }

    fn made(folder: &std::path::Path, check: bool) -> Result<(Exit, String), Trouble> {
        run(&args(folder, check), &sample::registry(), &suite(), &Github::default())
    }

    #[test]
    fn a_report_made_again_is_the_same_and_a_changed_one_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        sample::run().store(folder.path());
        let (exit, text) = made(folder.path(), false).unwrap();
        assert_eq!(exit, Exit::Violated);
        assert!(text.contains("demo.hostile  must  VIOLATED"), "{text}");
        let path = folder.path().join(JSON);
        let first = std::fs::read_to_string(&path).unwrap();
        made(folder.path(), false).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), first);
        assert_eq!(made(folder.path(), true).unwrap().0, Exit::Success);
        std::fs::write(&path, first.replacen("\"violated\"", "\"holds\"", 1)).unwrap();
        let trouble = made(folder.path(), true).unwrap_err();
        assert_eq!(trouble.exit, Exit::Error);
        assert!(trouble.sentence.contains("not what the histories say"), "{trouble}");
    }

    #[test]
    fn what_is_not_decided_may_pass_or_fail() {
        let folder = tempfile::tempdir().unwrap();
        sample::undecided_run().store(folder.path());
        let exit = |inconclusive| {
            let args = ReportArgs { inconclusive, ..args(folder.path(), false) };
            run(&args, &sample::registry(), &suite(), &Github::default()).unwrap().0
        };
        assert_eq!(exit(Inconclusive::Warn), Exit::Inconclusive);
        assert_eq!(exit(Inconclusive::Fail), Exit::Violated);
        assert_eq!(exit(Inconclusive::Pass), Exit::Success);
    }

    #[test]
    fn another_book_is_named_in_the_report() {
        let folder = tempfile::tempdir().unwrap();
        sample::run().store(folder.path());
        let later = Suite { version: "9".to_owned(), ..suite() };
        run(&args(folder.path(), false), &sample::registry(), &later, &Github::default()).unwrap();
        assert_eq!(files::read_report(folder.path()).unwrap().judged_by, Some(later));
    }
}
