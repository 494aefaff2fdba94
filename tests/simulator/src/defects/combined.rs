//! Defects that have an effect only if two settings, or a setting and an earlier event, are combined. In the list, they
//! come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_combined {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Probes.
    /// After a container has become unready, a single failed probe does not end a run of successes
    /// (`probe.success-threshold.readiness`).
    RecoveryRunUninterrupted,
    /// After a redirect, only the first of several values of a header is sent again
    /// (`probe.http.redirect.headers-kept`, `probe.http.repeated-headers`).
    RedirectKeepsFirstValue,
    /// If a server does not know a service, the probe checks the empty service name instead
    /// (`probe.grpc.wrong-service-fails`).
    GrpcAsksForWholeServer,
    /// The port name of a TCP probe is looked up in the first container that declares it (`probe.tcp.port-forms`).
    TcpPortNameOfFirst,
    /// A restarted kubelet treats containers that had already restarted as not started
    /// (`prober.kubelet-restart.status-kept`).
    RestartForgetsStartedAgain,
    /// After the failures of a gRPC startup probe have caused a restart, they also count in the next instance
    /// (`probe.failure-threshold.exact-count`).
    GrpcStartupStreakSurvivesKill,
    // Restarts.
    /// A restart rule with NotIn never matches the exit status 0 (`restart.rules.exit-codes`).
    NotInSparesZero,
    /// Whether a container restarts after its probe failed is decided by the restart policy of the first container
    /// (`restart.rules.container-policy`, `probe.liveness.needs-restarting-policy`).
    KillsFollowFirstContainer,
    /// The CPU of a container changes without a restart, whatever its resizePolicy is (`resize.with-restart`).
    CpuPolicyIgnored,
    /// A container without a startup probe is shown as started while it is in `CrashLoopBackOff`
    /// (`probe.startup.started-field`, `probe.startup.absent-means-started`).
    UnprobedStartedInBackOff,
    /// The last state of a container in `CrashLoopBackOff` is that of the instance before the last one
    /// (`container.state.terminated-fields`, `report.status.container-id`).
    BackOffShowsOlderEnd,
    // Sidecars.
    /// At the deadline of a pod, the time for which a sidecar waits for its turn is not part of the grace period
    /// (`init.activedeadline-kills-running`).
    ExpiredSidecarsHaveGraceAnew,
    /// Nothing waits for the startup probe of a sidecar that is followed by another sidecar
    /// (`sidecar.started-with-startup-probe`, `sidecar.order-and-started`).
    SidecarBeforeSidecarUnawaited,
    /// The postStart hook of a restarted sidecar does not run (`container.state.poststart-before-running`).
    StartHookOfSidecarOnce,
    /// A sidecar whose postStart hook failed has two seconds to stop, and its preStop hook does not run
    /// (`container.state.poststart-failure-kills`).
    FailedHookStopsSidecarHard,
    /// No event reports the start of a restarted sidecar, although other events report its creation
    /// (`report.event.started-each-time`).
    SidecarStartUnsaidLater,
    // Signals and volumes.
    /// The `stopSignal` of a container that also has a hook is ignored (`termination.stopsignal-field`).
    OwnStopSignalLostWithHook,
    /// A read-only mount with a `subPath` is writable (`report.status.volume-mounts`).
    SubPathMountWritable,
    /// A downward API file with a single annotation keeps its first content (`downward.fieldref-both`).
    DownwardAnnotationFileStays,
    /// An item of a ConfigMap that has no mode gets the mode of the item before it (`pod.configuration-files`).
    MapModeCarriedOver,
    /// If several volumes have a size limit, only the limit of the first one is enforced
    /// (`pod.lifecycle.node-pressure-not-survived`).
    OnlyFirstVolumeLimited,
    // The API server.
    /// A second ephemeral container does not change the generation of its pod (`pod.update.generation`).
    SecondEphemeralKeepsGeneration,
    /// An ephemeral container that has ended can be removed (`ephemeral.immutable`).
    ApiRemovesEndedEphemeral,
    /// A pod whose sidecar has limits but no requests is not Guaranteed (`qos.guaranteed`,
    /// `report.status.qos-class`).
    SidecarLimitsAreNoRequests,
    /// A scheduling gate can be replaced by another one (`pod.scheduling.gates-delay`).
    ApiSwapsSchedulingGates,
    /// The liveness and readiness probes of a sidecar can be patched (`probe.config.immutable`,
    /// `init.only-image-mutable`).
    ApiPatchesSidecarProbes,
    /// The liveness probe of a sidecar may have a `successThreshold` greater than 1
    /// (`probe.success-threshold.liveness-startup-must-be-1`, `sidecar.probes-allowed`).
    ApiAcceptsTwoSuccessesOfSidecar,
    /// A patch of the pod itself sets the missing condition of a readiness gate (`readinessgate.set-by-patch`).
    ApiPatchSetsMissingGate,
    /// The budget applies to the eviction of a pod without a node (`eviction.pending-terminal-bypass`).
    UnscheduledAskBudget,
    /// A pod whose eviction is refused gets the condition of an evicted pod (`disruptiontarget.eviction-api`).
    RefusedEvictionExplained,
    // The scheduler and the controllers.
    /// If no node fits a pod after its gates are removed, it keeps the reason `SchedulingGated`
    /// (`pod.condition.podscheduled`).
    GatedReasonStays,
    /// When `PodScheduled` becomes True, its lastTransitionTime does not change (`pod.condition.transition-time`).
    ScheduledKeepsTimeOfWait,
    /// When `Ready` becomes False on a lost node, its lastTransitionTime does not change
    /// (`pod.condition.transition-time`).
    LostReadyKeepsTime,
    /// Each change of the tolerations of a pod, or of the taints, restarts its tolerationSeconds
    /// (`disruptiontarget.taint-manager`).
    TolerationSecondsAnew,
    /// A pod that tolerated a taint for a limited time is evicted without a condition that shows the reason
    /// (`disruptiontarget.taint-manager`).
    PatientPodUnexplained,
    /// An endpoint is ready if the containers are ready and the conditions of all gates exist, whatever their status is
    /// (`pod.condition.ready`).
    SliceNeedsGatesToExist,
    } };
}
