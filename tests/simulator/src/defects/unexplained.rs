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
    /// A pod is Running for good if one of its containers has restart rules (`pod.phase.failed`, `pod.phase.succeeded`).
    RulesKeepRunning,
    /// The times of Ready and ContainersReady move with each change of their message (`pod.condition.transition-time`).
    TransitionTimeOfMessage,
    // Restarts.
    /// Containers that exceed their memory limit restart without a back-off (`restart.backoff.other-causes`).
    NoBackOffForMemory,
    /// The back-off after kills by a probe does not grow (`restart.backoff.liveness-kills`).
    KillsWaitNoLonger,
    /// A sidecar that fails when it is stopped after the work is started again (`sidecar.job-completes`).
    StoppedSidecarReturns,
    /// Sidecars wait for the end of the grace period if there are several and the work is done (`sidecar.job-completes`).
    SeveralSidecarsWaitWhenDone,
    /// A sidecar that ended while its pod is deleted is started again (`termination.no-restart-while-terminating`).
    SidecarReturnsBesideOthers,
    /// Nothing waits for the startup probe of a sidecar that crashed before it succeeded (`sidecar.started-with-startup-probe`).
    SidecarRestartUnawaited,
    /// Sidecars are killed without a signal and started again (`sidecar.definition`).
    SidecarsReplacedSilently,
    /// Main containers without a liveness probe are killed without a signal and started again (`probe.liveness.absent-means-success`).
    MainsReplacedSilently,
    // What containers are told and share.
    /// All containers of a pod have one process namespace, although the pod does not share it (`ephemeral.shared-pid`).
    ProcessesSharedUnasked,
    /// Init containers and sidecars are told nothing about their pod (`downward.fieldref-both`, `downward.env-only`).
    DownwardOnlyInMains,
    // States.
    /// A pod none of whose containers runs is shown without its network (`ptsc.true-after-sandbox`).
    NetworkLostInBackOff,
    /// A deletion is in observedGeneration only when the containers have ended (`report.status.observed-generation`).
    DeletionObservedAtEnd,
    /// The phase of a pod is Unknown while a container of it is in back-off (`pod.phase.moves-to-running`).
    UnknownInBackOff,
    /// A container without a readiness probe is not ready while its pod is being deleted (`probe.readiness.absent-means-ready`).
    UnprobedUnreadyOnDelete,
    /// A container without a readiness probe stays ready when it has ended (`pod.condition.containersready`).
    EndedStaysReady,
    /// A restarted sidecar is shown as waiting for good (`container.state.three-states`).
    SidecarWaitsAfterRestart,
    /// A running container is shown as waiting for a while (`container.state.three-states`).
    RunningFallsBackToWaiting,
    /// A restarted container is shown as waiting for long (`container.state.three-states`).
    WaitingAfterRestart,
    } };
}
