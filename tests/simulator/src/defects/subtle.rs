//! Defects that are small, rare, or true of some probes and containers only: a tenth of a period, half a second of a
//! timeout, every fifth probe, sidecars, the second container, what comes after a restart. They follow the others in the
//! same list.

/// Makes the list of the other defects, with these behind it.
macro_rules! with_subtle {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Pace.
    /// Liveness probes have a period that is a tenth longer (`probe.timing.period`).
    LivenessPeriodTenthLonger,
    /// Startup probes have a period that is a quarter longer (`probe.timing.period`).
    StartupPeriodQuarterLonger,
    /// Probes over TCP have a period that is a tenth shorter (`probe.timing.period`).
    TcpPeriodTenthShorter,
    /// Commands have a period that is a quarter longer (`probe.timing.period`).
    ExecPeriodQuarterLonger,
    /// Probes of sidecars have a period that is a quarter longer (`probe.timing.period`).
    SidecarPeriodQuarterLonger,
    /// A restarted container is probed at half of the pace (`probe.timing.period`).
    PeriodTwiceAfterRestart,
    /// Readiness of a ready container is probed at half of the pace (`probe.readiness.runs-for-life`).
    ReadinessPeriodTwiceWhenReady,
    /// Readiness of a ready container has a period that is a tenth longer (`probe.readiness.runs-for-life`).
    ReadinessPeriodTenthLonger,
    /// Readiness of a ready container has a period that is a tenth shorter (`probe.timing.period`).
    ReadinessPeriodTenthShorter,
    /// After a failure a liveness probe comes at twice the pace (`probe.timing.period`).
    FailingLivenessHurries,
    /// Every period of more than five seconds is one of five (`probe.timing.period`).
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
    /// Requests over HTTP have half a second more (`probe.timeout.http`).
    HttpTimeoutHalfSecondMore,
    /// Requests over HTTP have half a second less (`probe.timeout.http`).
    HttpTimeoutHalfSecondLess,
    /// Health checks have half a second more (`probe.timeout.tcp-grpc`).
    GrpcTimeoutHalfSecondMore,
    /// Connections have three seconds more (`probe.timeout.tcp-grpc`).
    TcpTimeoutThreeSecondsMore,
    /// Commands have a second more (`probe.exec.timeout-fails`).
    ExecTimeoutSecondMore,
    /// Commands have half a second less (`probe.exec.timeout-fails`).
    ExecTimeoutHalfSecondLess,
    /// Every timeout is at most the period (`probe.timeout.longer-than-period`).
    TimeoutAtMostPeriod,
    /// A liveness probe has the timeout of the readiness probe (`probe.timeout.http`).
    LivenessTimeoutOfReadiness,
    /// Sidecars have a timeout of a second (`probe.timeout.http`).
    TimeoutOfSidecars1s,
    /// A request that times out has no result (`probe.liveness.catches-hang`).
    HttpTimeoutDiscarded,
    // Counting.
    /// The second container of a pod may fail once more (`probe.failure-threshold.exact-count`).
    SecondContainerOnceMore,
    /// Sidecars may fail once more (`probe.failure-threshold.exact-count`).
    SidecarOnceMore,
    /// A restarted container may fail once more (`probe.failure-threshold.exact-count`).
    OnceMoreAfterRestart,
    /// Readiness may fail once more (`probe.failure-threshold.exact-count`).
    ReadinessOnceMore,
    /// Startup may fail once more (`probe.failure-threshold.exact-count`).
    StartupOnceMore,
    /// Every threshold of failures is at most three (`probe.failure-threshold.exact-count`).
    ThresholdAtMost3,
    /// Every threshold of successes is at most two (`probe.success-threshold.readiness`).
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
    /// The results of the second container are taken for those of the first (`probe.failure-threshold.exact-count`).
    ResultsOfFirstContainer,
    /// A refused connection of a readiness probe has no result (`probe.http.refused-fails`).
    ReadinessRefusalDiscarded,
    /// A success of readiness counts for liveness (`probe.failure-threshold.exact-count`).
    ReadinessSuccessForgivesLiveness,
    /// A startup success in the second container opens the first (`probe.startup.gates-liveness`).
    StartupOfNeighborOpens,
    /// A container that has a startup probe is started after its third failure, too (`probe.startup.started-field`).
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
    /// Bodies are read up to a kibibyte (`probe.http.body.limit-10kib`).
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
    /// A command that exits with 2 has passed (`probe.exec.exit-zero`).
    Exec2Passes,
    /// A connection that times out is a success (`probe.timeout.tcp-grpc`).
    TcpTimeoutPasses,
    // Requests.
    /// Escapes in the path are sent as what they stand for (`probe.http.method-get`).
    PathUnescaped,
    /// Slashes at the end of the path are lost (`probe.http.method-get`).
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
    // Found by mutations of the source of a kubelet, which first went unnoticed.
    /// Commands have the period as their timeout (`probe.exec.timeout-fails`).
    ExecTimeoutIsPeriod,
    /// A sidecar that was ready once stays so (`probe.readiness.failure-marks-unready`).
    SidecarStaysReady,
    /// A hook's named port is looked up in the first main container (`termination.prestop-runs-first`, `container.state.poststart-before-running`).
    HookPortOfFirstContainer,
    /// Under OnFailure, what a signal has ended does not restart (`restart.policy.onfailure`).
    SignalIsNoFailure,
    /// An ephemeral container sees the processes of the first container, whichever it targets (`ephemeral.shared-pid`).
    EphemeralTargetsFirst,
    /// Sidecars do not share the processes of their pod (`ephemeral.shared-pid`).
    SidecarsApartFromProcesses,
    /// A file of labels is renewed only if an annotation changes (`downward.volume-only`).
    LabelsRenewedWithAnnotations,
    /// A variable that names its own container shows no limit of the node (`downward.fallback-allocatable`).
    NamedLimitIsZero,
    /// The conditions of others are lost when a container restarts (`pod.condition.custom-preserved`).
    CustomConditionsLostOnRestart,
    /// A condition that turns within five seconds keeps its time (`pod.condition.transition-time`).
    TransitionTimeDebounced,
    /// The grace period of a probe applies to the first kill only (`probe.tgps.liveness-override`).
    ProbeGraceForFirstKill,
    /// The grace period of the startup probe applies to liveness probes without one (`probe.tgps.default-inherits`).
    StartupGraceForAll,
    /// A failed hook leaves two seconds of the grace period (`termination.kill-after-grace`).
    FailedHookEndsGrace,
    /// A pod beyond its deadline is stopped without hooks (`init.activedeadline-kills-running`).
    DeadlineSkipsHooks,
    /// A redirect from HTTPS to HTTP is not followed (`probe.http.redirect.same-host-followed`).
    DowngradeIsOtherHost,
    /// A second redirect is followed to any host (`probe.http.redirect.cross-host-not-followed`).
    SecondHopGoesAnywhere,
    /// A second redirect loses the custom headers (`probe.http.redirect.headers-kept`).
    DropsHeadersOnSecondHop,
    /// Variables are rounded down (`downward.resourcefieldref`).
    DownwardVariablesRoundDown,
    /// A restarted container is not told its address (`downward.env-only`).
    AddressUntoldAfterRestart,
    /// What a probe killed stays so if its own policy is OnFailure and it exits with 0 (`probe.liveness.needs-restarting-policy`).
    OwnOnFailureNotRestarted,
    /// Sidecars do not come back once the first main container is done (`sidecar.always-restarted`).
    SidecarEndsWithFirstMain,
    /// A pod is Running with its first main container (`pod.phase.running`).
    RunningWithFirst,
    } };
}
