//! Why a pod is over: a reason in its status must be true of it.

use probity_model::history::{Did, RESTART_KUBELET};
use probity_model::timeline::{PodLife, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Seen, Timeline};

use crate::reading::statuses::{EVICTED, EXCEEDED, has_run};
use crate::reading::targets::{self, BY_KUBELET};

/// The other reasons with which a kubelet ends a pod that runs: to make room for a critical pod, and when its node shuts down.
/// Kubernetes' `pkg/kubelet/preemption` and `pkg/kubelet/nodeshutdown`.
const OF_THE_NODE: [&str; 2] = ["Preempting", "Terminated"];

/// Accuses a pod that ran of being over for a reason that is not true of it; whether it did. Only a pod that never ran may have
/// been refused by its kubelet.
pub(super) fn accuse_reason(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    over: &Revision<'_>,
    seen: &mut Seen,
) -> bool {
    let Some(reason) = pod.reason().filter(|_| has_run(pod)) else { return false };
    let why = match reason {
        EXCEEDED if has_deadline(pod) => return false,
        EXCEEDED => "it has no deadline",
        EVICTED if pod.has_limited_storage() || run.node_was_touched() => return false,
        EVICTED if targets::says(over, BY_KUBELET) => {
            let finding = format!("{} was evicted, and its node may have been under pressure", pod.key);
            seen.doubt(Doubt::Ambiguous, finding, [over.id]);
            return false;
        }
        EVICTED => "it has no limit of storage, and no condition says that its node was under pressure",
        reason if OF_THE_NODE.contains(&reason) || !only_kubelets_restarted(run) => return false,
        _ => "its containers ran before",
    };
    let finding = format!("{} is {} with the reason {reason}, but {why}", pod.key, over.phase());
    seen.violated(finding, [over.id]);
    true
}

/// Whether a pod ever had a deadline, or its mirror pod did.
fn has_deadline(pod: &PodLife<'_>) -> bool {
    let mut mirrored = pod.mirrors.iter().flat_map(|mirror| &mirror.revisions);
    pod.had_deadline() || mirrored.any(|shown| shown.object["spec"]["activeDeadlineSeconds"].is_number())
}

/// Whether nothing was done to a node, except that its kubelet was restarted: with other settings a kubelet may refuse a pod that
/// ran.
fn only_kubelets_restarted(run: &Timeline<'_>) -> bool {
    let restarts = |did: &Did| matches!(did, Did::NodeVerb { verb, .. } if verb == RESTART_KUBELET);
    run.deeds.iter().all(|(_, deed)| !deed.did.acts_on_node() || restarts(&deed.did))
}
