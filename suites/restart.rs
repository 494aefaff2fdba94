//! Restarts: which policy restarts a container, what the container keeps, and how long it waits.

mod all;
mod anew;
mod announced;
mod back_off;
mod configured;
mod expected;
mod failed_hooks;
mod for_good;
mod policy;
mod probe_kills;
mod rules;
mod shown;

use probity_model::Judge;

/// How each clause of the chapter is judged; `restart.policy.values-default` and
/// `restart.rules.validation` are judged by the table of rejections.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "restart.policy.always", judge: policy::always },
        Judge { clause: "restart.policy.onfailure", judge: policy::on_failure },
        Judge { clause: "restart.policy.never", judge: policy::never },
        Judge { clause: "restart.policy.scope", judge: policy::scope },
        Judge { clause: "restart.same-pod-same-node", judge: policy::same_pod },
        Judge { clause: "restart.first-crash-immediate", judge: back_off::first_is_immediate },
        Judge { clause: "restart.backoff.sequence", judge: back_off::doubles },
        Judge { clause: "restart.backoff.cap", judge: back_off::is_capped },
        Judge { clause: "restart.backoff.waiting-reason", judge: shown::is_shown },
        Judge { clause: "restart.backoff.reset-after-10min", judge: back_off::is_reset },
        Judge { clause: "restart.backoff.other-causes", judge: back_off::of_other_causes },
        Judge { clause: "restart.backoff.liveness-kills", judge: probe_kills::two_for_nothing },
        Judge { clause: "restart.backoff.probe-causes", judge: probe_kills::lead_to_it },
        Judge { clause: "restart.backoff.image-change-resets", judge: anew::with_a_change },
        Judge { clause: "restart.backoff.configurable", judge: configured::is_the_maximum },
        Judge { clause: "restart.backoff.max-below-initial", judge: configured::is_every_delay },
        Judge { clause: "restart.backoff.config-range", judge: configured::is_in_range },
        Judge { clause: "restart.rules.container-policy", judge: rules::own_policy },
        Judge { clause: "restart.rules.exit-codes", judge: rules::exit_codes },
        Judge { clause: "restart.rules.all-containers", judge: all::all_containers },
        Judge { clause: "restart.rules.all-in-place", judge: all::in_place },
        Judge { clause: "restart.rules.all-announced", judge: announced::by_condition },
    ]
}

#[cfg(test)]
mod tests;
