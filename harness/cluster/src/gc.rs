//! Removes what a crashed run left: namespaces that it made, and objects with its label in namespaces that were given.

use std::time::Duration;

use jiff::Timestamp;
use probity_case::manifest::RUN;
use serde_json::Value;

use crate::connect::Ground;
use crate::kinds::Kind;
use crate::namespace::own_kinds;
use crate::send::name_of;

/// The grace period of what is removed, in seconds.
const GRACE: u64 = 1;

/// Removes what carries a run's label and is older than this: namespaces, and objects in the given namespace or (without
/// one) in all. Returns what was asked to be deleted, and how that went.
pub async fn gc(
    ground: &Ground,
    namespace: Option<&str>,
    older_than: Duration,
) -> Vec<(String, Result<(), String>)> {
    let mut done = Vec::new();
    let mut removed = Vec::new();
    if namespace.is_none() {
        match ground.list("", "Namespace", Some(RUN)).await {
            Ok(listing) => {
                for object in listing.items.iter().filter(|object| is_older(object, older_than)) {
                    let name = name_of(object).to_owned();
                    let result = ground.delete("", "Namespace", &name, None).await;
                    done.push((format!("Namespace {name}"), result.map_err(|error| error.to_string())));
                    removed.push(name);
                }
            }
            Err(error) => done.push(("namespaces of runs".to_owned(), Err(error.to_string()))),
        }
    }
    for kind in own_kinds() {
        sweep(ground, namespace.unwrap_or_default(), kind, older_than, &removed, &mut done).await;
    }
    done
}

/// Deletes the objects of a kind that a run made, apart from those that go with their namespace.
async fn sweep(
    ground: &Ground,
    namespace: &str,
    kind: &Kind,
    older_than: Duration,
    removed: &[String],
    done: &mut Vec<(String, Result<(), String>)>,
) {
    let listing = match ground.list(namespace, kind.kind, Some(RUN)).await {
        Ok(listing) => listing,
        // A kind that may not be listed may not have been created either; pods tell whether we may look at all.
        Err(error) if error.refusal().is_some() && kind.kind != "Pod" => return,
        Err(error) => {
            done.push((format!("{} of runs", kind.plural), Err(error.to_string())));
            return;
        }
    };
    for object in listing.items.iter().filter(|object| is_older(object, older_than)) {
        let (place, name) = (text(object, "namespace"), name_of(object));
        // Pods of a namespace that goes are deleted all the same, for their shorter grace period.
        if kind.kind != "Pod" && removed.iter().any(|gone| gone == place) {
            continue;
        }
        let result = match ground.delete(place, kind.kind, name, Some(GRACE)).await {
            Err(error) if error.code() != 404 => Err(error.to_string()),
            _ => Ok(()),
        };
        done.push((format!("{} {name} in {place}", kind.kind), result));
    }
}

/// Whether an object is older than this. One that does not say when it was made is not.
fn is_older(object: &Value, than: Duration) -> bool {
    let Ok(made) = text(object, "creationTimestamp").parse::<Timestamp>() else { return false };
    let age = Timestamp::now().duration_since(made);
    than.is_zero() || (!age.is_negative() && age.unsigned_abs() >= than)
}

fn text<'v>(object: &'v Value, field: &str) -> &'v str {
    object.get("metadata").and_then(|of| of.get(field)?.as_str()).unwrap_or_default()
}
