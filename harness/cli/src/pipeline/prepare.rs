//! Everything that can be checked before anything is created on the cluster. Policies are checked later: see
//! `probity_cluster`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use probity_case::{Case, CaseName, Workload};
use probity_cluster::permissions::{self, Permissions};
use probity_cluster::{ClusterClient, RefusedPod, RunError, RunOptions, connect, keeps, rehearse};
use probity_model::clause::Need;
use probity_model::history::NodeFacts;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::RunSettings;
use super::image_variants::{TargetImage, reported};
use crate::exit_status::Failure;
use crate::output_folder;

/// The feature of a node whose runtime reports the user of each container.
const USER_FEATURE: &str = "supplementalGroupsPolicy";
/// The feature of a node whose runtime supports user namespaces for pods.
const NAMESPACE_FEATURE: &str = "userNamespaces";

/// Finds out why the cases with a need cannot run. `None` if they can.
type Reason<'r> = dyn Fn() -> Result<Option<String>, Failure> + 'r;

/// A run that passed all checks.
pub(crate) struct PreparedRun {
    pub(super) runtime: Runtime,
    pub(super) cluster: ClusterClient,
    pub(super) options: RunOptions,
    /// The folder for its files.
    pub(crate) folder: PathBuf,
    /// What it is allowed to do.
    pub(crate) permissions: Permissions,
}

/// The runtime for asynchronous work.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.map_err(|error| Failure::failed(format!("failed to start: {error}")))
}

/// Checks the folder for the results, connects, and checks the permissions. Fails if the folder cannot be used, the cluster
/// cannot be reached, or a required permission is missing.
pub(crate) fn prepare(settings: &RunSettings, options: RunOptions) -> Result<PreparedRun, Failure> {
    let folder = settings.folder(&options.run);
    output_folder::check_for_run("--out", &folder)?;
    let runtime = runtime()?;
    let (cluster, permissions) = runtime.block_on(async {
        let cluster = connect(&settings.cluster.access()).await?;
        let namespace = options.namespace.as_deref().unwrap_or(&options.run);
        let permissions = permissions::check(&cluster, namespace).await?;
        permissions.demand(options.namespace.is_none())?;
        Ok::<_, Failure>((cluster, permissions))
    })?;
    Ok(PreparedRun { runtime, cluster, options, folder, permissions })
}

impl PreparedRun {
    /// Submits the pods of these cases as dry runs. If the API server finds some invalid, fails with the description from
    /// `explain`. Refusals by policies do not count: they depend on the namespace, which does not exist yet.
    pub(crate) fn rehearse(
        &self,
        cases: &[Case],
        explain: impl FnOnce(&[RefusedPod]) -> String,
    ) -> Result<(), Failure> {
        let rehearsed = self.runtime.block_on(rehearse(&self.cluster, &self.options, cases));
        rehearsed.map_err(|error| match error {
            RunError::Cluster(error) => Failure::from(error),
            RunError::Refused(rejected) => Failure::wrong_use(explain(&rejected)),
            other => Failure::failed(other.to_string()),
        })
    }

    /// The names of the nodes that the run may use. Empty without permission to read nodes.
    pub(crate) fn nodes(&self) -> Result<Vec<String>, Failure> {
        Ok(self.node_facts()?.into_keys().collect())
    }

    fn node_facts(&self) -> Result<BTreeMap<String, NodeFacts>, Failure> {
        Ok(self.runtime.block_on(self.cluster.node_facts(&self.options.placement))?)
    }

    /// Binds each of these cases to one node.
    pub(crate) fn bind(&mut self, bound: BTreeMap<CaseName, String>) {
        self.options.bound = bound;
    }

    /// The cases that cannot run on this cluster, each with the reason.
    pub(crate) fn lacking(&self, cases: &[Case]) -> Result<BTreeMap<CaseName, String>, Failure> {
        let needs = |case: &Case, need| case.needs.contains(&need);
        let mut lacking = BTreeMap::new();
        for case in cases {
            let kinds = case.workloads.values().map(Workload::kind);
            if let Some(missing) = kinds.filter_map(|kind| self.permissions.lacking_for(kind)).next() {
                lacking.insert(
                    case.name.clone(),
                    format!("it creates a workload, but you lack permission to {missing}"),
                );
            }
            let watched = case.watch.iter().find_map(|kind| self.permissions.lacking_for(kind));
            if let Some(missing) = watched {
                lacking.insert(
                    case.name.clone(),
                    format!("it watches more kinds of objects, but you lack permission to {missing}"),
                );
            }
            if let Some(missing) = self.permissions.lacking_in_namespace(case) {
                let why = format!("it has objects or steps that need a permission that you lack: {missing}");
                lacking.insert(case.name.clone(), why);
            }
            let proxy =
                needs(case, Need::NodesProxy).then(|| self.permissions.lacking("nodes/proxy")).flatten();
            if let Some(missing) = proxy {
                lacking.insert(
                    case.name.clone(),
                    format!("it needs nodes-proxy, but you lack permission to {missing}"),
                );
            }
            // Events and nodes/proxy each show that a kubelet was restarted. Without both permissions, nothing shows
            // it.
            let proofs = ["events", "nodes/proxy"].map(|resource| self.permissions.lacking(resource));
            if let (true, [Some(events), Some(_)]) = (needs(case, Need::NodeVerbs), proofs) {
                let why = format!(
                    "it needs node-verbs and must observe their effect, but you lack permission to {events}"
                );
                lacking.insert(case.name.clone(), why);
            }
        }
        lacking.extend(self.lacking_scope(cases));
        // Without permission to read nodes, their number is unknown, so cases that need several nodes are left out as
        // well.
        let wanted = |case: &Case| match () {
            () if needs(case, Need::ThreeNodes) => Some((3, "three")),
            () if needs(case, Need::MultiNode) => Some((2, "two")),
            () => None,
        };
        let several: Vec<(&Case, (usize, &str))> =
            cases.iter().filter_map(|case| Some((case, wanted(case)?))).collect();
        if !several.is_empty() {
            let nodes = self.nodes()?.len();
            let few = several.into_iter().filter(|(_, (least, _))| nodes < *least);
            let why = |word: &str| format!("it needs {word} schedulable nodes, but there are {nodes}");
            lacking.extend(few.map(|(case, (_, word))| (case.name.clone(), why(word))));
        }
        self.lacks_features(cases, &mut lacking)?;
        Ok(lacking)
    }

    /// The cases that change the whole cluster without permission, or that drain nodes when there is no kubectl.
    fn lacking_scope(&self, cases: &[Case]) -> Vec<(CaseName, String)> {
        let why = |case: &Case| {
            if let Some(missing) = self.permissions.lacking_for_scope(case) {
                return Some(format!("it needs cluster-scope, but you lack permission to {missing}"));
            }
            (case.drains_a_node() && self.options.kubectl.is_none()).then(|| {
                "it runs `kubectl drain`, but there is no kubectl on the PATH: name one with --kubectl"
                    .to_owned()
            })
        };
        cases.iter().filter_map(|case| Some((case.name.clone(), why(case)?))).collect()
    }

    /// Adds the cases that need features that only some runtimes, images and API servers have.
    fn lacks_features(
        &self,
        cases: &[Case],
        lacking: &mut BTreeMap<CaseName, String>,
    ) -> Result<(), Failure> {
        let reasons: [(Need, &Reason<'_>); 5] = [
            (Need::UserStatus, &|| self.lacks_feature(USER_FEATURE, "report the users of containers")),
            (Need::UserNamespaces, &|| self.lacks_feature(NAMESPACE_FEATURE, "support user namespaces")),
            (Need::StopSignalField, &|| self.lacks_stop_signals()),
            (Need::ContainerRestartRules, &|| self.lacks_restart_rules()),
            (Need::RestartAllContainers, &|| self.lacks_restarts_of_all()),
        ];
        for (need, reason) in reasons {
            let needing: Vec<&Case> = cases.iter().filter(|case| case.needs.contains(&need)).collect();
            if needing.is_empty() {
                continue;
            }
            if let Some(why) = reason()? {
                lacking.extend(needing.into_iter().map(|case| (case.name.clone(), why.clone())));
            }
        }
        self.lacks_variants(cases, lacking)
    }

    /// Adds the cases that need variants of the target's image that a node lacks.
    fn lacks_variants(
        &self,
        cases: &[Case],
        lacking: &mut BTreeMap<CaseName, String>,
    ) -> Result<(), Failure> {
        let words: BTreeSet<&str> = cases.iter().flat_map(Case::variants).collect();
        if words.is_empty() {
            return Ok(());
        }
        let nodes = self.runtime.block_on(reported(&self.cluster, &self.options, &words))?;
        let image = TargetImage::of(&self.options);
        for case in cases {
            let missing = case.variants().into_iter().find_map(|word| image.lacks(word, &nodes));
            lacking.extend(missing.map(|why| (case.name.clone(), why)));
        }
        Ok(())
    }

    /// Why the runtime of a node may lack a feature. `None` if all nodes have it.
    fn lacks_feature(&self, feature: &str, what: &str) -> Result<Option<String>, Failure> {
        let nodes = self.node_facts()?;
        let needed = format!("it needs runtimes that {what} ({feature})");
        if nodes.is_empty() {
            return Ok(Some(format!("{needed}, but you lack permission to read nodes")));
        }
        let without = nodes.iter().find(|(_, facts)| facts.features.get(feature) != Some(&true));
        Ok(without.map(|(name, facts)| format!("{needed}, but {} of {name} does not", facts.runtime)))
    }

    /// Why containers cannot have their own stop signal. `None` if they can.
    fn lacks_stop_signals(&self) -> Result<Option<String>, Failure> {
        let container = json!({ "name": "c", "image": "i", "lifecycle": { "stopSignal": "SIGUSR1" } });
        let spec = json!({ "os": { "name": "linux" }, "containers": [container] });
        let why = "it needs the field lifecycle.stopSignal, but the API server drops it (feature gate \
                   ContainerStopSignals)";
        Ok(self.drops(&spec, "/spec/containers/0/lifecycle/stopSignal")?.then(|| why.to_owned()))
    }

    /// Why containers cannot have their own restart rules. `None` if they can.
    fn lacks_restart_rules(&self) -> Result<Option<String>, Failure> {
        let why = "it needs restart policies and rules of containers, but the API server drops or rejects them \
                   (feature gate ContainerRestartRules)";
        Ok(self.drops_rule("Restart")?.then(|| why.to_owned()))
    }

    /// Why a rule cannot restart all containers of a pod. `None` if it can.
    fn lacks_restarts_of_all(&self) -> Result<Option<String>, Failure> {
        let why = "it needs the action RestartAllContainers, but the API server does not accept it (feature gate \
                   RestartAllContainersOnContainerExits)";
        Ok(self.drops_rule("RestartAllContainers")?.then(|| why.to_owned()))
    }

    /// Whether the API server drops or rejects a restart rule with this action.
    fn drops_rule(&self, action: &str) -> Result<bool, Failure> {
        let rule = json!({ "action": action, "exitCodes": { "operator": "In", "values": [1] } });
        let container =
            json!({ "name": "c", "image": "i", "restartPolicy": "Never", "restartPolicyRules": [rule] });
        self.drops(&json!({ "containers": [container] }), "/spec/containers/0/restartPolicyRules")
    }

    /// Whether the API server drops or rejects a field of a pod. If a policy hides the answer, the dry run of the case
    /// in the namespace of the run shows it.
    fn drops(&self, spec: &Value, field: &str) -> Result<bool, Failure> {
        let kept = self.runtime.block_on(keeps(&self.cluster, &self.options, spec, field))?;
        Ok(kept == Some(false))
    }
}
