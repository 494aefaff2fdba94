//! The metronome: one idle pod on each node, with plain probes and nothing else.
//!
//! It does three things for the whole run. Its probes show when the kubelet of a node is late for every pod (see
//! [`probity_model::metronome`]). It reports when all processors of the node are busy. The clocks of the node are read
//! at its control port. It has no exec probe, which would cost more than it would show.

use futures_util::Stream;
use futures_util::stream::FuturesUnordered;
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
use crate::listen::node_clocks;
use crate::run_clock::RunClock;
use crate::setup::own_pod::OwnPod;

/// The prefix of the names of metronome pods. A number follows it.
const PREFIX: &str = "probity-metronome-";
const PERIOD_S: i64 = 1;
const PORT: u16 = 8080;

/// A metronome that has started.
pub(crate) struct Metronome {
    pod: String,
    node: String,
}

/// A node without a metronome.
pub(crate) struct WithoutMetronome {
    /// The node, or `(any)`.
    pub(crate) node: String,
    /// Why it has none.
    pub(crate) error: ClusterError,
}

/// Notices in the lines of metronomes when a node is late.
pub(crate) fn lateness() -> MetronomeReader {
    MetronomeReader::new(PERIOD_S * 1_000_000)
}

/// Whether a pod with this name is a metronome.
pub(crate) fn is_metronome(pod: &str) -> bool {
    pod.starts_with(PREFIX)
}

/// Starts a metronome on each of these nodes, or one on any node if `nodes` is empty. Yields each result as soon as it
/// is known, because a metronome can take long to start on some nodes.
pub(crate) fn deploy<'d>(
    cluster: &'d ClusterClient,
    setting: &'d Setting,
    nodes: &'d [String],
) -> impl Stream<Item = Result<Metronome, WithoutMetronome>> + Send + 'd {
    let mut wanted: Vec<Option<&str>> = nodes.iter().map(|node| Some(node.as_str())).collect();
    if wanted.is_empty() {
        wanted.push(None);
    }
    let of = wanted.len();
    let starts = wanted.into_iter().enumerate();
    starts.map(move |(at, node)| start(cluster, setting, (at, of), node)).collect::<FuturesUnordered<_>>()
}

async fn start(
    cluster: &ClusterClient,
    setting: &Setting,
    (at, of): (usize, usize),
    node: Option<&str>,
) -> Result<Metronome, WithoutMetronome> {
    let name = format!("{PREFIX}{at}");
    let app = PREFIX.trim_end_matches('-');
    let pod = OwnPod { name: &name, app, container: container(setting), node, of };
    match pod.create(cluster, &setting.namespace, setting).await {
        Ok(ready) => Ok(Metronome { pod: name, node: ready.text("/spec/nodeName").to_owned() }),
        Err(error) => Err(WithoutMetronome { node: node.unwrap_or("(any)").to_owned(), error }),
    }
}

impl Metronome {
    /// Reads the clocks of its node at once and at regular intervals, until the handle is dropped.
    pub(crate) fn read_clocks(
        &self,
        cluster: &ClusterClient,
        setting: &Setting,
        clock: RunClock,
        out: &UnboundedSender<Incoming>,
    ) -> AbortOnDropHandle<()> {
        let client =
            PortForwardClient::new(cluster, &setting.namespace, &self.pod, CONTROL_PORT, &setting.token);
        node_clocks::keep_reading(client, clock, self.node.clone(), out.clone())
    }
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
