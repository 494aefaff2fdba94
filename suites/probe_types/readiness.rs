//! The readiness probe, which shows whether a container can serve, for the container's whole lifetime.
//!
//! Most of these judges compare two records: what the target answered, and what the API showed afterwards. Neither
//! record is enough alone: the target's record does not show the effect of an answer, and the API does not show the
//! probe.

mod duty;
mod follows;
mod life;
mod start;
#[cfg(test)]
mod tests;

use probity_model::Judge;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "probe.readiness.failure-marks-unready", judge: follows::failure_marks_unready },
    Judge { clause: "probe.readiness.runs-for-life", judge: life::runs_for_life },
    Judge { clause: "probe.readiness.recovers", judge: follows::recovers },
    Judge { clause: "probe.readiness.starts-unready", judge: start::starts_unready },
    Judge { clause: "probe.readiness.absent-means-ready", judge: start::absent_means_ready },
    Judge { clause: "probe.readiness.maintenance-mode", judge: duty::maintenance_mode },
    Judge { clause: "probe.readiness.backend-dependency", judge: duty::backend_dependency },
    Judge { clause: "probe.readiness.continues-while-terminating", judge: life::continues_while_terminating },
];
