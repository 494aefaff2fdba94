//! Results are stored in parts and fetched whole, or not at all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use probity_cluster::stored_run::{StoragePlace, remove, store, stored};
use probity_report::run_log::Shard;
use serde_json::{Value, json};

use crate::server::{FakeApiServer, ReceivedRequest, ScriptedAnswer, list, refused};

const PATH: &str = "/api/v1/namespaces/home/configmaps";
const SHARD: Shard = Shard { index: 1, of: 2 };

type Kept = Arc<Mutex<BTreeMap<String, Value>>>;

/// A server that keeps ConfigMaps.
fn keeper(kept: Kept) -> impl Fn(&ReceivedRequest) -> Option<ScriptedAnswer> {
    move |asked| {
        let mut kept = kept.lock().unwrap();
        let name = asked.path.strip_prefix(PATH)?.trim_start_matches('/').to_owned();
        match (asked.method.as_str(), name.as_str()) {
            ("GET", "") => Some(list(1, &kept.values().cloned().collect::<Vec<_>>())),
            ("GET", name) => kept.get(name).map(|object| ScriptedAnswer::Json(200, object.clone())),
            ("POST", _) => {
                let name = asked.body["metadata"]["name"].as_str()?.to_owned();
                if kept.contains_key(&name) {
                    return Some(refused(409, "AlreadyExists", "it is there"));
                }
                kept.insert(name, asked.body.clone());
                Some(ScriptedAnswer::Json(201, asked.body.clone()))
            }
            ("DELETE", name) => kept.remove(name).map(|_| ScriptedAnswer::Json(200, json!({}))),
            _ => None,
        }
    }
}

fn place() -> StoragePlace {
    StoragePlace { namespace: "home".to_owned(), name: "probity".to_owned(), job: None }
}

fn bytes() -> Vec<u8> {
    (0..2_000_000_u32).map(|at| (at % 251) as u8).collect()
}

#[tokio::test]
async fn what_is_stored_is_fetched_and_replaces_what_was_stored_before() {
    let server = FakeApiServer::start(keeper(Kept::default())).await;
    let client = server.client().await;
    assert_eq!(store(&client, &place(), SHARD, "old", &bytes()).await.unwrap(), 3);
    assert_eq!(store(&client, &place(), SHARD, "new", b"short").await.unwrap(), 1);
    let found = stored(&client, "home", "probity").await.unwrap();
    let [shard] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((shard.shard, shard.digest.as_str()), (SHARD, "new"));
    assert_eq!(shard.bytes, Ok(b"short".to_vec()));
    remove(&client, "home", "probity").await.unwrap();
    assert!(stored(&client, "home", "probity").await.unwrap().is_empty());
}

#[tokio::test]
async fn another_shard_is_left_alone() {
    let server = FakeApiServer::start(keeper(Kept::default())).await;
    let client = server.client().await;
    store(&client, &place(), Shard { index: 0, of: 2 }, "a", b"one").await.unwrap();
    store(&client, &place(), SHARD, "b", b"two").await.unwrap();
    let found = stored(&client, "home", "probity").await.unwrap();
    assert_eq!(found.iter().filter(|shard| shard.bytes.is_ok()).count(), 2);
}

#[tokio::test]
async fn a_part_that_is_gone_leaves_nothing_to_take() {
    let kept = Kept::default();
    let server = FakeApiServer::start(keeper(Arc::clone(&kept))).await;
    let client = server.client().await;
    store(&client, &place(), SHARD, "d", &bytes()).await.unwrap();
    kept.lock().unwrap().remove("probity-1-1");
    let found = stored(&client, "home", "probity").await.unwrap();
    assert_eq!(found[0].bytes.as_ref().unwrap_err().to_string(), "2 of its 3 parts exist");
}

#[tokio::test]
async fn a_refusal_says_that_it_is_about_the_config_map() {
    let server = FakeApiServer::start(|asked| match asked.method.as_str() {
        "GET" => Some(list(1, &[])),
        _ => Some(refused(403, "Forbidden", "no quota")),
    })
    .await;
    let error = store(&server.client().await, &place(), SHARD, "d", b"x").await.unwrap_err().to_string();
    assert!(error.contains("create ConfigMap probity-1-0") && error.contains("no quota"), "{error}");
}
