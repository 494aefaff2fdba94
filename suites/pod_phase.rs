//! A pod's phase and its lifetime: which phase it must and must not have at each moment, and what a pod keeps while it
//! exists.

mod causes;
mod gates;
mod lifetime;
mod node_loss;
mod phases;
mod pressure;
mod rejected;
mod removal;
mod replaced;
mod terminal;

use probity_model::Judge;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "pod.phase.values", judge: phases::one_of_five },
        Judge { clause: "pod.phase.starts-pending", judge: phases::starts_pending },
        Judge { clause: "pod.phase.running", judge: phases::running_means },
        Judge { clause: "pod.phase.moves-to-running", judge: phases::moves_to_running },
        Judge { clause: "pod.phase.succeeded", judge: terminal::succeeded },
        Judge { clause: "pod.phase.failed", judge: terminal::failed },
        Judge { clause: "pod.phase.not-kubectl-status", judge: phases::shown_beside },
        Judge { clause: "pod.phase.terminal-sticky", judge: terminal::is_for_good },
        Judge { clause: "pod.phase.terminal-before-removal", judge: removal::terminal_first },
        Judge { clause: "pod.phase.rejected-for-resources", judge: rejected::for_resources },
        Judge { clause: "pod.phase.unknown", judge: node_loss::is_unknown },
        Judge { clause: "pod.phase.node-loss-failed", judge: node_loss::has_failed },
        Judge { clause: "pod.lifecycle.node-failure-deletes", judge: node_loss::is_deleted },
        Judge { clause: "pod.lifecycle.never-started-on-dead-node", judge: node_loss::never_starts },
        Judge { clause: "pod.lifecycle.unique-uid", judge: lifetime::own_uid },
        Judge { clause: "pod.lifecycle.scheduled-once", judge: lifetime::one_node },
        Judge { clause: "pod.lifecycle.volume-tied-to-uid", judge: lifetime::volume_stays },
        Judge { clause: "pod.scheduling.gates-delay", judge: gates::delay_scheduling },
        Judge { clause: "pod.lifecycle.controller-replaces", judge: replaced::by_controllers_alone },
        Judge { clause: "pod.lifecycle.node-pressure-not-survived", judge: pressure::is_not_survived },
    ]
}

#[cfg(test)]
mod tests;
