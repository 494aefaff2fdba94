//! What GitHub shows about a run: annotations, and the summary of the step.
//!
//! GitHub keeps ten annotations of a kind and silently drops the rest. So at most nine are written, and the tenth states
//! how many more there are.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use probity_report::{ClauseReport, Report, Standard, Word};

use super::summary;
use crate::exit_status::Failure;

/// The maximum number of annotations of a kind, without the one that counts the rest.
const SHOWN: usize = 9;

/// The maximum length of a title and of a message, in characters.
const SHORT: (usize, usize) = (100, 1000);

/// The workflow step that runs the program, if it runs in one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Github {
    /// Whether the program runs in a workflow.
    pub(crate) in_workflow: bool,
    /// The file for the summary of the step.
    pub(crate) summary: Option<PathBuf>,
}

impl Github {
    /// Reads it from the environment.
    pub(crate) fn of_environment() -> Self {
        let in_workflow = std::env::var("GITHUB_ACTIONS").is_ok_and(|word| word == "true");
        let summary = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| in_workflow && !path.is_empty());
        Self { in_workflow, summary: summary.map(PathBuf::from) }
    }

    /// Appends the summary to the step's summary, and returns the annotations for standard output.
    /// Fails if the step's summary cannot be written.
    pub(crate) fn publish(&self, report: &Report, standard: Standard) -> Result<String, Failure> {
        if let Some(path) = &self.summary {
            let fault = |error: &dyn std::fmt::Display| {
                Failure::failed(format!("failed to append to the step's summary {}: {error}", path.display()))
            };
            let text = summary::markdown(report, standard).map_err(|error| fault(&error))?;
            let mut file =
                OpenOptions::new().create(true).append(true).open(path).map_err(|error| fault(&error))?;
            file.write_all(text.as_bytes()).map_err(|error| fault(&error))?;
        }
        Ok(if self.in_workflow { annotations(report) } else { String::new() })
    }
}

/// The annotations: errors for violated and failed clauses and cases, warnings for undecided ones.
pub(crate) fn annotations(report: &Report) -> String {
    let errors: Vec<Note> =
        [Word::Violated, Word::Error].iter().flat_map(|word| notes(report, *word)).collect();
    let warnings = notes(report, Word::Inconclusive);
    let mut text = String::new();
    say(&mut text, "error", &errors);
    say(&mut text, "warning", &warnings);
    text
}

struct Note {
    title: String,
    message: String,
    file: Option<String>,
}

/// An annotation for each clause with this verdict, and for each case whose own expectations have it.
fn notes(report: &Report, word: Word) -> Vec<Note> {
    let clauses = report.causes_of(word);
    let clauses = clauses.map(|clause| {
        let case = case_of(clause);
        Note {
            title: format!("{}: {word}", clause.id),
            message: format!("{} (promised: {})", clause.finding, clause.text),
            file: case.and_then(|case| own_file(report, case)),
        }
    });
    let cases =
        report.cases.iter().flat_map(|case| case.expected.iter().map(move |expected| (case, expected)));
    let cases =
        cases.filter(|(_, expected)| Word::of(&expected.verdict) == word).map(|(case, expected)| Note {
            title: format!("{}: {word}", case.case),
            message: format!("{} (expected: {})", expected.verdict.sentence(), expected.what),
            file: own_file(report, &case.case.0),
        });
    clauses.chain(cases).collect()
}

fn case_of(clause: &ClauseReport) -> Option<&str> {
    let first = clause.evidence.first().map(|found| &found.case);
    let same = clause.judged_in.iter().find(|judged| judged.verdict == clause.verdict);
    first.or_else(|| same.map(|judged| &judged.case)).map(|case| case.0.as_str())
}

/// The file of a case, if it is the user's own. The files of the book are not in the user's repository.
fn own_file(report: &Report, case: &str) -> Option<String> {
    let source = &report.cases.iter().find(|known| known.case.0 == case)?.source;
    report.suite.added.contains(source).then(|| source.clone())
}

fn say(text: &mut String, kind: &str, notes: &[Note]) {
    for note in notes.iter().take(SHOWN) {
        let file = note.file.as_ref().map(|file| format!("file={},", property(file))).unwrap_or_default();
        let title = property(&cut(&note.title, SHORT.0));
        let _ = writeln!(text, "::{kind} {file}title={title}::{}", data(&cut(&note.message, SHORT.1)));
    }
    if notes.len() > SHOWN {
        let more = notes.len() - SHOWN;
        let _ = writeln!(
            text,
            "::{kind} title=and {more} more::{more} more are in the summary and in report.json"
        );
    }
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// Escapes text for a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes text for a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::report_files::sample;

    #[test]
    fn a_violation_is_an_error_and_a_doubt_a_warning() {
        insta::assert_snapshot!(annotations(&sample::report()));
    }

    #[test]
    fn at_most_nine_are_shown_and_the_rest_is_counted() {
        let mut report = sample::report();
        let violated = report.clauses[1].clone();
        report.clauses = vec![violated; 30];
        let text = annotations(&report);
        assert_eq!(text.lines().filter(|line| line.starts_with("::error")).count(), 10);
        assert!(text.contains("::error title=and 21 more::"), "{text}");
    }

    #[test]
    fn captured_text_cannot_give_commands() {
        let mut report = sample::report();
        report.clauses[1].finding = "a\n::error title=x::y\r% done".to_owned();
        let text = annotations(&report);
        assert!(text.contains("a%0A::error title=x::y%0D%25 done"), "{text}");
        assert_eq!(text.lines().count(), 2, "{text}");
    }

    #[test]
    fn nothing_is_annotated_outside_of_a_workflow() {
        assert_eq!(Github::default().publish(&sample::report(), Standard::default()).unwrap(), "");
    }

    #[test]
    fn the_summary_is_appended_to_what_the_step_said_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary");
        std::fs::write(&path, "before\n").unwrap();
        let github = Github { in_workflow: true, summary: Some(path.clone()) };
        let annotations = github.publish(&sample::report(), Standard::default()).unwrap();
        assert!(annotations.starts_with("::error "), "{annotations}");
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.starts_with("before\n## Probity: violated"), "{text}");
    }

    #[test]
    fn an_annotation_points_to_a_file_of_the_users_own() {
        let mut report = sample::report();
        assert!(!annotations(&report).contains("file="));
        report.suite.added = vec!["suites/demo/hostile.yaml".to_owned()];
        assert!(annotations(&report).contains("::error file=suites/demo/hostile.yaml,title="));
    }
}
