//! Evictions and disruption budgets: which evictions are granted and which are refused, which pods a budget counts, how
//! evicted pods terminate, and which pods stay.

mod account;
mod by_kubelet;
mod bypass;
mod controllers;
mod drained;
mod explained;
mod graceful;
mod jobs;
mod limits;
mod preempted;
mod selector;
mod staying;
mod tainted;
mod unhealthy;

use probity_model::Judge;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "disruption.pods-stay", judge: staying::undisturbed_pods_stay },
        Judge { clause: "pdb.limits-voluntary", judge: limits::evictions_are_limited },
        Judge { clause: "pdb.example-one-at-a-time", judge: limits::one_at_a_time },
        Judge { clause: "pdb.intended-count-from-controller", judge: controllers::wanted_by_controllers },
        Judge { clause: "pdb.rolling-update-not-limited", judge: controllers::updates_are_not_limited },
        Judge { clause: "pdb.statefulset-replacement", judge: controllers::one_after_the_other },
        Judge { clause: "pdb.involuntary-counts", judge: limits::unready_pods_count },
        Judge { clause: "pdb.direct-delete-ignores", judge: limits::deletions_are_not_limited },
        Judge { clause: "pdb.selector", judge: selector::by_labels },
        Judge { clause: "pdb.unhealthy-default", judge: unhealthy::wait_for_the_budget },
        Judge { clause: "pdb.unhealthy-alwaysallow", judge: unhealthy::always_go },
        Judge { clause: "eviction.graceful", judge: graceful::has_its_grace },
        Judge { clause: "eviction.pending-terminal-bypass", judge: bypass::without_the_budget },
        Judge { clause: "disruptiontarget.eviction-api", judge: explained::by_the_condition },
        Judge { clause: "disruptiontarget.job-policy", judge: jobs::policies_know_disruptions },
        Judge { clause: "pdb.drain-retries", judge: drained::evicts_and_retries },
        Judge { clause: "pdb.worked-example", judge: drained::one_node_after_another },
        Judge { clause: "disruptiontarget.taint-manager", judge: tainted::untolerated_pods_go },
        Judge { clause: "disruptiontarget.kubelet", judge: by_kubelet::evicted_pods_say_so },
        Judge { clause: "disruptiontarget.node-shutdown", judge: by_kubelet::shut_down_pods_say_so },
        Judge { clause: "disruptiontarget.critical-pod", judge: by_kubelet::preempted_pods_say_so },
        Judge { clause: "disruptiontarget.preemption", judge: preempted::preempted_pods_say_so },
    ]
}

#[cfg(test)]
mod tests;
