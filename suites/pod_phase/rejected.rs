//! Pods that are bound to a node without the scheduler, although the node does not have the resources that they request.

use probity_model::timeline::{PodLife, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

use crate::reading::qos::{DECIDING, amount, effective};
use crate::reading::quantities::thousandths;
use crate::reading::statuses::{EVICTED, has_run, is_explained, runs_something};

/// How the reason of a rejection begins, according to the Kubernetes documentation on assigning pods to nodes. The name
/// of the resource follows.
const OUT_OF: &str = "OutOf";
/// The reason if a node has as many pods as it can have.
const OUT_OF_PODS: &str = "OutOfpods";

/// The only resource of which a pod requests more than its node has for all pods. None if the pod was not created for
/// this node, or if it requests too much of several resources.
fn excess(run: &Timeline<'_>, pod: &PodLife<'_>) -> Option<&'static str> {
    let (_, manifest) = pod.created?;
    let spec = manifest.get("spec")?;
    let node = run.history.header.nodes.get(spec.get("nodeName")?.as_str()?)?;
    let exceeds = |resource: &&'static str| {
        let asked = effective(spec, |of| Some(amount(of, "requests", resource).unwrap_or_default()));
        let all = node.allocatable.get(*resource).and_then(|all| thousandths(all));
        asked.zip(all).is_some_and(|(asked, all)| asked.amount > all)
    };
    let mut too_large = DECIDING.into_iter().filter(exceeds);
    let only = too_large.next()?;
    too_large.next().is_none().then_some(only)
}

/// A pod that is bound to a node without enough of a resource fails, and the reason names this resource.
pub(super) fn for_resources(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| !pod.is_static && run.deletion(pod).is_none()) {
        if let (Some(resource), Some(bound)) = (excess(run, pod), pod.revisions.first()) {
            judge(run, clause, (pod, bound, resource), seen);
        }
    }
}

fn judge(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, bound, resource): (&PodLife<'_>, &Revision<'_>, &'static str),
    seen: &mut Seen,
) {
    let key = &pod.key;
    if let Some(ran) = ran(pod) {
        let finding = format!("{key} requests more {resource} than its node has, but a container ran");
        return seen.violated(finding, [bound.id, ran]);
    }
    let failed = pod.revisions.iter().find(|shown| shown.phase() == "Failed");
    let Some(failed) = failed else {
        if run.watched_for(pod, &bound.at, clause.slack_us()) {
            let finding = format!("{key} requests more {resource} than its node has, but did not fail");
            seen.violated(finding, run.to_the_end([bound.id]));
        }
        return;
    };
    let reason = failed.object["status"].get("reason").and_then(Value::as_str).unwrap_or("no reason");
    // The kubelet names only the first reason, and a full node lacks other things, too.
    if [OUT_OF_PODS, EVICTED].contains(&reason) {
        let why = format!("{key} was rejected with {reason}, because its node was full");
        return seen.doubt(Doubt::Ambiguous, why, [bound.id, failed.id]);
    }
    let finding = || {
        format!(
            "{key} requests more {resource} than its node has, and failed with {reason} instead of {OUT_OF}{resource}"
        )
    };
    let told = reason.strip_prefix(OUT_OF) == Some(resource);
    seen.check(told, finding, [bound.id, failed.id]);
    if told && !is_explained(failed) {
        let finding = format!("{key} failed with {reason}, but no message gives the details");
        seen.violated(finding, [bound.id, failed.id]);
    } else if told {
        seen.facet("resource", resource);
    }
}

/// The first sign that a container of a pod ran.
fn ran(pod: &PodLife<'_>) -> Option<EventId> {
    if !has_run(pod) {
        return None;
    }
    let shown = pod.revisions.iter().find(|shown| runs_something(pod, shown));
    shown.or_else(|| pod.last()).map(|shown| shown.id)
}
