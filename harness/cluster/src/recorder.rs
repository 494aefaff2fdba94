//! The recorder pod of a run, and its stream.
//!
//! All targets send their witness lines there; one reader here takes them all, says of whom each is, and names what it may
//! have missed. The stream is asked for in portions rather than followed: on a busy cluster that costs far fewer messages,
//! and each portion says from where to where it goes.

mod ear;

use std::net::IpAddr;
use std::time::Duration;

use probity_case::manifest::{RUN, Setting};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::task::AbortOnDropHandle;

use crate::connect::Ground;
use crate::error::ClusterError;
use crate::forward::Door;
use crate::incoming::Incoming;
use crate::ready::until_ready;
use crate::zero::Zero;
use ear::Ear;

/// The recorder pod's name.
pub const NAME: &str = "probity-recorder";
const INGEST: u16 = 7070;
const QUERY: u16 = 7071;
/// How long the pod may take to be ready.
const PATIENCE: Duration = Duration::from_secs(60);

/// A recorder that runs.
pub struct Recorder {
    ground: Ground,
    namespace: String,
    token: String,
    address: String,
    node: String,
    image: String,
}

impl Recorder {
    /// Starts the recorder pod and waits until it is ready.
    ///
    /// # Errors
    ///
    /// If it is refused, or not ready within a minute: with the reason in words.
    pub async fn deploy(ground: &Ground, namespace: &str, setting: &Setting) -> Result<Self, ClusterError> {
        match ground.create(namespace, &manifest(namespace, setting), false).await {
            Ok(_) => {}
            Err(error) if error.code() == 409 => {
                let why = format!(
                    "another run's recorder is in it; wait for that run, or remove what it left: probity gc --namespace {namespace}"
                );
                return Err(ClusterError::Namespace { name: namespace.to_owned(), why });
            }
            Err(error) => return Err(error.into()),
        }
        let pod = until_ready(ground, namespace, NAME, PATIENCE).await?;
        let text = |of: &str, field: &str| {
            pod.get(of).and_then(|of| of.get(field)?.as_str()).unwrap_or_default().to_owned()
        };
        let status = pod.get("status").and_then(|of| of.get("containerStatuses")?.get(0));
        let image = status.and_then(|of| of.get("imageID")?.as_str()).unwrap_or_default().to_owned();
        let ip = text("status", "podIP");
        let address = match ip.parse::<IpAddr>() {
            Ok(IpAddr::V6(ip)) => format!("[{ip}]:{INGEST}"),
            _ => format!("{ip}:{INGEST}"),
        };
        Ok(Self {
            ground: ground.clone(),
            namespace: namespace.to_owned(),
            token: setting.token.clone(),
            address,
            node: text("spec", "nodeName"),
            image,
        })
    }

    /// Where targets connect to: address and port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The node that it runs on, whose monotonic clock stamps what it receives.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The digest of the image that runs, as the pod's status tells it.
    #[must_use]
    pub fn image_digest(&self) -> &str {
        &self.image
    }

    /// Reads the stream until the handle is dropped, and tells each entry with whose it is.
    pub fn listen(&self, zero: Zero, out: UnboundedSender<Incoming>) -> AbortOnDropHandle<()> {
        let door = Door::closed(&self.ground, &self.namespace, NAME, QUERY, &self.token);
        AbortOnDropHandle::new(tokio::spawn(Ear::new(zero, out).listen(door)))
    }
}

fn manifest(namespace: &str, setting: &Setting) -> Value {
    let mut spec = json!({
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": 1,
        "securityContext": {
            "runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": { "type": "RuntimeDefault" },
        },
        "containers": [{
            "name": "recorder",
            "image": setting.image,
            "imagePullPolicy": setting.pull_policy,
            "args": ["recorder"],
            "env": [{ "name": "AGNHOST_TOKEN", "value": setting.token }],
            "readinessProbe": { "httpGet": { "path": "/healthz", "port": QUERY }, "periodSeconds": 1, "failureThreshold": 30 },
            "resources": { "requests": { "cpu": "10m", "memory": "32Mi" } },
            "securityContext": {
                "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": { "drop": ["ALL"] },
            },
        }],
    });
    if let Some(node) = &setting.node {
        spec["nodeSelector"] = json!({ "kubernetes.io/hostname": node });
    }
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": NAME, "namespace": namespace,
            "labels": { RUN: setting.run, "app.kubernetes.io/managed-by": "probity", "app.kubernetes.io/name": NAME },
        },
        "spec": spec,
    })
}
