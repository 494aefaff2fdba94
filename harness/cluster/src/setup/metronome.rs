//! The metronome: one idle pod on each node, with plain probes and nothing else.
//!
//! It does four things for the whole run. Its probes show when the kubelet of a node is late for every pod (see
//! [`probity_model::metronome`]). It reports when all processors of the node are busy. The clocks of the node are read
//! at its control port. The harness changes its annotation at regular intervals, to measure how long a change takes to
//! return on the watch (see [`crate::listen::echo`]). It has no exec probe, which would cost more than it would show.

use futures_util::future::join_all;
use probity_case::manifest::{CONTROL_PORT, Setting};
use probity_model::metronome::MetronomeReader;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::task::AbortOnDropHandle;

use crate::api::client::ClusterClient;
use crate::api::port_forward::PortForwardClient;
use crate::error::ClusterError;
use crate::fields::Fields as _;
use crate::listen::incoming::Incoming;
use crate::listen::{echo, node_clocks};
use crate::run_clock::RunClock;
use crate::setup::own_pod::OwnPod;

/// The prefix of the names of metronome pods. A number follows it.
const PREFIX: &str = "probity-metronome-";
const PERIOD_S: i64 = 1;
const PORT: u16 = 8080;

/// The metronomes of a run.
pub(crate) struct Metronomes {
    cluster: ClusterClient,
    namespace: String,
    token: String,
    placed: Vec<MetronomePod>,
    /// The nodes without a metronome, each with the reason.
    pub(crate) warnings: Vec<String>,
}

struct MetronomePod {
    pod: String,
    node: String,
}

/// Notices in the lines of metronomes when a node is late.
pub(crate) fn lateness() -> MetronomeReader {
    MetronomeReader::new(PERIOD_S * 1_000_000)
}

/// Whether a pod with this name is a metronome.
pub(crate) fn is_metronome(pod: &str) -> bool {
    pod.starts_with(PREFIX)
}

impl Metronomes {
    /// Starts a metronome on each of these nodes, or one on any node if `nodes` is empty, and waits until they are
    /// ready.
    ///
    /// # Errors
    ///
    /// If none of them starts, because no clock of a node can be read then.
    pub(crate) async fn deploy(
        cluster: &ClusterClient,
        setting: &Setting,
        nodes: &[String],
    ) -> Result<Self, ClusterError> {
        let mut wanted: Vec<Option<&str>> = nodes.iter().map(|node| Some(node.as_str())).collect();
        if wanted.is_empty() {
            wanted.push(None);
        }
        let starts = wanted.iter().enumerate().map(|(at, node)| start(cluster, setting, at, *node));
        let (mut placed, mut warnings, mut last_error) = (Vec::new(), Vec::new(), None);
        for (node, result) in wanted.iter().zip(join_all(starts).await) {
            match result {
                Ok(pod) => placed.push(pod),
                Err(error) => {
                    let node = node.unwrap_or("(any)");
                    warnings.push(format!("the node {node} has no metronome, so its lateness cannot be distinguished from a fault: {error}"));
                    last_error = Some(error);
                }
            }
        }
        match last_error {
            Some(error) if placed.is_empty() => Err(error),
            _ => Ok(Self {
                cluster: cluster.clone(),
                namespace: setting.namespace.clone(),
                token: setting.token.clone(),
                placed,
                warnings,
            }),
        }
    }

    /// Reads the clocks of all nodes with a metronome, at once and every 20 s, until the handles are dropped.
    pub(crate) fn read_clocks(
        &self,
        clock: RunClock,
        out: &UnboundedSender<Incoming>,
    ) -> Vec<AbortOnDropHandle<()>> {
        let read = |MetronomePod { pod, node }: &MetronomePod| {
            let client =
                PortForwardClient::new(&self.cluster, &self.namespace, pod, CONTROL_PORT, &self.token);
            node_clocks::keep_reading(client, clock, node.clone(), out.clone())
        };
        self.placed.iter().map(read).collect()
    }

    /// Sends changes to the API server, to measure how long they take to return. Without a metronome, it sends nothing.
    pub(crate) fn send_echoes(
        &self,
        clock: RunClock,
        out: &UnboundedSender<Incoming>,
    ) -> Option<AbortOnDropHandle<()>> {
        let MetronomePod { pod, .. } = self.placed.first()?;
        let (cluster, namespace) = (self.cluster.clone(), self.namespace.clone());
        Some(echo::keep_changing(cluster, namespace, pod.clone(), clock, out.clone()))
    }
}

async fn start(
    cluster: &ClusterClient,
    setting: &Setting,
    at: usize,
    node: Option<&str>,
) -> Result<MetronomePod, ClusterError> {
    let name = format!("{PREFIX}{at}");
    let pod = OwnPod { name: &name, app: PREFIX.trim_end_matches('-'), container: container(setting), node };
    let ready = pod.create(cluster, &setting.namespace, setting).await?;
    Ok(MetronomePod { pod: name, node: ready.text("/spec/nodeName").to_owned() })
}

fn container(setting: &Setting) -> Value {
    let plan = json!({ "listeners": { "web": { "port": PORT, "paths": { "/ready": 200, "/live": 200 } } } });
    let probe = |path: &str| json!({ "httpGet": { "path": path, "port": PORT }, "periodSeconds": PERIOD_S, "failureThreshold": 60 });
    let values = [
        ("CONTAINER_NAME", "metronome".to_owned()),
        ("AGNHOST_PLAN", plan.to_string()),
        ("AGNHOST_RECORDER", setting.recorder.clone()),
        ("AGNHOST_CONTROL", CONTROL_PORT.to_string()),
        ("AGNHOST_TOKEN", setting.token.clone()),
        ("AGNHOST_WATCH_NODE", "true".to_owned()),
    ];
    let fields = [
        ("POD_NAME", "metadata.name"),
        ("POD_UID", "metadata.uid"),
        ("POD_IP", "status.podIP"),
        ("NODE_NAME", "spec.nodeName"),
    ];
    let values = values.iter().filter(|(_, value)| !value.is_empty());
    let values = values.map(|(name, value)| json!({ "name": name, "value": value }));
    let fields = fields
        .map(|(name, path)| json!({ "name": name, "valueFrom": { "fieldRef": { "fieldPath": path } } }));
    json!({
        "args": ["serve"],
        "env": values.chain(fields).collect::<Vec<_>>(),
        "readinessProbe": probe("/ready"),
        "livenessProbe": probe("/live"),
        "resources": { "requests": { "cpu": "20m", "memory": "16Mi" } },
    })
}
