//! What a pod is: what its containers share, and what can be changed of it after its creation.

mod generation;
mod shared;
mod updates;

use probity_model::Judge;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "pod.update.generation", judge: generation::counts_changes },
        Judge { clause: "pod.update.allowed-fields", judge: updates::allowed_fields },
        Judge { clause: "pod.update.activedeadline", judge: updates::deadlines },
        Judge { clause: "pod.update.no-new-finalizers", judge: updates::no_late_finalizers },
        Judge { clause: "pod.update.metadata-immutable", judge: updates::identity_stays },
        Judge { clause: "pod.shared.network", judge: shared::network },
        Judge { clause: "pod.shared.ipc", judge: shared::ipc },
        Judge { clause: "pod.shared.ip-per-family", judge: shared::own_addresses },
        Judge { clause: "pod.co-scheduled", judge: shared::one_node },
        Judge { clause: "pod.hostname", judge: shared::hostname },
    ]
}

#[cfg(test)]
mod tests;
