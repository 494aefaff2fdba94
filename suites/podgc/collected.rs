//! Failed pods stay, and pods on nodes that do not exist are removed.

use probity_model::history::Did;
use probity_model::timeline::{At, PodLife, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use crate::reading::statuses::EVICTED;

/// A pod that failed stays until it is deleted. Some clusters have a controller that removes failed pods sooner or later,
/// so only the case about this clause shows a violation.
pub(super) fn failed_stay(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    // A reconfigured controller manager may remove such a pod.
    let pods = run.pods.iter().filter(|_| !run.node_was_touched());
    for pod in pods.filter(|pod| !is_owned(pod) && !is_orphan(run, pod)) {
        let Some(over) = pod.over().filter(|over| over.phase() == "Failed") else { continue };
        let goes = |shown: &&Revision<'_>| shown.terminating() || shown.gone;
        match pod.revisions.iter().find(goes) {
            Some(gone) if pod.deleted.is_none() && !run.before(&gone.at, &over.at) => {
                let finding = format!("{} failed, and it was removed although nobody deleted it", pod.key);
                if run.history.header.judges.contains(&clause.id) && !is_evicted(over) {
                    seen.violated(finding, [over.id, gone.id]);
                } else {
                    let why = format!("{finding}: a controller of the cluster may remove such pods");
                    seen.doubt(Doubt::Ambiguous, why, [over.id, gone.id]);
                }
            }
            _ if run.watched_for(pod, &over.at, clause.tolerance_us("watched")) => {
                seen.fine(run.to_the_end([over.id]));
            }
            None => {
                // The collector removed another pod, so it also checked this one.
                if let Some(gone) = collected_after(run, over) {
                    seen.fine([over.id, gone.id]);
                }
            }
            Some(_) => {}
        }
    }
}

/// Whether a pod was evicted by its kubelet. If there are too many terminated pods in the cluster, the garbage collector
/// removes such pods first.
fn is_evicted(over: &Revision<'_>) -> bool {
    over.object["status"]["reason"] == EVICTED
}

/// Whether a pod has a controller, which may remove the pod.
fn is_owned(pod: &PodLife<'_>) -> bool {
    let owners = |shown: &Revision<'_>| shown.object["metadata"].get("ownerReferences").is_some();
    pod.revisions.first().is_some_and(owners)
}

/// Whether a pod was created on a node that the cluster does not have.
fn is_orphan(run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
    let wanted = pod.created.and_then(|(_, manifest)| manifest.get("spec")?.get("nodeName")?.as_str());
    let nodes = &run.history.header.nodes;
    !nodes.is_empty() && wanted.is_some_and(|node| !nodes.contains_key(node))
}

/// Whether nobody but the garbage collector can remove a pod that has no kubelet: nobody deleted it, or only with a grace
/// period, which does not end without a kubelet.
fn is_left_alone(run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
    let forces = |did: &Did| matches!(did, Did::Deleted { kind, name, grace: Some(0) } if kind == "Pod" && *name == pod.name);
    let waits = |shown: &Revision<'_>| {
        !shown.gone && shown.terminating() && shown.deletion_grace().is_some_and(|grace| grace > 0)
    };
    let forced = run.deeds.iter().any(|(_, deed)| forces(&deed.did));
    pod.deleted.is_none() || (!forced && pod.revisions.iter().any(waits))
}

fn orphans<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = &'t PodLife<'h>> {
    run.pods.iter().filter(|pod| is_orphan(run, pod) && is_left_alone(run, pod))
}

/// The removal of a pod by the garbage collector after a revision.
fn collected_after<'t, 'h>(run: &'t Timeline<'h>, over: &Revision<'h>) -> Option<&'t Revision<'h>> {
    let mut gone = orphans(run).filter_map(|pod| pod.revisions.iter().find(|shown| shown.gone));
    gone.find(|gone| run.before(&over.at, &gone.at))
}

/// A pod on a node that does not exist is removed.
pub(super) fn orphans_go(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in orphans(run) {
        let Some(first) = pod.revisions.first() else { continue };
        match pod.revisions.iter().find(|shown| shown.gone) {
            Some(gone) => {
                let quantity =
                    format!("from the creation of {} on a node that does not exist to its removal", pod.key);
                seen.within(run, &pod.node, quantity, (first, gone), clause.in_time());
            }
            None => {
                let late = |end: &At| match pod.deleted {
                    Some(_) => run.misses("", (first, end), clause.in_time()),
                    None => run.watched_for(pod, &first.at, clause.slack_us()),
                };
                if let Some(end) = run.end_event().filter(late) {
                    let finding =
                        format!("{} is on a node that does not exist, but it was not removed", pod.key);
                    seen.violated(finding, [first.id, end.id]);
                }
            }
        }
    }
}

/// The terminal phase that a client wrote into the status of a pod, if the API server showed it.
fn finished_by_client<'h>(run: &Timeline<'h>, pod: &PodLife<'h>) -> Option<&'h str> {
    let mut phases = run.deeds.iter().filter_map(|(_, deed)| match &deed.did {
        Did::Patched { kind, name, patch, .. } if kind == "Pod" && *name == pod.name => {
            patch["status"]["phase"].as_str()
        }
        _ => None,
    });
    let shown = |phase: &str| pod.revisions.iter().any(|shown| !shown.gone && shown.phase() == phase);
    phases.find(|phase| matches!(*phase, "Succeeded" | "Failed") && shown(phase))
}

/// Before such a pod is removed, it is Failed, with a condition that gives the reason. If it had already terminated, its
/// phase stays the same.
pub(super) fn orphans_are_explained(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in orphans(run) {
        let Some(gone) = pod.revisions.iter().find(|shown| shown.gone) else { continue };
        if let Some(phase) = finished_by_client(run, pod) {
            let finding = || {
                format!(
                    "{} was {phase}, but the last revision before its removal shows the phase {}",
                    pod.key,
                    gone.phase()
                )
            };
            seen.check(gone.phase() == phase, finding, [gone.id]);
            continue;
        }
        let target = gone.condition("DisruptionTarget");
        let says = |field: &str| target.and_then(|of| of.get(field)).and_then(Value::as_str);
        let finding = match (gone.phase(), says("status"), says("reason")) {
            ("Failed", Some("True"), Some("DeletionByPodGC")) => {
                seen.fine([gone.id]);
                continue;
            }
            ("Failed", status, reason) => format!(
                "{} was removed from a node that does not exist, but DisruptionTarget is {} with the reason {}",
                pod.key,
                status.unwrap_or("missing"),
                reason.unwrap_or("no reason")
            ),
            (phase, ..) => format!("{} was removed from a node that does not exist while {phase}", pod.key),
        };
        seen.violated(finding, [gone.id]);
    }
}
