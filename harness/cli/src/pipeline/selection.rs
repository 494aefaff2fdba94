//! The cases of a run: from the book and the flags to the cases that are conducted, the results that are awaited, and the
//! tests of the output.

use std::collections::{BTreeMap, BTreeSet};

use probity_case::{Case, CaseName};
use probity_model::clause::Need;
use probity_model::verdict::Skip;
use probity_report::LogLine;
use probity_report::run_log::Planned;

use super::libtest::{TestLine, TestResult};
use super::run_sink::AwaitedCase;
use crate::cases::book::Book;
use crate::cases::case_filter::CaseFilter;
use crate::output::word;

/// The cases of a run in all their roles.
#[derive(Default)]
pub(crate) struct Selection {
    /// The cases to conduct, under the names that they have in the cluster: a repetition has its own.
    pub(crate) cases: Vec<Case>,
    /// The results that are awaited, by those names.
    pub(crate) awaited: BTreeMap<CaseName, AwaitedCase>,
    /// The tests of the output: every case of the book.
    pub(crate) lines: Vec<TestLine>,
    /// All cases that the run knows of.
    pub(crate) planned: Vec<Planned>,
    /// Those that do not run, as the log names them.
    pub(crate) left_out: Vec<LogLine>,
}

impl Selection {
    /// Selects the cases, each to run `repeat` times.
    pub(crate) fn of(book: &Book, filter: &CaseFilter, node_command: bool, repeat: u32) -> Self {
        let mut selection = Self::default();
        for file in &book.files {
            for case in &file.cases {
                selection.planned.push(Planned::of(case, &file.source));
                selection.add(case, filter.runs(case), lacks(&case.needs, node_command), repeat.max(1));
            }
        }
        selection
    }

    fn add(&mut self, case: &Case, chosen: bool, lacks: Option<String>, repeat: u32) {
        let skipped = match (chosen, &lacks) {
            (false, _) => {
                Some((Skip::Filtered, "the filters or the profile of the run leave it out".to_owned()))
            }
            (true, Some(why)) => Some((Skip::Precondition, why.clone())),
            (true, None) => None,
        };
        if let Some((reason, why)) = skipped {
            self.left_out.push(LogLine::CaseSkipped { case: case.name.clone(), reason, why });
            self.lines.push(TestLine::new(case.name.0.clone(), chosen, lacks).0);
            return;
        }
        for nth in 1..=repeat {
            let mut once = case.clone();
            let repetition = (repeat > 1).then_some(nth);
            if repetition.is_some() {
                once.name = CaseName(format!("{}/run={nth}", case.name));
            }
            let (line, result) = TestLine::new(once.name.0.clone(), true, None);
            self.lines.push(line);
            let awaited = AwaitedCase { case: case.name.clone(), repetition, result };
            self.awaited.insert(once.name.clone(), awaited);
            self.cases.push(once);
        }
    }

    /// Whether the filters leave out every case.
    pub(crate) fn is_empty(&self) -> bool {
        !self.lines.iter().any(|line| line.chosen)
    }

    /// Leaves out a case that cannot run on this cluster.
    pub(crate) fn leave_out(&mut self, name: &CaseName, why: &str) {
        self.cases.retain(|case| case.name != *name);
        if let Some(awaited) = self.awaited.remove(name) {
            let (reason, why) = (Skip::Precondition, why.to_owned());
            let _ = awaited.result.send(TestResult::Ignored(why.clone()));
            self.left_out.push(LogLine::CaseSkipped { case: awaited.case, reason, why });
        }
    }
}

/// What a case needs that the flags do not give, in a sentence.
fn lacks(needs: &BTreeSet<Need>, node_command: bool) -> Option<String> {
    let wanted = needs.iter().find(|need| matches!(need, Need::NodeVerbs | Need::KubeletConfig));
    let missing = wanted.filter(|_| !node_command)?;
    Some(format!("it needs {}: give a command that reaches the nodes with --node-command", word(missing)))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::cases::book::CaseFile;

    fn book() -> Book {
        let text = |name: &str, more: &str| {
            format!("case: {name}\nstory: x\n{more}pod: {{ spec: {{ containers: [{{ name: c }}] }} }}\n")
        };
        let file = |name: &str, more: &str| {
            let text = text(name, more);
            let cases = Case::read(name, &text).unwrap();
            CaseFile { source: format!("{name}.yaml"), text, cases, own: true }
        };
        let files = vec![
            file("a/plain", ""),
            file("a/node", "needs: [node-verbs]\n"),
            file("b/slow", "profile: slow\n"),
        ];
        Book { registry: probity_suites::draft().unwrap(), files }
    }

    #[test]
    fn what_is_left_out_is_known_and_says_why() {
        let selection = Selection::of(&book(), &CaseFilter::default(), false, 1);
        assert_eq!((selection.planned.len(), selection.lines.len(), selection.cases.len()), (3, 3, 1));
        let reasons: Vec<Skip> = selection
            .left_out
            .iter()
            .filter_map(|line| match line {
                LogLine::CaseSkipped { reason, .. } => Some(*reason),
                _ => None,
            })
            .collect();
        assert_eq!(reasons, [Skip::Precondition, Skip::Filtered]);
    }

    #[test]
    fn repetitions_have_names_of_their_own_in_the_cluster_and_one_in_the_report() {
        let selection = Selection::of(&book(), &CaseFilter::default(), true, 2);
        let names: Vec<&str> = selection.cases.iter().map(|case| case.name.0.as_str()).collect();
        assert_eq!(names, ["a/plain/run=1", "a/plain/run=2", "a/node/run=1", "a/node/run=2"]);
        let slugs: std::collections::BTreeSet<String> =
            selection.cases.iter().map(|case| case.name.slug()).collect();
        assert_eq!(slugs.len(), 4);
        assert!(selection.awaited.values().all(|awaited| !awaited.case.0.contains("run=")));
    }
}
