//! The reason why a pod has ended: a reason in its status must be true.

use probity_model::measure::SECOND;
use probity_model::timeline::{PodLife, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Seen, Timeline};

use crate::reading::critical::lacks_of_room;
use crate::reading::kubelet_restarts::only_kubelets_restarted;
use crate::reading::statuses::{EVICTED, EXCEEDED, has_run};
use crate::reading::targets::{self, BY_KUBELET};

/// The reason of a pod that was preempted for a critical pod: Kubernetes' `pkg/kubelet/preemption`.
const PREEMPTED: &str = "Preempting";
/// The reason of a pod whose node shut down: Kubernetes' `pkg/kubelet/nodeshutdown`.
const SHUT_DOWN: &str = "Terminated";
/// A node that shuts down is certainly down this long after the grace periods of its pods, because the example in the
/// documentation gives all pods together 30 s.
const SHUTDOWN: i64 = 30 * SECOND;

/// Reports a pod that ran and then ended with a reason that is not true. Returns whether it reported one. Only a pod
/// that never ran can have been rejected by its kubelet.
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
        EVICTED => "it has no storage limit, and no condition shows that its node was under pressure",
        // A kubelet with other settings may reject a pod that ran.
        _ if !only_kubelets_restarted(run) => return false,
        PREEMPTED if gave_way(run, pod) => return false,
        SHUT_DOWN if goes_on(run, pod, over) => "its node keeps running other pods",
        PREEMPTED | SHUT_DOWN => {
            let finding = format!(
                "{} terminated with the reason {reason}, but nothing else in the history confirms it",
                pod.key
            );
            seen.doubt(Doubt::Ambiguous, finding, [over.id]);
            return false;
        }
        _ => "its containers ran before",
    };
    let finding = format!("{} is {} with the reason {reason}, but {why}", pod.key, over.phase());
    seen.violated(finding, [over.id]);
    true
}

/// Whether a critical pod needed what a pod held.
fn gave_way(run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
    lacks_of_room(run).iter().any(|lack| lack.holders.iter().any(|holder| holder.uid == pod.uid))
}

/// Whether a container of another pod on the same node left records long after a pod had ended.
fn goes_on(run: &Timeline<'_>, pod: &PodLife<'_>, over: &Revision<'_>) -> bool {
    run.lives().into_iter().any(|life| {
        let by = over.at.later(life.pod.grace() + SHUTDOWN);
        let same_node = life.pod.node == pod.node && life.pod.uid != pod.uid;
        same_node && life.last_line().is_some_and(|line| run.before(&by, &line.at))
    })
}

/// Whether a pod ever had a deadline, or its mirror pod did.
fn has_deadline(pod: &PodLife<'_>) -> bool {
    let mut mirrored = pod.mirrors.iter().flat_map(|mirror| &mirror.revisions);
    pod.had_deadline() || mirrored.any(|shown| shown.object["spec"]["activeDeadlineSeconds"].is_number())
}
