//! Which nodes a run uses, and how clusters are distinguished.

use probity_case::Placement;
use serde_json::{Value, json};

use crate::server::{FakeApiServer, ScriptedAnswer, list, refused};

fn node(name: &str, pool: &str, taints: &Value) -> Value {
    json!({
        "metadata": { "name": name, "labels": { "pool": pool } },
        "spec": { "taints": taints },
        "status": {
            "conditions": [{ "type": "Ready", "status": "True" }],
            "nodeInfo": { "kubeletVersion": format!("v1.36.3-{name}") },
        },
    })
}

async fn server() -> FakeApiServer {
    let taint = json!([{ "key": "vendor", "value": "kubelet", "effect": "NoExecute" }]);
    let nodes = [node("a", "old", &Value::Null), node("b", "new", &Value::Null), node("c", "new", &taint)];
    FakeApiServer::start(move |asked| (asked.path == "/api/v1/nodes").then(|| list(1, &nodes))).await
}

async fn used(placement: Placement) -> Vec<String> {
    server().await.client().await.node_facts(&placement).await.unwrap().into_keys().collect()
}

#[tokio::test]
async fn the_nodes_of_a_run_have_the_labels_and_no_taints_but_those_that_it_tolerates() {
    let new = || [("pool".to_owned(), "new".to_owned())].into();
    let tolerations = vec!["vendor=kubelet".parse().unwrap()];
    assert_eq!(used(Placement::default()).await, ["a", "b"]);
    assert_eq!(used(Placement { selector: new(), ..Placement::default() }).await, ["b"]);
    assert_eq!(used(Placement { selector: new(), tolerations, node: None }).await, ["b", "c"]);
    assert_eq!(used(Placement::default().on("a")).await, ["a"]);
    assert_eq!(used(Placement::default().on("c")).await, [""; 0], "its taint is not tolerated");
}

#[tokio::test]
async fn where_nodes_may_not_be_listed_none_is_known() {
    let server = FakeApiServer::start(|_| Some(refused(403, "Forbidden", "no"))).await;
    assert!(server.client().await.node_facts(&Placement::default()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_cluster_is_known_by_a_namespace_that_every_cluster_has() {
    let path = "/api/v1/namespaces/kube-system";
    let server = FakeApiServer::start(move |asked| {
        (asked.path == path).then(|| ScriptedAnswer::Json(200, json!({ "metadata": { "uid": "u1" } })))
    })
    .await;
    assert_eq!(server.client().await.uid().await, "u1");
    let server = FakeApiServer::start(|_| Some(refused(403, "Forbidden", "no"))).await;
    assert_eq!(server.client().await.uid().await, "", "what may not be read is unknown, and no fault");
}
