//! The result of a trial, and whether it matches the table.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::Value;

use super::Job;

/// The result of one run of the harness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunOutcome {
    /// The violated clauses, with the findings.
    pub violated: BTreeMap<String, String>,
    /// The clauses that could not be decided.
    pub undecided: BTreeSet<String>,
    /// The failures of the harness itself.
    pub failed: Option<String>,
    /// Why a case did not run.
    pub skipped: Option<String>,
}

impl RunOutcome {
    /// Whether all its cases ran.
    #[must_use]
    pub fn ran(&self) -> bool {
        self.failed.is_none() && self.skipped.is_none()
    }

    /// Reads the report entries of these cases, which are named without the numbers of their rows.
    #[must_use]
    pub fn of(report: &Value, names: &BTreeSet<String>) -> Self {
        let mut outcome = Self::default();
        let cases = report["cases"].as_array().into_iter().flatten();
        let own =
            |case: &&Value| case["case"].as_str().is_some_and(|name| names.contains(without_number(name)));
        let mut ended = 0;
        for case in cases.filter(own) {
            ended += 1;
            let finding = || case["finding"].as_str().unwrap_or("it did not run").to_owned();
            match case["verdict"].as_str() {
                Some("error") => outcome.failed = Some(finding()),
                Some("skipped") => outcome.skipped = Some(finding()),
                _ => {}
            }
            for judgement in case["judgements"].as_array().into_iter().flatten() {
                let text = |field: &str| judgement[field].as_str().unwrap_or_default().to_owned();
                match judgement["verdict"].as_str() {
                    Some("violated") => drop(outcome.violated.insert(text("clause"), text("finding"))),
                    Some("inconclusive") => drop(outcome.undecided.insert(text("clause"))),
                    _ => {}
                }
            }
        }
        if ended < names.len() {
            outcome.failed = Some("a case is not in the report".to_owned());
        }
        outcome
    }
}

/// The name of a copy without the number of its row, which changes with the table. Other names stay.
pub(super) fn without_number(name: &str) -> &str {
    name.strip_prefix("row/").and_then(|name| name.split_once('-')).map_or(name, |(_, name)| name)
}

/// A job and its result.
#[derive(Clone, Debug)]
pub struct Trial {
    /// What was tried.
    pub job: Job,
    /// The result from the harness.
    pub outcome: RunOutcome,
    /// How often each defect struck.
    pub strikes: Vec<u32>,
}

impl Trial {
    /// The differences from the table; empty if there are none.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        let names =
            |names: Vec<&String>| names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        if self.is_plain() {
            let violated: Vec<_> = self.outcome.violated.keys().collect();
            return match &self.outcome.failed {
                _ if !violated.is_empty() => Some(format!("violated without a defect: {}", names(violated))),
                // The next match also decides whether the row may be skipped.
                None if self.outcome.skipped.is_some() => None,
                failed => failed.clone(),
            };
        }
        let Job::Row(_, row) = &self.job else { return None };
        if row.skippable && self.outcome.skipped.is_some() {
            return None;
        }
        if row.unnoticed.is_some() {
            let violated: Vec<_> = self.outcome.violated.keys().collect();
            return (!violated.is_empty()).then(|| format!("noticed after all, by {}", names(violated)));
        }
        let missed: Vec<_> =
            row.notices.iter().filter(|id| !self.outcome.violated.contains_key(*id)).collect();
        if missed.is_empty() {
            return None;
        }
        let why = match self.outcome.failed.as_ref().or(self.outcome.skipped.as_ref()) {
            Some(failed) => format!(": {failed}"),
            None if self.strikes.contains(&0) => ": a defect never struck".to_owned(),
            None => String::new(),
        };
        Some(format!("not noticed by {}{why}", names(missed)))
    }

    fn is_plain(&self) -> bool {
        matches!(self.job, Job::Plain(_))
    }

    /// Whether it had defects.
    #[must_use]
    pub fn is_row(&self) -> bool {
        !self.is_plain()
    }

    /// Whether another run may have another result. A job with a violation without a defect is never run again.
    #[must_use]
    pub fn is_worth_another(&self) -> bool {
        self.complaint().is_some() && (self.outcome.violated.is_empty() || !self.is_plain())
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match (self.complaint(), &self.outcome.skipped) {
            (Some(_), _) => "FAILED",
            (None, Some(_)) => "skip",
            (None, None) => "ok",
        };
        write!(formatter, "{word:6} {:44}", self.job.name())?;
        if let Some(complaint) = self.complaint() {
            write!(formatter, "  {complaint}")?;
        }
        if let (None, Some(why)) = (self.complaint(), &self.outcome.skipped) {
            return write!(formatter, "  {why}");
        }
        if !self.is_plain() {
            write!(formatter, "  struck {:?}, violated: ", self.strikes)?;
            let violated: Vec<_> = self.outcome.violated.keys().map(String::as_str).collect();
            formatter.write_str(&violated.join(" "))?;
        }
        Ok(())
    }
}

/// The head of the file with the detected defects.
const HEAD: &str = "\
# Each defect of a real kubelet that tests/saboteur makes, and the clauses that call it a violation. Written by ci/saboteur.
";

/// The file of the detected defects, with updated paragraphs for these trials: a row at the beginning of a line, and
/// below it, indented, the clauses that detected it. Rows that are no longer in the table are removed.
#[must_use]
pub fn merge_noticed(before: &str, trials: &[Trial], rows: &BTreeSet<String>) -> String {
    let mut noticed = read_noticed(before);
    for trial in trials.iter().filter(|trial| trial.is_row() && trial.outcome.ran()) {
        noticed.insert(trial.job.name().to_owned(), trial.outcome.violated.keys().cloned().collect());
    }
    noticed.retain(|row, _| rows.contains(row));
    let paragraph = |(row, clauses): (String, Vec<String>)| {
        let clauses: String = clauses.iter().map(|clause| format!("    {clause}\n")).collect();
        format!("\n{row}\n{clauses}")
    };
    std::iter::once(HEAD.to_owned()).chain(noticed.into_iter().map(paragraph)).collect()
}

fn read_noticed(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut noticed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut row = String::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        match line.strip_prefix(' ') {
            Some(clause) => noticed.entry(row.clone()).or_default().push(clause.trim().to_owned()),
            None => {
                row = line.trim().to_owned();
                noticed.entry(row.clone()).or_default();
            }
        }
    }
    noticed
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::{Job, RunOutcome, Trial, merge_noticed};

    fn report() -> Value {
        json!({ "cases": [
            { "case": "row/007-0-one", "verdict": "violated", "judgements": [
                { "clause": "a.b", "verdict": "violated", "finding": "too late" },
                { "clause": "a.c", "verdict": "inconclusive" },
                { "clause": "a.d", "verdict": "holds" },
            ]},
            { "case": "row/008-0-two", "judgements": [{ "clause": "a.e", "verdict": "violated" }] },
        ]})
    }

    fn row(notices: &str) -> Job {
        let text = format!(
            "[{{name: r, like: x, fault: {{cri: {{grace: {{seconds: 1}}}}}}, cases: [a/b], notices: [{notices}]}}]"
        );
        Job::Row(1, Box::new(crate::table::parse(&text).unwrap_or_default().remove(0)))
    }

    fn trial(job: Job) -> Trial {
        let outcome = RunOutcome::of(&report(), &BTreeSet::from(["0-one".to_owned()]));
        Trial { job, outcome, strikes: vec![3] }
    }

    #[test]
    fn a_row_is_noticed_if_all_its_clauses_are_violated() {
        assert_eq!(trial(row("a.b")).complaint(), None);
        assert_eq!(trial(row("a.b, a.c")).complaint().as_deref(), Some("not noticed by a.c"));
    }

    #[test]
    fn a_skipped_case_fails_its_row_unless_the_row_may_be_skipped() {
        let report =
            json!({ "cases": [{ "case": "row/007-0-one", "verdict": "skipped", "finding": "no runtime" }] });
        let outcome = RunOutcome::of(&report, &BTreeSet::from(["0-one".to_owned()]));
        let mut trial = Trial { job: row("a.b"), outcome, strikes: vec![0] };
        assert_eq!(trial.complaint().as_deref(), Some("not noticed by a.b: no runtime"));
        if let Job::Row(_, row) = &mut trial.job {
            row.skippable = true;
        }
        assert_eq!(trial.complaint(), None);
        assert!(trial.to_string().contains("no runtime"), "{trial}");
        let before = "# head\n\nr\n    kept\n";
        let after = merge_noticed(before, &[trial], &BTreeSet::from(["r".to_owned()]));
        assert!(after.contains("    kept\n"), "what was detected before is still known: {after}");
    }

    #[test]
    fn a_case_that_is_not_in_the_report_has_failed() {
        let names = BTreeSet::from(["0-one".to_owned(), "0-three".to_owned()]);
        assert!(RunOutcome::of(&report(), &names).failed.is_some());
    }

    #[test]
    fn a_violation_without_a_defect_is_never_tried_away() {
        let plain = trial(Job::Plain("a/b".into()));
        assert!(plain.complaint().is_some() && !plain.is_worth_another());
        assert!(trial(row("a.c")).is_worth_another());
    }

    #[test]
    fn what_was_noticed_replaces_the_paragraph_of_its_row_and_keeps_the_others() {
        let rows = BTreeSet::from(["r".to_owned(), "s".to_owned()]);
        let text =
            merge_noticed("# head\n\nr\n    old\n\ns\n    kept\n\ngone\n", &[trial(row("a.b"))], &rows);
        assert!(text.ends_with("\n\nr\n    a.b\n\ns\n    kept\n"), "{text}");
    }
}
