//! The namespace of a run: either created for the run, or named by the user.
//!
//! Everything in it that carries the label of the run is removed at the end, and nothing else is touched. Objects that
//! cannot be removed are reported, with the reason.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use probity_case::manifest::{FINALIZERS, RUN};
use serde_json::{Value, json};

use crate::api::client::ClusterClient;
use crate::error::ClusterError;
use crate::fields::Fields as _;
use crate::setup::undo;

const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long an interrupted request may still take to reach the API server.
const IN_TRANSIT: Duration = Duration::from_secs(1);
/// The maximum time to wait for the default service account of the namespace. Pods cannot be created before it exists.
const ACCOUNT_WITHIN: Duration = Duration::from_secs(20);
/// The kinds of objects that run pods, owners before their dependents. They are deleted even if the whole namespace is
/// deleted.
const RUNNING_KINDS: [&str; 8] = [
    "CronJob",
    "Job",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "ReplicationController",
    "Pod",
];
const OTHER_KINDS: [&str; 12] = [
    "Service",
    "ConfigMap",
    "Secret",
    "ResourceQuota",
    "PodDisruptionBudget",
    "NetworkPolicy",
    "PersistentVolumeClaim",
    "LimitRange",
    "Lease",
    "ServiceAccount",
    "RoleBinding",
    "Role",
];
/// The maximum number of objects named in an error about failed deletions.
const NAMED: usize = 20;
/// The grace period of deleted objects, in seconds.
const GRACE_S: u64 = 1;

/// A namespace of a run.
#[derive(Clone, Debug)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    run: String,
    created: bool,
}

/// An object that could not be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The object: kind, name and namespace.
    pub what: String,
    /// Why it still exists.
    pub why: String,
}

impl Namespace {
    /// Creates a namespace at a level of Pod Security (`restricted`, `baseline` or `privileged`), and waits until pods can
    /// be created in it.
    ///
    /// # Errors
    ///
    /// If the API server refuses, or a namespace with this name exists.
    pub async fn create(
        cluster: &ClusterClient,
        name: &str,
        run: &str,
        level: &str,
    ) -> Result<Self, ClusterError> {
        let manifest = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": { "name": name, "labels": {
                RUN: run,
                "app.kubernetes.io/managed-by": "probity",
                "pod-security.kubernetes.io/enforce": level,
            } },
        });
        cluster.create("", &manifest, false).await?;
        let namespace = Self::planned(name, run);
        if let Err(error) = namespace.wait_for_account(cluster).await {
            // The namespace is useless, and nobody else would remove it.
            let _ = cluster.delete("", "Namespace", name, None).await;
            return Err(error);
        }
        Ok(namespace)
    }

    /// A namespace that may have been created for the run. This is enough to remove it after an interruption.
    #[must_use]
    pub fn planned(name: &str, run: &str) -> Self {
        Self { name: name.to_owned(), run: run.to_owned(), created: true }
    }

    /// Uses a namespace that exists. It remains at the end.
    ///
    /// # Errors
    ///
    /// If the namespace does not exist, or is being deleted. Without permission to read the namespace, it is assumed to
    /// be usable.
    pub async fn existing(cluster: &ClusterClient, name: &str, run: &str) -> Result<Self, ClusterError> {
        let unusable = |why: &str| ClusterError::Namespace { name: name.to_owned(), why: why.to_owned() };
        match cluster.get("", "Namespace", name).await {
            Ok(None) => Err(unusable("it does not exist; create it, or let the run create its own")),
            Ok(Some(seen)) if seen.text("/status/phase") == "Terminating" => {
                Err(unusable("it is being deleted; name another with --namespace"))
            }
            Err(error) if error.refusal().is_none() => Err(error),
            _ => Ok(Self { name: name.to_owned(), run: run.to_owned(), created: false }),
        }
    }

    /// Whether a namespace has the privileged Pod Security level.
    pub async fn is_privileged(cluster: &ClusterClient, name: &str) -> bool {
        let seen = cluster.get("", "Namespace", name).await.ok().flatten();
        let labels = seen.as_ref().and_then(|seen| seen.pointer("/metadata/labels"));
        let level = labels.and_then(|labels| labels.get("pod-security.kubernetes.io/enforce"));
        level.is_some_and(|level| level == "privileged")
    }

    /// Waits for the default service account of the namespace, because pods are refused until it exists.
    async fn wait_for_account(&self, cluster: &ClusterClient) -> Result<(), ClusterError> {
        let began = Instant::now();
        loop {
            match cluster.get(&self.name, "ServiceAccount", "default").await {
                Ok(Some(_)) => return Ok(()),
                Err(error) if error.code() == 403 => {
                    // Without permission to read the account, wait a moment, because the account usually exists by
                    // then.
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    return Ok(());
                }
                Err(error) if error.refusal().is_none() => return Err(error),
                _ if began.elapsed() > ACCOUNT_WITHIN => {
                    let why = format!(
                        "it has no service account `default` after {} s, so pods are rejected; is the controller manager running?",
                        ACCOUNT_WITHIN.as_secs()
                    );
                    return Err(ClusterError::Namespace { name: self.name.clone(), why });
                }
                _ => tokio::time::sleep(LOOK_EVERY / 5).await,
            }
        }
    }

    /// Deletes all objects of the run, and also the namespace if the run created it. Waits at most this long until they
    /// are gone. Returns the objects that still exist. Records of changes to nodes that the run did not undo remain, with
    /// their namespace, because `gc` needs them.
    pub async fn remove(&self, cluster: &ClusterClient, patience: Duration) -> Vec<Leftover> {
        if self.created && !self.is_ours(cluster).await {
            return Vec::new();
        }
        let labels = format!("{RUN}={}", self.run);
        let until = Instant::now() + patience;
        let records = self.records(cluster, &labels, until).await;
        if self.created {
            for kind in RUNNING_KINDS {
                // In a namespace that the run created, every pod belongs to the run, even one that a controller created
                // without the label.
                let labels = Some(labels.as_str()).filter(|_| kind != "Pod");
                // An object that cannot be deleted here is deleted with the namespace, or the status of the namespace
                // shows what blocks it.
                let _ = self.delete_all(cluster, kind, labels).await;
            }
            if !records.is_empty() {
                return records.iter().map(|record| self.kept(record)).collect();
            }
            // The namespace controller begins five seconds later, and would wait for the longest grace period of the
            // pods. By then, the pods are gone.
            return self.remove_itself(cluster, until).await.into_iter().collect();
        }
        let mut failed = Vec::new();
        for kind in own_kinds().filter(|kind| records.is_empty() || *kind != undo::KIND) {
            failed.push((kind, self.delete_all(cluster, kind, Some(&labels)).await.err()));
        }
        let mut leftovers: Vec<_> = records.iter().map(|record| self.kept(record)).collect();
        for (kind, failure) in failed {
            leftovers.extend(self.wait_for_objects(cluster, kind, &labels, until, failure).await);
        }
        leftovers
    }

    /// The records of changes to nodes that this run did not undo.
    async fn records(&self, cluster: &ClusterClient, labels: &str, until: Instant) -> Vec<Value> {
        loop {
            match cluster.list(&self.name, undo::KIND, Some(labels)).await {
                Ok(listing) => return listing.items.into_iter().filter(undo::is_record).collect(),
                // A user without permission to list them cannot have created them either.
                Err(error) if error.refusal().is_some() || Instant::now() >= until => return Vec::new(),
                Err(_) => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    }

    /// A record that remains.
    fn kept(&self, record: &Value) -> Leftover {
        let what = format!("a change to node {}, and its record in {}", record.text("/data/node"), self.name);
        let why =
            "the run did not undo the change; `probity gc`, with --node-command if the run had it, does"
                .to_owned();
        Leftover { what, why }
    }

    /// Whether the namespace exists and carries the label of the run. A namespace that cannot be read counts as the
    /// run's own namespace, because it has the run's name.
    /// The request to create it may still be in transit, so a namespace that does not exist is looked up once more.
    async fn is_ours(&self, cluster: &ClusterClient) -> bool {
        let mut seen = cluster.get("", "Namespace", &self.name).await;
        if matches!(seen, Ok(None)) {
            tokio::time::sleep(IN_TRANSIT).await;
            seen = cluster.get("", "Namespace", &self.name).await;
        }
        match seen {
            Ok(seen) => seen.is_some_and(|seen| seen["metadata"]["labels"][RUN] == self.run.as_str()),
            Err(_) => true,
        }
    }

    /// Asks to delete all objects of a kind with these labels. If the harness may not list a kind, it cannot have
    /// created objects of it.
    async fn delete_all(
        &self,
        cluster: &ClusterClient,
        kind: &str,
        labels: Option<&str>,
    ) -> Result<(), String> {
        let listing = match cluster.list(&self.name, kind, labels).await {
            Ok(listing) => listing,
            Err(error) if matches!(error.code(), 403..=405) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        let deletions = listing.items.iter().map(|object| delete(cluster, &self.name, kind, object));
        let failed: Vec<String> =
            join_all(deletions).await.into_iter().filter_map(Result::err).take(NAMED).collect();
        if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
    }

    /// Asks to delete the namespace until the API server agrees, and waits until it is gone.
    async fn remove_itself(&self, cluster: &ClusterClient, until: Instant) -> Option<Leftover> {
        let mut agreed = false;
        loop {
            let late = Instant::now() >= until;
            let mut refused = None;
            if !agreed {
                match cluster.delete("", "Namespace", &self.name, None).await {
                    Err(error) if error.code() == 404 => return None,
                    // The namespace is already being deleted.
                    Err(error) if error.code() == 409 => agreed = true,
                    Err(error) => refused = Some(error.to_string()),
                    Ok(()) => agreed = true,
                }
            }
            let why = match cluster.get("", "Namespace", &self.name).await {
                Ok(None) => return None,
                Ok(Some(seen)) => refused.unwrap_or_else(|| why_it_remains(&seen)),
                Err(error) => error.to_string(),
            };
            if late {
                return Some(Leftover { what: format!("Namespace {}", self.name), why });
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Waits until no object of a kind is left, and asks again to delete those that the API server refused to delete.
    async fn wait_for_objects(
        &self,
        cluster: &ClusterClient,
        kind: &str,
        labels: &str,
        until: Instant,
        mut failure: Option<String>,
    ) -> Vec<Leftover> {
        loop {
            let late = Instant::now() >= until;
            let found = match cluster.list(&self.name, kind, Some(labels)).await {
                Ok(listing) => listing.items,
                // The run cannot have objects of kinds that the harness may not list, or that the cluster does not
                // have.
                Err(error) if error.refusal().is_some() => return Vec::new(),
                Err(error) if late => {
                    return vec![self.leftover(kind, "with the run's label", error.to_string())];
                }
                Err(_) => {
                    tokio::time::sleep(LOOK_EVERY).await;
                    continue;
                }
            };
            if found.is_empty() || late {
                let why = |object: &Value| failure.clone().unwrap_or_else(|| why_stuck(object));
                return found.iter().map(|object| self.leftover(kind, object.name(), why(object))).collect();
            }
            tokio::time::sleep(LOOK_EVERY).await;
            if failure.is_some() {
                failure = self.delete_all(cluster, kind, Some(labels)).await.err();
            }
        }
    }

    fn leftover(&self, kind: &str, name: &str, why: String) -> Leftover {
        Leftover { what: format!("{kind} {name} in {}", self.name), why }
    }
}

/// The kinds of objects that a run can have created in a namespace. Endpoints are deleted with their Service.
pub(super) fn own_kinds() -> impl Iterator<Item = &'static str> {
    RUNNING_KINDS.into_iter().chain(OTHER_KINDS)
}

/// Asks to delete an object of a run, and removes the finalizers that its case gave it. It is not an error if the
/// object does not exist.
pub(super) async fn delete(
    cluster: &ClusterClient,
    namespace: &str,
    kind: &str,
    object: &Value,
) -> Result<(), String> {
    let deleted = cluster.delete_if_present(namespace, kind, object.name(), Some(GRACE_S)).await;
    deleted.map_err(|error| error.to_string())?;
    release(cluster, namespace, kind, object.name(), object).await.map_err(|error| error.to_string())
}

/// Removes the finalizers that a case gave to an object, so that it can be deleted. Other finalizers remain.
pub(crate) async fn release(
    cluster: &ClusterClient,
    namespace: &str,
    kind: &str,
    name: &str,
    object: &Value,
) -> Result<(), ClusterError> {
    let finalizers = object.items("/metadata/finalizers").filter_map(Value::as_str);
    let own: Vec<&str> = finalizers.filter(|name| name.starts_with(FINALIZERS)).collect();
    if own.is_empty() {
        return Ok(());
    }
    let patch = json!({ "metadata": { "$deleteFromPrimitiveList/finalizers": own } });
    match cluster.patch(namespace, kind, name, "", &patch).await {
        Err(error) if error.code() != 404 => Err(error),
        _ => Ok(()),
    }
}

/// Why a namespace still exists, according to its conditions.
fn why_it_remains(namespace: &Value) -> String {
    let conditions = namespace.items("/status/conditions");
    let holding: Vec<&str> = conditions
        .filter(|condition| condition.text("/status") == "True")
        .map(|condition| condition.text("/message"))
        .collect();
    if holding.is_empty() {
        "it is still being deleted, and its status does not say why".to_owned()
    } else {
        holding.join("; ")
    }
}

fn why_stuck(object: &Value) -> String {
    let finalizers: Vec<&str> = object.items("/metadata/finalizers").filter_map(Value::as_str).collect();
    if finalizers.is_empty() {
        "it is still being deleted".to_owned()
    } else {
        format!("it waits for its finalizers: {}", finalizers.join(", "))
    }
}
