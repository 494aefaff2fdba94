//! The queue of a kubelet's events. A kubelet sends a limited number of events a second (`eventRecordQPS`), for all pods on
//! its node, so on a node with many pods an event may arrive long after it was recorded.

use std::collections::BTreeMap;

use probity_model::timeline::KubeEvent;
use probity_model::{Stamp, Timeline};

/// The component name under which kubelets record events, according to the Kubernetes API reference.
const KUBELET: &str = "kubelet";

/// When an event was recorded, according to the event itself. The kubelet of the node wrote this time, so it is no proof.
fn recorded(event: &KubeEvent<'_>, node: &str) -> Option<Stamp> {
    let second = event.second("lastTimestamp").or_else(|| event.second("eventTime"))?;
    Some(Stamp::wall_second(node, second))
}

/// Whether an event was recorded by an instant, according to the event itself.
pub(crate) fn is_recorded_by(run: &Timeline<'_>, node: &str, event: &KubeEvent<'_>, by: &Stamp) -> bool {
    recorded(event, node).is_some_and(|at| !run.before(by, &at))
}

/// Whether an event of a node's kubelet arrived later than this after it was recorded, and not before an instant. Other
/// events of this kubelet may then not have arrived at all.
pub(crate) fn is_behind(run: &Timeline<'_>, node: &str, since: &Stamp, slack: i64) -> bool {
    let late = |event: &KubeEvent<'_>| {
        let Some(at) = recorded(event, node).filter(|_| !run.before(&event.at, since)) else { return false };
        let noise = run.clocks.on_harness(&at).map_or(0, |from| {
            // The event then travels to the harness.
            run.noise_between(node, &Stamp::harness(from.lo), &event.at)
        });
        run.before(&at.later(slack.saturating_add(noise)), &event.at)
    };
    run.pods.iter().filter(|pod| pod.node == node).any(|pod| {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        pod.events.iter().filter(|event| event.text("/source/component") == Some(KUBELET)).any(|event| {
            // A restarted watch shows old events again.
            let known = counts.entry(event.text("/metadata/name").unwrap_or_default()).or_default();
            let is_new = event.count > *known;
            *known = event.count.max(*known);
            is_new && late(event)
        })
    })
}
