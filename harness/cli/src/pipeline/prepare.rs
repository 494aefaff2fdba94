//! Everything that can be checked before anything is created on the cluster.

use std::collections::BTreeMap;
use std::path::PathBuf;

use probity_case::{Case, CaseName, Workload};
use probity_cluster::rights::{self, Rights};
use probity_cluster::{ClusterClient, RefusedPod, RunError, RunOptions, connect, rehearse};
use probity_model::clause::Need;
use probity_model::history::NodeFacts;
use tokio::runtime::{Builder, Runtime};

use super::RunSettings;
use crate::exit_status::Failure;

/// The feature of a node whose runtime tells the user of each container.
const USER_FEATURE: &str = "supplementalGroupsPolicy";

/// A run that passed all checks.
pub(crate) struct PreparedRun {
    pub(super) runtime: Runtime,
    pub(super) cluster: ClusterClient,
    pub(super) options: RunOptions,
    /// Where its files go.
    pub(crate) folder: PathBuf,
    /// What it is allowed to do.
    pub(crate) rights: Rights,
}

/// The threads of everything that waits.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.map_err(|error| Failure::failed(format!("failed to start: {error}")))
}

/// Connects, checks the rights, and tries the pods of `rehearsed` by dry runs. `explain` describes rejected pods.
/// Fails if the cluster cannot be reached, a required right is missing, or pods are rejected.
pub(crate) fn prepare(
    settings: &RunSettings,
    options: RunOptions,
    rehearsed: &[Case],
    explain: impl FnOnce(&[RefusedPod]) -> String,
) -> Result<PreparedRun, Failure> {
    let runtime = runtime()?;
    let (cluster, rights) = runtime.block_on(async {
        let cluster = connect(&settings.cluster.access()).await?;
        let namespace = options.namespace.as_deref().unwrap_or(&options.run);
        let rights = rights::check(&cluster, namespace).await?;
        rights.demand(options.namespace.is_none())?;
        rehearse(&cluster, &options, rehearsed).await.map_err(|error| match error {
            RunError::Cluster(error) => Failure::from(error),
            RunError::Refused(rejected) => Failure::wrong_use(explain(&rejected)),
        })?;
        Ok::<_, Failure>((cluster, rights))
    })?;
    let folder = settings.folder(&options.run);
    Ok(PreparedRun { runtime, cluster, options, folder, rights })
}

impl PreparedRun {
    /// The names of the nodes that the run may use; none where nodes may not be read.
    pub(crate) fn nodes(&self) -> Vec<String> {
        self.node_facts().into_keys().collect()
    }

    fn node_facts(&self) -> BTreeMap<String, NodeFacts> {
        self.runtime.block_on(self.cluster.node_facts(&self.options.placement))
    }

    /// Lets these cases run on one node each.
    pub(crate) fn bind(&mut self, bound: BTreeMap<CaseName, String>) {
        self.options.bound = bound;
    }

    /// The cases that cannot run on this cluster, each with the reason.
    pub(crate) fn lacking(&self, cases: &[Case]) -> BTreeMap<CaseName, String> {
        let needs = |case: &Case, need| case.needs.contains(&need);
        let mut lacking = BTreeMap::new();
        for case in cases {
            let kinds = case.workloads.values().map(Workload::kind);
            if let Some(missing) = kinds.filter_map(|kind| self.rights.lacking_for(kind)).next() {
                lacking.insert(
                    case.name.clone(),
                    format!("it creates a workload, and you lack the right to {missing}"),
                );
            }
            let watched = case.watch.iter().find_map(|kind| self.rights.lacking_for(kind));
            if let Some(missing) = watched {
                lacking.insert(
                    case.name.clone(),
                    format!("it watches a kind of object, and you lack the right to {missing}"),
                );
            }
            let proxy = needs(case, Need::NodesProxy).then(|| self.rights.lacking("nodes/proxy")).flatten();
            if let Some(missing) = proxy {
                lacking.insert(
                    case.name.clone(),
                    format!("it needs nodes-proxy, and you lack the right to {missing}"),
                );
            }
            // Either of the two shows that a kubelet was restarted; without both nothing would.
            let proofs = ["events", "nodes/proxy"].map(|resource| self.rights.lacking(resource));
            if let (true, [Some(events), Some(_)]) = (needs(case, Need::NodeVerbs), proofs) {
                let why = format!(
                    "it needs node-verbs and must observe their effect, and you lack the right to {events}"
                );
                lacking.insert(case.name.clone(), why);
            }
        }
        lacking.extend(self.lacking_scope(cases));
        // Where nodes may not be read their number is unknown, so cases that need several are left out as well.
        let wanted = |case: &Case| match () {
            () if needs(case, Need::ThreeNodes) => Some((3, "three")),
            () if needs(case, Need::MultiNode) => Some((2, "two")),
            () => None,
        };
        let several: Vec<(&Case, (usize, &str))> =
            cases.iter().filter_map(|case| Some((case, wanted(case)?))).collect();
        if !several.is_empty() {
            let nodes = self.nodes().len();
            let few = several.into_iter().filter(|(_, (least, _))| nodes < *least);
            let why = |word: &str| format!("it needs {word} schedulable nodes, and there are {nodes}");
            lacking.extend(few.map(|(case, (_, word))| (case.name.clone(), why(word))));
        }
        let untold: Vec<&Case> = cases.iter().filter(|case| needs(case, Need::UserStatus)).collect();
        if let Some(why) = (!untold.is_empty()).then(|| self.lacks_users()).flatten() {
            lacking.extend(untold.into_iter().map(|case| (case.name.clone(), why.clone())));
        }
        lacking
    }

    /// The cases that change the whole cluster and may not, or drain nodes without a program for it.
    fn lacking_scope(&self, cases: &[Case]) -> Vec<(CaseName, String)> {
        let why = |case: &Case| {
            if let Some(missing) = self.rights.lacking_for_scope(case) {
                return Some(format!("it needs cluster-scope, and you lack the right to {missing}"));
            }
            (case.drains_a_node() && self.options.kubectl.is_none()).then(|| {
                "it runs `kubectl drain`, and there is no kubectl on the PATH: name one with --kubectl"
                    .to_owned()
            })
        };
        cases.iter().filter_map(|case| Some((case.name.clone(), why(case)?))).collect()
    }

    /// Why statuses may lack the users of containers, if they may.
    fn lacks_users(&self) -> Option<String> {
        let nodes = self.node_facts();
        let tells = |facts: &NodeFacts| facts.features.get(USER_FEATURE) == Some(&true);
        let needed = format!("it needs runtimes that tell the users of containers ({USER_FEATURE})");
        if nodes.is_empty() {
            return Some(format!("{needed}, and you lack the right to read nodes"));
        }
        let (name, facts) = nodes.iter().find(|(_, facts)| !tells(facts))?;
        Some(format!("{needed}, and {} of {name} does not", facts.runtime))
    }
}
