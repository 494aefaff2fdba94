//! Careless statuses, events, restarts and ends: a field of an old instance, a report in the wrong place, a delay that is
//! slightly off, a hook that one path forgets. They follow the others in the same list.
//!
//! Two are left out since nobody promises the opposite: a hook that runs twice (it is delivered at least once), and a stop signal
//! that is sent twice.

/// Makes the list of the other defects, with these behind it.
macro_rules! with_careless {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // When statuses are written.
    /// Every status comes two and a half seconds late (`prober.sync.readiness-status-path`).
    StatusesLate,
    /// Every fifth status of a pod comes four seconds late (`prober.sync.readiness-status-path`).
    FifthStatusLate,
    /// Every tenth status of a pod comes four seconds late (`prober.sync.readiness-status-path`).
    TenthStatusLate,
    /// Readiness of sidecars is shown four seconds late (`prober.sync.readiness-status-path`).
    SidecarReadinessLate,
    /// A fall of readiness is shown three seconds late (`probe.readiness.failure-marks-unready`).
    UnreadyLate,
    /// Readiness after a restart is shown four seconds late (`prober.sync.readiness-status-path`).
    ReadyLateAfterRestart,
    /// The start of a sidecar is shown four seconds late (`probe.startup.started-field`).
    SidecarStartedLate,
    // What they say.
    /// `lastState` is never shown (`container.state.terminated-fields`).
    LastStateMissing,
    /// What a container waits for is PodInitializing without init containers, too (`container.state.waiting-reason`).
    WaitsForInitsThatAreNone,
    /// `lastState` stays that of the first end (`report.status.container-id`).
    LastStateOfFirstEnd,
    /// A container that a liveness probe ended is shown with status 0 (`container.state.terminated-fields`).
    LivenessKillShownAsZero,
    /// Every end has the reason Completed (`container.state.terminated-fields`).
    ReasonAlwaysCompleted,
    /// Every end has the reason Error (`container.state.terminated-fields`).
    ReasonAlwaysError,
    /// Every killed container has the reason OOMKilled (`container.state.terminated-fields`).
    KillShownAsOutOfMemory,
    /// A container that exceeds its memory limit has the reason Error (`container.state.terminated-fields`).
    MemoryKillShownAsError,
    /// Start and end of a terminated container are exchanged (`container.state.terminated-fields`).
    TimesExchanged,
    /// The end of a terminated container is in the future by a minute in lastState only (`container.state.terminated-fields`).
    LastStateEndsLater,
    /// The last state is lost when a container gets a new image (`container.state.terminated-fields`).
    LastStateLostOnNewImage,
    /// `startedAt` of a running container is rounded up (`container.state.running-startedat`).
    RunningStartRoundedUp,
    /// A restarted container with a startup probe only is never ready again (`probe.readiness.absent-means-ready`).
    RestartedStartupUnsynced,
    /// `startedAt` stays that of the first instance (`container.state.running-startedat`).
    StartedAtOfFirst,
    /// The containerID stays that of the old instance until the container is ready (`report.status.container-id`).
    ContainerIdOldUntilReady,
    /// Every second restart counts twice (`report.status.restart-count`).
    SecondRestartCountsTwice,
    /// Restarts of sidecars are not counted (`report.status.restart-count`).
    SidecarRestartsUncounted,
    /// A container without a readiness probe stays ready while it waits (`prober.worker.non-running-sets-failure`).
    WaitingStaysReady,
    /// A container that does not run is shown as started (`probe.startup.started-field`).
    WaitingStaysStarted,
    /// A terminating pod has no address (`report.status.addresses`).
    AddressLostInTermination,
    /// A pod that is not ready has no address (`report.status.addresses`).
    AddressLostWhenUnready,
    /// The status has no hostIP (`report.status.addresses`).
    HostAddressUnsaid,
    /// observedGeneration stays the first (`report.status.observed-generation`).
    GenerationOfFirst,
    /// ContainersReady does not fall when Ready does (`probe.readiness.failure-marks-unready`).
    ContainersReadyStays,
    /// The message of a condition names the containers that are ready (`pod.condition.containersready`).
    ReadyNamedAsUnready,
    /// The statuses of the first two main containers are exchanged (`container.state.three-states`).
    StatusesExchanged,
    /// Readiness of the first two main containers is exchanged (`probe.readiness.starts-unready`).
    ReadinessExchanged,
    /// A status of a terminated init container is left out (`init.status-array`).
    InitStatusForgotten,
    /// A phase of a pod whose container waits for its back-off is Pending after its second restart (`pod.phase.running`).
    PendingAfterSecondRestart,
    // Events.
    /// Failures of sidecars are not reported (`report.event.unhealthy`).
    SidecarFailuresUnreported,
    /// Failures of startup probes are not reported (`report.event.unhealthy`).
    StartupFailuresUnreported,
    /// Events about failures name the first container of the pod (`report.event.field-path`).
    FailureOfFirstContainer,
    /// A failure is reported as an error (`probe.exec.exit-zero`).
    FailureReportedAsError,
    /// Each failure is reported twice (`report.event.unhealthy`).
    FailureReportedTwice,
    /// Each success is reported as a warning (`probe.result.success`).
    SuccessReported,
    /// Each kill is reported twice (`report.event.killing-cause`).
    KillReportedTwice,
    /// A kill by a startup probe is reported as one by a liveness probe (`report.event.killing-cause`).
    StartupKillBlamesLiveness,
    /// Failures are reported eight seconds late (`report.event.unhealthy`).
    FailuresReportedLate,
    /// The lastTimestamp of an event stays (`report.event.count`).
    EventLastTimeStays,
    /// The lastTimestamp of an event is that of another time zone, an hour ahead (`report.event.count`).
    EventLastTimeOfAnotherZone,
    /// An event that occurs again counts two more (`report.event.count`).
    EventCountsTwo,
    /// The restart of a sidecar is not reported (`report.event.started-each-time`).
    SidecarRestartUnreported,
    // Restarts.
    /// The back-off begins with eight seconds (`restart.backoff.sequence`).
    BackOffOfEight,
    /// The back-off begins with six seconds (`restart.backoff.sequence`).
    BackOffOfSix,
    /// The second delay is the first again, and then it doubles (`restart.backoff.sequence`).
    SecondDelayNotDoubled,
    /// Delays grow by a half only (`restart.backoff.sequence`).
    BackOffGrowsByHalf,
    /// The first restart waits for six seconds (`restart.first-crash-immediate`).
    FirstRestartWaitsSix,
    /// A restart after a liveness failure waits for six seconds (`restart.backoff.liveness-kills`).
    KillsWaitSix,
    /// The back-off is that of all containers of a pod (`restart.first-crash-immediate`).
    BackOffOfPod,
    /// A container that exits with 0 restarts without a delay (`restart.backoff.sequence`).
    NoBackOffAfterSuccess,
    /// Sidecars have no back-off (`restart.backoff.waiting-reason`).
    NoBackOffForSidecars,
    /// The back-off is reset after a run of fifteen seconds (`restart.backoff.sequence`).
    BackOffResetTooSoon,
    /// A main container that crashes waits for a sidecar in its back-off (`restart.first-crash-immediate`).
    CrashWaitsForSidecar,
    /// After a kill by a probe the policy of the pod decides, not that of the container (`restart.policy.never`).
    KillsFollowPodPolicy,
    /// Only the first restart rule of a container counts (`restart.rules.exit-codes`).
    FirstRuleOnly,
    /// Restart rules of init containers are ignored (`restart.rules.exit-codes`).
    RulesForMainsOnly,
    /// A container whose restart rules do not match never restarts (`restart.rules.exit-codes`).
    UnmatchedRulesMeanNever,
    /// A sidecar is not restarted before its pod is initialized (`sidecar.always-restarted`).
    SidecarRestartsWhenInitialized,
    /// A pod with Never that loses its sandbox begins again in another one (`restart.policy.never`).
    SandboxLossForgetsNever,
    /// A container that succeeded runs again in another sandbox (`restart.policy.onfailure`).
    SandboxLossForgetsSuccess,
    /// A sidecar in its back-off starts again although its pod is done (`sidecar.job-completes`).
    SidecarStartsAfterWork,
    /// A liveness failure of the second container kills the first (`probe.liveness.failure-restarts-container`).
    FirstContainerKilled,
    /// A restarted sidecar restarts the main containers (`sidecar.always-restarted`).
    SidecarRestartRestartsMains,
    // Ends.
    /// A deletion leaves a second less (`termination.kill-after-grace`).
    DeletionGraceSecondLess,
    /// A deletion leaves a second and a half more (`termination.kill-after-grace`).
    DeletionGraceSecondAndAHalfMore,
    /// A kill by a probe leaves a second less (`probe.liveness.kill-is-graceful`).
    ProbeGraceSecondLess,
    /// A kill by a probe leaves a second and a half more (`probe.liveness.kill-is-graceful`).
    ProbeGraceSecondAndAHalfMore,
    /// A kill by a startup probe skips the hook (`probe.liveness.kill-is-graceful`).
    HookSkippedByStartup,
    /// Sidecars' hooks before the stop are skipped (`termination.sidecar.prestop-not-ordered`).
    HookOfSidecarsSkipped,
    /// The stop signal comes three seconds after the end of the hook (`termination.prestop-runs-first`).
    SignalLateAfterHook,
    /// After a failed hook the container is killed at once (`termination.prestop-runs-first`).
    FailedHookKills,
    /// The stop signal is SIGINT (`termination.term-to-pid1`).
    SignalIsInterrupt,
    /// Readiness probes of sidecars stop on deletion (`probe.readiness.continues-while-terminating`).
    ReadinessOfSidecarsStopsOnDelete,
    /// The postStart hook of a restarted container is skipped (`container.state.poststart-before-running`).
    StartHookOnce,
    /// The postStart hook is not waited for (`container.state.poststart-before-running`).
    StartHookUnawaited,
    // Endpoints.
    /// An endpoint becomes not ready four seconds late (`probe.readiness.endpoint-removed`).
    EndpointRemovedLate,
    /// An endpoint becomes ready six seconds late (`pod.condition.ready`).
    EndpointReadyLate,
    /// An endpoint that was not ready once is never ready again (`pod.condition.ready`).
    EndpointNeverReadyAgain,
    /// Only the first fall of readiness reaches the endpoint (`pod.condition.ready`).
    SecondFallUnnoticed,
    // The kubelet's restart.
    /// A new kubelet does not probe readiness of containers that ran before (`prober.kubelet-restart.probing-resumes`).
    RestartStopsReadiness,
    /// A new kubelet does not probe sidecars that ran before (`prober.kubelet-restart.probing-resumes`).
    RestartStopsSidecarProbes,
    /// A new kubelet does not count restarts before it (`report.status.restart-count`).
    RestartForgetsCount,
    /// A new kubelet runs init containers again (`init.container-restart-no-rerun`).
    RestartRunsInits,
    /// A new kubelet keeps no failures, and needs twice as many (`prober.kubelet-restart.failures-still-kill`).
    RestartDoublesThreshold,
    /// A new kubelet stops what ran before it at the first failure (`prober.kubelet-restart.failures-still-kill`).
    RestartLeavesOneFailure,
    /// A new kubelet restarts containers that ran for less than ten seconds only (`prober.kubelet-restart.status-kept`).
    RestartRestartsYoung,
    } };
}
