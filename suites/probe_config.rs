//! The fields of a probe: which of them are immutable, and when and how often a kubelet probes according to them.
//! `refusals` judges what the API server rejects and which defaults it sets.

mod beyond;
mod delay;
mod detection;
mod example;
mod extra;
mod failures;
mod fixed;
mod grace;
mod keeps_running;
mod pace;
mod period;
mod schedule;
mod shared;
mod short_faults;
mod shown;
mod successes;
mod timeout;
mod unasked;

use probity_model::Judge;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    [FIELDS, TIMES, COUNTS, GRACE].concat()
}

const FIELDS: &[Judge] = &[
    Judge { clause: "probe.config.immutable", judge: fixed::probes_are_fixed },
    Judge { clause: "probe.tgps.always-honoured-if-present", judge: fixed::grace_is_fixed },
    Judge { clause: "probe.config.doc-example", judge: example::documented_example },
];

const TIMES: &[Judge] = &[
    Judge { clause: "probe.timing.initial-delay-honoured", judge: delay::is_honored },
    Judge { clause: "probe.timing.initial-delay-with-larger-period", judge: delay::with_larger_period },
    Judge { clause: "probe.timing.initial-delay-per-restart", judge: delay::in_each_life },
    Judge { clause: "probe.timing.initial-delay-after-startup", judge: delay::after_startup },
    Judge { clause: "probe.timing.first-probe-phase", judge: delay::first_within_a_period },
    Judge { clause: "probe.timing.readiness-out-of-period", judge: delay::readiness_comes_early },
    Judge { clause: "probe.timing.period", judge: period::is_kept },
    Judge {
        clause: "probe.timing.readiness-period-is-upper-bound",
        judge: period::readiness_is_not_forgotten,
    },
    Judge { clause: "probe.timeout.longer-than-period", judge: period::one_at_a_time },
    Judge { clause: "probe.timeout.http", judge: timeout::http },
    Judge { clause: "probe.timeout.tcp-grpc", judge: timeout::tcp_and_grpc },
];

const COUNTS: &[Judge] = &[
    Judge { clause: "probe.success-threshold.readiness", judge: successes::after_failure },
    Judge { clause: "probe.success-threshold.first-start", judge: successes::at_first_start },
    Judge { clause: "probe.success-threshold.after-restart", judge: successes::after_restart },
    Judge { clause: "probe.failure-threshold.consecutive", judge: short_faults::one_success_resets },
    Judge { clause: "probe.timing.fault-shorter-than-window", judge: short_faults::short_faults_pass },
    Judge { clause: "probe.failure-threshold.exact-count", judge: failures::exact_count },
    Judge {
        clause: "probe.failure-threshold.readiness-keeps-running",
        judge: keeps_running::readiness_goes_on,
    },
    Judge { clause: "probe.failure-threshold.detection-window", judge: detection::detected_in_time },
];

const GRACE: &[Judge] = &[
    Judge { clause: "probe.tgps.liveness-override", judge: grace::liveness_overrides },
    Judge { clause: "probe.tgps.startup-override", judge: grace::startup_overrides },
    Judge { clause: "probe.tgps.default-inherits", judge: grace::pods_own_counts },
    Judge { clause: "probe.tgps.not-used-on-deletion", judge: grace::deletion_has_its_own },
];

#[cfg(test)]
mod tests;
