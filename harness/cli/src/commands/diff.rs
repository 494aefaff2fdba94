//! `probity diff`: what changed between two reports, clause by clause.

use probity_page::DiffPage;
use probity_report::Diff;

use crate::arguments::{ComparisonFormat, DiffArgs};
use crate::comparisons::{self, ComparedReport, links, markdown};
use crate::exit_status::{Exit, Failure};

/// Compares two reports, and fails if a clause is violated that was not violated before.
pub(crate) fn run(args: &DiffArgs) -> Result<Exit, Failure> {
    let (exit, text) = compare(args)?;
    comparisons::write(&args.output, &text)?;
    Ok(exit)
}

fn compare(args: &DiffArgs) -> Result<(Exit, String), Failure> {
    let reports = [ComparedReport::read(&args.older)?, ComparedReport::read(&args.newer)?];
    let [older, newer] = [&reports[0].report, &reports[1].report];
    let diff = Diff::between(older, newer);
    let links = links::to_pages(&reports, args.output.out.as_deref());
    let link = |at: usize| links.get(at).cloned().flatten();
    let text = match args.output.format() {
        ComparisonFormat::Text => diff.in_words(),
        ComparisonFormat::Markdown => markdown::diff(&diff),
        ComparisonFormat::Html => DiffPage { diff: &diff, older, newer, links: &[link(0), link(1)] }.html(),
        ComparisonFormat::Json => comparisons::json(&diff)?,
    };
    Ok((if diff.is_worse() { Exit::Violated } else { Exit::Success }, text))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::path::Path;

    use probity_report::Standard;
    use probity_sample::{LATE, ON_TIME, PUNCTUAL, Run};

    use super::*;
    use crate::arguments::ComparisonOutput;
    use crate::report_files::{self, sample};

    fn compare(older: &Path, newer: &Path, format: ComparisonFormat) -> (Exit, String) {
        let output = ComparisonOutput { format: Some(format), out: None };
        super::compare(&DiffArgs { older: older.to_owned(), newer: newer.to_owned(), output }).unwrap()
    }

    fn folder(report: &probity_report::Report) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        report_files::write(folder.path(), report, &Vec::new(), Standard::default()).unwrap();
        folder
    }

    #[test]
    fn a_new_violation_fails_and_its_end_does_not() {
        let (older, newer) = (folder(&sample::undecided_report()), folder(&sample::report()));
        let compare = |older: &Path, newer: &Path| compare(older, newer, ComparisonFormat::Text);
        let (exit, text) = compare(older.path(), newer.path());
        assert_eq!(exit, Exit::Violated);
        assert!(text.starts_with("violated   demo.hostile: skipped -> violated"), "{text}");
        assert_eq!(compare(newer.path(), older.path()).0, Exit::Success);
        assert_eq!(compare(newer.path(), &newer.path().join("report.json")).1.lines().count(), 1);
    }

    #[test]
    fn every_format_tells_of_the_same_new_violation() {
        let run = |probes| Run::new().case("calm", ON_TIME, probes).report();
        let (older, newer) = (folder(&run(PUNCTUAL)), folder(&run(LATE)));
        let of = |format| {
            let (exit, text) = compare(older.path(), newer.path(), format);
            assert_eq!(exit, Exit::Violated);
            text
        };
        insta::assert_snapshot!("a_late_probe_as_text", of(ComparisonFormat::Text));
        insta::assert_snapshot!("a_late_probe_as_markdown", of(ComparisonFormat::Markdown));
        let diff: Diff = serde_json::from_str(&of(ComparisonFormat::Json)).unwrap();
        assert_eq!(diff.new_violations().map(|(id, _)| id.to_string()).collect::<Vec<_>>(), [ON_TIME]);
        assert!(of(ComparisonFormat::Html).contains("1 new violation</h1>"));
    }

    #[test]
    fn what_is_no_report_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("report.json"), "{\"kind\":1}").unwrap();
        let (older, newer) = (folder.path().to_owned(), folder.path().to_owned());
        let trouble =
            super::compare(&DiffArgs { older, newer, output: ComparisonOutput::default() }).unwrap_err();
        assert_eq!(trouble.exit, Exit::Usage);
        assert!(trouble.sentence.contains("report.json: this is not a report"), "{trouble}");
    }
}
