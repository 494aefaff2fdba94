//! `PodReadyToStartContainers`: False until the pod's sandbox and network exist, True from then on, and False again
//! once they no longer exist.

use std::collections::BTreeSet;

use probity_model::timeline::{ContainerKind, PodLife, Revision, State};
use probity_model::{Clause, Seen, Timeline};

use super::NETWORK;
use crate::reading::mains::ends_with_its_containers;
use crate::reading::statuses::{NO_IMAGE, of_kubelet, runs_something};
use crate::reading::volumes::lacks_volume;

/// Whether a pod has regular init containers, which must end before its main containers start.
pub(super) fn has_inits(pod: &PodLife<'_>) -> bool {
    pod.containers.iter().any(|of| of.kind == ContainerKind::Init)
}

/// While its volumes are missing, a pod gets no sandbox, and so no network.
pub(super) fn false_before(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| lacks_volume(run, pod)) {
        let mut said = false;
        for shown in of_kubelet(pod) {
            if shown.is(NETWORK) == Some(true) {
                let finding =
                    format!("{} waits for a volume that does not exist, but {NETWORK} is True", pod.key);
                seen.violated(finding, [shown.id]);
            } else if shown.is(NETWORK) == Some(false) && !std::mem::replace(&mut said, true) {
                seen.fine([shown.id]);
                seen.facet("init", if has_inits(pod) { "with" } else { "without" });
            }
        }
    }
}

/// The part of a revision that shows that the pod has its network.
fn sign(pod: &PodLife<'_>, shown: &Revision<'_>) -> Option<(&'static str, String)> {
    pod.containers.iter().find_map(|of| match shown.container(&of.name)?.state {
        State::Running { .. } => Some(("there", format!("{} runs", of.name))),
        State::Waiting { reason } if NO_IMAGE.contains(&reason) => {
            Some(("missing", format!("the kubelet looked for the image of {}", of.name)))
        }
        _ => None,
    })
}

/// If a container runs, or its image was requested, the network exists. The network stays while containers restart.
pub(super) fn true_after(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for pod in &run.pods {
        stays_true(run, pod, seen);
        let mut said = BTreeSet::new();
        let lives =
            |shown: &&Revision<'_>| !shown.terminating() && matches!(shown.phase(), "Pending" | "Running");
        for shown in of_kubelet(pod).filter(lives) {
            let Some((image, why)) = sign(pod, shown) else { continue };
            if shown.is(NETWORK) != Some(true) {
                seen.violated(format!("{why} in {}, but {NETWORK} is not True", pod.key), [shown.id]);
            } else if said.insert(image) {
                seen.fine([shown.id]);
                seen.facet("image", image);
            }
        }
    }
}

/// A pod keeps its sandbox until it ends, even while none of its containers runs. A status that shows its last containers as
/// ended may show the phase Running again, so a loss counts only if a container runs again.
fn stays_true(run: &Timeline<'_>, pod: &PodLife<'_>, seen: &mut Seen) {
    if !ends_with_its_containers(run, pod) {
        return;
    }
    let runs = |shown: &&Revision<'_>| !shown.terminating() && shown.phase() == "Running";
    let mut later = of_kubelet(pod).filter(runs).skip_while(|shown| shown.is(NETWORK) != Some(true));
    let Some(first) = later.next() else { return };
    let again = |lost: &&Revision<'_>| {
        pod.revisions.iter().any(|shown| shown.id > lost.id && runs_something(pod, shown))
    };
    if let Some(lost) = later.find(|shown| shown.is(NETWORK) == Some(false)).filter(again) {
        let finding =
            format!("{NETWORK} of {} was True, but is now False although the pod is Running", pod.key);
        seen.violated(finding, [first.id, lost.id]);
    }
}

/// A pod that has terminated no longer has a sandbox.
pub(super) fn false_at_the_end(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let Some(over) = of_kubelet(pod).find(|shown| matches!(shown.phase(), "Succeeded" | "Failed")) else {
            continue;
        };
        let lost = of_kubelet(pod).find(|shown| shown.id >= over.id && shown.is(NETWORK) == Some(false));
        match lost {
            Some(lost) => {
                let quantity = format!("from the terminal phase of {} to {NETWORK} being False", pod.key);
                seen.within(run, &pod.node, quantity, (over, lost), clause.in_time());
                seen.facet("phase", over.phase());
            }
            None if run.watched_for(pod, &over.at, clause.slack_us()) => {
                let finding = format!("{} is {}, but {NETWORK} is not False", pod.key, over.phase());
                seen.violated(finding, run.to_the_end([over.id]));
            }
            None => {}
        }
    }
}
