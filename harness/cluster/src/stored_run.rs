//! The results of runs inside the cluster: a run stores them in ConfigMaps, and the user fetches them from there.
//!
//! A ConfigMap holds at most 1 MiB, so the bytes are cut into parts. Each part names its run, its shard, its number and
//! the digest of the whole. So half of a run, or parts of two runs, cannot be mistaken for a whole run. Reading
//! ConfigMaps needs no running pod, no `exec` and no port-forward (docs/adr/0017).

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use probity_report::run_log::Shard;
use serde_json::{Value, json};

use crate::api::client::ClusterClient;
use crate::error::ClusterError;
use crate::fields::Fields as _;

/// The label of a part: the name under which the run is stored.
const RESULT: &str = "probity.dev/result";
const SHARD: &str = "probity.dev/shard";
const PART: &str = "probity.dev/part";
const DIGEST: &str = "probity.dev/digest";
/// The key of the bytes.
const KEY: &str = "run";
/// The maximum size of a part. The API server refuses a ConfigMap of more than 1 MiB, and names and labels count, too.
const LARGEST_PART: usize = 900 << 10;

/// Where a run is stored.
#[derive(Clone, Debug)]
pub struct StoragePlace {
    /// The namespace.
    pub namespace: String,
    /// The name under which the run is stored. All its shards have the same name.
    pub name: String,
    /// The name and the UID of the Job that runs it. When the Job is deleted, the results are deleted with it.
    pub job: Option<(String, String)>,
}

/// A stored run, or a stored shard of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredShard {
    /// Which shard it is.
    pub shard: Shard,
    /// The bytes, or the reason why they are missing.
    pub bytes: Result<Vec<u8>, MissingPart>,
    /// The digest that its bytes must have.
    pub digest: String,
}

/// A stored run with missing parts: it is still being written, or somebody deleted some parts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{there} of its {of} parts exist")]
pub struct MissingPart {
    /// How many parts exist.
    pub there: usize,
    /// The number of parts that the shard should have.
    pub of: usize,
}

/// The state of a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It cannot be read.
    Unknown,
    /// There is no Job, or it is being deleted.
    Absent,
    /// It has not ended.
    Running,
    /// It has failed.
    Failed,
    /// It has completed.
    Complete,
}

/// Stores a run, and replaces the earlier results of the same shard. Returns the number of ConfigMaps.
///
/// # Errors
///
/// If the API server refuses it.
pub async fn store(
    cluster: &ClusterClient,
    place: &StoragePlace,
    shard: Shard,
    digest: &str,
    bytes: &[u8],
) -> Result<usize, ClusterError> {
    let parts = parts(place, shard, digest, bytes);
    for old in cluster.list(&place.namespace, "ConfigMap", Some(&label(&place.name))).await?.items {
        if shard_of(&old) == Some(shard) {
            cluster.delete_if_present(&place.namespace, "ConfigMap", old.name(), None).await?;
        }
    }
    for part in &parts {
        match cluster.create(&place.namespace, part, false).await {
            // A request that was retried may have arrived the first time.
            Err(error) if error.code() == 409 => {
                let there = cluster.get(&place.namespace, "ConfigMap", part.name()).await?;
                if there.is_none_or(|there| there["binaryData"] != part["binaryData"]) {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    Ok(parts.len())
}

/// The shards of a run that are stored under a name, as far as they exist.
///
/// # Errors
///
/// If they cannot be listed.
pub async fn stored(
    cluster: &ClusterClient,
    namespace: &str,
    name: &str,
) -> Result<Vec<StoredShard>, ClusterError> {
    let listing = cluster.list(namespace, "ConfigMap", Some(&label(name))).await?;
    Ok(assembled(&listing.items))
}

/// The state of the Job that stores results, as far as it can be read.
///
/// A user who fetches results may lack permission to read Jobs, and results can come from other places than a Job. So
/// this function never fails, and the absence of a Job proves something only if the Job existed before.
pub async fn job_state(cluster: &ClusterClient, namespace: &str, name: &str) -> JobState {
    match cluster.get(namespace, "Job", name).await {
        Ok(Some(job)) => state_of(&job),
        Ok(None) => JobState::Absent,
        Err(_) => JobState::Unknown,
    }
}

fn state_of(job: &Value) -> JobState {
    let is = |condition: &Value, kind| condition.text("/type") == kind && condition.text("/status") == "True";
    let has = |kind| job.items("/status/conditions").any(|condition| is(condition, kind));
    if has("Failed") {
        JobState::Failed
    } else if has("Complete") {
        JobState::Complete
    } else if !job.text("/metadata/deletionTimestamp").is_empty() {
        JobState::Absent
    } else {
        JobState::Running
    }
}

/// Deletes what is stored under a name.
///
/// # Errors
///
/// If the API server refuses it.
pub async fn remove(cluster: &ClusterClient, namespace: &str, name: &str) -> Result<(), ClusterError> {
    for part in cluster.list(namespace, "ConfigMap", Some(&label(name))).await?.items {
        cluster.delete_if_present(namespace, "ConfigMap", part.name(), None).await?;
    }
    Ok(())
}

fn label(name: &str) -> String {
    format!("{RESULT}={name}")
}

/// The ConfigMaps of a run. A run without bytes has one ConfigMap, too.
fn parts(place: &StoragePlace, shard: Shard, digest: &str, bytes: &[u8]) -> Vec<Value> {
    let mut pieces: Vec<&[u8]> = bytes.chunks(LARGEST_PART).collect();
    if pieces.is_empty() {
        pieces.push(&[]);
    }
    let of = pieces.len();
    let owners = place
        .job
        .iter()
        .map(|(name, uid)| json!({ "apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid }));
    let owners: Vec<Value> = owners.collect();
    let part = |(at, piece): (usize, &[u8])| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "immutable": true,
            "metadata": {
                "name": format!("{}-{}-{at}", place.name, shard.index),
                "namespace": place.namespace,
                "labels": { RESULT: place.name, "app.kubernetes.io/managed-by": "probity" },
                "annotations": { SHARD: shard.to_string(), PART: format!("{at}/{of}"), DIGEST: digest },
                "ownerReferences": owners,
            },
            "binaryData": { KEY: ByteString(piece.to_vec()) },
        })
    };
    pieces.into_iter().enumerate().map(part).collect()
}

/// Joins the parts of each shard. Parts with different digests belong to different runs, and are never joined.
fn assembled(parts: &[Value]) -> Vec<StoredShard> {
    let mut shards: BTreeMap<(Shard, &str), BTreeMap<usize, &Value>> = BTreeMap::new();
    let mut wanted: BTreeMap<(Shard, &str), usize> = BTreeMap::new();
    for part in parts {
        let digest = annotation(part, DIGEST);
        let (Some(shard), Some((at, of))) = (shard_of(part), fraction(annotation(part, PART))) else {
            continue;
        };
        shards.entry((shard, digest)).or_default().insert(at, part);
        wanted.insert((shard, digest), of);
    }
    let assembled = shards.into_iter().map(|((shard, digest), parts)| {
        let of = wanted.get(&(shard, digest)).copied().unwrap_or_default();
        let bytes: Option<Vec<Vec<u8>>> = (0..of).map(|at| bytes_of(parts.get(&at)?)).collect();
        let missing = MissingPart { there: parts.len(), of };
        let bytes = bytes.map(|bytes| bytes.concat()).ok_or(missing);
        StoredShard { shard, bytes, digest: digest.to_owned() }
    });
    assembled.collect()
}

fn bytes_of(part: &Value) -> Option<Vec<u8>> {
    let bytes: ByteString = serde_json::from_value(part["binaryData"][KEY].clone()).ok()?;
    Some(bytes.0)
}

fn annotation<'p>(part: &'p Value, name: &str) -> &'p str {
    part["metadata"]["annotations"][name].as_str().unwrap_or_default()
}

fn shard_of(part: &Value) -> Option<Shard> {
    let (index, of) = fraction(annotation(part, SHARD))?;
    Some(Shard { index: u32::try_from(index).ok()?, of: u32::try_from(of).ok()? })
}

fn fraction(text: &str) -> Option<(usize, usize)> {
    let (at, of) = text.split_once('/')?;
    Some((at.parse().ok()?, of.parse().ok()?))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const FIRST: Shard = Shard { index: 0, of: 2 };

    fn place() -> StoragePlace {
        let job = Some(("probity".to_owned(), "u1".to_owned()));
        StoragePlace { namespace: "n".to_owned(), name: "probity".to_owned(), job }
    }

    fn bytes(length: usize) -> Vec<u8> {
        (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect()
    }

    #[test]
    fn bytes_of_any_length_come_back_from_parts_in_any_order() {
        for length in [0, 1, LARGEST_PART, LARGEST_PART + 1, 3 * LARGEST_PART] {
            let mut parts = parts(&place(), FIRST, "d", &bytes(length));
            assert!(parts.iter().all(|part| part.to_string().len() < 2 << 20));
            parts.reverse();
            let [shard] = assembled(&parts).try_into().unwrap();
            assert_eq!((shard.shard, shard.bytes), (FIRST, Ok(bytes(length))));
        }
    }

    #[test]
    fn a_shard_of_which_a_part_is_missing_is_not_there() {
        let mut parts = parts(&place(), FIRST, "d", &bytes(2 * LARGEST_PART));
        parts.remove(0);
        assert_eq!(assembled(&parts)[0].bytes, Err(MissingPart { there: 1, of: 2 }));
    }

    #[test]
    fn parts_of_two_runs_are_never_one() {
        let mut both = parts(&place(), FIRST, "old", &bytes(2 * LARGEST_PART));
        both.remove(0);
        both.extend(parts(&place(), FIRST, "new", &bytes(2 * LARGEST_PART)).into_iter().take(1));
        assert!(assembled(&both).iter().all(|shard| shard.bytes.is_err()));
    }

    #[test]
    fn the_state_of_a_job_follows_from_its_conditions() {
        let job = |conditions: Value| json!({ "metadata": {}, "status": { "conditions": conditions } });
        assert_eq!(state_of(&job(json!([]))), JobState::Running);
        // The Job controller first reports that the Job will fail, and reports that it has failed only when its pods
        // have ended.
        let target = json!({ "type": "FailureTarget", "status": "True" });
        assert_eq!(state_of(&job(json!([target]))), JobState::Running);
        let failed = json!({ "type": "Failed", "status": "True" });
        assert_eq!(state_of(&job(json!([target, failed]))), JobState::Failed);
        assert_eq!(state_of(&job(json!([{ "type": "Complete", "status": "True" }]))), JobState::Complete);
        assert_eq!(state_of(&json!({ "metadata": { "deletionTimestamp": "x" } })), JobState::Absent);
    }

    #[test]
    fn a_part_goes_with_its_job() {
        let part = &parts(&place(), FIRST, "d", b"x")[0];
        assert_eq!(part.name(), "probity-0-0");
        assert_eq!(part["metadata"]["ownerReferences"][0]["uid"], "u1");
    }
}
