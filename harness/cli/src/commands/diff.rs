//! `probity diff`: what changed between two reports, clause by clause.

use probity_report::Diff;

use crate::arguments::DiffArgs;
use crate::exit_status::{Exit, Failure};
use crate::{output, run_folder};

/// Compares, and fails if a clause is violated that was not before.
pub(crate) fn run(args: &DiffArgs) -> Result<Exit, Failure> {
    let (exit, text) = compare(args)?;
    output::out(&text)?;
    Ok(exit)
}

fn compare(args: &DiffArgs) -> Result<(Exit, String), Failure> {
    let (older, newer) = (run_folder::read_report(&args.older)?, run_folder::read_report(&args.newer)?);
    let diff = Diff::between(&older, &newer);
    Ok((if diff.is_worse() { Exit::Violated } else { Exit::Success }, diff.in_words()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::report_files::{self, sample};
    use probity_report::Standard;

    #[test]
    fn a_new_violation_fails_and_its_end_does_not() {
        let (older, newer) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        report_files::write(older.path(), &sample::undecided_report(), &[], Standard::default()).unwrap();
        report_files::write(newer.path(), &sample::report(), &[], Standard::default()).unwrap();
        let compare = |older: &std::path::Path, newer: &std::path::Path| {
            super::compare(&DiffArgs { older: older.to_owned(), newer: newer.to_owned() }).unwrap()
        };
        let (exit, text) = compare(older.path(), newer.path());
        assert_eq!(exit, Exit::Violated);
        assert!(text.contains("changed    demo.hostile: skipped -> violated"), "{text}");
        assert_eq!(compare(newer.path(), older.path()).0, Exit::Success);
        assert_eq!(compare(newer.path(), &newer.path().join("report.json")).1.lines().count(), 1);
    }

    #[test]
    fn what_is_no_report_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("report.json"), "{\"kind\":1}").unwrap();
        let args = DiffArgs { older: folder.path().to_owned(), newer: folder.path().to_owned() };
        let trouble = super::compare(&args).unwrap_err();
        assert_eq!(trouble.exit, Exit::Usage);
        assert!(trouble.sentence.contains("report.json: this is not a report"), "{trouble}");
    }
}
