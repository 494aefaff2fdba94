//! Graceful shutdowns of nodes: the delay, the order in which pods end, their grace periods, new pods, and cancellations.

mod admission;
mod grace;
mod lock;
mod order;

use probity_model::Judge;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "shutdown.delayed", judge: lock::is_held_as_long_as_needed },
        Judge { clause: "shutdown.critical-pods-last", judge: order::critical_pods_wait },
        Judge { clause: "shutdown.grace-period", judge: grace::within_both_limits },
        Judge { clause: "shutdown.no-new-pods", judge: admission::rejects_new_pods },
        Judge { clause: "shutdown.cancelled", judge: admission::accepts_pods_again },
    ]
}

#[cfg(test)]
mod tests;
