//! The readiness probe: whether a container is fit to serve, for as long as it lives.
//!
//! Most of these judges hold two records against each other: what the target answered, and what the API showed after
//! it. Neither alone would do: the one does not know what became of an answer, the other not what was asked.

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
