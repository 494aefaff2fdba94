//! How a pod terminates: the deletion request, the hook, the stop signal, the grace period, the kill, the order of
//! sidecars, the state of its endpoints, and its removal.

mod asked;
mod chosen_signal;
mod counting;
mod endpoints;
mod grace;
mod hook_time;
mod hooks;
mod least;
mod removal;
mod request;
mod restarted;
mod sandbox;
mod sidecars;
mod signal;

use probity_model::Judge;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "termination.deadline-recorded", judge: request::deadline_is_recorded },
        Judge { clause: "termination.grace-only-shortens", judge: request::only_shortens },
        Judge { clause: "termination.negative-grace", judge: request::negative_is_one },
        Judge { clause: "termination.starts-promptly", judge: signal::comes_promptly },
        Judge { clause: "termination.term-to-pid1", judge: signal::is_for_the_first_process },
        Judge { clause: "termination.stopsignal-honoured", judge: chosen_signal::of_the_image },
        Judge { clause: "termination.stopsignal-field", judge: chosen_signal::of_the_container },
        Judge { clause: "termination.no-restart-while-terminating", judge: signal::nothing_comes_back },
        Judge { clause: "termination.default-grace-30", judge: grace::of_thirty_by_default },
        Judge { clause: "termination.grace-override", judge: grace::of_the_request },
        Judge { clause: "termination.kill-after-grace", judge: grace::ends_in_a_kill },
        Judge { clause: "termination.minimum-2s", judge: grace::is_never_shorter },
        Judge { clause: "termination.prestop-runs-first", judge: hooks::runs_first },
        Judge { clause: "termination.prestop-counts-in-grace", judge: hook_time::counts },
        Judge { clause: "termination.prestop-2s-extension", judge: hook_time::is_extended_once },
        Judge { clause: "termination.prestop-needs-longer-grace", judge: hook_time::needs_longer_grace },
        Judge { clause: "termination.prestop-not-with-zero-grace", judge: hooks::not_without_grace },
        Judge { clause: "termination.prestop-on-liveness-kill", judge: hooks::runs_before_kills },
        Judge { clause: "termination.prestop-not-on-self-exit", judge: hooks::not_after_exits },
        Judge { clause: "termination.sidecar.after-main", judge: sidecars::after_mains },
        Judge { clause: "termination.sidecar.reverse-order", judge: sidecars::in_reverse },
        Judge { clause: "termination.sidecar.slow-main-delays", judge: sidecars::after_slow_mains },
        Judge { clause: "termination.sidecar.grace-expiry-simultaneous", judge: sidecars::all_at_expiry },
        Judge { clause: "termination.sidecar.prestop-overrun", judge: sidecars::all_after_long_hooks },
        Judge { clause: "termination.sidecar.prestop-not-ordered", judge: sidecars::hooks_at_once },
        Judge { clause: "termination.endpoint-kept-terminating", judge: endpoints::is_kept },
        Judge { clause: "termination.endpoint-ready-false", judge: endpoints::is_not_ready },
        Judge { clause: "termination.endpoint-serving-is-readiness", judge: endpoints::serves_as_it_says },
        Judge { clause: "termination.endpoint-proxy-fallback", judge: endpoints::is_the_last_resort },
        Judge { clause: "termination.open-connections-finish", judge: endpoints::requests_finish },
        Judge { clause: "termination.controllers-stop-counting", judge: counting::replaces_what_goes },
        Judge { clause: "termination.exit-early-ends-early", judge: removal::early_after_early_ends },
        Judge { clause: "termination.final-delete-zero", judge: removal::after_all_ends },
        Judge { clause: "termination.sandbox-cleaned", judge: sandbox::is_cleaned },
        Judge { clause: "termination.unscheduled-immediate", judge: removal::of_idle_pods },
        Judge { clause: "termination.forced.immediate-api-removal", judge: removal::at_once },
        Judge { clause: "termination.forced.name-reusable", judge: removal::frees_the_name },
        Judge { clause: "termination.forced.small-grace-on-node", judge: grace::small_when_forced },
        Judge { clause: "termination.kubelet-restart-restarts-grace", judge: restarted::begins_again },
    ]
}

#[cfg(test)]
mod tests;
