//! The recorder pod of a run.
//!
//! All targets send their witness lines there, and a single reader in the harness receives them. The stream is read in
//! portions: on a busy cluster, portions take far fewer messages than following the stream. Each portion names its
//! first and its last line.

use std::net::IpAddr;

use probity_case::manifest::Setting;
use serde_json::json;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::task::AbortOnDropHandle;

use crate::api::client::ClusterClient;
use crate::api::port_forward::PortForwardClient;
use crate::error::ClusterError;
use crate::fields::Fields as _;
use crate::listen::incoming::Incoming;
use crate::listen::recorder_stream::RecorderStream;
use crate::run_clock::RunClock;
use crate::setup::own_pod::OwnPod;

const NAME: &str = "probity-recorder";
const INGEST_PORT: u16 = 7070;
const QUERY_PORT: u16 = 7071;

/// A running recorder.
pub(crate) struct Recorder {
    /// Where targets connect to: address and port.
    pub(crate) address: String,
    /// The digest of the image, from the status of the pod.
    pub(crate) image_digest: String,
    /// The node on which the recorder runs.
    pub(crate) node: String,
    query: PortForwardClient,
}

impl Recorder {
    /// Starts the recorder pod and waits until it is ready.
    pub(crate) async fn deploy(
        cluster: &ClusterClient,
        namespace: &str,
        setting: &Setting,
    ) -> Result<Self, ClusterError> {
        let probe = json!({ "httpGet": { "path": "/healthz", "port": QUERY_PORT }, "periodSeconds": 1, "failureThreshold": 30 });
        let container = json!({
            "args": ["recorder"],
            "env": [{ "name": "AGNHOST_TOKEN", "value": setting.token }],
            "readinessProbe": probe,
            "resources": { "requests": { "cpu": "10m", "memory": "32Mi" } },
        });
        let pod = OwnPod { name: NAME, app: NAME, container, node: None, of: 1 };
        let pod = pod.create(cluster, namespace, setting).await.map_err(|error| match error.code() {
            409 => ClusterError::Namespace {
                name: namespace.to_owned(),
                why: format!(
                    "it contains the recorder of another run; wait for that run, or remove its objects: probity gc --namespace {namespace}"
                ),
            },
            _ => error,
        })?;
        let ip = pod.text("/status/podIP");
        let address = match ip.parse::<IpAddr>() {
            Ok(IpAddr::V6(ip)) => format!("[{ip}]:{INGEST_PORT}"),
            _ => format!("{ip}:{INGEST_PORT}"),
        };
        let image_digest = pod.text("/status/containerStatuses/0/imageID").to_owned();
        let query = PortForwardClient::new(cluster, namespace, NAME, QUERY_PORT, &setting.token);
        let node = pod.text("/spec/nodeName").to_owned();
        Ok(Self { address, image_digest, node, query })
    }

    /// Reads the stream until the handle is dropped, and reports each entry with its container.
    pub(crate) fn listen(self, clock: RunClock, out: UnboundedSender<Incoming>) -> AbortOnDropHandle<()> {
        AbortOnDropHandle::new(tokio::spawn(RecorderStream::new(clock, out).read(self.query)))
    }
}
