//! Pods that nobody disturbs stay, and so do their containers.

use probity_model::history::Did;
use probity_model::timeline::{ContainerKind, PodLife, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use probity_script::Process;

use crate::reading::statuses::has_run;
use crate::reading::targets::{self, BY_KUBELET, TARGET};

/// Whether nothing inside or outside a pod can end the pod or its containers.
fn is_idle(run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
    let owned =
        pod.revisions.first().is_some_and(|shown| shown.object["metadata"].get("ownerReferences").is_some());
    let probed = pod.containers.iter().any(|container| !container.probes.is_empty());
    let planned = pod.containers.iter().all(|container| {
        container.stays()
            // The plan of an idle process: no exit, no missing variable, nothing that it consumes or waits for.
            && container
                .plan()
                .is_none_or(|plan| plan.process == Process::default() && plan.listeners.is_empty())
    });
    let limited = pod.containers.iter().any(|container| container.spec["resources"]["limits"].is_object());
    let hooked = pod.containers.iter().any(|container| container.lifecycle("postStart").is_some());
    let named = run.deeds.iter().any(|(_, deed)| match &deed.did {
        Did::Deleted { name, .. } | Did::Patched { name, .. } => *name == pod.name,
        Did::Evicted { pod: of, .. }
        | Did::Executed { pod: of, .. }
        | Did::Changed { pod: of, .. }
        | Did::Called { pod: of, .. } => *of == pod.name,
        _ => false,
    });
    // A pod with a higher priority may take its place.
    let priorities = run
        .deeds
        .iter()
        .any(|(_, deed)| matches!(&deed.did, Did::Created { kind, .. } if kind == "PriorityClass"));
    pod.created.is_some()
        && !(priorities
            || owned
            || probed
            || limited
            || hooked
            || pod.had_deadline()
            || named
            || run.node_was_touched())
        && planned
}

/// Whether somebody, a controller, the node or the pod's own spec may end the pod, whatever its containers do. A
/// `DisruptionTarget` condition counts only if a component other than the kubelet writes it.
fn may_be_ended(run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
    let owned = |shown: &Revision<'_>| shown.object["metadata"].get("ownerReferences").is_some();
    let disrupted =
        |shown: &Revision<'_>| shown.condition(TARGET).is_some() && !targets::says(shown, BY_KUBELET);
    let named = run.deeds.iter().any(|(_, deed)| match &deed.did {
        Did::Deleted { name, .. } => *name == pod.name,
        Did::Evicted { pod: of, .. } => *of == pod.name,
        // The API server may have accepted the request although its answer was lost.
        Did::Failed { what, .. } => ["delete", "evict"].iter().any(|word| what.starts_with(word)),
        _ => false,
    });
    pod.created.is_none()
        || pod.is_static
        || named
        || run.node_was_touched()
        || pod.has_limited_storage()
        || pod.had_deadline()
        || pod.revisions.iter().any(|shown| owned(shown) || disrupted(shown))
}

/// Whether every main container restarts, however it ends, and no init container can fail the pod.
fn restarts_for_ever(pod: &PodLife<'_>) -> bool {
    pod.containers.iter().all(|of| {
        let policy = pod.policy_of(of);
        let enough = if of.kind == ContainerKind::Main { policy == "Always" } else { policy != "Never" };
        enough && of.spec.get("restartPolicyRules").is_none()
    })
}

/// Reports a change that nothing explains: a running pod is deleted, or ends although its policy restarts all of its
/// containers.
fn accuse_unexplained(pod: &PodLife<'_>, seen: &mut Seen) {
    let ended = |shown: &&Revision<'_>| {
        shown.terminating() || shown.gone || matches!(shown.phase(), "Succeeded" | "Failed")
    };
    let Some(shown) = pod.revisions.iter().find(ended).filter(|_| has_run(pod)) else { return };
    let finding = if shown.terminating() || shown.gone {
        format!("{} is terminating or was removed, although nobody deleted it", pod.key)
    } else if pod.reason().is_none() && shown.condition(TARGET).is_none() && restarts_for_ever(pod) {
        format!("{} is {}, but nothing shows why its containers are not restarted", pod.key, shown.phase())
    } else {
        return;
    };
    seen.violated(finding, [shown.id]);
}

/// A running pod that nobody disturbs keeps its UID and its containers.
pub(super) fn undisturbed_pods_stay(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| !is_idle(run, pod) && !may_be_ended(run, pod)) {
        accuse_unexplained(pod, seen);
    }
    for pod in run.pods.iter().filter(|pod| is_idle(run, pod)) {
        let Some(ready) = pod.revisions.iter().find(|shown| shown.is("Ready") == Some(true)) else {
            continue;
        };
        let later = || pod.revisions.iter().filter(|shown| shown.id > ready.id);
        let goes = |shown: &&Revision<'_>| shown.terminating() || shown.gone || shown.phase() != "Running";
        if let Some(gone) = later().find(goes) {
            let finding = format!("{} did not keep running, although nobody changed it", pod.key);
            match targets::says(gone, BY_KUBELET) {
                // The node may have been short of a resource, but the condition alone does not prove it.
                true => seen.doubt(
                    Doubt::Ambiguous,
                    format!("{finding}; according to its conditions, its kubelet evicted it"),
                    [gone.id],
                ),
                false => seen.violated(finding, [ready.id, gone.id]),
            }
            continue;
        }
        let restarted = |shown: &&Revision<'_>| {
            pod.containers.iter().any(|container| {
                let restarts = |of: &Revision<'_>| of.container(&container.name).map(|seen| seen.restarts);
                restarts(shown) > restarts(ready)
            })
        };
        if let Some(again) = later().find(restarted) {
            let finding =
                format!("a container of {} was restarted, although nobody changed the pod", pod.key);
            seen.violated(finding, [ready.id, again.id]);
            continue;
        }
        if run.watched_for(pod, &ready.at, clause.tolerance_us("watched")) {
            seen.fine(run.to_the_end([ready.id]));
        }
    }
}
