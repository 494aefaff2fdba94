//! Garbage collection of pods: which pods are removed, and which stay.

mod collected;
mod out_of_service;
mod threshold;
mod unscheduled;

use probity_model::Judge;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "podgc.failed-pods-kept", judge: collected::failed_stay },
        Judge { clause: "podgc.orphaned", judge: collected::orphans_go },
        Judge { clause: "podgc.orphaned-condition", judge: collected::orphans_are_explained },
        Judge { clause: "podgc.threshold", judge: threshold::beyond_it },
        Judge { clause: "podgc.unscheduled-terminating", judge: unscheduled::marked_as_failed },
        Judge { clause: "podgc.out-of-service", judge: out_of_service::collected_once_tainted },
    ]
}

#[cfg(test)]
mod tests;
