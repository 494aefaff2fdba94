//! Defects that are small, rare, or limited to some probes and containers: a tenth of a period, half a second of a
//! timeout, every fifth probe, sidecars, the second container, the time after a restart. In the list, they come after
//! all earlier defects.

/// Creates the list of all earlier defects, followed by these.
macro_rules! with_subtle {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Pace.
    /// Liveness probes have a period that is a tenth longer (`probe.timing.period`).
    LivenessPeriodTenthLonger,
    /// Startup probes have a period that is a quarter longer (`probe.timing.period`).
    StartupPeriodQuarterLonger,
    /// TCP probes have a period that is a tenth shorter (`probe.timing.period`).
    TcpPeriodTenthShorter,
    /// Commands have a period that is a quarter longer (`probe.timing.period`).
    ExecPeriodQuarterLonger,
    /// Probes of sidecars have a period that is a quarter longer (`probe.timing.period`).
    SidecarPeriodQuarterLonger,
    /// A restarted container is probed half as often (`probe.timing.period`).
    PeriodTwiceAfterRestart,
    /// A ready container gets readiness probes half as often (`probe.readiness.runs-for-life`).
    ReadinessPeriodTwiceWhenReady,
    /// The readiness probe of a ready container has a period that is a tenth longer (`probe.readiness.runs-for-life`).
    ReadinessPeriodTenthLonger,
    /// The readiness probe of a ready container has a period that is a tenth shorter (`probe.timing.period`).
    ReadinessPeriodTenthShorter,
    /// After a failure, liveness probes come twice as often (`probe.timing.period`).
    FailingLivenessHurries,
    /// Every period is at most five seconds (`probe.timing.period`).
    PeriodAtMost5,
    /// Every fifth liveness probe is left out (`probe.timing.period`).
    FifthLivenessProbeLost,
    /// A liveness probe is left out while a readiness probe with the same endpoint passes (`probe.timing.period`).
    SharedEndpointAskedOnce,
    /// Every tenth readiness probe is left out (`probe.readiness.runs-for-life`).
    TenthReadinessProbeLost,
    /// Every fifth liveness probe is sent twice (`probe.timing.period`).
    FifthLivenessProbeTwice,
    /// Every delay is a second shorter (`probe.timing.initial-delay-honoured`).
    DelaySecondShorter,
    /// Every delay is twice as long (`probe.timing.initial-delay-honoured`).
    DelayTwice,
    /// The delay of sidecars has no effect (`probe.timing.initial-delay-honoured`).
    DelayOfSidecarsLost,
    /// The delay of startup probes has no effect (`probe.timing.initial-delay-honoured`).
    DelayOfStartupLost,
    /// The delay counts from the start of the pod (`probe.timing.initial-delay-per-restart`).
    DelayFromPod,
    /// After the success of the startup probe, the first five liveness probes are left out (`probe.timing.first-probe-phase`).
    LivenessLateAfterStartup,
    // Timeouts.
    /// The timeout of HTTP probes is half a second too long (`probe.timeout.http`).
    HttpTimeoutHalfSecondMore,
    /// The timeout of HTTP probes is half a second too short (`probe.timeout.http`).
    HttpTimeoutHalfSecondLess,
    /// The timeout of gRPC health checks is half a second too long (`probe.timeout.tcp-grpc`).
    GrpcTimeoutHalfSecondMore,
    /// The timeout of TCP probes is three seconds too long (`probe.timeout.tcp-grpc`).
    TcpTimeoutThreeSecondsMore,
    /// The timeout of commands is one second too long (`probe.exec.timeout-fails`).
    ExecTimeoutSecondMore,
    /// The timeout of commands is half a second too short (`probe.exec.timeout-fails`).
    ExecTimeoutHalfSecondLess,
    /// Every timeout is at most the period (`probe.timeout.longer-than-period`).
    TimeoutAtMostPeriod,
    /// A liveness probe has the timeout of the readiness probe (`probe.timeout.http`).
    LivenessTimeoutOfReadiness,
    /// Probes of sidecars have a timeout of one second (`probe.timeout.http`).
    TimeoutOfSidecars1s,
    /// A request that times out has no result (`probe.liveness.catches-hang`).
    HttpTimeoutDiscarded,
    // Counting.
    /// The second container of a pod needs one more failure (`probe.failure-threshold.exact-count`).
    SecondContainerOnceMore,
    /// Sidecars need one more failure (`probe.failure-threshold.exact-count`).
    SidecarOnceMore,
    /// A restarted container needs one more failure (`probe.failure-threshold.exact-count`).
    OnceMoreAfterRestart,
    /// Readiness probes need one more failure (`probe.failure-threshold.exact-count`).
    ReadinessOnceMore,
    /// Startup probes need one more failure (`probe.failure-threshold.exact-count`).
    StartupOnceMore,
    /// Every failureThreshold is at most three (`probe.failure-threshold.exact-count`).
    ThresholdAtMost3,
    /// Every successThreshold is at most two (`probe.success-threshold.readiness`).
    SuccessesAtMost2,
    /// One success more than the threshold is needed (`probe.success-threshold.readiness`).
    OneMoreSuccessNeeded,
    /// Failures of liveness and readiness count together (`probe.failure-threshold.exact-count`).
    FailuresOfAllKindsCount,
    /// Every fifth failure counts as a success (`probe.failure-threshold.exact-count`).
    FifthFailurePasses,
    /// Every twentieth success counts as a failure (`probe.result.success`).
    TwentiethSuccessFails,
    /// Every tenth readiness success counts as a failure (`probe.result.success`).
    TenthReadinessSuccessFails,
    /// The results of the second container count for the first (`probe.failure-threshold.exact-count`).
    ResultsOfFirstContainer,
    /// A refused connection of a readiness probe has no result (`probe.http.refused-fails`).
    ReadinessRefusalDiscarded,
    /// A readiness success counts for liveness (`probe.failure-threshold.exact-count`).
    ReadinessSuccessForgivesLiveness,
    /// A startup success in the second container opens the gate of the first (`probe.startup.gates-liveness`).
    StartupOfNeighborOpens,
    /// A container with a startup probe also counts as started after the third failure (`probe.startup.started-field`).
    StartedAfterThirdFailure,
    // Answers.
    /// 204 is a failure (`probe.http.status-range`).
    Http204Fails,
    /// 304 is a failure (`probe.http.status-range`).
    Http304Fails,
    /// 399 is a failure (`probe.http.status-range`).
    Http399Fails,
    /// 400 is a success (`probe.http.status-range`).
    Http400Passes,
    /// 429 is a success (`probe.http.status-range`).
    Http429Passes,
    /// 599 is a success (`probe.http.status-range`).
    Http599Passes,
    /// 404 is a success for liveness (`probe.http.status-range`).
    Http404PassesForLiveness,
    /// Redirects of status 308 are not followed (`probe.http.redirect.same-host-followed`).
    Http308NotFollowed,
    /// The query of a redirect is lost (`probe.http.redirect.same-host-followed`).
    RedirectLosesQuery,
    /// Bodies are read up to 1 KiB (`probe.http.body.limit-10kib`).
    BodyLimitKibibyte,
    /// Bodies are read up to 64 KiB (`probe.http.body.limit-10kib`).
    BodyLimit64Kibibytes,
    /// Nine redirects are too many (`probe.http.redirect.limit`).
    RedirectLimitNine,
    /// UNKNOWN is a success (`probe.grpc.serving-success`).
    GrpcStatusUnknownPasses,
    /// SERVICE_UNKNOWN is a success (`probe.grpc.serving-success`).
    GrpcServiceUnknownPasses,
    /// A command that exits with 127 has no result (`probe.exec.exit-zero`).
    Exec127Discarded,
    /// A command that exits with 2 passes (`probe.exec.exit-zero`).
    Exec2Passes,
    /// A connection that times out is a success (`probe.timeout.tcp-grpc`).
    TcpTimeoutPasses,
    // Requests.
    /// Escapes in the path are decoded before they are sent (`probe.http.method-get`).
    PathUnescaped,
    /// Trailing slashes of the path are lost (`probe.http.method-get`).
    PathLosesLastSlash,
    /// The first of several custom headers is lost (`probe.http.custom-headers`).
    FirstCustomHeaderLost,
    /// Custom headers are lost after a restart (`probe.http.custom-headers`).
    CustomHeadersLostAfterRestart,
    /// Readiness probes share a connection (`probe.http.new-connection-each`).
    ReadinessReusesConnections,
    /// The service of a liveness probe is left out (`probe.grpc.service-field`).
    GrpcLivenessServiceDropped,
    /// The deadline of a health check is twice the timeout (`probe.grpc.user-agent`).
    GrpcDeadlineTwice,
    // Found with mutations of a kubelet's source that were not detected at first.
    /// The timeout of commands is their period (`probe.exec.timeout-fails`).
    ExecTimeoutIsPeriod,
    /// A sidecar that was ready once stays ready (`probe.readiness.failure-marks-unready`).
    SidecarStaysReady,
    /// A hook's named port is looked up in the first main container (`termination.prestop-runs-first`,
    /// `container.state.poststart-before-running`).
    HookPortOfFirstContainer,
    /// With restartPolicy OnFailure, a container that a signal ended does not restart (`restart.policy.onfailure`).
    SignalIsNoFailure,
    /// An ephemeral container sees the processes of the first container, whatever its target (`ephemeral.shared-pid`).
    EphemeralTargetsFirst,
    /// Sidecars do not share the processes of their pod (`ephemeral.shared-pid`).
    SidecarsApartFromProcesses,
    /// A file with labels is updated only if an annotation changes (`downward.volume-only`).
    LabelsRenewedWithAnnotations,
    /// A variable that names its own container does not fall back to the node's amount (`downward.fallback-allocatable`).
    NamedLimitIsZero,
    /// Conditions that others set are lost when a container restarts (`pod.condition.custom-preserved`).
    CustomConditionsLostOnRestart,
    /// A condition that changes again within five seconds keeps its transition time (`pod.condition.transition-time`).
    TransitionTimeDebounced,
    /// The grace period of a probe applies only to the first kill (`probe.tgps.liveness-override`).
    ProbeGraceForFirstKill,
    /// The grace period of the startup probe applies to liveness probes without one (`probe.tgps.default-inherits`).
    StartupGraceForAll,
    /// A failed hook leaves two seconds of the grace period (`termination.kill-after-grace`).
    FailedHookEndsGrace,
    /// A pod that exceeded its deadline is stopped without hooks (`init.activedeadline-kills-running`).
    DeadlineSkipsHooks,
    /// A redirect from HTTPS to HTTP is not followed (`probe.http.redirect.same-host-followed`).
    DowngradeIsOtherHost,
    /// A second redirect is followed to any host (`probe.http.redirect.cross-host-not-followed`).
    SecondHopGoesAnywhere,
    /// A second redirect loses the custom headers (`probe.http.redirect.headers-kept`).
    DropsHeadersOnSecondHop,
    /// Variables are rounded down (`downward.resourcefieldref`).
    DownwardVariablesRoundDown,
    /// A restarted container does not get its address (`downward.env-only`).
    AddressUntoldAfterRestart,
    /// A container that a probe killed does not restart if its own policy is OnFailure and it exits with 0
    /// (`probe.liveness.needs-restarting-policy`).
    OwnOnFailureNotRestarted,
    /// Sidecars do not restart once the first main container has completed (`sidecar.always-restarted`).
    SidecarEndsWithFirstMain,
    /// A pod is Running as soon as its first main container runs (`pod.phase.running`).
    RunningWithFirst,
    } };
}
