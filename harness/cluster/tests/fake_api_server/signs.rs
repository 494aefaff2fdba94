//! The signs of a kubelet restart, including signs that the harness may not read.

use std::collections::BTreeMap;

use probity_model::history::{KubeletSigns, NodeFacts, NodeProof};
use serde_json::{Value, json};

use crate::server::{FakeApiServer, ReceivedRequest, ScriptedAnswer, list, refused};

const EVENTS: &str = "/api/v1/namespaces/default/events";
const METRICS: &str = "/api/v1/nodes/n1/proxy/metrics";

fn start(component: &str, count: u64) -> Value {
    json!({ "reason": "Starting", "source": { "component": component }, "count": count })
}

/// A node whose kubelet starts between the first look and the second.
fn restarts(asked: &ReceivedRequest) -> Option<ScriptedAnswer> {
    let again = asked.nth > 0;
    match asked.path.as_str() {
        EVENTS if again => Some(list(2, &[start("kube-proxy", 1), start("kubelet", 1), start("kubelet", 1)])),
        EVENTS => Some(list(1, &[start("kube-proxy", 1), start("kubelet", 1)])),
        METRICS => {
            let seconds = if again { "1.7672257e+09" } else { "1.7672256e+09" };
            Some(ScriptedAnswer::Pieces(vec![crate::server::Piece::Bytes(format!(
                "# HELP\nprocess_start_time_seconds {seconds}\n"
            ))]))
        }
        _ => None,
    }
}

async fn proof(
    script: impl Fn(&ReceivedRequest) -> Option<ScriptedAnswer> + Send + Sync + 'static,
) -> (NodeProof, FakeApiServer) {
    let server = FakeApiServer::start(script).await;
    let client = server.client().await;
    let (before, after) = (client.kubelet_signs("n1").await, client.kubelet_signs("n1").await);
    (NodeProof { ended_us: 0, before, after }, server)
}

#[tokio::test]
async fn a_restart_shows_in_the_events_of_the_node_and_in_the_age_of_the_process() {
    let (proof, server) = proof(restarts).await;
    assert_eq!(
        (proof.before.starts, proof.after.starts),
        (Some(1), Some(2)),
        "the proxy's start is not the kubelet's"
    );
    let (before, after) = (proof.before.process_us.unwrap(), proof.after.process_us.unwrap());
    assert_eq!(after - before, 100_000_000);
    assert_eq!(proof.restarted(), Some(true));
    let asked = server.asked();
    let events = asked.iter().find(|asked| asked.path == EVENTS).unwrap();
    let only = "involvedObject.kind=Node,involvedObject.name=n1,reason=Starting";
    assert_eq!(events.query["fieldSelector"].replace("%2C", ","), only);
}

#[tokio::test]
async fn each_right_alone_is_enough() {
    for allowed in [EVENTS, METRICS] {
        let (proof, _server) = proof(move |asked| {
            if asked.path == allowed { restarts(asked) } else { Some(refused(403, "Forbidden", "no")) }
        })
        .await;
        assert_eq!(proof.restarted(), Some(true), "{allowed}");
        assert_eq!(proof.after.starts.is_some(), allowed == EVENTS);
    }
}

#[tokio::test]
async fn without_any_right_nothing_is_shown() {
    let (proof, _server) = proof(|_| Some(refused(403, "Forbidden", "no"))).await;
    assert_eq!((proof.before, proof.restarted()), (KubeletSigns::default(), None));
}

#[tokio::test]
async fn a_kubelet_that_was_not_restarted_shows_no_start() {
    let same = |asked: &ReceivedRequest| match asked.path.as_str() {
        EVENTS => Some(list(1, &[start("kubelet", 4)])),
        _ => None,
    };
    let (proof, _server) = proof(same).await;
    assert_eq!(proof.restarted(), Some(false));
}

#[tokio::test]
async fn a_kubelet_counts_as_young_only_if_the_run_may_use_its_node() {
    let started = |node: &str, at: &str| {
        let mut event = start("kubelet", 1);
        event["involvedObject"] = json!({ "kind": "Node", "name": node });
        event["lastTimestamp"] = json!(at);
        event
    };
    let (before, after) = ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z");
    let events = [started("used", before), started("elsewhere", after)];
    let server = FakeApiServer::start(move |asked| (asked.path == EVENTS).then(|| list(1, &events))).await;
    let client = server.client().await;
    let nodes = |name: &str| BTreeMap::from([(name.to_owned(), NodeFacts::default())]);
    assert_eq!(client.last_kubelet_start(&nodes("used")).await, before.parse().ok());
    assert_eq!(client.last_kubelet_start(&nodes("quiet")).await, None);
    let unknown = client.last_kubelet_start(&BTreeMap::new()).await;
    assert_eq!(unknown, after.parse().ok(), "without permission to list nodes, all of them count");
}
