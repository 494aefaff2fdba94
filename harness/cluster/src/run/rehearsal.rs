//! Dry runs: how the API server responds to every pod and workload.
//!
//! The user's own pods are submitted before anything is created, so that an invalid pod costs nothing. This shows only
//! what the API server itself finds invalid. Policies (webhooks, Pod Security, quotas) depend on the namespace, so the
//! pods of all cases are submitted once more in the namespaces of the run, before its first pod is created. A case whose
//! pods a policy refuses there is skipped, with the message of the policy.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use probity_case::manifest::{self, name_of_object};
use probity_case::{Case, CaseName};
use probity_model::clause::Need;
use probity_model::verdict::Skip;
use serde_json::{Value, json};

use crate::api::client::ClusterClient;
use crate::error::{ClusterError, Refusal};
use crate::fields::Fields as _;
use crate::run::RunInProgress;
use crate::run::namespaces::needs_privileged;
use crate::run::options::{RefusedPod, RunError, RunOptions};
use crate::run::progress::Progress;

/// How long the policies of a new namespace may take to apply to it.
const SETTLES: Duration = Duration::from_secs(2);
/// How many dry runs are in progress at the same time.
const AT_ONCE: usize = 16;
/// The fields of containers that the API server drops if a feature gate is off, and the needs of the cases that set them.
const GATED: [(Need, &str, &str); 3] = [
    (Need::StopSignalField, "/lifecycle/stopSignal", "ContainerStopSignals"),
    (Need::ContainerRestartRules, "/restartPolicyRules", "ContainerRestartRules"),
    (Need::RestartAllContainers, "/restartPolicyRules", "RestartAllContainersOnContainerExits"),
];
/// The kinds of objects without which the API server refuses a pod that names them.
const NEEDED_BY_PODS: [&str; 2] = ["PriorityClass", "ServiceAccount"];

/// Whether the API server keeps a field of this pod, according to a dry run. It silently drops fields whose feature
/// gate is off. `None` if a policy refuses the pod, which says nothing about the field.
///
/// # Errors
///
/// If nothing is known, because the API server is unreachable, overloaded or fails. A rejection is an answer.
pub async fn keeps(
    cluster: &ClusterClient,
    options: &RunOptions,
    spec: &Value,
    field: &str,
) -> Result<Option<bool>, ClusterError> {
    let namespace = options.namespace.as_deref().unwrap_or("default");
    let metadata = json!({ "name": format!("{}-trial", options.run), "namespace": namespace });
    let mut spec = spec.clone();
    manifest::restrict(&mut spec);
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec });
    match cluster.create(namespace, &pod, true).await {
        Ok(stored) => Ok(Some(stored.pointer(field).is_some())),
        Err(error) if error.refusal().is_some_and(Refusal::is_validation) => Ok(Some(false)),
        Err(error) if error.is_rejection() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Submits the pods and workloads of these cases in dry runs, before the namespace of the run exists. Only what the API
/// server itself finds invalid counts.
///
/// # Errors
///
/// If some of them are invalid.
pub async fn rehearse(cluster: &ClusterClient, options: &RunOptions, cases: &[Case]) -> Result<(), RunError> {
    let namespace = options.namespace.as_deref().unwrap_or("default");
    let all = cases.iter().enumerate();
    let runs: Vec<DryRun> = all.flat_map(|(at, case)| dry_runs(at, case, options, namespace)).collect();
    let mut invalid = Vec::new();
    for (run, answer) in submit(cluster, runs).await {
        if let Err(error) = answer
            && let Some(refusal) = error.refusal().filter(|refusal| refusal.is_validation())
        {
            invalid.push(run.refused(&cases[run.case], refusal));
        }
    }
    if invalid.is_empty() { Ok(()) } else { Err(RunError::Refused(invalid)) }
}

impl RunInProgress {
    /// Submits the pods and workloads of the cases in dry runs, in the namespaces in which they will be created. Reports
    /// the cases that cannot run as skipped, and returns the others. Fails if some of the pods are invalid, or if a policy
    /// refuses all cases with the same message.
    pub(super) async fn rehearse(
        &self,
        cases: Vec<Case>,
        namespace: &str,
        privileged: Option<&str>,
    ) -> Result<Vec<Case>, RunError> {
        // On several nodes, a case has the same pods.
        let mut names = BTreeSet::new();
        let distinct: Vec<&Case> = cases.iter().filter(|case| names.insert(case.name.anywhere())).collect();
        let of_case = |(at, case): (usize, &&Case)| {
            let namespace = privileged.filter(|_| needs_privileged(case)).unwrap_or(namespace);
            dry_runs(at, case, &self.options, namespace)
        };
        let runs: Vec<DryRun> = distinct.iter().enumerate().flat_map(of_case).collect();
        let (mut invalid, mut unsuitable) = (Vec::new(), BTreeMap::new());
        for (run, answer) in submit_patiently(&self.cluster, runs).await {
            let case = distinct[run.case];
            let obstacle = match &answer {
                Ok(stored) => dropped(case, &run.manifest, stored),
                Err(error) => match error.refusal() {
                    Some(refusal) if refusal.is_validation() => {
                        let gated = gated(case, refusal);
                        if gated.is_none() {
                            invalid.push(run.refused(case, refusal));
                        }
                        gated
                    }
                    Some(refusal) if refusal.is_by_policy() => {
                        run.forbidden(case, refusal, &self.options.run)
                    }
                    _ => None,
                },
            };
            if let Some(obstacle) = obstacle {
                unsuitable.entry(case.name.anywhere()).or_insert(obstacle);
            }
        }
        if !invalid.is_empty() {
            return Err(RunError::Refused(invalid));
        }
        if let Some(message) = common_message(&unsuitable, distinct.len()) {
            return Err(RunError::AllRefused(message));
        }
        let mut suitable = Vec::new();
        for case in cases {
            match unsuitable.get(&case.name.anywhere()) {
                Some(Obstacle { why, .. }) => {
                    let (reason, why) = (Skip::Precondition, why.clone());
                    self.report(Progress::Skipped { case: case.name, reason, why });
                }
                None => suitable.push(case),
            }
        }
        Ok(suitable)
    }
}

/// Why a case cannot run on this cluster.
struct Obstacle {
    why: String,
    /// The message of the policy, without the name of the pod; empty if it is not a policy.
    policy: String,
}

/// The message of the policy, if it refuses all of this many cases with the same message.
fn common_message(unsuitable: &BTreeMap<CaseName, Obstacle>, cases: usize) -> Option<String> {
    let Obstacle { policy, .. } = unsuitable.values().next()?;
    let is_common = unsuitable.len() == cases && unsuitable.values().all(|one| one.policy == *policy);
    (is_common && cases > 1 && !policy.is_empty()).then(|| policy.clone())
}

/// A pod or a workload of a case, to be submitted as a dry run.
struct DryRun {
    /// The index of the case.
    case: usize,
    /// The key of the pod or the workload in the case.
    key: String,
    namespace: String,
    manifest: Value,
    /// Whether it is a static pod, which a kubelet runs without the API server.
    is_static: bool,
}

impl DryRun {
    fn refused(&self, case: &Case, refusal: &Refusal) -> RefusedPod {
        RefusedPod { case: case.name.clone(), pod: self.key.clone(), refusal: refusal.clone() }
    }

    /// The refusal of a policy. `None` if it says nothing about the case: the kubelet runs a static pod whatever the API
    /// server says, and the objects of the case do not exist yet.
    fn forbidden(&self, case: &Case, refusal: &Refusal, run: &str) -> Option<Obstacle> {
        let message = refusal.message.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut objects = case.objects.iter().filter(|object| NEEDED_BY_PODS.contains(&object.text("/kind")));
        if self.is_static || objects.any(|object| message.contains(&name_of_object(case, object, run))) {
            return None;
        }
        let (kind, name) = (self.manifest.text("/kind"), self.manifest.name());
        let why = format!("a policy of the cluster refuses its {kind} {name}: {message}");
        Some(Obstacle { why, policy: message.replace(name, "NAME") })
    }
}

/// The dry runs of a case. Each placeholder gets an example amount, or the same example address.
fn dry_runs(at: usize, case: &Case, options: &RunOptions, namespace: &str) -> Vec<DryRun> {
    let setting = |placeholders: Vec<String>| {
        let address = |name: String| {
            let example = if name.starts_with("most-memory:") { "64Mi" } else { "192.0.2.1" };
            (name, example.to_owned())
        };
        let mut setting = options.setting(namespace, "", "rehearsal");
        setting.addresses.extend(placeholders.into_iter().map(address));
        setting
    };
    let dry_run = |key: &String, manifest: Value, is_static: bool| {
        let (key, namespace) = (key.clone(), namespace.to_owned());
        DryRun { case: at, key, namespace, manifest, is_static }
    };
    let of_pods = case.pods.iter().map(|(key, pod)| {
        let manifest = manifest::pod(case, key, pod, &setting(manifest::placeholders(pod)));
        dry_run(key, manifest, pod.is_static)
    });
    let of_workloads = case.workloads.iter().map(|(key, of)| {
        let placeholders = manifest::placeholders_in(&of.workload, &of.target);
        dry_run(key, manifest::workload(case, key, of, &setting(placeholders)), false)
    });
    of_pods.chain(of_workloads).collect()
}

/// Submits dry runs, several at a time, and returns the answers in the same order.
async fn submit(cluster: &ClusterClient, runs: Vec<DryRun>) -> Vec<(DryRun, Result<Value, ClusterError>)> {
    let cluster = cluster.clone();
    let submit = move |run: DryRun| {
        let cluster = cluster.clone();
        async move {
            let answer = cluster.create(&run.namespace, &run.manifest, true).await;
            (run, answer)
        }
    };
    stream::iter(runs).map(submit).buffered(AT_ONCE).collect().await
}

/// Like [`submit`], but what a policy refuses is submitted once more: the policies of a namespace may apply to it only some
/// time after it was created.
async fn submit_patiently(
    cluster: &ClusterClient,
    runs: Vec<DryRun>,
) -> Vec<(DryRun, Result<Value, ClusterError>)> {
    let is_refused = |answer: &Result<Value, ClusterError>| {
        answer.as_ref().is_err_and(|error| error.refusal().is_some_and(Refusal::is_by_policy))
    };
    let (refused, mut answered): (Vec<_>, Vec<_>) =
        submit(cluster, runs).await.into_iter().partition(|(_, answer)| is_refused(answer));
    if !refused.is_empty() {
        tokio::time::sleep(SETTLES).await;
        answered.extend(submit(cluster, refused.into_iter().map(|(run, _)| run).collect()).await);
    }
    answered
}

/// Why a case cannot run if the API server finds its pod invalid because of a field whose feature gate may be off.
fn gated(case: &Case, refusal: &Refusal) -> Option<Obstacle> {
    let (_, field, gate) = GATED.iter().find(|(need, ..)| case.needs.contains(need))?;
    let field = field.trim_start_matches('/').replace('/', ".");
    let why = format!(
        "it needs the field {field}, but the API server rejects its pod (feature gate {gate}): {}",
        refusal.message
    );
    Some(Obstacle { why, policy: String::new() })
}

/// Why a case cannot run although its pod is accepted: the API server drops a field that the case needs.
fn dropped(case: &Case, sent: &Value, stored: &Value) -> Option<Obstacle> {
    let is_dropped = |list: &str, field: &str| {
        sent.items(list).filter(|container| container.pointer(field).is_some()).any(|container| {
            let kept = stored.items(list).find(|one| one["name"] == container["name"]);
            kept.is_none_or(|kept| kept.pointer(field).is_none())
        })
    };
    let is_lost =
        |field: &str| ["/spec/initContainers", "/spec/containers"].iter().any(|list| is_dropped(list, field));
    let (_, field, gate) =
        GATED.iter().find(|(need, field, _)| case.needs.contains(need) && is_lost(field))?;
    let field = field.trim_start_matches('/').replace('/', ".");
    let why = format!("it needs the field {field}, but the API server drops it (feature gate {gate})");
    Some(Obstacle { why, policy: String::new() })
}
