//! Ends and restarts without a cause, and states in the status that are not real. In the list, they come after all
//! earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_unexplained {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Ends of pods.
    /// A pod without a deadline fails with the reason of a deadline (`pod.phase.failed`).
    DeadlineInvented,
    /// A running pod is rejected like a new one (`pod.phase.failed`).
    RunningPodRefused,
    /// A pod is evicted although it has no storage limit and its node lacks nothing (`pod.phase.failed`).
    EvictedWithoutCause,
    /// A pod fails without a reason, although its containers restart (`disruption.pods-stay`).
    FailsWithoutReason,
    /// The kubelet deletes a running pod (`disruption.pods-stay`).
    KubeletDeletesPod,
    // Deadlines.
    /// A deadline is forgotten if no main container runs (`init.activedeadline-kills-running`).
    DeadlineNeedsRunning,
    /// Sidecars get no stop signal at the deadline (`init.activedeadline-kills-running`).
    DeadlineKillsSidecars,
    /// A pod that exceeded its deadline stays ready (`pod.condition.terminal-not-ready`).
    ExpiredStaysReady,
    /// A pod stays Running forever if one of its containers has restart rules (`pod.phase.failed`, `pod.phase.succeeded`).
    RulesKeepRunning,
    /// The transition times of Ready and ContainersReady change with each change of their message
    /// (`pod.condition.transition-time`).
    TransitionTimeOfMessage,
    // Restarts.
    /// Containers that exceed their memory limit restart without a back-off (`restart.backoff.other-causes`).
    NoBackOffForMemory,
    /// The back-off after kills because of a probe does not grow (`restart.backoff.liveness-kills`).
    KillsWaitNoLonger,
    /// A sidecar that fails when it is stopped after the pod's work is restarted (`sidecar.job-completes`).
    StoppedSidecarReturns,
    /// If there are several sidecars and the pod's work is done, they wait for the end of the grace period
    /// (`sidecar.job-completes`).
    SeveralSidecarsWaitWhenDone,
    /// A sidecar that ended while its pod is being deleted is restarted (`termination.no-restart-while-terminating`).
    SidecarReturnsBesideOthers,
    /// Nothing waits for the startup probe of a sidecar that crashed before it succeeded (`sidecar.started-with-startup-probe`).
    SidecarRestartUnawaited,
    /// Sidecars are killed without a stop signal and restarted (`sidecar.definition`).
    SidecarsReplacedSilently,
    /// Main containers without a liveness probe are killed without a stop signal and restarted
    /// (`probe.liveness.absent-means-success`).
    MainsReplacedSilently,
    // What containers get and share.
    /// All containers of a pod have one process namespace, although the pod does not share it (`ephemeral.shared-pid`).
    ProcessesSharedUnasked,
    /// Init containers and sidecars get nothing from the downward API (`downward.fieldref-both`, `downward.env-only`).
    DownwardOnlyInMains,
    // States.
    /// A pod without a running container is shown without its network (`ptsc.true-after-sandbox`).
    NetworkLostInBackOff,
    /// observedGeneration includes a deletion only when the containers have ended (`report.status.observed-generation`).
    DeletionObservedAtEnd,
    /// The phase of a pod is Unknown while one of its containers is in back-off (`pod.phase.moves-to-running`).
    UnknownInBackOff,
    /// A container without a readiness probe is not ready while its pod is being deleted (`probe.readiness.absent-means-ready`).
    UnprobedUnreadyOnDelete,
    /// A container without a readiness probe stays ready when it has ended (`pod.condition.containersready`).
    EndedStaysReady,
    /// A restarted sidecar is shown as waiting forever (`container.state.three-states`).
    SidecarWaitsAfterRestart,
    /// A running container is shown as waiting for a while (`container.state.three-states`).
    RunningFallsBackToWaiting,
    /// A restarted container is shown as waiting for a long time (`container.state.three-states`).
    WaitingAfterRestart,
    } };
}
