//! When a node's kubelet was started: what shows that a restart took place.
//!
//! There are two signs, and each requires a separate permission. A kubelet records an event with the reason `Starting`
//! for its node whenever it starts, and its metrics show when its process started. A sign that cannot be read is
//! absent.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::api::ListParams;
use kube::core::Request;
use probity_model::history::{KubeletSigns, NodeFacts};
use serde::Deserialize;
use serde_json::Value;

use crate::api::client::ClusterClient;
use crate::api::kinds;
use crate::error::ClusterError;
use crate::fields::Fields as _;

/// The namespace of events about objects without a namespace.
const EVENTS_OF_NODES: &str = "default";
/// The metric of the start, in seconds.
const PROCESS: &str = "process_start_time_seconds";

#[derive(Deserialize)]
struct Events {
    items: Option<Vec<Value>>,
}

impl ClusterClient {
    /// What a node currently shows about the start of its kubelet.
    pub async fn kubelet_signs(&self, node: &str) -> KubeletSigns {
        let (starts, process_us) = tokio::join!(self.starts(node), self.process_start(node));
        KubeletSigns { starts: starts.ok(), process_us: process_us.ok().flatten() }
    }

    /// The time at which a kubelet of these nodes last started, if the events can be read. If there are no nodes, because
    /// they may not be listed, the kubelets of all nodes count.
    pub async fn last_kubelet_start(&self, nodes: &BTreeMap<String, NodeFacts>) -> Option<Timestamp> {
        let is_used =
            |event: &&Value| nodes.is_empty() || nodes.contains_key(event.text("/involvedObject/name"));
        self.start_events("").await.ok()?.iter().filter(is_used).filter_map(last).max()
    }

    /// The number of start events that kubelets recorded for a node.
    async fn starts(&self, node: &str) -> Result<u64, ClusterError> {
        let of_node = format!(",involvedObject.name={node}");
        Ok(self.start_events(&of_node).await?.iter().map(times).sum())
    }

    /// The events that kubelets recorded when they started, restricted by more terms of a field selector.
    async fn start_events(&self, more: &str) -> Result<Vec<Value>, ClusterError> {
        let only = format!("involvedObject.kind=Node{more},reason=Starting");
        let params = ListParams { field_selector: Some(only), ..ListParams::default() };
        let request = kinds::find("Event")?.requests(EVENTS_OF_NODES).list(&params);
        let events: Events = self.request("list the events of nodes", request).await?;
        let mut events = events.items.unwrap_or_default();
        events.retain(is_of_kubelet);
        Ok(events)
    }

    /// When the kubelet's process was started, on the node's wall clock.
    async fn process_start(&self, node: &str) -> Result<Option<i64>, ClusterError> {
        let request = Request::new("/api/v1/nodes").get_subresource("proxy/metrics", node);
        let text = self.request_bytes("read when the kubelet was started", request).await?;
        Ok(process_start(&String::from_utf8_lossy(&text)))
    }
}

/// Whether a kubelet recorded the event. kube-proxy also records its own start for the node.
fn is_of_kubelet(event: &Value) -> bool {
    let by = |field| event.text(field) == "kubelet";
    by("/source/component") || by("/reportingComponent")
}

fn times(event: &Value) -> u64 {
    event["count"].as_u64().unwrap_or(1).max(1)
}

/// The time at which an event was last recorded.
fn last(event: &Value) -> Option<Timestamp> {
    let fields = ["/series/lastObservedTime", "/lastTimestamp", "/eventTime", "/metadata/creationTimestamp"];
    fields.iter().find_map(|field| event.text(field).parse().ok())
}

/// The start in a text of the Prometheus exposition format, in microseconds.
#[expect(clippy::cast_possible_truncation, reason = "checked before")]
fn process_start(text: &str) -> Option<i64> {
    let mut values = text.lines().filter_map(|line| line.strip_prefix(PROCESS)?.strip_prefix(' '));
    let seconds: f64 = values.next_back()?.trim().parse().ok()?;
    (0.0..9e9).contains(&seconds).then_some((seconds * 1e6) as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_start_of_the_process_is_read_to_the_microsecond() {
        let text = "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1.79581568725e+09\n\
                    process_start_time_seconds_of_others 7\n";
        assert_eq!(process_start(text), Some(1_795_815_687_250_000));
        assert_eq!(process_start("process_open_fds 7\n"), None);
        assert_eq!(process_start("process_start_time_seconds NaN\n"), None);
    }

    #[test]
    fn an_event_of_the_proxy_is_not_the_kubelets() {
        assert!(is_of_kubelet(&json!({ "source": { "component": "kubelet", "host": "n" } })));
        assert!(is_of_kubelet(&json!({ "reportingComponent": "kubelet" })));
        assert!(!is_of_kubelet(&json!({ "source": { "component": "kube-proxy" } })));
        assert_eq!((times(&json!({ "count": 3 })), times(&json!({}))), (3, 1));
    }

    #[test]
    fn an_event_that_was_recorded_again_counts_with_its_last_time() {
        let first = "2026-01-01T00:00:00Z";
        let again =
            json!({ "metadata": { "creationTimestamp": first }, "lastTimestamp": "2026-01-01T00:00:09Z" });
        assert_eq!(last(&again), "2026-01-01T00:00:09Z".parse().ok());
        let once =
            json!({ "metadata": { "creationTimestamp": first }, "eventTime": null, "lastTimestamp": null });
        assert_eq!(last(&once), first.parse().ok());
        assert_eq!(last(&json!({})), None);
    }
}
