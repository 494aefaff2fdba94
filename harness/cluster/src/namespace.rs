//! The place where a run lives: a namespace that is made for it, or one that was given.
//!
//! Everything in it that carries the run's label is the run's to remove, and nothing else is touched. What does not go is
//! named, with what holds it.

use std::time::{Duration, Instant};

use probity_case::manifest::RUN;
use serde_json::{Value, json};

use crate::connect::Ground;
use crate::error::{ClusterError, SendError};
use crate::kinds::{KINDS, Kind};
use crate::send::name_of;

const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long the namespace's own service account may take; pods cannot be created before.
const ACCOUNT_PATIENCE: Duration = Duration::from_secs(20);
/// The kinds that run pods: deleted even where the whole namespace goes.
const RUNS: [&str; 8] = [
    "CronJob",
    "Job",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "ReplicationController",
    "Pod",
];
/// The grace period with which a run's own objects are deleted at the end, in seconds.
const GRACE: u64 = 1;

/// A namespace of a run.
#[derive(Clone, Debug)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    run: String,
    made: bool,
}

/// An object that could not be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The object: kind, namespace and name.
    pub what: String,
    /// Why it is still there.
    pub why: String,
}

impl Namespace {
    /// Makes a namespace at a level of Pod Security (`restricted`, `baseline` or `privileged`), and waits until pods can be
    /// created in it.
    ///
    /// # Errors
    ///
    /// If the API server refuses, or there is one of that name that is not this run's.
    pub async fn make(ground: &Ground, name: &str, run: &str, level: &str) -> Result<Self, ClusterError> {
        let manifest = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": { "name": name, "labels": {
                RUN: run,
                "app.kubernetes.io/managed-by": "probity",
                "pod-security.kubernetes.io/enforce": level,
            } },
        });
        ground.create("", &manifest, false).await?;
        let namespace = Self::planned(name, run);
        match namespace.wait_for_account(ground).await {
            Ok(()) => Ok(namespace),
            Err(error) => {
                // It is of no use, and nobody else knows of it.
                let _ = ground.delete("", "Namespace", name, None).await;
                Err(error)
            }
        }
    }

    /// A namespace that may have been made for the run: enough to remove it if making it was interrupted.
    #[must_use]
    pub fn planned(name: &str, run: &str) -> Self {
        Self { name: name.to_owned(), run: run.to_owned(), made: true }
    }

    /// Takes a namespace that is there already. It is left there at the end.
    ///
    /// # Errors
    ///
    /// If it is not there, or on its way out. Without the right to read it, it is taken on trust.
    pub async fn given(ground: &Ground, name: &str, run: &str) -> Result<Self, ClusterError> {
        let namespace = Self { name: name.to_owned(), run: run.to_owned(), made: false };
        let unusable = |why: &str| ClusterError::Namespace { name: name.to_owned(), why: why.to_owned() };
        match ground.get("", "Namespace", name).await {
            Ok(None) => Err(unusable("it is not there; create it, or let the run make its own")),
            Ok(Some(seen)) if phase(&seen) == "Terminating" => {
                Err(unusable("it is being deleted; name another with --namespace"))
            }
            Err(SendError::Failed(error)) => Err(error),
            Ok(Some(_)) | Err(SendError::Refused { .. }) => Ok(namespace),
        }
    }

    /// Whether the run made it.
    #[must_use]
    pub fn is_made(&self) -> bool {
        self.made
    }

    /// Pods are refused until the namespace has its default service account.
    async fn wait_for_account(&self, ground: &Ground) -> Result<(), ClusterError> {
        let began = Instant::now();
        loop {
            match ground.get(&self.name, "ServiceAccount", "default").await {
                Ok(Some(_)) => return Ok(()),
                Err(error) if error.code() == 403 => {
                    // It may not be looked at; it is made in a moment as a rule.
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    return Ok(());
                }
                Err(SendError::Failed(error)) => return Err(error),
                _ if began.elapsed() > ACCOUNT_PATIENCE => {
                    let why = format!(
                        "it has no service account `default` after {} s, so pods are refused; is the controller manager running?",
                        ACCOUNT_PATIENCE.as_secs()
                    );
                    return Err(ClusterError::Namespace { name: self.name.clone(), why });
                }
                _ => tokio::time::sleep(LOOK_EVERY / 5).await,
            }
        }
    }

    /// Deletes everything of the run, the namespace too if the run made it, and waits for so long until it is gone. Returns
    /// what is still there.
    pub async fn remove(&self, ground: &Ground, patience: Duration) -> Vec<Leftover> {
        let mut leftovers = Vec::new();
        if self.made && !self.is_ours(ground).await {
            return leftovers;
        }
        let labels = format!("{RUN}={}", self.run);
        let kinds: Vec<&Kind> =
            own_kinds().into_iter().filter(|kind| !self.made || RUNS.contains(&kind.kind)).collect();
        for kind in &kinds {
            // In a namespace of our own every pod is ours, also one that a controller made without our label.
            let labels = if self.made && kind.kind == "Pod" { None } else { Some(labels.as_str()) };
            if let Err(why) = sweep(ground, &self.name, kind, labels).await {
                leftovers.push(self.leftover(kind, "with the run's label", why));
            }
        }
        let until = Instant::now() + patience;
        if self.made {
            // The namespace controller begins five seconds later. By then the pods are gone, of which it would wait for the
            // longest grace period.
            leftovers.extend(self.remove_itself(ground, until).await);
        } else {
            leftovers.extend(self.wait_for_objects(ground, &kinds, &labels, until).await);
        }
        leftovers
    }

    /// Whether the namespace is there and carries the run's label. One that cannot be looked at is taken for it: its name is
    /// the run's.
    async fn is_ours(&self, ground: &Ground) -> bool {
        let labelled = |seen: Value| seen["metadata"]["labels"][RUN].as_str() == Some(self.run.as_str());
        match ground.get("", "Namespace", &self.name).await {
            Ok(seen) => seen.is_some_and(labelled),
            Err(_) => true,
        }
    }

    async fn remove_itself(&self, ground: &Ground, until: Instant) -> Option<Leftover> {
        let what = format!("Namespace {}", self.name);
        let deleted = ground.delete("", "Namespace", &self.name, None).await;
        if let Err(error) = deleted.as_ref().map_err(|error| (error.code(), error)) {
            return match error {
                (404, _) => None,
                (_, error) => Some(Leftover { what, why: error.to_string() }),
            };
        }
        loop {
            match ground.get("", "Namespace", &self.name).await {
                Ok(None) => return None,
                Ok(Some(seen)) if Instant::now() >= until => {
                    return Some(Leftover { what, why: held_by(&seen) });
                }
                Err(error) if Instant::now() >= until => {
                    return Some(Leftover { what, why: error.to_string() });
                }
                _ => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    }

    async fn wait_for_objects(
        &self,
        ground: &Ground,
        kinds: &[&Kind],
        labels: &str,
        until: Instant,
    ) -> Vec<Leftover> {
        let mut leftovers = Vec::new();
        for kind in kinds {
            loop {
                let found = match ground.list(&self.name, kind.kind, Some(labels)).await {
                    Ok(listing) => listing.items,
                    // Kinds that may not be listed, or that the cluster has not, hold nothing of ours.
                    Err(SendError::Refused { .. }) => Vec::new(),
                    Err(SendError::Failed(error)) => {
                        leftovers.push(self.leftover(kind, "with the run's label", error.to_string()));
                        break;
                    }
                };
                if found.is_empty() {
                    break;
                }
                if Instant::now() >= until {
                    leftovers.extend(
                        found.iter().map(|object| self.leftover(kind, name_of(object), stuck(object))),
                    );
                    break;
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        leftovers
    }

    fn leftover(&self, kind: &Kind, name: &str, why: String) -> Leftover {
        Leftover { what: format!("{} {name} in {}", kind.kind, self.name), why }
    }
}

/// What a run can have made in a namespace. Owners come before what they would make anew; endpoints go with their Service.
pub(crate) fn own_kinds() -> Vec<&'static Kind> {
    let others =
        ["Service", "ConfigMap", "Secret", "PodDisruptionBudget", "NetworkPolicy", "PersistentVolumeClaim"];
    let names = RUNS.iter().chain(&others);
    names.filter_map(|name| KINDS.iter().find(|kind| kind.kind == *name)).collect()
}

/// Asks to delete all objects of a kind with these labels. What may not be listed cannot have been made by us.
async fn sweep(ground: &Ground, namespace: &str, kind: &Kind, labels: Option<&str>) -> Result<(), String> {
    let listing = match ground.list(namespace, kind.kind, labels).await {
        Ok(listing) => listing,
        Err(error) if matches!(error.code(), 403..=405) => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    let mut failed = Vec::new();
    for object in &listing.items {
        match ground.delete(namespace, kind.kind, name_of(object), Some(GRACE)).await {
            Err(error) if error.code() != 404 => failed.push(error.to_string()),
            _ => {}
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

fn phase(namespace: &Value) -> &str {
    namespace.get("status").and_then(|status| status.get("phase")?.as_str()).unwrap_or_default()
}

/// What a namespace's conditions say of why it is still there.
fn held_by(namespace: &Value) -> String {
    let conditions = namespace.get("status").and_then(|status| status.get("conditions")?.as_array());
    let holding: Vec<&str> = conditions
        .into_iter()
        .flatten()
        .filter(|condition| condition.get("status").and_then(Value::as_str) == Some("True"))
        .filter_map(|condition| condition.get("message")?.as_str())
        .collect();
    if holding.is_empty() {
        "it is still being deleted, and its status does not say why".to_owned()
    } else {
        holding.join("; ")
    }
}

fn stuck(object: &Value) -> String {
    let metadata = object.get("metadata");
    let finalizers: Vec<&str> = metadata
        .and_then(|of| of.get("finalizers")?.as_array())
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if finalizers.is_empty() {
        "it is still being deleted".to_owned()
    } else {
        format!("it waits for its finalizers: {}", finalizers.join(", "))
    }
}
