//! A fleet: cases that ran on each of several nodes, and what differs between the nodes.
//!
//! Nodes with the same known facts (kubelet, runtime, system, kernel, architecture) and the same verdicts are one
//! group. A group names the clauses whose verdict differs between groups. If all nodes of a fleet behave the same, no
//! group names any clauses.

use std::collections::{BTreeMap, BTreeSet};

use probity_model::history::NodeFacts;
use probity_model::{ClauseId, Registry};
use serde::{Deserialize, Serialize};

use crate::build::CaseRun;
use crate::clauses::{ByClause, word_of};
use crate::document::{Counts, Report};
use crate::run_log::ClusterFacts;
use crate::word::Word;

/// How many clauses of a group are named in words. The report has all of them.
const NAMED: usize = 12;

/// Nodes that are alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeGroup {
    /// Their names.
    pub nodes: Vec<String>,
    /// What is known about each node of the group. The texts are empty without permission to read nodes.
    pub facts: NodeFacts,
    /// The clauses that were judged in cases on these nodes, by verdict.
    pub clauses: Counts,
    /// The clauses whose verdict differs between the groups, with the verdict here. A clause that was not judged here is
    /// missing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub differs: BTreeMap<ClauseId, Word>,
}

type Verdicts = BTreeMap<ClauseId, Word>;

/// The groups of the nodes on which cases were to run. Empty if no case was bound to a node.
pub(super) fn groups(registry: &Registry, runs: &[CaseRun], ground: Option<&ClusterFacts>) -> Vec<NodeGroup> {
    let nodes: BTreeSet<&str> = runs.iter().filter_map(|run| run.report.case.node()).collect();
    // Every node has its own addresses, so they say nothing about a group.
    let facts_of = |node: &str| {
        let facts = ground.and_then(|ground| ground.nodes.get(node)).cloned().unwrap_or_default();
        NodeFacts { addresses: Vec::new(), ..facts }
    };
    let mut groups: Vec<(NodeFacts, Verdicts, Vec<String>)> = Vec::new();
    for node in nodes {
        let (facts, verdicts) = (facts_of(node), verdicts(registry, (runs, node), ground));
        match groups.iter_mut().find(|(known, found, _)| *known == facts && *found == verdicts) {
            Some((_, _, alike)) => alike.push(node.to_owned()),
            None => groups.push((facts, verdicts, vec![node.to_owned()])),
        }
    }
    groups.sort_by(|a, b| versions(&a.0).cmp(&versions(&b.0)).then_with(|| a.2.cmp(&b.2)));
    let differs: BTreeSet<ClauseId> = differing(&groups);
    let group = |(facts, verdicts, nodes): (NodeFacts, Verdicts, Vec<String>)| NodeGroup {
        nodes,
        facts,
        clauses: Counts::of(verdicts.values().copied()),
        differs: verdicts.into_iter().filter(|(id, _)| differs.contains(id)).collect(),
    };
    groups.into_iter().map(group).collect()
}

/// The verdicts of the cases on a node.
fn verdicts(
    registry: &Registry,
    (runs, node): (&[CaseRun], &str),
    ground: Option<&ClusterFacts>,
) -> Verdicts {
    let here = ByClause::of(runs.iter().filter(|run| run.report.case.node() == Some(node)));
    let judged = registry.catalogue.iter().filter(|clause| clause.untestable.is_none());
    judged.filter_map(|clause| Some((clause.id.clone(), word_of(clause, &here, ground)?))).collect()
}

/// The clauses whose verdicts differ between two groups, or that only some groups have.
fn differing(groups: &[(NodeFacts, Verdicts, Vec<String>)]) -> BTreeSet<ClauseId> {
    let all = groups.iter().flat_map(|(_, verdicts, _)| verdicts.keys());
    let same = |id: &ClauseId| {
        let words: BTreeSet<Option<Word>> =
            groups.iter().map(|(_, verdicts, _)| verdicts.get(id).copied()).collect();
        words.len() < 2
    };
    all.filter(|id| !same(id)).cloned().collect()
}

fn versions(facts: &NodeFacts) -> [&str; 5] {
    [&facts.kubelet, &facts.runtime, &facts.os_image, &facts.kernel, &facts.architecture]
}

impl NodeGroup {
    /// What is known about its nodes, in one line.
    #[must_use]
    pub fn facts_in_words(&self) -> String {
        let known: Vec<&str> = versions(&self.facts).into_iter().filter(|fact| !fact.is_empty()).collect();
        if known.is_empty() { "nodes that could not be read".to_owned() } else { known.join(", ") }
    }
}

impl Report {
    /// The fleet as text for a terminal, with a paragraph for each group. Empty without groups.
    #[must_use]
    pub fn fleet_in_words(&self) -> String {
        let mut words = String::new();
        for group in &self.fleet {
            words += &format!("nodes {}: {}\n", group.nodes.join(", "), group.facts_in_words());
            words += &format!("  {} of {} clauses\n", group.clauses.in_words(), group.clauses.total);
            for (id, word) in group.differs.iter().take(NAMED) {
                words += &format!("  differs  {id}: {word}\n");
            }
            if group.differs.len() > NAMED {
                words += &format!("  and {} more differ\n", group.differs.len() - NAMED);
            }
        }
        words
    }
}

#[cfg(test)]
mod tests;
