//! Critical pods that are bound to a node without enough free resources: what they need, and which pods hold it.
//!
//! Only an extended resource that a step of the case advertised is considered: nobody else requests it, so it is known who
//! holds it.

use probity_model::Timeline;
use probity_model::history::Did;
use probity_model::timeline::{At, PodLife};
use serde_json::Value;

use super::qos::total_request;
use super::quantities::WHOLE;

/// Pods with at least this priority are critical: Kubernetes documentation, Guaranteed Scheduling For Critical Add-On Pods.
const CRITICAL: i64 = 2_000_000_000;

/// A critical pod, and the pods that hold what it needs.
pub(crate) struct LackOfRoom<'t, 'h> {
    /// The resource.
    pub(crate) resource: &'h str,
    /// The critical pod.
    pub(crate) critical: &'t PodLife<'h>,
    /// When the critical pod was first shown.
    pub(crate) at: At,
    /// The pods that held the resource then. All of them have to give way.
    pub(crate) holders: Vec<&'t PodLife<'h>>,
    /// The other pods of the node.
    pub(crate) others: Vec<&'t PodLife<'h>>,
}

/// The critical pods for which the node had no room until all pods that hold the resource were gone.
pub(crate) fn lacks_of_room<'t, 'h>(run: &'t Timeline<'h>) -> Vec<LackOfRoom<'t, 'h>> {
    let advertised = run.deeds.iter().filter_map(|(id, deed)| match &deed.did {
        Did::Advertised { node, resource, amount } => Some((*id, node.as_str(), resource.as_str(), *amount)),
        _ => None,
    });
    let advertised: Vec<_> = advertised.collect();
    let lack = |critical: &'t PodLife<'h>| {
        let (_, manifest) = critical.created?;
        let spec = manifest.get("spec")?;
        is_critical(critical).then_some(())?;
        let first = critical.revisions.first()?;
        // The scheduler does not check a pod that was created for a node.
        let bound = spec.get("nodeName")?.as_str()?;
        let (_, node, resource, amount) = advertised.iter().copied().find(|(id, node, resource, _)| {
            *id < first.id && *node == bound && total_request(spec, resource).is_some_and(|asked| asked > 0)
        })?;
        let there = |pod: &&PodLife<'h>| {
            let before = pod.revisions.iter().rfind(|shown| shown.id < first.id);
            pod.uid != critical.uid
                && before.is_some_and(|shown| {
                    shown.object["spec"]["nodeName"] == node && shown.phase() == "Running"
                })
                && run.before_deletion(pod, &first.at)
        };
        let asked = |pod: &PodLife<'h>| total_request(pod.spec, resource).unwrap_or_default();
        let (holders, others): (Vec<_>, Vec<_>) =
            run.pods.iter().filter(there).partition(|pod| asked(pod) > 0);
        if holders.iter().any(|pod| is_critical(pod)) {
            return None;
        }
        // As long as any one holder remains, there is too little room, so all of them have to terminate.
        let all = i128::from(amount) * WHOLE;
        let smallest = holders.iter().map(|pod| asked(pod)).min()?;
        let at = At::new(first.id, first.at.clone());
        (smallest + asked(critical) > all).then_some(LackOfRoom { resource, critical, at, holders, others })
    };
    run.pods.iter().filter_map(lack).collect()
}

/// Whether a pod is critical.
pub(crate) fn is_critical(pod: &PodLife<'_>) -> bool {
    pod.spec.get("priority").and_then(Value::as_i64).is_some_and(|priority| priority >= CRITICAL)
}
