//! Changes an annotation of a pod of the harness at regular intervals: see [`probity_model::echo`].

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::task::AbortOnDropHandle;

use crate::api::client::ClusterClient;
use crate::fields::Fields as _;
use crate::listen::incoming::Incoming;
use crate::run_clock::RunClock;

/// The annotation, whose value is the number of the change.
pub(crate) const ANNOTATION: &str = "probity.dev/echo";
/// The period of the changes. It is shorter than the smallest slack of a status, so that every stall of the watch that
/// matters covers at least one change.
const EVERY: Duration = Duration::from_secs(1);

/// Changes the pod with this manifest every second and reports each change, until the handle is dropped. If somebody
/// deletes the pod, it is created again.
pub(crate) fn keep_changing(
    cluster: &ClusterClient,
    manifest: Value,
    clock: RunClock,
    out: UnboundedSender<Incoming>,
) -> AbortOnDropHandle<()> {
    // A delay in the queue of the harness would seem to be an outage.
    let cluster = cluster.unqueued();
    AbortOnDropHandle::new(tokio::spawn(async move {
        let (namespace, pod) = (manifest.text("/metadata/namespace"), manifest.name());
        for number in 1_u64.. {
            if out.send(Incoming::EchoSent { us: clock.us(), number }).is_err() {
                return;
            }
            let patch = json!({ "metadata": { "annotations": { ANNOTATION: number.to_string() } } });
            if let Err(error) = cluster.patch(namespace, "Pod", pod, "", &patch).await {
                let _ = out.send(match error.is_rejection() {
                    true => Incoming::EchoRefused { us: clock.us(), number },
                    false => Incoming::EchoFailed { number },
                });
                if error.code() == 404 {
                    let _ = cluster.create(namespace, &manifest, false).await;
                }
            }
            tokio::time::sleep(EVERY).await;
        }
    }))
}
