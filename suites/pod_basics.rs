//! Pods: what the containers of a pod share, and what can be changed in a pod after its creation.

mod generation;
mod images;
mod names;
mod privileged;
mod shared;
mod templates;
mod updates;
mod volumes;

use probity_model::Judge;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "pod.update.generation", judge: generation::counts_changes },
        Judge { clause: "pod.update.allowed-fields", judge: updates::allowed_fields },
        Judge { clause: "pod.update.image-replaces", judge: images::replace_containers },
        Judge { clause: "pod.update.activedeadline", judge: updates::deadlines },
        Judge { clause: "pod.update.no-new-finalizers", judge: updates::no_late_finalizers },
        Judge { clause: "pod.update.metadata-immutable", judge: updates::identity_stays },
        Judge { clause: "pod.shared.network", judge: shared::network },
        Judge { clause: "pod.shared.ipc", judge: shared::ipc },
        Judge { clause: "pod.shared.ip-per-family", judge: shared::own_addresses },
        Judge { clause: "pod.shared.volumes", judge: volumes::shared },
        Judge { clause: "pod.name-subdomain", judge: names::are_subdomains },
        Judge { clause: "pod.os-field", judge: names::systems },
        Judge { clause: "pod.privileged", judge: privileged::has_all_capabilities },
        Judge { clause: "pod.template-change", judge: templates::changes_new_pods_only },
        Judge { clause: "pod.co-scheduled", judge: shared::one_node },
        Judge { clause: "pod.hostname", judge: shared::hostname },
    ]
}

#[cfg(test)]
mod tests;
