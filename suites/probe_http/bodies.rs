//! Bodies, and what an answer means: how much of it is read, what counts as a failure, and what is told about it.

mod failure_event;
mod limit;
pub(crate) mod refused;
mod short;
#[cfg(test)]
mod tests;

use probity_model::Judge;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "probe.http.event-omits-body", judge: failure_event::omits_the_body },
    Judge { clause: "probe.http.body.limit-10kib", judge: limit::no_more_is_read },
    Judge { clause: "probe.http.body.abrupt-close", judge: limit::closes_at_the_limit },
    Judge { clause: "probe.http.body.short-body-error", judge: short::the_status_decides },
    Judge { clause: "probe.http.refused-fails", judge: refused::is_a_failure },
];
