//! Pods: what the containers of a pod share, and what can be changed in a pod after its creation.

mod configuration;
mod context;
mod environment;
mod generation;
mod images;
mod lookups;
mod names;
mod non_root;
mod privileged;
mod references;
mod shared;
mod sysctls;
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
        Judge { clause: "pod.subpath-expr", judge: volumes::expanded_paths },
        Judge { clause: "pod.name-subdomain", judge: names::are_subdomains },
        Judge { clause: "pod.os-field", judge: names::systems },
        Judge { clause: "pod.privileged", judge: privileged::has_all_capabilities },
        Judge { clause: "pod.template-change", judge: templates::changes_new_pods_only },
        Judge { clause: "pod.co-scheduled", judge: shared::one_node },
        Judge { clause: "pod.hostname", judge: shared::hostname },
        Judge { clause: "pod.hosts-file", judge: lookups::know_own_name },
        Judge { clause: "pod.dns-search", judge: lookups::search_own_namespace },
        Judge { clause: "pod.dns-none", judge: lookups::configure_own_resolver },
        Judge { clause: "pod.configuration-files", judge: configuration::have_their_values },
        Judge { clause: "pod.security-context", judge: context::is_in_force },
        Judge { clause: "pod.environment", judge: environment::is_as_specified },
        Judge { clause: "pod.command-references", judge: references::have_values },
        Judge { clause: "pod.run-as-non-root", judge: non_root::never_start_as_root },
        Judge { clause: "pod.unsafe-sysctls", judge: sysctls::unsafe_ones_fail },
        Judge { clause: "pod.safe-sysctls", judge: sysctls::safe_ones_are_set },
    ]
}

#[cfg(test)]
mod tests;
