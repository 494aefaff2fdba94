//! Careless statuses, events, restarts and ends: a field of an old instance, a report in the wrong place, a delay that
//! is slightly off, a hook that one path forgets. In the list, they come after all earlier defects.
//!
//! Two defects are left out because nothing promises the opposite: a hook that runs twice (hooks are delivered at least
//! once), and a stop signal that is sent twice.

/// Creates the list of all earlier defects, followed by these.
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
    /// A change to not ready is shown three seconds late (`probe.readiness.failure-marks-unready`).
    UnreadyLate,
    /// Readiness after a restart is shown four seconds late (`prober.sync.readiness-status-path`).
    ReadyLateAfterRestart,
    /// The start of a sidecar is shown four seconds late (`probe.startup.started-field`).
    SidecarStartedLate,
    // The content of statuses.
    /// `lastState` is never shown (`container.state.terminated-fields`).
    LastStateMissing,
    /// A waiting container has the reason PodInitializing even without init containers (`container.state.waiting-reason`).
    WaitsForInitsThatAreNone,
    /// `lastState` always shows the first end (`report.status.container-id`).
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
    /// The start and end times of a terminated container are exchanged (`container.state.terminated-fields`).
    TimesExchanged,
    /// The end of a terminated container is a minute in the future, only in lastState (`container.state.terminated-fields`).
    LastStateEndsLater,
    /// The last state is lost when a container gets a new image (`container.state.terminated-fields`).
    LastStateLostOnNewImage,
    /// `startedAt` of a running container is rounded up (`container.state.running-startedat`).
    RunningStartRoundedUp,
    /// A restarted container with only a startup probe is never ready again (`probe.readiness.absent-means-ready`).
    RestartedStartupUnsynced,
    /// `startedAt` always shows the start of the first instance (`container.state.running-startedat`).
    StartedAtOfFirst,
    /// The containerID is that of the old instance until the container is ready (`report.status.container-id`).
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
    /// observedGeneration always shows the first generation (`report.status.observed-generation`).
    GenerationOfFirst,
    /// ContainersReady stays True when Ready becomes False (`probe.readiness.failure-marks-unready`).
    ContainersReadyStays,
    /// The message of a condition names the containers that are ready (`pod.condition.containersready`).
    ReadyNamedAsUnready,
    /// The statuses of the first two main containers are exchanged (`container.state.three-states`).
    StatusesExchanged,
    /// Readiness of the first two main containers is exchanged (`probe.readiness.starts-unready`).
    ReadinessExchanged,
    /// A status of a terminated init container is left out (`init.status-array`).
    InitStatusForgotten,
    /// A pod whose container waits for its back-off is Pending after the second restart (`pod.phase.running`).
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
    /// A kill because of a startup probe is reported as caused by a liveness probe (`report.event.killing-cause`).
    StartupKillBlamesLiveness,
    /// Failures are reported eight seconds late (`report.event.unhealthy`).
    FailuresReportedLate,
    /// The lastTimestamp of an event never changes (`report.event.count`).
    EventLastTimeStays,
    /// The lastTimestamp of an event is an hour ahead, as in another time zone (`report.event.count`).
    EventLastTimeOfAnotherZone,
    /// The count of an event that occurs again grows by two (`report.event.count`).
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
    /// Delays grow only by half (`restart.backoff.sequence`).
    BackOffGrowsByHalf,
    /// The first restart waits for six seconds (`restart.first-crash-immediate`).
    FirstRestartWaitsSix,
    /// A restart after a liveness failure waits for six seconds (`restart.backoff.liveness-kills`).
    KillsWaitSix,
    /// All containers of a pod share one back-off (`restart.first-crash-immediate`).
    BackOffOfPod,
    /// A container that exits with 0 restarts without a delay (`restart.backoff.sequence`).
    NoBackOffAfterSuccess,
    /// Sidecars have no back-off (`restart.backoff.waiting-reason`).
    NoBackOffForSidecars,
    /// The back-off is reset after a run of fifteen seconds (`restart.backoff.sequence`).
    BackOffResetTooSoon,
    /// A main container that crashes waits for a sidecar in its back-off (`restart.first-crash-immediate`).
    CrashWaitsForSidecar,
    /// After a kill because of a probe, the policy of the pod decides, not the policy of the container
    /// (`restart.policy.never`).
    KillsFollowPodPolicy,
    /// Only the first restart rule of a container applies (`restart.rules.exit-codes`).
    FirstRuleOnly,
    /// Restart rules of init containers are ignored (`restart.rules.exit-codes`).
    RulesForMainsOnly,
    /// A container whose restart rules do not match never restarts (`restart.rules.exit-codes`).
    UnmatchedRulesMeanNever,
    /// A sidecar is not restarted before its pod is initialized (`sidecar.always-restarted`).
    SidecarRestartsWhenInitialized,
    /// A pod with restartPolicy Never that loses its sandbox starts again in a new one (`restart.policy.never`).
    SandboxLossForgetsNever,
    /// A container that succeeded runs again in a new sandbox (`restart.policy.onfailure`).
    SandboxLossForgetsSuccess,
    /// The same, if the container's own policy is OnFailure (`restart.policy.onfailure`).
    SandboxLossForgetsOwnPolicy,
    /// A sidecar in its back-off starts again although the pod's work is done (`sidecar.job-completes`).
    SidecarStartsAfterWork,
    /// A liveness failure of the second container kills the first (`probe.liveness.failure-restarts-container`).
    FirstContainerKilled,
    /// A restarted sidecar restarts the main containers (`sidecar.always-restarted`).
    SidecarRestartRestartsMains,
    // Ends.
    /// The grace period of a deletion is one second too short (`termination.kill-after-grace`).
    DeletionGraceSecondLess,
    /// The grace period of a deletion is one and a half seconds too long (`termination.kill-after-grace`).
    DeletionGraceSecondAndAHalfMore,
    /// The grace period after a failed probe is one second too short (`probe.liveness.kill-is-graceful`).
    ProbeGraceSecondLess,
    /// The grace period after a failed probe is one and a half seconds too long (`probe.liveness.kill-is-graceful`).
    ProbeGraceSecondAndAHalfMore,
    /// A kill because of a startup probe skips the hook (`probe.liveness.kill-is-graceful`).
    HookSkippedByStartup,
    /// The preStop hooks of sidecars are skipped (`termination.sidecar.prestop-not-ordered`).
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
    /// The kubelet does not wait for the postStart hook (`container.state.poststart-before-running`).
    StartHookUnawaited,
    // Endpoints.
    /// An endpoint becomes not ready four seconds late (`probe.readiness.endpoint-removed`).
    EndpointRemovedLate,
    /// An endpoint becomes ready six seconds late (`pod.condition.ready`).
    EndpointReadyLate,
    /// An endpoint that was not ready once is never ready again (`pod.condition.ready`).
    EndpointNeverReadyAgain,
    /// Only the first change to not ready reaches the endpoint (`pod.condition.ready`).
    SecondFallUnnoticed,
    // The kubelet's restart.
    /// A restarted kubelet does not send readiness probes to containers that ran before
    /// (`prober.kubelet-restart.probing-resumes`).
    RestartStopsReadiness,
    /// A restarted kubelet does not probe sidecars that ran before (`prober.kubelet-restart.probing-resumes`).
    RestartStopsSidecarProbes,
    /// A restarted kubelet forgets the earlier restarts (`report.status.restart-count`).
    RestartForgetsCount,
    /// A restarted kubelet runs init containers again (`init.container-restart-no-rerun`).
    RestartRunsInits,
    /// A restarted kubelet keeps no failures, and needs twice as many (`prober.kubelet-restart.failures-still-kill`).
    RestartDoublesThreshold,
    /// A restarted kubelet stops containers that ran before at the first failure
    /// (`prober.kubelet-restart.failures-still-kill`).
    RestartLeavesOneFailure,
    /// A restarted kubelet restarts only containers that ran for less than ten seconds (`prober.kubelet-restart.status-kept`).
    RestartRestartsYoung,
    } };
}
