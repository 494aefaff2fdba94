#![expect(clippy::unwrap_used, reason = "tests")]

use probity_model::history::NodeFacts;

use crate::run_log::LogLine;
use crate::tests::{LATE, ON_TIME, ON_TIME_ID, RESTARTS, Run, registry};
use crate::{Report, Word, Workers};

/// The report of a case that ran on these nodes. Each node has its kubelet version and the times of its probes.
fn fleet(nodes: &[(&str, &str, &[f64])]) -> Report {
    let mut run = Run::new();
    for (node, _, probes) in nodes {
        run = run.ended(&format!("demo/one/node={node}"), &[RESTARTS, ON_TIME_ID], probes, 0);
    }
    let mut log = run.log();
    for line in &mut log {
        if let LogLine::Ready(ground) = line {
            let facts = |kubelet: &str| NodeFacts { kubelet: kubelet.to_owned(), ..NodeFacts::default() };
            ground.nodes =
                nodes.iter().map(|(node, kubelet, _)| ((*node).to_owned(), facts(kubelet))).collect();
        }
    }
    Report::build(&registry(), &log, &run.histories, Workers::all()).unwrap()
}

#[test]
fn nodes_that_are_alike_are_one_group_and_nothing_differs() {
    let report = fleet(&[("n1", "v1.36.3", ON_TIME), ("n2", "v1.36.3", ON_TIME)]);
    let [group] = report.fleet.as_slice() else { panic!("{:?}", report.fleet) };
    assert_eq!(group.nodes, ["n1", "n2"]);
    assert_eq!((group.clauses.total, group.clauses.holds, group.differs.len()), (2, 2, 0));
}

#[test]
fn another_kubelet_is_another_group_though_it_behaves_the_same() {
    let report = fleet(&[("n1", "v1.36.3", ON_TIME), ("n2", "v1.35.1-vendor", ON_TIME)]);
    let kubelets: Vec<_> = report.fleet.iter().map(|group| group.facts.kubelet.as_str()).collect();
    assert_eq!(kubelets, ["v1.35.1-vendor", "v1.36.3"]);
    assert!(report.fleet.iter().all(|group| group.differs.is_empty()));
}

#[test]
fn a_node_that_behaves_otherwise_is_a_group_that_names_the_clause() {
    let report = fleet(&[("n1", "v1.36.3", ON_TIME), ("n2", "v1.36.3", LATE), ("n3", "v1.36.3", ON_TIME)]);
    let groups: Vec<_> = report.fleet.iter().map(|group| group.nodes.join(" ")).collect();
    assert_eq!(groups, ["n1 n3", "n2"]);
    let id = ON_TIME_ID.parse().unwrap();
    let words: Vec<_> = report.fleet.iter().map(|group| group.differs.get(&id).copied()).collect();
    assert_eq!(words, [Some(Word::Holds), Some(Word::Violated)]);
    assert_eq!(report.clause(&id).unwrap().verdict, Word::Violated, "the worst node decides the clause");
    let words = report.in_words();
    assert!(words.contains("nodes n2: v1.36.3\n"), "{words}");
    assert!(words.contains(&format!("differs  {ON_TIME_ID}: violated")), "{words}");
}

#[test]
fn a_run_without_cases_on_nodes_has_no_fleet() {
    let run = Run::new().ended("demo/one", &[RESTARTS], ON_TIME, 0);
    assert!(run.report().fleet.is_empty());
}
