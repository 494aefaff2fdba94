//! The conditions in a pod's status: which conditions exist, what each means, when each last changed, what readiness
//! gates add, and whether the kubelet keeps conditions that it does not manage.

mod fields;
mod gates;
mod initialized;
mod lasting;
mod patches;
mod readiness;
mod sandbox;
mod scheduled;
mod steady;
mod transitions;

use probity_model::Judge;
use probity_model::timeline::Revision;

use crate::reading::scheduling::SCHEDULED;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "pod.condition.set-of-five", judge: fields::set_of_five },
        Judge { clause: "pod.condition.fields", judge: fields::well_formed },
        Judge { clause: "pod.condition.transition-time", judge: transitions::tells_of_changes },
        Judge { clause: "pod.condition.podscheduled", judge: scheduled::by_node },
        Judge { clause: "pod.condition.containersready", judge: readiness::of_all_containers },
        Judge { clause: "pod.condition.initialized", judge: initialized::by_helpers },
        Judge { clause: "pod.condition.ready", judge: readiness::in_services },
        Judge { clause: "pod.condition.terminal-not-ready", judge: readiness::of_the_dead },
        Judge { clause: "pod.condition.custom-preserved", judge: patches::kept },
        Judge { clause: "readinessgate.missing-is-false", judge: gates::missing_is_false },
        Judge { clause: "readinessgate.ready-needs-both", judge: gates::both_are_needed },
        Judge { clause: "readinessgate.containersready-shown", judge: gates::containers_shown },
        Judge { clause: "readinessgate.set-by-patch", judge: patches::set_by_patch },
        Judge { clause: "ptsc.present", judge: fields::network_told },
        Judge { clause: "ptsc.false-before-sandbox", judge: sandbox::false_before },
        Judge { clause: "ptsc.true-after-sandbox", judge: sandbox::true_after },
        Judge { clause: "ptsc.false-after-sandbox-loss", judge: sandbox::false_at_the_end },
        Judge { clause: "ptsc.initialized-order-no-init", judge: initialized::before_the_sandbox },
        Judge { clause: "ptsc.initialized-order-init", judge: initialized::after_the_sandbox },
    ]
}

/// The condition that shows whether a pod has its network.
const NETWORK: &str = "PodReadyToStartContainers";

/// The conditions that a kubelet manages, according to the Kubernetes documentation.
const KUBELETS: [&str; 5] = [SCHEDULED, NETWORK, "Initialized", "ContainersReady", "Ready"];

/// The condition of pods that have a rule for the restart of all containers.
const RESTARTING: &str = "AllContainersRestarting";

/// The condition that shows why a pod is about to be terminated. The kubelet and other components write it.
const TARGET: &str = "DisruptionTarget";

/// A text field of a condition.
fn text<'h>(shown: &Revision<'h>, condition: &str, field: &str) -> Option<&'h str> {
    shown.condition(condition)?.get(field)?.as_str()
}

/// The words in the brackets of a message, such as `left` and `right` in `containers with unready status: [left right]`.
/// Only these words certainly name containers: a vendor may use other words in its sentences.
fn listed(message: &str) -> impl Iterator<Item = &str> {
    let lists = message.split('[').skip(1).filter_map(|part| part.split(']').next());
    lists.flat_map(words)
}

/// The words of a message that may be names of containers.
fn words(message: &str) -> impl Iterator<Item = &str> {
    message.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
}

#[cfg(test)]
mod tests;
