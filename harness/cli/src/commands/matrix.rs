//! `probity matrix`: many reports side by side, such as versions, vendors or nodes.

use std::ffi::OsString;

use probity_page::MatrixPage;
use probity_report::{Matrix, Workers};

use crate::arguments::{ComparisonFormat, MatrixArgs};
use crate::comparisons::{self, Column, ComparedReport, links, markdown};
use crate::exit_status::{Exit, Failure};
use crate::report_files;

/// Writes the matrix. The verdicts in the reports do not make this command fail.
pub(crate) fn run(args: &MatrixArgs) -> Result<Exit, Failure> {
    comparisons::write(&args.output, &text(args)?)
}

fn text(args: &MatrixArgs) -> Result<String, Failure> {
    if args.reports.len() < 2 {
        let why = "one report cannot be compared; give at least two, or open its report.html";
        return Err(Failure::wrong_use(why));
    }
    let reports = read(args, Workers::all())?;
    let names = comparisons::names(&reports)?;
    let links = links::to_pages(&reports, args.output.out.as_deref());
    let columns = names.into_iter().zip(reports).map(|(name, one)| one.report.column.called(name));
    let matrix = Matrix::of_columns(columns.collect(), &report_files::chapters());
    let matrix = if args.only_differences { matrix.only_differing() } else { matrix };
    match args.output.format() {
        ComparisonFormat::Text => Ok(matrix.in_words()),
        ComparisonFormat::Markdown => Ok(markdown::matrix(&matrix, &links)),
        ComparisonFormat::Html => Ok(MatrixPage { matrix: &matrix, links: &links }.html()),
        ComparisonFormat::Json => comparisons::json(&matrix),
    }
}

/// Reads the reports on all threads, and keeps only the column of each report.
fn read(args: &MatrixArgs, workers: Workers) -> Result<Vec<ComparedReport<Column>>, Failure> {
    let mut reports: Vec<ComparedReport<Column>> = Vec::new();
    let column = |argument: &OsString| Ok(ComparedReport::read_named(argument)?.column());
    workers.in_order(&args.reports, column, |one: Result<ComparedReport<Column>, Failure>| {
        let one = one?;
        if let Some(before) = reports.last_mut() {
            before.report.column.leave_texts_to(&one.report.column);
        }
        reports.push(one);
        Ok::<(), Failure>(())
    })?;
    Ok(reports)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::path::Path;

    use probity_report::Standard;
    use probity_sample::{HOSTILE, LATE, ON_TIME, PUNCTUAL, Run};

    use super::*;
    use crate::arguments::ComparisonOutput;

    /// The folders of three runs: on 1.34, on 1.35 with a late probe, and on 1.36.
    fn folders(below: &Path) -> Vec<String> {
        let runs = [("v1.34.2", PUNCTUAL), ("v1.35.1", LATE), ("v1.36.3", PUNCTUAL)];
        let stored = runs.map(|(version, probes)| {
            let run = Run::new().named(version).on("node1", version).case("calm", ON_TIME, probes);
            let run = if version == "v1.36.3" { run.case("hostile", HOSTILE, PUNCTUAL) } else { run };
            let folder = below.join(version);
            report_files::write(&folder, &run.report(), &run.stored(), Standard::default()).unwrap();
            folder.to_str().unwrap().to_owned()
        });
        stored.to_vec()
    }

    fn args(reports: &[String], format: ComparisonFormat, out: Option<&Path>) -> MatrixArgs {
        MatrixArgs {
            reports: reports.iter().map(OsString::from).collect(),
            only_differences: false,
            output: ComparisonOutput { format: Some(format), out: out.map(Path::to_owned) },
        }
    }

    fn refused(reports: &[String]) -> String {
        let failure = text(&args(reports, ComparisonFormat::Text, None)).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        failure.sentence
    }

    #[test]
    fn three_versions_as_text() {
        let folder = tempfile::tempdir().unwrap();
        let text = text(&args(&folders(folder.path()), ComparisonFormat::Text, None)).unwrap();
        insta::assert_snapshot!(text);
    }

    #[test]
    fn three_versions_as_markdown() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("matrix.md");
        insta::assert_snapshot!(
            text(&args(&folders(folder.path()), ComparisonFormat::Markdown, Some(&out))).unwrap()
        );
    }

    #[test]
    fn clauses_on_which_all_agree_can_be_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let all = args(&folders(folder.path()), ComparisonFormat::Text, None);
        let text = text(&MatrixArgs { only_differences: true, ..all }).unwrap();
        assert!(text.contains("\ndemo.on-time ") && !text.contains("\ndemo.undecided "), "{text}");
    }

    #[test]
    fn the_page_links_to_the_pages_that_lie_beside_and_to_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let reports = folders(folder.path());
        std::fs::remove_file(folder.path().join("v1.35.1/report.html")).unwrap();
        let out = folder.path().join("pages/matrix.html");
        let page = text(&args(&reports, ComparisonFormat::Html, Some(&out))).unwrap();
        assert!(page.contains("href=\"../v1.34.2/report.html#demo.on-time\""));
        assert!(page.contains("href=\"../v1.36.3/report.html\"") && !page.contains("v1.35.1/report.html"));
    }

    #[test]
    fn json_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let json = text(&args(&folders(folder.path()), ComparisonFormat::Json, None)).unwrap();
        let matrix: Matrix = serde_json::from_str(&json).unwrap();
        assert_eq!((matrix.reports.len(), matrix.counts.regressions), (3, 2));
    }

    #[test]
    fn reports_are_called_as_the_user_says() {
        let folder = tempfile::tempdir().unwrap();
        let mut reports = folders(folder.path());
        reports[1] = format!("vendor's={}/report.json", reports[1]);
        let text = text(&args(&reports, ComparisonFormat::Text, None)).unwrap();
        assert!(text.contains("vendor's") && !text.contains("v1.35.1  "), "{text}");
    }

    #[test]
    fn what_cannot_be_compared_is_refused_in_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let reports = folders(folder.path());
        let with = |last: String| [reports.clone(), vec![last]].concat();
        assert!(refused(&reports[..1]).contains("give at least two"));
        let again = format!("again={}/report.json", reports[0]);
        assert!(refused(&with(again)).contains("report.json is given twice; give each report once"));
        let copy = folder.path().join("copy.json");
        std::fs::copy(folder.path().join("v1.34.2/report.json"), &copy).unwrap();
        assert!(refused(&with(copy.to_str().unwrap().to_owned())).contains("are the same report"));
        assert!(refused(&with(format!("={}", reports[0]))).contains("there is no name before the `=`"));
        assert!(refused(&with("a=".to_owned())).contains("there is no report after the `=`"));
        let named = [format!("a={}", reports[0]), format!("a={}", reports[1])];
        assert!(refused(&named).contains("two reports are called `a`"));
        let page = format!("{}/report.html", reports[0]);
        assert!(refused(&with(page)).contains("report.html: this is not a report of a known format"));
        assert!(refused(&with("/no/such/run".to_owned())).starts_with("/no/such/run: "));
    }
}
