//! A run removes what it created, and nothing else; it reports what cannot be removed.

use std::time::Duration;

use probity_cluster::gc::gc;
use probity_cluster::{ClusterError, Namespace};
use serde_json::{Value, json};

use crate::server::{FakeApiServer, ReceivedRequest, ScriptedAnswer, list, object, refused};

const PATIENCE: Duration = Duration::from_millis(600);
const NAMESPACE: &str = "/api/v1/namespaces/n";
const PODS: &str = "/api/v1/namespaces/n/pods";

fn done() -> ScriptedAnswer {
    ScriptedAnswer::Json(200, json!({ "kind": "Status", "status": "Success" }))
}

/// A cluster in which a namespace can be created. The script defines everything else in it.
fn cluster(
    script: impl Fn(&ReceivedRequest) -> Option<ScriptedAnswer> + Send + Sync + 'static,
) -> impl Fn(&ReceivedRequest) -> Option<ScriptedAnswer> + Send + Sync + 'static {
    move |asked| match (asked.line().as_str(), asked.path.as_str()) {
        ("POST /api/v1/namespaces", _) => Some(ScriptedAnswer::Json(201, object("n", 1))),
        (_, "/api/v1/namespaces/n/serviceaccounts/default") => {
            Some(ScriptedAnswer::Json(200, object("default", 2)))
        }
        _ => script(asked),
    }
}

fn terminating(message: &str) -> Value {
    json!({ "metadata": { "name": "n", "labels": { "probity.dev/run": "r" } }, "status": { "phase": "Terminating", "conditions": [
        { "type": "NamespaceContentRemaining", "status": "False", "message": "all is well" },
        { "type": "NamespaceFinalizersRemaining", "status": "True", "message": message },
    ] } })
}

#[tokio::test]
async fn a_namespace_that_wont_go_is_named_with_what_holds_it() {
    let server = FakeApiServer::start(cluster(|asked| match asked.line().as_str() {
        "DELETE /api/v1/namespaces/n" => Some(done()),
        "GET /api/v1/namespaces/n" => {
            Some(ScriptedAnswer::Json(200, terminating("some.io/lock in 1 resource instances")))
        }
        _ => Some(list(1, &[])),
    }))
    .await;
    let client = server.client().await;
    let namespace = Namespace::create(&client, "n", "r", "restricted").await.unwrap();
    let leftovers = namespace.remove(&client, PATIENCE).await;
    let [leftover] = leftovers.as_slice() else { panic!("{leftovers:?}") };
    assert_eq!(leftover.what, "Namespace n");
    assert_eq!(leftover.why, "some.io/lock in 1 resource instances");
}

#[tokio::test]
async fn a_namespace_that_goes_leaves_nothing() {
    let server = FakeApiServer::start(cluster(|asked| match asked.line().as_str() {
        "DELETE /api/v1/namespaces/n" => Some(done()),
        "GET /api/v1/namespaces/n" if asked.nth == 0 => Some(ScriptedAnswer::Json(200, terminating(""))),
        "GET /api/v1/namespaces/n" => None,
        _ => Some(list(1, &[])),
    }))
    .await;
    let client = server.client().await;
    let namespace = Namespace::create(&client, "n", "r", "restricted").await.unwrap();
    assert_eq!(namespace.remove(&client, PATIENCE).await, []);
    let labels = &server.asked()[0].body["metadata"]["labels"];
    assert_eq!(labels["probity.dev/run"], "r");
    assert_eq!(labels["pod-security.kubernetes.io/enforce"], "restricted");
}

#[tokio::test]
async fn what_the_api_server_refuses_once_is_asked_again_and_not_left_behind() {
    let server = FakeApiServer::start(cluster(|asked| match (asked.line().as_str(), asked.nth) {
        ("GET /api/v1/namespaces/n/pods", _) => Some(list(1, &[object("a", 1)])),
        ("DELETE /api/v1/namespaces/n/pods/a", _) => Some(refused(500, "InternalError", "try again")),
        ("DELETE /api/v1/namespaces/n", 0) => Some(refused(500, "InternalError", "try again")),
        ("DELETE /api/v1/namespaces/n", _) => Some(done()),
        // The first question is whether it is ours.
        ("GET /api/v1/namespaces/n", 0..=2) => Some(ScriptedAnswer::Json(200, terminating(""))),
        ("GET /api/v1/namespaces/n", _) => None,
        _ => Some(list(1, &[])),
    }))
    .await;
    let client = server.client().await;
    let namespace = Namespace::create(&client, "n", "r", "restricted").await.unwrap();
    assert_eq!(namespace.remove(&client, PATIENCE).await, []);
    assert_eq!(server.lines().iter().filter(|line| *line == "DELETE /api/v1/namespaces/n").count(), 2);
}

#[tokio::test]
async fn an_object_that_the_api_server_refused_to_delete_once_is_asked_again() {
    let server = FakeApiServer::start(|asked: &ReceivedRequest| match (asked.line().as_str(), asked.nth) {
        ("GET /api/v1/namespaces/n", _) => {
            Some(ScriptedAnswer::Json(200, json!({ "status": { "phase": "Active" } })))
        }
        ("GET /api/v1/namespaces/n/pods", 0..=2) => Some(list(1, &[object("a", 1)])),
        ("DELETE /api/v1/namespaces/n/pods/a", 0) => Some(refused(500, "InternalError", "try again")),
        ("DELETE /api/v1/namespaces/n/pods/a", _) => Some(done()),
        _ => Some(list(1, &[])),
    })
    .await;
    let client = server.client().await;
    let namespace = Namespace::existing(&client, "n", "r").await.unwrap();
    assert_eq!(namespace.remove(&client, PATIENCE).await, []);
    let deleted = server.lines().into_iter().filter(|line| line == "DELETE /api/v1/namespaces/n/pods/a");
    assert_eq!(deleted.count(), 2);
}

#[tokio::test]
async fn a_namespace_of_the_same_name_that_is_not_the_runs_is_left_alone() {
    let server =
        FakeApiServer::start(|_| Some(ScriptedAnswer::Json(200, json!({ "metadata": { "name": "n" } }))))
            .await;
    let leftovers = Namespace::planned("n", "r").remove(&server.client().await, PATIENCE).await;
    assert_eq!((leftovers, server.lines()), (vec![], vec!["GET /api/v1/namespaces/n".to_owned()]));
}

#[tokio::test]
async fn a_namespace_that_may_not_be_deleted_is_named() {
    let server = FakeApiServer::start(cluster(|asked| match asked.line().as_str() {
        "GET /api/v1/namespaces/n" => Some(ScriptedAnswer::Json(200, terminating(""))),
        "DELETE /api/v1/namespaces/n" => Some(refused(403, "Forbidden", "you may not")),
        _ => Some(list(1, &[])),
    }))
    .await;
    let client = server.client().await;
    let namespace = Namespace::create(&client, "n", "r", "restricted").await.unwrap();
    let leftovers = namespace.remove(&client, PATIENCE).await;
    assert!(leftovers.len() == 1 && leftovers[0].why.contains("you may not"), "{leftovers:?}");
}

#[tokio::test]
async fn of_a_given_namespace_only_the_runs_own_objects_are_deleted() {
    let server = FakeApiServer::start(|asked: &ReceivedRequest| match (asked.line().as_str(), asked.nth) {
        ("GET /api/v1/namespaces/n", _) => {
            Some(ScriptedAnswer::Json(200, json!({ "status": { "phase": "Active" } })))
        }
        ("GET /api/v1/namespaces/n/pods", 0) => Some(list(1, &[object("a", 1)])),
        ("DELETE /api/v1/namespaces/n/pods/a", _) => Some(done()),
        _ => Some(list(1, &[])),
    })
    .await;
    let client = server.client().await;
    let namespace = Namespace::existing(&client, "n", "r").await.unwrap();
    assert_eq!(namespace.remove(&client, PATIENCE).await, []);
    let asked = server.asked();
    let deleted: Vec<_> = asked.iter().filter(|asked| asked.method == "DELETE").collect();
    assert_eq!(deleted.iter().map(|asked| asked.path.as_str()).collect::<Vec<_>>(), [format!("{PODS}/a")]);
    assert_eq!(deleted[0].body["gracePeriodSeconds"], 1);
    let lists = asked.iter().filter(|asked| asked.method == "GET" && asked.path != NAMESPACE);
    assert!(lists.into_iter().all(|asked| asked.query["labelSelector"] == "probity.dev/run=r"));
}

#[tokio::test]
async fn a_change_to_a_node_that_was_not_undone_keeps_its_record_and_the_namespace() {
    let server = FakeApiServer::start(|asked: &ReceivedRequest| match asked.line().as_str() {
        "GET /api/v1/namespaces/n" => {
            Some(ScriptedAnswer::Json(200, json!({ "metadata": { "labels": { "probity.dev/run": "r" } } })))
        }
        "GET /api/v1/namespaces/n/configmaps" => {
            let mut record = object("probity-heal-node1", 1);
            record["metadata"]["labels"] = json!({ "probity.dev/away": "true" });
            record["data"] = json!({ "node": "node1", "verb": "heal" });
            Some(list(1, &[record]))
        }
        _ => Some(list(1, &[])),
    })
    .await;
    let client = server.client().await;
    let leftovers = Namespace::planned("n", "r").remove(&client, PATIENCE).await;
    let [leftover] = leftovers.as_slice() else { panic!("{leftovers:?}") };
    assert_eq!(leftover.what, "a change to node node1, and its record in n");
    assert!(server.asked().iter().all(|asked| asked.method != "DELETE"));
}

#[tokio::test]
async fn an_object_with_a_finalizer_is_named_with_it() {
    let server = FakeApiServer::start(|asked: &ReceivedRequest| match asked.line().as_str() {
        "GET /api/v1/namespaces/n" => {
            Some(ScriptedAnswer::Json(200, json!({ "status": { "phase": "Active" } })))
        }
        "GET /api/v1/namespaces/n/pods" => {
            let mut pod = object("a", 1);
            pod["metadata"]["finalizers"] = json!(["some.io/lock"]);
            Some(list(1, &[pod]))
        }
        "DELETE /api/v1/namespaces/n/pods/a" => Some(done()),
        _ => Some(list(1, &[])),
    })
    .await;
    let client = server.client().await;
    let namespace = Namespace::existing(&client, "n", "r").await.unwrap();
    let leftovers = namespace.remove(&client, PATIENCE).await;
    let [leftover] = leftovers.as_slice() else { panic!("{leftovers:?}") };
    assert_eq!(leftover.what, "Pod a in n");
    assert!(leftover.why.contains("some.io/lock"), "{leftover:?}");
}

#[tokio::test]
async fn finalizers_of_cases_are_removed_and_those_of_others_stay() {
    let server = FakeApiServer::start(|asked: &ReceivedRequest| match (asked.line().as_str(), asked.nth) {
        ("GET /api/v1/namespaces/n", _) => {
            Some(ScriptedAnswer::Json(200, json!({ "status": { "phase": "Active" } })))
        }
        ("GET /api/v1/namespaces/n/pods", 0) => {
            let mut pod = object("a", 1);
            pod["metadata"]["finalizers"] = json!(["some.io/lock", "probity.dev/held"]);
            Some(list(1, &[pod, object("b", 1)]))
        }
        ("DELETE /api/v1/namespaces/n/pods/a" | "DELETE /api/v1/namespaces/n/pods/b", _) => Some(done()),
        ("PATCH /api/v1/namespaces/n/pods/a", _) => Some(ScriptedAnswer::Json(200, object("a", 2))),
        _ => Some(list(1, &[])),
    })
    .await;
    let client = server.client().await;
    let namespace = Namespace::existing(&client, "n", "r").await.unwrap();
    assert_eq!(namespace.remove(&client, PATIENCE).await, []);
    let asked = server.asked();
    let patches: Vec<_> = asked.iter().filter(|asked| asked.method == "PATCH").collect();
    assert_eq!(patches.len(), 1);
    let removed = json!({ "metadata": { "$deleteFromPrimitiveList/finalizers": ["probity.dev/held"] } });
    assert_eq!(patches[0].body, removed);
}

#[tokio::test]
async fn a_given_namespace_that_is_not_there_or_on_its_way_out_is_refused() {
    let absent = FakeApiServer::start(|_| None).await;
    let error = Namespace::existing(&absent.client().await, "n", "r").await.unwrap_err();
    assert!(matches!(error, ClusterError::Namespace { .. }), "{error}");
    let leaving = FakeApiServer::start(|_| Some(ScriptedAnswer::Json(200, terminating("")))).await;
    let error = Namespace::existing(&leaving.client().await, "n", "r").await.unwrap_err();
    assert!(error.to_string().contains("being deleted"), "{error}");
}

fn created(name: &str, namespace: &str, at: &str) -> Value {
    json!({ "metadata": { "name": name, "namespace": namespace, "creationTimestamp": at } })
}

#[tokio::test]
async fn what_a_crash_left_is_collected_and_what_is_young_is_left() {
    let server = FakeApiServer::start(|asked: &ReceivedRequest| match asked.line().as_str() {
        "GET /api/v1/namespaces" => Some(list(
            1,
            &[created("old", "", "2026-01-01T00:00:00Z"), created("young", "", "2999-01-01T00:00:00Z")],
        )),
        "GET /api/v1/pods" => Some(list(
            1,
            &[created("a", "given", "2026-01-01T00:00:00Z"), created("b", "given", "2999-01-01T00:00:00Z")],
        )),
        "GET /api/v1/services" => Some(list(1, &[created("s", "old", "2026-01-01T00:00:00Z")])),
        line if line.starts_with("DELETE") => Some(done()),
        _ => Some(list(1, &[])),
    })
    .await;
    let done = gc(&server.client().await, None, Duration::from_secs(3600), None).await;
    let expected = [("Namespace old".to_owned(), Ok(())), ("Pod a in given".to_owned(), Ok(()))];
    assert_eq!(done, expected);
    let lists = server.asked().into_iter().filter(|asked| asked.method == "GET");
    assert!(lists.into_iter().all(|asked| asked.query["labelSelector"] == "probity.dev/run"));
}

#[tokio::test]
async fn what_cannot_be_collected_is_named() {
    let server = FakeApiServer::start(|_| Some(refused(403, "Forbidden", "you may not"))).await;
    let done = gc(&server.client().await, None, Duration::ZERO, None).await;
    let named: Vec<_> = done.iter().map(|(what, result)| (what.as_str(), result.is_err())).collect();
    assert_eq!(named, [("records of runs", true), ("pods of runs", true)]);
}

/// A cluster on which a killed run has left its namespace, with the record of a node that is away. The namespace carries
/// the label of the run.
async fn with_a_node_away(label: &'static str) -> FakeApiServer {
    FakeApiServer::start(move |asked| match asked.line().as_str() {
        "GET /api/v1/namespaces" => Some(list(1, &[created("run", "", "2026-01-01T00:00:00Z")])),
        "GET /api/v1/namespaces/run" => {
            Some(ScriptedAnswer::Json(200, json!({ "metadata": { "labels": { "probity.dev/run": label } } })))
        }
        "GET /api/v1/configmaps" | "GET /api/v1/namespaces/run/configmaps" => {
            let mut record = created("probity-heal-node2", "run", "2026-01-01T00:00:00Z");
            record["metadata"]["labels"] = json!({ "probity.dev/run": "r", "probity.dev/away": "true" });
            record["data"] = json!({ "node": "node2", "verb": "heal" });
            Some(list(1, &[record]))
        }
        line if line.starts_with("DELETE") => Some(done()),
        _ => Some(list(1, &[])),
    })
    .await
}

#[tokio::test]
async fn a_node_that_a_killed_run_took_away_is_brought_back_before_its_record_goes() {
    let server = with_a_node_away("r").await;
    let command = ["true".to_owned()];
    let done = gc(&server.client().await, None, Duration::ZERO, Some(&command)).await;
    assert!(done[0].0.contains("node2") && done[0].1.is_ok(), "{done:?}");
    let deleted: Vec<String> =
        server.asked().into_iter().filter(|asked| asked.method == "DELETE").map(|asked| asked.path).collect();
    assert_eq!(deleted, ["/api/v1/namespaces/run/configmaps/probity-heal-node2", "/api/v1/namespaces/run"]);
}

#[tokio::test]
async fn the_record_of_a_node_that_stays_away_is_kept_with_its_namespace() {
    for (command, why) in [(None, "--node-command"), (Some(["false".to_owned()]), "exit status: 1")] {
        let server = with_a_node_away("r").await;
        let command = command.as_ref().map(|command| &command[..]);
        let done = gc(&server.client().await, None, Duration::ZERO, command).await;
        assert_eq!(done.len(), 1, "{done:?}");
        assert!(done[0].1.as_ref().is_err_and(|told| told.contains(why)), "{done:?}");
        assert!(server.asked().iter().all(|asked| asked.method != "DELETE"));
    }
}

#[tokio::test]
async fn a_record_that_no_run_of_this_namespace_wrote_is_not_acted_on() {
    let command = ["true".to_owned()];
    let server = with_a_node_away("other").await;
    let done = gc(&server.client().await, None, Duration::ZERO, Some(&command)).await;
    assert!(done[0].1.as_ref().is_err_and(|why| why.contains("did not create this namespace")), "{done:?}");
    assert!(server.asked().iter().all(|asked| asked.method != "DELETE"), "its namespace remains");
    let done = gc(&server.client().await, Some("run"), Duration::ZERO, Some(&command)).await;
    assert!(done[0].0.contains("node2") && done[0].1.is_ok(), "the user vouches for the namespace: {done:?}");
}
