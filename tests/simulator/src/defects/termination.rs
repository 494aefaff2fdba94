//! The defects of how a pod ends: requests to delete it, hooks, signals, grace periods, the order of sidecars, its
//! endpoints. In the list, they come after all earlier defects.

/// Creates the list of all earlier defects, followed by these.
macro_rules! with_termination {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // What the API server does with a request to delete a pod.
    /// A pod without its own grace period has ten seconds (`termination.default-grace-30`).
    ApiOtherDefaultGrace,
    /// A negative grace period is stored as it is (`termination.negative-grace`).
    ApiKeepsNegativeGrace,
    /// The deadline of a deletion is the time of the request (`termination.deadline-recorded`).
    DeadlineWithoutGrace,
    /// A second deletion can extend the grace period (`termination.grace-only-shortens`).
    SecondDeletionExtends,
    /// A second deletion changes nothing (`termination.grace-only-shortens`).
    SecondDeletionIgnored,
    /// The removal of a pod that never ran or has ended waits for its grace period (`termination.unscheduled-immediate`).
    IdlePodsWait,
    /// The removal of a pod that is deleted with a grace period of zero waits for its kubelet
    /// (`termination.forced.immediate-api-removal`).
    ForcedWaitsForKubelet,
    /// A pod is removed when its containers get their stop signal (`termination.final-delete-zero`).
    RemovedWhileStopping,
    /// A pod is removed at its deadline, however early its containers ended (`termination.exit-early-ends-early`).
    RemovedAtTheDeadline,
    // Signals and grace periods.
    /// Containers of a deleted pod are killed without a stop signal (`term-to-pid1`, `kill-after-grace`).
    DeletionKillsAtOnce,
    /// Init containers of a deleted pod are killed without a stop signal (`term-to-pid1`, `kill-after-grace`).
    DeletionKillsInits,
    /// The stop signal reaches every process of a container (`termination.term-to-pid1`).
    SignalReachesChildren,
    /// The stop signal comes four seconds after the deletion (`termination.starts-promptly`).
    DeletionSignalsLate,
    /// A deletion uses half of the grace period (`termination.kill-after-grace`, `default-grace-30`).
    DeletionHalvesGrace,
    /// A container of a deleted pod is never killed (`termination.kill-after-grace`).
    DeletionNeverKills,
    /// The grace period of the request is ignored (`termination.grace-override`).
    RequestedGraceIgnored,
    /// A grace period may be shorter than two seconds (`termination.minimum-2s`, `prestop-2s-extension`).
    NoLeastGrace,
    /// A container that ends while its pod is being deleted is restarted (`termination.no-restart-while-terminating`).
    RestartsWhileTerminating,
    /// A pod that is deleted with a grace period of zero keeps its own grace period on the node
    /// (`termination.forced.small-grace-on-node`).
    ForcedKeepsGrace,
    /// A pod that is deleted with a grace period of zero is killed without a stop signal
    /// (`termination.forced.small-grace-on-node`).
    ForcedKillsAtOnce,
    /// A pod waits until the earlier pod with the same name has ended (`termination.forced.name-reusable`).
    NameIsHeldOnNode,
    /// A restarted kubelet kills at the time at which the previous one would have killed (`kubelet-restart-restarts-grace`).
    RestartKeepsDeadline,
    /// A restarted kubelet uses half of the grace period (`termination.kubelet-restart-restarts-grace`).
    RestartHalvesGrace,
    /// A restarted kubelet does not know of terminations that had begun (`termination.kubelet-restart-restarts-grace`).
    RestartForgetsTermination,
    // preStop hooks.
    /// The time of a hook is added to the grace period (`termination.prestop-counts-in-grace`).
    HookTimeAdded,
    /// A hook is cut off after twenty seconds (`termination.prestop-needs-longer-grace`).
    HookCutEarly,
    /// A hook has no time limit (`prestop-2s-extension`, `sidecar.prestop-overrun`).
    HookNeverCut,
    /// Liveness and startup probes continue until the stop signal, even during the preStop hook of a container
    /// (`prober.termination.liveness-startup-stop`).
    LivenessGoesOnDuringHooks,
    /// A container with a hook has the pod's grace period, whatever its probe sets (`probe.tgps.liveness-override`).
    ProbeGraceIgnoredWithHook,
    /// A container with several probes has the grace period of the first one that sets one
    /// (`probe.tgps.liveness-override`).
    ProbeGraceOfAnotherProbe,
    /// The hook also runs before a kill because of a probe without a grace period (`termination.prestop-not-with-zero-grace`).
    HookRunsWithoutGrace,
    /// The hook does not run before a kill because of a probe (`termination.prestop-on-liveness-kill`).
    HookOnlyOnDeletion,
    /// The hook also runs when a container ends by itself (`termination.prestop-not-on-self-exit`).
    HookAfterSelfExit,
    /// Every container is stopped with SIGTERM unless it names a signal itself (`termination.stopsignal-honoured`).
    ImageStopSignalIgnored,
    /// A container's own stop signal is ignored (`termination.stopsignal-field`).
    OwnStopSignalIgnored,
    // Sidecars.
    /// Sidecars stop with the main containers (`termination.sidecar.after-main`, `slow-main-delays`).
    SidecarsStopWithMains,
    /// All sidecars stop at once when the main containers have ended (`termination.sidecar.reverse-order`).
    SidecarsStopTogether,
    /// Sidecars stop in the order of their definition (`termination.sidecar.reverse-order`).
    SidecarsStopInOrder,
    /// Sidecars wait for the end of the grace period (`termination.sidecar.after-main`, `reverse-order`).
    SidecarsWaitForExpiry,
    /// Sidecars have the whole grace period again (`termination.sidecar.grace-expiry-simultaneous`).
    SidecarsHaveGraceAnew,
    /// The hook of a sidecar waits for its turn (`termination.sidecar.prestop-not-ordered`).
    SidecarHooksInTurn,
    /// Sidecars keep running if a main container has failed (`sidecar.job-completes`).
    SidecarsKeepFailedPod,
    /// Sidecars keep running in a pod with restartPolicy OnFailure (`sidecar.job-completes`).
    SidecarsKeepPodOnFailure,
    /// A sidecar of a pod that has completed waits for the whole grace period (`sidecar.job-completes`).
    SidecarsWaitWhenDone,
    /// A sidecar of a pod that has completed has two seconds to stop (`sidecar.job-completes`).
    SidecarsHaveTwoSecondsWhenDone,
    /// The hook of a sidecar does not run when its pod has completed (`sidecar.job-completes`).
    HookOfSidecarForgottenWhenDone,
    /// The sidecars of a pod that has completed stop at once (`sidecar.job-completes`).
    SidecarsStopTogetherWhenDone,
    /// Startup probes continue while a pod terminates (`prober.termination.liveness-startup-stop`).
    StartupGoesOnInTermination,
    /// Liveness probes continue while a pod ends at its deadline (`prober.termination.liveness-startup-stop`).
    LivenessGoesOnAtDeadline,
    /// A hook has the grace period of the pod, whatever the request sets (`termination.prestop-2s-extension`).
    HookHasGraceOfPod,
    // Endpoints.
    /// The endpoint of a deleted pod is removed at once (`termination.endpoint-kept-terminating`).
    SliceDropsTerminating,
    /// The endpoint of a deleted pod is not serving, whatever its readiness probe
    /// (`termination.endpoint-serving-is-readiness`).
    SliceTerminatingServesNobody,
    /// The proxy sends nothing to terminating endpoints (`termination.endpoint-proxy-fallback`).
    ProxyDropsTerminating,
    } };
}
