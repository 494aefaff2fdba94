//! The facts of a merged run, from the facts of its parts: the request, the cluster, and the resources that it used.

use std::collections::{BTreeMap, BTreeSet};

use probity_case::CaseName;

use crate::merged_run::Part;
use crate::run_log::{ClusterFacts, LogLine, MergedFrom, Planned, RunFacts, Usage};

impl Part<'_> {
    /// The cluster of the run, if the run reached it.
    pub(crate) fn ground(&self) -> Option<&ClusterFacts> {
        self.log.iter().find_map(|line| match line {
            LogLine::Ready(ground) => Some(ground),
            _ => None,
        })
    }

    fn usage(&self) -> Option<&Usage> {
        self.log.iter().find_map(|line| match line {
            LogLine::Finished(usage) => Some(usage),
            _ => None,
        })
    }
}

/// The request of all runs together. The parts are in the order in which the runs started.
pub(crate) fn facts(parts: &[Part<'_>], command: &[String]) -> RunFacts {
    let first = parts.first().map(|part| part.facts.clone()).unwrap_or_default();
    let others = parts.len().saturating_sub(1);
    let run_id = if others == 0 { first.run_id.clone() } else { format!("{}+{others}", first.run_id) };
    let profiles: BTreeSet<_> = parts.iter().flat_map(|part| part.facts.profiles.iter().copied()).collect();
    RunFacts {
        run_id,
        command: command.to_vec(),
        profiles: profiles.into_iter().collect(),
        repeat: parts.iter().map(|part| part.facts.repeat.max(1)).max().unwrap_or(1),
        labels: labels(parts),
        shard: None,
        merged: parts.iter().map(merged_from).collect(),
        cases: cases(parts),
        ..first
    }
}

fn merged_from(part: &Part<'_>) -> MergedFrom {
    let RunFacts { run_id, began_wall_us, command, shard, .. } = part.facts;
    let (run_id, command) = (run_id.clone(), command.clone());
    MergedFrom { run_id, began_wall_us: *began_wall_us, command, shard: *shard }
}

/// The labels of all runs, with all values of a label if they differ.
fn labels(parts: &[Part<'_>]) -> BTreeMap<String, String> {
    let mut values: BTreeMap<&String, BTreeSet<&str>> = BTreeMap::new();
    for (key, value) in parts.iter().flat_map(|part| &part.facts.labels) {
        values.entry(key).or_default().insert(value);
    }
    let joined = |values: BTreeSet<&str>| values.into_iter().collect::<Vec<_>>().join(", ");
    values.into_iter().map(|(key, values)| (key.clone(), joined(values))).collect()
}

/// The cases of all runs, each once, in the order of the first run. A case that ran on several nodes keeps the place of
/// the case without a node. The case without a node, which the other shards of the run name, is left out.
fn cases(parts: &[Part<'_>]) -> Vec<Planned> {
    let mut order: BTreeMap<CaseName, usize> = BTreeMap::new();
    let mut known: BTreeMap<&CaseName, &Planned> = BTreeMap::new();
    for planned in parts.iter().flat_map(|part| &part.facts.cases) {
        let next = order.len();
        order.entry(planned.case.anywhere()).or_insert(next);
        known.entry(&planned.case).or_insert(planned);
    }
    let on_nodes: BTreeSet<CaseName> =
        known.keys().filter(|case| case.node().is_some()).map(|case| case.anywhere()).collect();
    let mut cases: Vec<Planned> = known
        .into_values()
        .filter(|planned| planned.case.node().is_some() || !on_nodes.contains(&planned.case))
        .cloned()
        .collect();
    cases.sort_by_key(|planned| (order.get(&planned.case.anywhere()).copied(), planned.case.clone()));
    cases
}

/// The cluster of the runs, usually only one, with all nodes that any run names.
pub(crate) fn environment(parts: &[Part<'_>]) -> Option<ClusterFacts> {
    let first = parts.iter().find_map(|part| part.ground().map(|ground| ground.us + part.after_us))?;
    let grounds: Vec<&ClusterFacts> = parts.iter().filter_map(Part::ground).collect();
    let of = |field: fn(&ClusterFacts) -> &String| {
        let values = grounds.iter().map(|ground| field(ground).as_str()).filter(|value| !value.is_empty());
        values.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
    };
    Some(ClusterFacts {
        context: of(|ground| &ground.context),
        cluster_uid: of(|ground| &ground.cluster_uid),
        server: of(|ground| &ground.server),
        namespace: of(|ground| &ground.namespace),
        nodes: grounds.iter().flat_map(|ground| ground.nodes.clone()).collect(),
        image: of(|ground| &ground.image),
        us: first,
    })
}

/// The resources that all runs used together. `None` if the log of one of the runs has no end.
pub(crate) fn usage(parts: &[Part<'_>]) -> Option<Usage> {
    let mut all = Usage::default();
    for part in parts {
        let usage = part.usage()?;
        all.wall_us = all.wall_us.max(usage.wall_us + part.after_us);
        all.laid_us = all.laid_us.max(usage.laid_us + part.after_us);
        all.longest_us = all.longest_us.max(usage.longest_us);
        all.cases += usage.cases;
        all.requests += usage.requests;
        all.cpu_us += usage.cpu_us;
        all.peak_memory = all.peak_memory.max(usage.peak_memory);
        all.stalls += usage.stalls;
        all.stalled_us += usage.stalled_us;
        all.interrupted |= usage.interrupted;
    }
    Some(all)
}
