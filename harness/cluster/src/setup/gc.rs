//! Removes what a crashed run left behind: the namespaces that it created, and objects with its label in other
//! namespaces or at cluster scope. Undoes its changes to nodes.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use probity_case::manifest::RUN;
use probity_case::wide::WIDE_KINDS;
use serde_json::Value;

use crate::api::client::ClusterClient;
use crate::api::kinds;
use crate::error::ClusterError;
use crate::fields::Fields as _;
use crate::setup::namespace::{delete, own_kinds};
use crate::setup::{node_changes, trust, undo, wide_objects};

/// Each object that was to be deleted or undone, with the result.
type Attempts = Vec<(String, Result<(), String>)>;

/// Removes everything that has the label of a run and is older than `older_than`: namespaces, and objects in the given
/// namespace or, without one, in all namespaces. Before that, it undoes the changes that these runs made to nodes, if a
/// run recorded them; it undoes verbs with the user's command. If a change cannot be undone, the namespace of the run
/// remains, because it contains the only record of the change. Returns each object that it tried to delete, with the
/// result.
pub async fn gc(
    cluster: &ClusterClient,
    namespace: Option<&str>,
    older_than: Duration,
    node_command: Option<&[String]>,
) -> Vec<(String, Result<(), String>)> {
    let (mut done, kept) = undo_records(cluster, namespace, older_than, node_command).await;
    done.extend(remove_wide(cluster, namespace, older_than).await);
    let (namespaces, removed) = match kept {
        Some(kept) if namespace.is_none() => remove_namespaces(cluster, older_than, &kept).await,
        _ => (Vec::new(), Vec::new()),
    };
    done.extend(namespaces);
    done.extend(remove_own(cluster, namespace, older_than, &removed).await);
    done
}

/// Undoes the changes that runs made to nodes. Also returns the namespaces that must remain, because they contain the
/// only record of a change; `None` if the records are unknown, because then every namespace may contain such a record.
async fn undo_records(
    cluster: &ClusterClient,
    namespace: Option<&str>,
    older_than: Duration,
    node_command: Option<&[String]>,
) -> (Attempts, Option<BTreeSet<String>>) {
    let listed = old_objects(cluster, namespace.unwrap_or_default(), undo::KIND, older_than).await;
    let mut records = match listed {
        Ok(records) => records,
        Err(error) => return (vec![("records of runs".to_owned(), Err(error.to_string()))], None),
    };
    let (mut done, mut kept) = (Vec::new(), BTreeSet::new());
    records.retain(undo::is_record);
    records.sort_by_key(undo::turn);
    for record in &records {
        let place = record.text("/metadata/namespace");
        if let Some(doubt) = trust::doubt(cluster, record, namespace).await {
            kept.insert(place.to_owned());
            done.push((format!("the record {} in {place}", record.name()), Err(doubt.to_owned())));
            continue;
        }
        let (what, undone) = match node_changes::undo(cluster, record).await {
            Some(undone) => undone,
            None => {
                let (what, mut undone) = undo::undo(record, node_command).await;
                if undone.is_ok() {
                    undone = delete(cluster, place, undo::KIND, record).await;
                }
                (what, undone)
            }
        };
        if undone.is_err() {
            kept.insert(place.to_owned());
        }
        done.push((what, undone));
    }
    (done, Some(kept))
}

/// Removes the cluster-scoped objects of runs.
async fn remove_wide(cluster: &ClusterClient, namespace: Option<&str>, older_than: Duration) -> Attempts {
    let mut done = Vec::new();
    for kind in WIDE_KINDS {
        // A user without permission to list objects of this kind cannot have created them either.
        let objects = old_objects(cluster, "", kind, older_than).await.unwrap_or_default();
        for object in objects.iter().filter(|object| wide_objects::is_of(object, namespace)) {
            let deleted = cluster.delete_if_present("", kind, object.name(), None).await;
            let deleted = deleted.map_err(|error| error.to_string());
            done.push((format!("{kind} {}", object.name()), deleted));
        }
    }
    done
}

/// Removes the namespaces that runs created, except those that must remain. Also returns the names of the namespaces
/// that it tried to delete.
async fn remove_namespaces(
    cluster: &ClusterClient,
    older_than: Duration,
    kept: &BTreeSet<String>,
) -> (Attempts, Vec<String>) {
    let (mut done, mut removed) = (Vec::new(), Vec::new());
    match old_objects(cluster, "", "Namespace", older_than).await {
        Ok(namespaces) => {
            for name in namespaces.iter().map(Value::name).filter(|name| !kept.contains(*name)) {
                let result = cluster.delete("", "Namespace", name, None).await;
                done.push((format!("Namespace {name}"), result.map_err(|error| error.to_string())));
                removed.push(name.to_owned());
            }
        }
        Err(error) => done.push(("namespaces of runs".to_owned(), Err(error.to_string()))),
    }
    (done, removed)
}

/// Removes the objects of runs in namespaces, apart from the records. `removed` names the namespaces that are being
/// deleted, together with most of their objects.
async fn remove_own(
    cluster: &ClusterClient,
    namespace: Option<&str>,
    older_than: Duration,
    removed: &[String],
) -> Attempts {
    let mut done = Vec::new();
    for kind in own_kinds() {
        let objects = match old_objects(cluster, namespace.unwrap_or_default(), kind, older_than).await {
            Ok(objects) => objects,
            // A user without permission to list a kind cannot have created its objects either. Pods are an exception:
            // if they cannot be listed, this is an error.
            Err(error) if error.refusal().is_some() && kind != "Pod" => continue,
            Err(error) => {
                let plural = kinds::find(kind).map(|kind| kind.resource.plural).unwrap_or_default();
                done.push((format!("{plural} of runs"), Err(error.to_string())));
                continue;
            }
        };
        for object in objects.iter().filter(|object| !undo::is_record(object)) {
            let (place, name) = (object.text("/metadata/namespace"), object.name());
            // Other objects are deleted with their namespace. Pods are deleted separately, with a shorter grace period.
            if kind == "Pod" || !removed.iter().any(|gone| gone == place) {
                let result = delete(cluster, place, kind, object).await;
                done.push((format!("{kind} {name} in {place}"), result));
            }
        }
    }
    done
}

/// The objects of a kind that belong to a run and are old enough. An object without a creation time does not count.
async fn old_objects(
    cluster: &ClusterClient,
    namespace: &str,
    kind: &str,
    older_than: Duration,
) -> Result<Vec<Value>, ClusterError> {
    let mut objects = cluster.list(namespace, kind, Some(RUN)).await?.items;
    objects.retain(|object| {
        let Ok(created) = object.text("/metadata/creationTimestamp").parse::<Timestamp>() else {
            return false;
        };
        let age = Timestamp::now().duration_since(created);
        older_than.is_zero() || (!age.is_negative() && age.unsigned_abs() >= older_than)
    });
    Ok(objects)
}
