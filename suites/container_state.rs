//! The states of a container (waiting, running, terminated), what each state shows, the hook that delays Running, and HTTP
//! hooks.

mod bounds;
mod hook_answers;
mod hook_hosts;
mod hook_requests;
mod hooks;
mod last_states;
mod states;
mod times;

use probity_model::Judge;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "container.state.three-states", judge: states::one_at_a_time },
        Judge { clause: "container.state.waiting-reason", judge: states::waits_for_a_reason },
        Judge { clause: "container.state.running-startedat", judge: times::running_since },
        Judge { clause: "container.state.terminated-fields", judge: times::how_it_ended },
        Judge { clause: "container.state.poststart-before-running", judge: hooks::hook_before_running },
        Judge { clause: "container.state.poststart-failure-kills", judge: hooks::failed_hook_kills },
        Judge { clause: "container.hook.request-as-written", judge: hook_requests::sent_as_written },
        Judge { clause: "container.hook.host-field", judge: hook_hosts::sent_to_their_hosts },
    ]
}

#[cfg(test)]
mod tests;
