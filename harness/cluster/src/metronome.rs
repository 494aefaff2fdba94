//! The metronome: one idle pod a node with plain probes and nothing else.
//!
//! It does two things for the whole run. Its probes show when a node's kubelet is late for everyone (the ear that hears it
//! is pure: [`probity_model::metronome`]), and its control port is where the node's clocks are read. No exec probe: its
//! price is more than what it would tell.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use probity_case::manifest::{CONTROL_PORT, RUN, Setting};
use probity_model::metronome::MetronomeEar;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::task::AbortOnDropHandle;

use crate::clocks;
use crate::connect::Ground;
use crate::error::ClusterError;
use crate::forward::Door;
use crate::incoming::Incoming;
use crate::ready::until_ready;
use crate::zero::Zero;

/// What the names of metronome pods begin with; a number follows.
pub const PREFIX: &str = "probity-metronome-";
const PATIENCE: Duration = Duration::from_secs(60);
const PERIOD_S: i64 = 1;
const PORT: u16 = 8080;

/// The metronomes of a run.
pub struct Metronome {
    ground: Ground,
    namespace: String,
    token: String,
    /// Where one runs.
    pub placed: Vec<Placed>,
    /// The nodes without one, each with the reason.
    pub warnings: Vec<String>,
}

/// A metronome pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The pod.
    pub pod: String,
    /// Its node.
    pub node: String,
}

impl Metronome {
    /// Starts a metronome on each of these nodes, or a single one wherever it fits if there are none, and waits until they
    /// are ready.
    ///
    /// # Errors
    ///
    /// If not a single one comes up: then no clock of a node can be read.
    pub async fn deploy(
        ground: &Ground,
        namespace: &str,
        setting: &Setting,
        nodes: &[String],
    ) -> Result<Self, ClusterError> {
        let places: Vec<Option<&str>> = if nodes.is_empty() {
            vec![setting.node.as_deref()]
        } else {
            nodes.iter().map(|n| Some(n.as_str())).collect()
        };
        let starts = places.iter().enumerate().map(|(at, node)| place(ground, namespace, setting, at, *node));
        let mut placed = Vec::new();
        let mut failed = Vec::new();
        for (node, result) in places.iter().zip(join_all(starts).await) {
            match result {
                Ok(one) => placed.push(one),
                Err(error) => failed.push((node.unwrap_or("(any)"), error)),
            }
        }
        if placed.is_empty()
            && let Some((_, error)) = failed.pop()
        {
            return Err(error);
        }
        let warn = |(node, error): &(&str, ClusterError)| {
            format!("the node {node} has no metronome, so its lateness cannot be told from a fault: {error}")
        };
        let warnings = failed.iter().map(warn).collect();
        let (namespace, token) = (namespace.to_owned(), setting.token.clone());
        Ok(Self { ground: ground.clone(), namespace, token, placed, warnings })
    }

    /// An ear for the lines of metronomes.
    #[must_use]
    pub fn ear() -> MetronomeEar {
        MetronomeEar::new(PERIOD_S * 1_000_000)
    }

    /// Whether a pod of this name is a metronome.
    #[must_use]
    pub fn is_one(pod: &str) -> bool {
        pod.starts_with(PREFIX)
    }

    /// Reads the clocks of all nodes with a metronome, at once and every 20 s, until the handles are dropped.
    #[must_use]
    pub fn read_clocks(&self, zero: Zero, out: &UnboundedSender<Incoming>) -> Vec<AbortOnDropHandle<()>> {
        let read = |Placed { pod, node }: &Placed| {
            let door = Door::closed(&self.ground, &self.namespace, pod, CONTROL_PORT, &self.token);
            clocks::keep_reading(Arc::new(door), zero, node.clone(), out.clone())
        };
        self.placed.iter().map(read).collect()
    }
}

async fn place(
    ground: &Ground,
    namespace: &str,
    setting: &Setting,
    at: usize,
    node: Option<&str>,
) -> Result<Placed, ClusterError> {
    let pod = format!("{PREFIX}{at}");
    ground.create(namespace, &manifest(&pod, namespace, setting, node), false).await?;
    let ready = until_ready(ground, namespace, &pod, PATIENCE).await?;
    let node =
        ready.get("spec").and_then(|spec| spec.get("nodeName")?.as_str()).unwrap_or_default().to_owned();
    Ok(Placed { pod, node })
}

fn manifest(name: &str, namespace: &str, setting: &Setting, node: Option<&str>) -> Value {
    let plan = json!({ "listeners": { "web": { "port": PORT, "paths": { "/ready": 200, "/live": 200 } } } });
    let probe = |path: &str| json!({ "httpGet": { "path": path, "port": PORT }, "periodSeconds": PERIOD_S, "failureThreshold": 60 });
    let control = CONTROL_PORT.to_string();
    let plan = plan.to_string();
    let mut env = vec![json!({ "name": "CONTAINER_NAME", "value": "metronome" })];
    for (variable, value) in [
        ("AGNHOST_PLAN", &plan),
        ("AGNHOST_RECORDER", &setting.recorder),
        ("AGNHOST_CONTROL", &control),
        ("AGNHOST_TOKEN", &setting.token),
    ] {
        if !value.is_empty() {
            env.push(json!({ "name": variable, "value": value }));
        }
    }
    for (variable, path) in [
        ("POD_NAME", "metadata.name"),
        ("POD_UID", "metadata.uid"),
        ("POD_IP", "status.podIP"),
        ("NODE_NAME", "spec.nodeName"),
    ] {
        env.push(json!({ "name": variable, "valueFrom": { "fieldRef": { "fieldPath": path } } }));
    }
    let mut spec = json!({
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": 1,
        "securityContext": {
            "runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": { "type": "RuntimeDefault" },
        },
        "containers": [{
            "name": "metronome",
            "image": setting.image,
            "imagePullPolicy": setting.pull_policy,
            "args": ["serve"],
            "env": env,
            "readinessProbe": probe("/ready"),
            "livenessProbe": probe("/live"),
            "resources": { "requests": { "cpu": "20m", "memory": "16Mi" } },
            "securityContext": {
                "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": { "drop": ["ALL"] },
            },
        }],
    });
    if let Some(node) = node {
        // By the node's name: its host name label may be another.
        let field = json!({ "key": "metadata.name", "operator": "In", "values": [node] });
        spec["affinity"] = json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{ "matchFields": [field] }],
        } } });
    }
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": namespace,
            "labels": { RUN: setting.run, "app.kubernetes.io/managed-by": "probity", "app.kubernetes.io/name": "probity-metronome" },
        },
        "spec": spec,
    })
}
