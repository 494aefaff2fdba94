//! Objects that a killed run left on nodes and in the whole cluster: taints, cordons and PriorityClasses.

use std::time::Duration;

use probity_cluster::gc::gc;
use serde_json::{Value, json};

use crate::server::{FakeApiServer, ScriptedAnswer, list, refused};

fn created(name: &str, namespace: &str) -> Value {
    json!({ "metadata": { "name": name, "namespace": namespace, "creationTimestamp": "2026-01-01T00:00:00Z" } })
}

fn record(name: &str, data: Value) -> Value {
    let mut record = created(name, "run");
    record["metadata"]["labels"] = json!({ "probity.dev/run": "r", "probity.dev/away": "true" });
    record["data"] = data;
    record
}

/// A cluster on which a killed run has left a taint, a cordon and a PriorityClass. The first `conflicts` patches of
/// nodes fail because somebody else changed the node. With `forbidden`, nodes cannot be patched at all.
async fn left_behind(conflicts: usize, forbidden: bool) -> FakeApiServer {
    let done = || Some(ScriptedAnswer::Json(200, json!({ "kind": "Status", "status": "Success" })));
    FakeApiServer::start(move |asked| match asked.line().as_str() {
        "GET /api/v1/namespaces" => Some(list(1, &[created("run", "")])),
        "GET /api/v1/namespaces/run" => {
            Some(ScriptedAnswer::Json(200, json!({ "metadata": { "labels": { "probity.dev/run": "r" } } })))
        }
        "GET /api/v1/configmaps" => {
            let taint = json!({
                "node": "node2", "change": "taint", "key": "probity.dev/away", "value": "v", "effect": "NoExecute",
            });
            let cordon = json!({ "node": "node2", "change": "cordon" });
            let taint = record("probity-taint-node2-probity.dev.away-noexecute", taint);
            Some(list(1, &[taint, record("probity-cordon-node2", cordon)]))
        }
        "GET /api/v1/nodes/node2" => {
            let own = json!({ "key": "probity.dev/away", "value": "v", "effect": "NoExecute" });
            let other = json!({ "key": "vendor", "effect": "NoSchedule" });
            let spec = json!({ "unschedulable": true, "taints": [other, own] });
            let metadata = json!({ "name": "node2", "resourceVersion": "7" });
            Some(ScriptedAnswer::Json(200, json!({ "metadata": metadata, "spec": spec })))
        }
        "PATCH /api/v1/nodes/node2" if forbidden => Some(refused(403, "Forbidden", "you may not")),
        "PATCH /api/v1/nodes/node2" if asked.nth < conflicts => Some(refused(409, "Conflict", "it changed")),
        "PATCH /api/v1/nodes/node2" => Some(ScriptedAnswer::Json(200, json!({ "metadata": { "name": "node2" } }))),
        "GET /apis/scheduling.k8s.io/v1/priorityclasses" => {
            let mut class = created("r-case-low", "");
            class["metadata"]["labels"] = json!({ "probity.dev/run": "r", "probity.dev/namespace": "run" });
            Some(list(1, &[class]))
        }
        line if line.starts_with("DELETE") => done(),
        _ => Some(list(1, &[])),
    })
    .await
}

fn asked(server: &FakeApiServer, method: &str) -> Vec<(String, Value)> {
    let asked = server.asked().into_iter().filter(|asked| asked.method == method);
    asked.map(|asked| (asked.path, asked.body)).collect()
}

#[tokio::test]
async fn the_taints_and_cordons_of_a_killed_run_are_removed_and_those_of_others_stay() {
    let server = left_behind(1, false).await;
    let done = gc(&server.client().await, None, Duration::ZERO, None).await;
    assert!(done.iter().all(|(_, result)| result.is_ok()), "{done:?}");
    let named: Vec<&str> = done.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(
        named,
        [
            "the taint probity.dev/away=v:NoExecute of node node2",
            "the cordon of node node2",
            "PriorityClass r-case-low",
            "Namespace run",
        ]
    );
    let patches: Vec<Value> = asked(&server, "PATCH").into_iter().map(|(_, body)| body).collect();
    let [first, again, cordon] = patches.as_slice() else { panic!("{patches:?}") };
    assert_eq!(first["spec"], json!({ "taints": [{ "key": "vendor", "effect": "NoSchedule" }] }));
    assert_eq!(first["metadata"]["resourceVersion"], "7", "so that a change by somebody else is not lost");
    assert_eq!((first, &cordon["spec"]), (again, &json!({ "unschedulable": null })));
}

#[tokio::test]
async fn the_record_of_a_node_that_cannot_be_restored_is_kept_with_its_namespace() {
    let server = left_behind(0, true).await;
    let done = gc(&server.client().await, None, Duration::ZERO, None).await;
    assert!(done[0].1.as_ref().is_err_and(|why| why.contains("you may not")), "{done:?}");
    let deleted: Vec<String> = asked(&server, "DELETE").into_iter().map(|(path, _)| path).collect();
    assert_eq!(deleted, ["/apis/scheduling.k8s.io/v1/priorityclasses/r-case-low"]);
}

#[tokio::test]
async fn in_one_namespace_only_the_objects_of_its_runs_are_removed() {
    for (namespace, removed) in [("run", 1), ("other", 0)] {
        let server = left_behind(0, false).await;
        let done = gc(&server.client().await, Some(namespace), Duration::ZERO, None).await;
        let classes = done.iter().filter(|(what, _)| what.starts_with("PriorityClass")).count();
        assert_eq!(classes, removed, "{done:?}");
    }
}
