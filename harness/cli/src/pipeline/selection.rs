//! The cases of a run. The book and the flags determine the cases to run, the awaited results, and the tests in the
//! output.

use std::collections::{BTreeMap, BTreeSet};

use probity_case::{Case, CaseName, Profile};
use probity_model::clause::Need;
use probity_model::verdict::Skip;
use probity_report::LogLine;
use probity_report::run_log::{Planned, Shard};

use super::libtest::{TestLine, TestResult};
use super::run_sink::AwaitedCase;
use crate::cases::book::Book;
use crate::cases::case_filter::CaseFilter;
use crate::cases::shards;
use crate::output::word;

/// The text before the number of a repetition, in a name in the cluster.
const REPETITION: &str = "/run=";

/// The cases of a run: the cases to run, the awaited results, the tests of the output, and the cases that do not run.
#[derive(Default)]
pub(crate) struct Selection {
    /// The cases to run, under the names that they have in the cluster. Each repetition has its own name.
    pub(crate) cases: Vec<Case>,
    /// The awaited results, by those names.
    pub(crate) awaited: BTreeMap<CaseName, AwaitedCase>,
    /// The tests of the output: every case of the book.
    pub(crate) lines: Vec<TestLine>,
    /// All cases that the run knows of.
    pub(crate) planned: Vec<Planned>,
    /// The log lines of the cases that do not run.
    pub(crate) left_out: Vec<LogLine>,
}

impl Selection {
    /// Selects the cases, each to run `repeat` times; in a divided run, those of one shard. In a run on every node,
    /// most cases are in all shards, because the nodes are divided instead.
    pub(crate) fn of(
        book: &Book,
        filter: &CaseFilter,
        node_command: bool,
        repeat: u32,
        shard: Option<Shard>,
        every_node: bool,
    ) -> Self {
        let lacking = |case: &Case| lacks(&case.needs, node_command);
        let by_node = |case: &Case| every_node && is_divided_by_node(case);
        let running =
            book.cases().filter(|case| filter.runs(case) && lacking(case).is_none() && !by_node(case));
        let shards = shard.map(|shard| (shard, shards::divide(running, shard.of)));
        let elsewhere = |case: &Case| {
            let (shard, divided) = shards.as_ref()?;
            let index = *divided.get(&case.name)?;
            (index != shard.index).then_some(Shard { index, ..*shard })
        };
        let mut selection = Self::default();
        for file in &book.files {
            for case in &file.cases {
                // A known bug is not part of a run that does not request it.
                if case.profile == Profile::Regressions && !filter.runs(case) {
                    continue;
                }
                selection.planned.push(Planned::of(case, &file.source));
                selection.add(case, filter.runs(case), lacking(case), elsewhere(case), repeat.max(1));
            }
        }
        selection
    }

    fn add(
        &mut self,
        case: &Case,
        chosen: bool,
        lacks: Option<String>,
        elsewhere: Option<Shard>,
        repeat: u32,
    ) {
        let skipped = match (chosen, &lacks, elsewhere) {
            (false, ..) => {
                Some((Skip::Filtered, "the filters or the profile of the run exclude it".to_owned()))
            }
            (true, Some(why), _) => Some((Skip::Precondition, why.clone())),
            (true, None, Some(shard)) => Some((Skip::OtherShard, format!("shard {shard} runs it"))),
            (true, None, None) => None,
        };
        let chosen = chosen && elsewhere.is_none();
        if let Some((reason, why)) = skipped {
            self.left_out.push(LogLine::CaseSkipped { case: case.name.clone(), reason, why });
            self.lines.push(TestLine::new(case.name.0.clone(), chosen, lacks).0);
            return;
        }
        for nth in 1..=repeat {
            let mut once = case.clone();
            let repetition = (repeat > 1).then_some(nth);
            once.name = repeated(&case.name, repetition);
            let (line, result) = TestLine::new(once.name.0.clone(), true, None);
            self.lines.push(line);
            let awaited = AwaitedCase { case: case.name.clone(), repetition, result };
            self.awaited.insert(once.name.clone(), awaited);
            self.cases.push(once);
        }
    }

    /// Makes each case run on each of these nodes, under a separate name. A case that needs several nodes or has no pods
    /// runs once. In a divided run, most cases run only on the nodes of the shard. Returns the node of each case, by its
    /// name in the cluster.
    pub(crate) fn on_each(&mut self, nodes: &[String], shard: Option<Shard>) -> BTreeMap<CaseName, String> {
        let mut spread = Spread::default();
        let of_shard = |node: &&String| shard.is_none_or(|shard| shards::has_node(shard, node));
        let nodes_of_shard: Vec<String> = nodes.iter().filter(of_shard).cloned().collect();
        for case in std::mem::take(&mut self.cases) {
            match self.awaited.remove(&case.name) {
                Some(awaited) if runs_on_a_node(&case) => {
                    let nodes = if is_divided_by_node(&case) { &nodes_of_shard } else { nodes };
                    match nodes {
                        [] => self.skip(awaited, Skip::OtherShard, "this shard has no node"),
                        nodes => self.place(&case, &awaited, nodes, &mut spread),
                    }
                }
                awaited => {
                    self.awaited.extend(awaited.map(|awaited| (case.name.clone(), awaited)));
                    self.cases.push(case);
                }
            }
        }
        let Spread { bound, mut reported, mut lines } = spread;
        let planned = std::mem::take(&mut self.planned).into_iter();
        self.planned = planned.flat_map(|planned| planned_on(planned, &mut reported)).collect();
        let all = std::mem::take(&mut self.lines).into_iter();
        self.lines = all.flat_map(|line| lines.remove(&line.name).unwrap_or_else(|| vec![line])).collect();
        bound
    }

    /// Replaces a case with one case on each node.
    fn place(&mut self, case: &Case, whole: &AwaitedCase, nodes: &[String], spread: &mut Spread) {
        let lines = spread.lines.entry(case.name.0.clone()).or_default();
        let reported_on = spread.reported.entry(whole.case.clone()).or_default();
        for node in nodes {
            let reported = whole.case.on_node(node);
            let mut here = case.clone();
            here.name = repeated(&reported, whole.repetition);
            let (line, result) = TestLine::new(here.name.0.clone(), true, None);
            lines.push(line);
            spread.bound.insert(here.name.clone(), node.clone());
            // All repetitions have one name in the report.
            if whole.repetition.is_none_or(|nth| nth == 1) {
                reported_on.push(reported.clone());
            }
            let awaited = AwaitedCase { case: reported, repetition: whole.repetition, result };
            self.awaited.insert(here.name.clone(), awaited);
            self.cases.push(here);
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
            self.skip(awaited, Skip::Precondition, why);
        }
    }

    fn skip(&mut self, awaited: AwaitedCase, reason: Skip, why: &str) {
        let why = why.to_owned();
        let _ = awaited.result.send(TestResult::Ignored(why.clone()));
        // All repetitions have one name in the report.
        if awaited.repetition.is_none_or(|nth| nth == 1) {
            self.left_out.push(LogLine::CaseSkipped { case: awaited.case, reason, why });
        }
    }
}

/// Cases that run on several nodes.
#[derive(Default)]
struct Spread {
    /// The node of each case, by its name in the cluster.
    bound: BTreeMap<CaseName, String>,
    /// Their names in the report, by the name of the case without a node.
    reported: BTreeMap<CaseName, Vec<CaseName>>,
    /// Their lines in the output, by the name of the line of the case without a node.
    lines: BTreeMap<String, Vec<TestLine>>,
}

/// The planned case once for each of its nodes, or unchanged if it is not bound to nodes.
fn planned_on(planned: Planned, reported: &mut BTreeMap<CaseName, Vec<CaseName>>) -> Vec<Planned> {
    match reported.remove(&planned.case) {
        Some(on) => on.into_iter().map(|case| Planned { case, ..planned.clone() }).collect(),
        None => vec![planned],
    }
}

/// The name of a repetition in the cluster.
fn repeated(name: &CaseName, repetition: Option<u32>) -> CaseName {
    match repetition {
        Some(nth) => CaseName(format!("{name}{REPETITION}{nth}")),
        None => name.clone(),
    }
}

/// Whether a case tests a single node: it has pods, and does not need several nodes.
fn runs_on_a_node(case: &Case) -> bool {
    case.most_pods() > 0 && !case.needs_several_nodes()
}

/// Whether a run on every node is divided by the nodes on which a case runs, and not by cases.
fn is_divided_by_node(case: &Case) -> bool {
    runs_on_a_node(case) && !shards::stays_together(case)
}

/// A sentence about a requirement of a case that the flags do not provide.
fn lacks(needs: &BTreeSet<Need>, node_command: bool) -> Option<String> {
    let of_nodes = [Need::NodeVerbs, Need::KubeletConfig, Need::CpConfig];
    let wanted = needs.iter().find(|need| of_nodes.contains(need));
    let missing = wanted.filter(|_| !node_command)?;
    Some(format!("it needs {}: use --node-command to give a command that acts on nodes", word(missing)))
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
            file("c/known", "profile: regressions\n"),
        ];
        Book { registry: probity_suites::draft().unwrap(), files }
    }

    #[test]
    fn what_is_left_out_is_known_and_says_why() {
        let selection = Selection::of(&book(), &CaseFilter::default(), false, 1, None, false);
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
    fn a_known_bug_is_there_only_if_it_is_asked_for() {
        let asked = CaseFilter { filter: vec!["c/known".to_owned()], ..CaseFilter::default() };
        let selection = Selection::of(&book(), &asked, false, 1, None, false);
        assert_eq!((selection.planned.len(), selection.cases.len()), (4, 1));
        assert_eq!(selection.cases[0].name.0, "c/known");
    }

    #[test]
    fn repetitions_have_names_of_their_own_in_the_cluster_and_one_in_the_report() {
        let selection = Selection::of(&book(), &CaseFilter::default(), true, 2, None, false);
        let names: Vec<&str> = selection.cases.iter().map(|case| case.name.0.as_str()).collect();
        assert_eq!(names, ["a/plain/run=1", "a/plain/run=2", "a/node/run=1", "a/node/run=2"]);
        let slugs: std::collections::BTreeSet<String> =
            selection.cases.iter().map(|case| case.name.slug()).collect();
        assert_eq!(slugs.len(), 4);
        assert!(selection.awaited.values().all(|awaited| !awaited.case.0.contains("run=")));
    }

    #[test]
    fn the_shards_of_a_run_have_each_case_once_and_say_who_has_the_others() {
        let of = |index| {
            let shard = Some(Shard { index, of: 2 });
            Selection::of(&book(), &CaseFilter::default(), true, 1, shard, false)
        };
        let names = |selection: &Selection| -> Vec<String> {
            selection.cases.iter().map(|case| case.name.0.clone()).collect()
        };
        let (first, second) = (of(0), of(1));
        let mut both = [names(&first), names(&second)].concat();
        both.sort();
        assert_eq!(both, ["a/node", "a/plain"]);
        let other = |line: &LogLine| matches!(line, LogLine::CaseSkipped { reason: Skip::OtherShard, .. });
        assert_eq!(first.left_out.iter().filter(|line| other(line)).count(), 1);
        assert_eq!(first.planned.len(), 3, "every shard knows all cases");
        assert_eq!(first.lines.iter().filter(|line| line.chosen).count(), 1);
    }

    #[test]
    fn on_every_node_a_case_has_a_name_for_each_and_its_repetitions_one_in_the_report() {
        let mut selection = Selection::of(&book(), &CaseFilter::default(), true, 2, None, false);
        let nodes = ["n1", "n2"].map(str::to_owned);
        let bound = selection.on_each(&nodes, None);
        assert_eq!(bound.len(), 8);
        assert_eq!(bound[&CaseName("a/plain/node=n2/run=1".to_owned())], "n2");
        let planned: Vec<&str> = selection.planned.iter().map(|planned| planned.case.0.as_str()).collect();
        assert_eq!(
            planned,
            ["a/plain/node=n1", "a/plain/node=n2", "a/node/node=n1", "a/node/node=n2", "b/slow"]
        );
        let lines: Vec<&str> = selection.lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(lines.len(), 9, "{lines:?}");
        assert_eq!(lines[..2], ["a/plain/node=n1/run=1", "a/plain/node=n2/run=1"]);
        for (name, awaited) in &selection.awaited {
            assert_eq!(awaited.case.node(), bound.get(name).map(String::as_str));
        }
    }

    #[test]
    fn the_shards_of_a_run_on_every_node_divide_the_nodes() {
        let nodes: Vec<String> = (0..40).map(|n| format!("n{n}")).collect();
        let of = |index| {
            let shard = Some(Shard { index, of: 2 });
            let mut selection = Selection::of(&book(), &CaseFilter::default(), true, 1, shard, true);
            let bound = selection.on_each(&nodes, shard);
            (selection, bound)
        };
        let ((first, here), (second, there)) = (of(0), of(1));
        let plain = |bound: &BTreeMap<CaseName, String>| -> Vec<String> {
            let of_plain = bound.iter().filter(|(case, _)| case.0.starts_with("a/plain"));
            of_plain.map(|(_, node)| node.clone()).collect()
        };
        let (left, right) = (plain(&here), plain(&there));
        assert!(left.len() > 10 && right.len() > 10, "{} and {}", left.len(), right.len());
        let all: BTreeSet<&String> = left.iter().chain(&right).collect();
        assert_eq!((all.len(), left.len() + right.len()), (40, 40));
        let acting = |selection: &Selection| {
            selection.cases.iter().filter(|case| case.name.0.starts_with("a/node")).count()
        };
        let mut counts = [acting(&first), acting(&second)];
        counts.sort_unstable();
        assert_eq!(counts, [0, 40], "cases that act on nodes stay in one shard");
    }

    #[test]
    fn a_shard_without_a_node_reports_that_another_shard_runs_the_cases() {
        let nodes = ["n1".to_owned()];
        for index in [0, 1] {
            let shard = Some(Shard { index, of: 2 });
            let mut selection = Selection::of(&book(), &CaseFilter::default(), true, 1, shard, true);
            selection.on_each(&nodes, shard);
            let runs = selection.cases.iter().any(|case| case.name.0.starts_with("a/plain"));
            let elsewhere = selection.left_out.iter().any(|line| {
                matches!(line, LogLine::CaseSkipped { case, reason: Skip::OtherShard, .. } if case.0 == "a/plain")
            });
            assert_eq!(runs, !elsewhere, "shard {index}");
            let planned = selection.planned.iter().filter(|planned| planned.case.0.starts_with("a/plain"));
            assert_eq!(planned.count(), 1, "shard {index}");
        }
    }
}
