//! Ends and restarts that nothing explains, and states that nobody is in. They follow the others in the one list.

/// Hands the list of the other defects on, with these behind it, to the next that adds some.
macro_rules! with_unexplained {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Ends of pods.
    /// A pod without a deadline fails for a deadline (`pod.phase.failed`).
    DeadlineInvented,
    /// A pod that runs is refused like a new one (`pod.phase.failed`).
    RunningPodRefused,
    /// A pod is evicted although it has no limit of storage and its node lacks nothing (`pod.phase.failed`).
    EvictedWithoutCause,
    /// A pod fails without a reason, although its containers restart (`disruption.pods-stay`).
    FailsWithoutReason,
    /// The kubelet deletes a pod that runs (`disruption.pods-stay`).
    KubeletDeletesPod,
    // Deadlines.
    /// A deadline is forgotten if no main container runs (`init.activedeadline-kills-running`).
    DeadlineNeedsRunning,
    /// Sidecars get no stop signal at the deadline (`init.activedeadline-kills-running`).
    DeadlineKillsSidecars,
    /// A pod that exceeded its deadline stays ready (`pod.condition.terminal-not-ready`).
    ExpiredStaysReady,
    // Restarts.
    /// A sidecar that fails when it is stopped after the work is started again (`sidecar.job-completes`).
    StoppedSidecarReturns,
    /// Sidecars wait for the end of the grace period if there are several and the work is done (`sidecar.job-completes`).
    SeveralSidecarsWaitWhenDone,
    /// A sidecar that ended while its pod is deleted is started again (`termination.no-restart-while-terminating`).
    SidecarReturnsBesideOthers,
    /// Sidecars are killed without a signal and started again (`sidecar.definition`).
    SidecarsReplacedSilently,
    /// Main containers without a liveness probe are killed without a signal and started again (`probe.liveness.absent-means-success`).
    MainsReplacedSilently,
    // States.
    /// The phase of a pod is Unknown while a container of it is in back-off (`pod.phase.moves-to-running`).
    UnknownInBackOff,
    /// A running container is shown as waiting for a while (`container.state.three-states`).
    RunningFallsBackToWaiting,
    /// A restarted container is shown as waiting for long (`container.state.three-states`).
    WaitingAfterRestart,
    } };
}
