//! Init containers: their order, what happens when one fails, and what the API shows and allows during initialization.

mod again;
mod blocking;
mod cgroups;
mod deadline;
mod failing;
mod order;
mod patches;
mod rerun;
mod resources;
mod scheduling;
mod services;
mod shown;
mod views;

use probity_model::Judge;

/// How each clause of the chapter is judged. The table of rejections judges `init.all-fields-except` and
/// `init.names-unique`.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "init.run-to-completion", judge: order::mains_come_last },
        Judge { clause: "init.sequential", judge: order::one_after_another },
        Judge { clause: "init.app-containers-start-parallel", judge: order::mains_do_not_wait },
        Judge { clause: "init.after-network-and-volumes", judge: views::network_and_volumes },
        Judge { clause: "init.separate-image-and-fs", judge: views::own_view },
        Judge { clause: "init.retry-until-success", judge: failing::until_success },
        Judge { clause: "init.never-fails-pod", judge: failing::fails_its_pod },
        Judge { clause: "init.start-error-retried", judge: failing::start_error },
        Judge { clause: "init.always-means-onfailure", judge: again::done_is_done },
        Judge { clause: "init.container-restart-no-rerun", judge: again::not_with_a_restart },
        Judge { clause: "init.restart-reason-all-terminated", judge: again::not_after_all_ended },
        Judge { clause: "init.rerun-on-pod-restart", judge: rerun::with_a_new_sandbox },
        Judge { clause: "init.idempotent-advice", judge: again::finds_its_files },
        Judge { clause: "init.pod-not-ready", judge: shown::not_ready },
        Judge { clause: "init.pending-phase", judge: shown::pending },
        Judge { clause: "init.initialized-condition-false", judge: shown::initialized },
        Judge { clause: "init.status-array", judge: shown::in_their_list },
        Judge { clause: "init.ports-not-in-services", judge: services::ports_left_out },
        Judge { clause: "init.image-change-no-restart", judge: patches::image_restarts_nothing },
        Judge { clause: "init.only-image-mutable", judge: patches::image_alone },
        Judge { clause: "init.activedeadline-includes-init", judge: deadline::covers_init },
        Judge { clause: "init.activedeadline-kills-running", judge: deadline::ends_the_running },
        Judge { clause: "init.resources.effective-init", judge: resources::highest_init },
        Judge { clause: "init.resources.effective-pod", judge: resources::highest_of_pod },
        Judge { clause: "init.resources.quota", judge: resources::quota_applies },
        Judge { clause: "init.resources.cgroup", judge: cgroups::are_the_same },
        Judge { clause: "init.resources.qos-same", judge: resources::one_class },
        Judge { clause: "init.resources.scheduling", judge: scheduling::counts_inits },
        Judge { clause: "init.delays-app-start", judge: blocking::delays_mains },
    ]
}

#[cfg(test)]
mod tests;
