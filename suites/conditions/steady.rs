//! Conditions that certainly stayed True between two statuses, whatever their status was before.

use probity_model::Timeline;
use probity_model::timeline::{ContainerLife, PodLife, ProbeKind, Revision};

use super::NETWORK;
use super::fields::all_ready;
use super::transitions::are_alike;
use crate::reading::mains::ends_with_its_containers;

/// Whether a condition that two revisions show as True was certainly not False in between. A restarted kubelet learns
/// again what is ready, so histories with actions on nodes are left out.
pub(super) fn stayed_true(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    kind: &str,
    (before, after): (&Revision<'_>, &Revision<'_>),
) -> bool {
    let both = before.is(kind) == Some(true) && after.is(kind) == Some(true);
    both && !run.node_was_touched()
        && match kind {
            "ContainersReady" => stayed_ready(pod, before, after),
            "Ready" => pod.spec.get("readinessGates").is_none() && stayed_ready(pod, before, after),
            NETWORK => kept_sandbox(run, pod, before, after),
            _ => false,
        }
}

/// Whether the same instances of all containers are ready in both revisions, and none of them has a probe on which its
/// readiness depends. Such an instance is ready for as long as it runs.
fn stayed_ready(pod: &PodLife<'_>, before: &Revision<'_>, after: &Revision<'_>) -> bool {
    let deciding = [ProbeKind::Readiness, ProbeKind::Startup];
    let unprobed = |of: &ContainerLife<'_>| deciding.iter().all(|kind| of.probe(*kind).is_none());
    pod.containers.iter().all(unprobed) && all_ready(pod, before) && are_alike(pod, before, after)
}

/// Whether a pod that runs has the same sandbox in both revisions. It keeps its sandbox until it ends, even while none of
/// its containers runs, and a new sandbox would have another address.
fn kept_sandbox(run: &Timeline<'_>, pod: &PodLife<'_>, before: &Revision<'_>, after: &Revision<'_>) -> bool {
    let runs = |shown: &Revision<'_>| shown.phase() == "Running" && !shown.terminating();
    let made =
        |of: &ContainerLife<'_>| before.container(&of.name).is_some_and(|status| !status.id.is_empty());
    let (was, is) = (&before.object["status"]["podIP"], &after.object["status"]["podIP"]);
    let same = was.is_string() && was == is;
    same && runs(before)
        && runs(after)
        && pod.containers.iter().any(made)
        && ends_with_its_containers(run, pod)
}
