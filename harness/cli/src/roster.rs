//! Who runs: from the book and the flags to the cases that are conducted, the seats at which their outcomes are
//! awaited, and the lines of the front end.

use std::collections::BTreeMap;

use probity_case::{Case, CaseName};
use probity_model::verdict::Skip;
use probity_report::LogLine;
use probity_report::run_log::Planned;

use crate::book::Book;
use crate::desk::Seat;
use crate::front::Line;
use crate::select::{Choice, Means, lacks};

/// The cases of a run in all their roles.
pub(crate) struct Roster {
    /// What is conducted, under the names that they have in the cluster: a repetition has its own.
    pub(crate) cases: Vec<Case>,
    /// Where outcomes are awaited, by those names.
    pub(crate) seats: BTreeMap<CaseName, Seat>,
    /// What the front end shows: every case of the book.
    pub(crate) lines: Vec<Line>,
    /// What the run knows of.
    pub(crate) planned: Vec<Planned>,
    /// What of it does not run, as the log tells it.
    pub(crate) left_out: Vec<LogLine>,
}

impl Roster {
    /// Who runs, so many times each.
    pub(crate) fn of(book: &Book, choice: &Choice, means: Means, repeat: u32) -> Self {
        let mut roster = Self {
            cases: Vec::new(),
            seats: BTreeMap::new(),
            lines: Vec::new(),
            planned: Vec::new(),
            left_out: Vec::new(),
        };
        for file in &book.files {
            for case in &file.cases {
                roster.planned.push(Planned::of(case, &file.source));
                roster.add(case, choice.runs(case), lacks(&case.needs, means), repeat.max(1));
            }
        }
        roster
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
            // Nobody tells what becomes of it: it is left out by name, or told by what it lacks.
            self.lines.push(Line::new(case.name.0.clone(), chosen, lacks).0);
            return;
        }
        for nth in 1..=repeat {
            let mut once = case.clone();
            let repetition = (repeat > 1).then_some(nth);
            if repetition.is_some() {
                once.name = CaseName(format!("{}/run={nth}", case.name));
            }
            let (line, tell) = Line::new(once.name.0.clone(), true, None);
            self.lines.push(line);
            self.seats.insert(once.name.clone(), Seat { case: case.name.clone(), repetition, tell });
            self.cases.push(once);
        }
    }

    /// How many cases are not the user's choice.
    pub(crate) fn is_empty(&self) -> bool {
        !self.lines.iter().any(|line| line.chosen)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::book::CaseFile;

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
        let roster = Roster::of(&book(), &Choice::default(), Means::default(), 1);
        assert_eq!((roster.planned.len(), roster.lines.len(), roster.cases.len()), (3, 3, 1));
        let reasons: Vec<Skip> = roster
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
        let roster = Roster::of(&book(), &Choice::default(), Means { node_command: true }, 2);
        let names: Vec<&str> = roster.cases.iter().map(|case| case.name.0.as_str()).collect();
        assert_eq!(names, ["a/plain/run=1", "a/plain/run=2", "a/node/run=1", "a/node/run=2"]);
        let slugs: std::collections::BTreeSet<String> =
            roster.cases.iter().map(|case| case.name.slug()).collect();
        assert_eq!(slugs.len(), 4);
        assert!(roster.seats.values().all(|seat| !seat.case.0.contains("run=")));
    }
}
