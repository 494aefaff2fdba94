//! The defects of the settings of probes: defaults, delays, periods, timeouts, thresholds, grace periods.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_settings {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    /// The period's default is 5 (`probe.config.defaults`).
    ApiOtherProbeDefaults,
    /// Each probe gets the pod's grace period (`probe.config.defaults`).
    ApiFillsProbeGrace,
    /// Numbers below zero are accepted (`probe.config.minimums`).
    ApiAcceptsNegative,
    /// A zero that means unset is kept (`probe.config.minimums`).
    ApiKeepsZero,
    /// Liveness and startup probes may require several successes (`success-threshold.liveness-startup-must-be-1`).
    ApiAcceptsTwoSuccesses,
    /// No probe may require several successes (`success-threshold.liveness-startup-must-be-1`).
    ApiRefusesTwoSuccesses,
    /// A readiness probe may have a grace period (`probe.tgps.readiness-refused`).
    ApiAcceptsReadinessGrace,
    /// The probes of a pod can be patched (`probe.config.immutable`, `probe.tgps.always-honoured-if-present`).
    ApiPatchesProbes,
    /// Half of the delay is enough (`probe.timing.initial-delay-honoured`).
    DelayHalved,
    /// A delay that is shorter than the period has no effect (`probe.timing.initial-delay-with-larger-period`).
    DelayLostWithLongPeriod,
    /// The delay has no effect after a restart (`probe.timing.initial-delay-per-restart`).
    DelayInFirstLifeOnly,
    /// The delay has no effect with a startup probe (`probe.timing.initial-delay-after-startup`).
    DelayLostAfterStartup,
    /// The first probe of an instance comes one period late (`probe.timing.first-probe-phase`).
    FirstProbeAPeriodLate,
    /// The period starts with the answer (`probe.timing.period`).
    PeriodAfterAnswer,
    /// After a failure, readiness probes come less often (`probe.timing.readiness-period-is-upper-bound`).
    ReadinessBacksOff,
    /// A failed readiness probe does not run again (`probe.failure-threshold.readiness-keeps-running`).
    ReadinessStopsAfterFailure,
    /// Network probes never time out (`probe.timeout.http`, `probe.timeout.tcp-grpc`).
    TimeoutIgnored,
    /// Every timeout is one second (`probe.timeout.http`, `probe.timeout.tcp-grpc`).
    TimeoutAlways1s,
    /// Every timeout is twice as long (`probe.timeout.http`, `probe.timeout.tcp-grpc`).
    TimeoutTwice,
    /// Every timeout is shorter by a fifth (`probe.timeout.http`, `probe.timeout.tcp-grpc`).
    TimeoutShort,
    /// The next probe does not wait for the current one (`probe.timeout.longer-than-period`).
    ProbesOverlap,
    /// Successes are counted in total, and not in a row (`probe.success-threshold.readiness`).
    SuccessesCountedInAll,
    /// One success is enough (`probe.success-threshold.first-start`, `probe.success-threshold.readiness`).
    SuccessThresholdIgnored,
    /// A restarted container is ready (`probe.success-threshold.after-restart`, `probe.readiness.starts-unready`).
    ReadyAtOnceAfterRestart,
    /// Failures are counted in total, and not in a row (`probe.failure-threshold.consecutive`).
    FailuresCountedInAll,
    /// One failure fewer than the threshold is enough (`probe.failure-threshold.exact-count`).
    OneFailureLessSettles,
    /// The first failure after a success is not counted (`probe.failure-threshold.exact-count`).
    FirstFailureForgiven,
    /// The grace period of a probe has no effect (`probe.tgps.liveness-override`, `probe.tgps.startup-override`).
    ProbeGraceIgnored,
    /// The grace period of a startup probe has no effect (`probe.tgps.startup-override`).
    StartupGraceIgnored,
    /// The grace period of a probe can only be shorter than the pod's (`probe.tgps.liveness-override`).
    ProbeGraceOnlyShorter,
    /// A probe without its own grace period has one of 30 s (`probe.tgps.default-inherits`).
    ProbeGraceDefaultsTo30,
    /// The grace period after a failed probe is two seconds (`probe.tgps.default-inherits`, `tgps.liveness-override`).
    ProbeGraceAlways2,
    /// A deletion uses the grace period of the liveness probe (`probe.tgps.not-used-on-deletion`).
    DeletionUsesProbeGrace,
    } };
}
