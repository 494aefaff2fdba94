//! The ways in which a kubelet, an API server or an endpoint controller can be wrong.
//!
//! Each defect is one deviation that a careless change of the real code could cause. Its comment names the clauses that
//! it should violate. `suites/defects.txt` lists which clauses detect it in all cases of the book.

#[macro_use]
mod list;
with_handlers! {
    [with_settings with_http with_kubelet with_reports with_conditions with_init with_life with_termination with_disruption with_basics with_resources with_ephemeral with_identity with_nodes with_users with_subtle with_careless with_scope with_requests with_later with_halves with_untimely with_unexplained with_told with_leaving with_resizes with_rare with_inside with_pending with_endings with_granted with_overlooked with_kept with_reused with_guessed with_neighbors with_shutdowns with_narrow with_combined with_interrupted with_situations defects]
    /// Liveness probes do not wait for startup (`probe.startup.gates-liveness`, `slow-start-protection`).
    LivenessIgnoresStartup,
    /// Readiness probes do not wait for startup (`probe.startup.gates-readiness`).
    ReadinessIgnoresStartup,
    /// The startup probe continues after its success (`probe.startup.stops-after-success`).
    StartupGoesOnAfterSuccess,
    /// A restarted container immediately counts as started (`probe.startup.reruns-on-restart`, `started-field`).
    StartupNotRearmedOnRestart,
    /// A startup probe that reaches its threshold kills nothing (`probe.startup.failure-kills-container`).
    StartupFailureTolerated,
    /// A failed startup probe ends the whole pod, whatever the policy (`probe.startup.failure-kills-container`).
    StartupFailureIsFinal,
    /// One more failure than the threshold is tolerated (`failure-kills-container`, `pair.same-endpoint-higher-threshold`).
    OneMoreFailureTolerated,
    /// The first failure has an effect, whatever the threshold (`slow-start-protection`, `catches-hang`).
    FirstFailureSettles,
    /// Containers restart with Never (`failure-never-policy`, `needs-restarting-policy`, `self-crash-needs-no-probe`).
    RestartsDespiteNever,
    /// A container without a startup probe never counts as started (`probe.startup.absent-means-started`).
    AbsentStartupIsNotStarted,
    /// `started` is true before the startup probe succeeded (`probe.startup.started-field`).
    StartedFieldEarly,
    /// `started` is shown five seconds late (`probe.startup.started-field`).
    StartedFieldLate,
    /// Readiness waits a full period after startup (`probe.startup.readiness-follows-immediately`).
    NoReadinessTrigger,
    /// Failures of the startup probe count towards the liveness threshold (`probe.startup.slow-start-protection`).
    StartupFailsByLivenessThreshold,
    /// A liveness failure kills nothing (`probe.liveness.failure-restarts-container`).
    LivenessFailureTolerated,
    /// A liveness failure restarts every container of the pod (`probe.liveness.failure-restarts-container`).
    RestartsWholePod,
    /// Liveness probes start when the container is ready (`probe.liveness.independent-of-readiness`).
    LivenessWaitsForReadiness,
    /// A probe that times out passes (`probe.liveness.catches-hang`).
    TimeoutIsSuccess,
    /// Without a liveness probe, a container that fails its readiness probe is killed (`probe.liveness.absent-means-success`).
    ReadinessServesAsLiveness,
    /// A readiness failure restarts the container (`readiness.failure-marks-unready`, `maintenance-mode`, `backend-dependency`).
    ReadinessFailureRestarts,
    /// A container that exited by itself is not restarted (`probe.liveness.self-crash-needs-no-probe`).
    CrashIsFinal,
    /// With OnFailure, a container that a probe killed does not restart (`probe.liveness.needs-restarting-policy`).
    NotRestartedOnFailurePolicy,
    /// Containers that a probe killed never restart (`failure-restarts-container`, `startup.failure-kills-container`).
    ProbeKillIsFinal,
    /// A failed probe causes an immediate kill, without a stop signal (`probe.liveness.kill-is-graceful`).
    KillWithoutGrace,
    /// The grace period never ends after a failed probe (`probe.liveness.kill-is-graceful`).
    KillWaitsForEver,
    /// The preStop hook is left out (`probe.liveness.kill-is-graceful`).
    PreStopSkipped,
    /// The stop signal comes before the hook (`probe.liveness.kill-is-graceful`).
    PreStopAfterSignal,
    /// A failed readiness probe leaves the container ready (`probe.readiness.failure-marks-unready`).
    ReadyFlagNotCleared,
    /// Only the container becomes not ready (`probe.readiness.failure-marks-unready`, `pod-ready-iff-all-containers`).
    PodStaysReady,
    /// Readiness probes stop when the container is ready (`probe.readiness.runs-for-life`).
    ReadinessStopsWhenReady,
    /// A container that was not ready once is never ready again (`probe.readiness.recovers`).
    NeverReadyAgain,
    /// A container becomes ready again only with a restart (`probe.readiness.recovers`).
    RecoversByRestart,
    /// A container with a readiness probe starts ready (`probe.readiness.starts-unready`).
    StartsReady,
    /// A container without a readiness probe is never ready (`probe.readiness.absent-means-ready`).
    AbsentReadinessIsUnready,
    /// Readiness probes stop on deletion (`probe.readiness.continues-while-terminating`).
    ReadinessStopsOnDelete,
    /// A pod becomes unready on deletion and ready again (`probe.readiness.no-auto-unready-on-delete`).
    ReadyAgainOnDelete,
    /// Readiness and liveness share the smaller threshold (`probe.pair.same-endpoint-higher-threshold`).
    ThresholdsShared,
    /// One ready container makes the pod ready (`probe.scope.pod-ready-iff-all-containers`).
    OneReadyContainerIsEnough,
    /// A pod of several containers is never ready, although all of them are (`probe.scope.pod-ready-iff-all-containers`).
    PodNeverReady,
    /// The endpoint of an unready pod stays ready (`probe.readiness.endpoint-removed`).
    SliceKeepsReady,
    /// The endpoint of a pod that is not ready has no `serving` condition (`probe.readiness.endpoint-removed`).
    SliceKeepsServing,
    /// The endpoint of a terminating pod stays ready (`readiness.drain-without-probe`, `no-auto-unready-on-delete`).
    SliceReadyWhileTerminating,
    /// `publishNotReadyAddresses` has no effect (`probe.readiness.publish-not-ready`).
    PublishNotReadyIgnored,
    /// The proxy ignores all changes after the first endpoints (`readiness.service-traffic-stops`, `drain-without-probe`).
    ProxyKeepsSending,
    /// Only the first Service of a pod is updated (`probe.readiness.endpoint-removed`, `service-traffic-stops`).
    OnlyFirstServiceTold,
    /// Port 0 is accepted (`probe.http.port-number-range`).
    ApiAcceptsPortZero,
    /// Port 65535 is rejected (`probe.http.port-number-range`).
    ApiRefusesHighestPort,
    /// Any header name is accepted (`probe.http.header-name-validation`).
    ApiAcceptsBadHeaderName,
    /// Any scheme is accepted (`probe.http.default-scheme`).
    ApiAcceptsAnyScheme,
    /// The default scheme is HTTPS (`probe.http.default-scheme`).
    ApiDefaultsToHttps,
    /// The scheme gets no default (`probe.http.default-scheme`).
    ApiLeavesSchemeEmpty,
    /// The path gets no default (`probe.http.default-path`).
    ApiLeavesPathEmpty,
    /// A port name that no container port has is rejected (`probe.http.port-name-unresolvable`).
    ApiRefusesUnknownPortName,
    /// Port names are not validated (`probe.http.port-name-unresolvable`).
    ApiAcceptsAnyPortName,
}
