//! The startup probe: it delays the other two until it has succeeded once, and causes the kill of a container that
//! never starts.

mod failure;
mod gate;
mod success;

use probity_model::Judge;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "probe.startup.gates-liveness", judge: gate::liveness_waits },
    Judge { clause: "probe.startup.gates-readiness", judge: gate::readiness_waits },
    Judge { clause: "probe.startup.stops-after-success", judge: success::success_is_the_last },
    Judge { clause: "probe.startup.reruns-on-restart", judge: gate::restart_shuts_the_gate },
    Judge { clause: "probe.startup.failure-kills-container", judge: failure::failure_kills },
    Judge { clause: "probe.startup.failure-never-policy", judge: failure::never_means_never },
    Judge { clause: "probe.startup.absent-means-started", judge: success::absent_is_started },
    Judge { clause: "probe.startup.started-field", judge: success::started_is_published },
    Judge { clause: "probe.startup.readiness-follows-immediately", judge: success::readiness_follows },
    Judge { clause: "probe.startup.slow-start-protection", judge: failure::startup_protects },
];

#[cfg(test)]
mod tests;
