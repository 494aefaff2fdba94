//! Changes an annotation of one of the harness's own pods at regular intervals: see [`probity_model::echo`].

use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::task::AbortOnDropHandle;

use crate::api::client::ClusterClient;
use crate::listen::incoming::Incoming;
use crate::run_clock::RunClock;

/// The annotation, whose value is the number of the change.
pub(crate) const ANNOTATION: &str = "probity.dev/echo";
/// The period of the changes. It is shorter than the smallest slack of a status, so that every stall of the watch that
/// matters covers at least one change.
const EVERY: Duration = Duration::from_secs(1);

/// Changes the pod every second and reports each change, until the handle is dropped.
pub(crate) fn keep_changing(
    cluster: ClusterClient,
    namespace: String,
    pod: String,
    clock: RunClock,
    out: UnboundedSender<Incoming>,
) -> AbortOnDropHandle<()> {
    // A delay in the queue of the harness would seem to be an outage.
    let cluster = cluster.unqueued();
    AbortOnDropHandle::new(tokio::spawn(async move {
        for number in 1_u64.. {
            if out.send(Incoming::EchoSent { us: clock.us(), number }).is_err() {
                return;
            }
            let patch = json!({ "metadata": { "annotations": { ANNOTATION: number.to_string() } } });
            // A change that failed without being rejected counts as late until a later change comes back.
            let answer = cluster.patch(&namespace, "Pod", &pod, "", &patch).await;
            if answer.is_err_and(|error| error.is_rejection()) {
                let _ = out.send(Incoming::EchoRefused { number });
            }
            tokio::time::sleep(EVERY).await;
        }
    }))
}
