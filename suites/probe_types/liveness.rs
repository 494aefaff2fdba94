//! The liveness probe: a container that fails it too many times is stopped gracefully and started again, and nothing
//! else changes.

mod absent;
mod graceful;
mod independent;
mod restart;

use probity_model::Judge;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "probe.liveness.failure-restarts-container", judge: restart::failure_restarts },
    Judge {
        clause: "probe.liveness.independent-of-readiness",
        judge: independent::does_not_wait_for_readiness,
    },
    Judge { clause: "probe.liveness.catches-hang", judge: graceful::hang_is_noticed },
    Judge { clause: "probe.liveness.absent-means-success", judge: absent::unprobed_lives_on },
    Judge { clause: "probe.liveness.self-crash-needs-no-probe", judge: restart::crash_follows_policy },
    Judge { clause: "probe.liveness.needs-restarting-policy", judge: restart::kill_follows_policy },
    Judge { clause: "probe.liveness.kill-is-graceful", judge: graceful::kill_is_graceful },
];

#[cfg(test)]
mod tests;
