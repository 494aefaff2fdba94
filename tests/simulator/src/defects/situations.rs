//! Defects that have an effect only in one situation, such as a resize of two resources at once. In the list, they come after
//! all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_situations {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Resizes.
    /// If the CPU and the memory of a container change together, the policy for the CPU decides whether the container restarts
    /// (`resize.with-restart`).
    CombinedResizeFollowsCpu,
    /// A resize of sidecars alone is not shown as in progress (`resize.completed`).
    SidecarResizeUnannounced,
    /// After a resize in place, the startup probe of the container runs again (`probe.startup.stops-after-success`,
    /// `probe.startup.started-field`).
    ResizeRepeatsStartup,
    /// A container that restarts after a resize gets variables with the amounts of its creation
    /// (`downward.resourcefieldref`).
    ResizedVariablesStale,
    // What a container gets.
    /// Amounts of ephemeral storage are rounded down (`downward.resourcefieldref`).
    StorageRoundsDown,
    /// In projected volumes, the modes of downward API items are ignored (`downward.fieldref-both`).
    ProjectedDownwardModeIgnored,
    /// References to variables whose values come from another source are not replaced (`pod.environment`).
    ReferencesToSourcesStay,
    /// The host name of a pod with a long name can end with a hyphen (`pod.hostname`).
    LongHostnameKeepsHyphen,
    /// Ephemeral containers have the score of `BestEffort` pods (`qos.oom-score`).
    EphemeralScoreOfBestEffort,
    /// The cgroup of a pod has a CPU limit although an init container has none (`init.resources.cgroup`).
    CpuOfUnlimitedInitUncounted,
    /// A restarted kubelet mounts volumes in memory again, which hides their files (`pod.shared.volumes`).
    MemoryVolumeMountedAgain,
    // Pods that must not run, or must end.
    /// The kubelet runs a pod whose init container needs more than the node has (`pod.phase.rejected-for-resources`).
    BoundBeyondWithInitRuns,
    /// An unsafe sysctl is allowed if its name is written with slashes (`pod.unsafe-sysctls`).
    SlashedSysctlAllowed,
    /// Init containers and sidecars may run as root despite `runAsNonRoot` (`pod.run-as-non-root`).
    RootInitsUnchecked,
    /// When memory is short, the requests of sidecars do not count (`qos.request-exceeded-candidate`).
    ShortageForgetsSidecarRequests,
    /// At a shutdown, pods with the lowest critical priority end first (`shutdown.critical-pods-last`).
    ClusterCriticalEndsFirst,
    // Static pods and updates.
    /// A mirror pod that was created again never gets a status (`static.mirror`).
    MirrorStaysPending,
    /// A toleration can be exchanged for another one (`pod.update.allowed-fields`).
    ApiExchangesToleration,
    /// A finalizer of a pod that is being deleted can be exchanged for another one (`pod.update.no-new-finalizers`).
    ApiExchangesFinalizer,
    // Readiness gates.
    /// In a pod with readiness gates, the readiness of sidecars does not count for `Ready`
    /// (`readinessgate.ready-needs-both`).
    GatesHideSidecars,
    // Taints.
    /// A pod is evicted although the taint was removed before its tolerationSeconds had passed
    /// (`disruptiontarget.taint-manager`).
    RemovedTaintEvicts,
    /// Pods that are bound to a node after it got a taint are not evicted (`disruptiontarget.taint-manager`).
    NewcomersSpared,
    // Names, labels and selectors.
    /// A safe sysctl is forbidden if its name is written with slashes (`pod.safe-sysctls`).
    SlashedSysctlForbidden,
    /// Services do not notice that the labels of a pod changed (`pod.condition.ready`).
    ServicesKeepFirstLabels,
    // Budgets, evictions and taints.
    /// A pod that is still ready while it terminates counts as healthy (`pdb.limits-voluntary`).
    BudgetCountsTerminating,
    /// A pod whose containers are ready counts as healthy, whatever its readiness gates say (`pdb.unhealthy-default`,
    /// `pdb.unhealthy-alwaysallow`).
    BudgetIgnoresGates,
    /// An evicted pod has a grace period of at most 30 s (`eviction.graceful`).
    EvictionCapsGrace,
    /// The value of a toleration is not compared with that of the taint (`disruptiontarget.taint-manager`).
    TolerationValueIgnored,
    // Pods that end.
    /// In a Service with `publishNotReadyAddresses`, the endpoint of a terminating pod is not ready
    /// (`probe.readiness.publish-not-ready`).
    TerminatingUnpublished,
    /// The removal of a pod that has failed waits for its grace period (`termination.unscheduled-immediate`).
    FailedPodsKeepGrace,
    /// Of the pods without a node that are being deleted, the garbage collector handles only those with scheduling gates
    /// (`podgc.unscheduled-terminating`).
    UngatedTerminatingKept,
    /// A kubelet whose node shuts down still runs new critical pods (`shutdown.no-new-pods`).
    ShutdownAdmitsCritical,
    // Files and variables.
    /// Keys with dots or hyphens do not become variables (`pod.environment`).
    OddKeysSkipped,
    /// The key of an annotation is looked up in lower case (`downward.fieldref-both`).
    AnnotationKeysLowered,
    /// A search list has at most six domains (`pod.dns-none`).
    SeventhSearchDomainLost,
    /// Files of ConfigMaps and Secrets in folders of their volumes are missing (`pod.configuration-files`).
    DeepFilesMissing,
    /// The binaryData of a ConfigMap is ignored (`pod.configuration-files`).
    BinaryDataIgnored,
    // Pods on nodes that do not exist.
    /// The garbage collector skips pods that are being deleted on a node that does not exist (`podgc.orphaned`).
    TerminatingOrphansKept,
    /// The garbage collector changes the phase of pods that had succeeded on a node that does not exist
    /// (`podgc.orphaned-condition`, `pod.phase.terminal-sticky`).
    FinishedOrphansFail,
    // Deletions and budgets.
    /// A second request to delete a pod, without a grace period, sets the grace period of the pod again
    /// (`termination.grace-only-shortens`).
    PlainDeletionRestoresGrace,
    /// Budgets ignore the expressions of their selectors (`pdb.selector`, `pdb.limits-voluntary`).
    BudgetsIgnoreExpressions,
    /// If the node shuts down, sidecars get their stop signals together with the main containers
    /// (`shutdown.grace-period`).
    ShutdownStopsSidecarsTogether,
    // The addresses of the node.
    /// All pods show the same wrong address for their host (`report.status.addresses`).
    HostAddressOfAnother,
    // Probes and kills.
    /// A pod that is deleted is stopped only when its liveness and startup probes in progress have ended
    /// (`termination.starts-promptly`).
    HangingProbeDelaysStop,
    /// A container that is stopped because of its probe is killed after one second if that is its grace period
    /// (`termination.minimum-2s`).
    ProbeKillHasNoLeastGrace,
    /// Sidecars of a completed pod have the grace period of their liveness probe (`sidecar.job-completes`).
    DoneSidecarsHaveProbeGrace,
    /// The connection of a gRPC probe and its request have a timeout each (`probe.timeout.tcp-grpc`).
    GrpcTimeoutOfEachPart,
    // New images and resizes.
    /// A new image is ignored until the container has started (`pod.update.image-replaces`).
    NewImageAwaitsStartup,
    /// A new image makes a container that had terminated for good run again (`restart.policy.never`).
    NewImageRestartsDone,
    /// A resize waits until the container has started (`resize.enacted`, `resize.completed`).
    ResizeAwaitsStartup,
    /// A container that crashes after a resize gets its original limits back (`resize.enacted`).
    CrashUndoesResize,
    /// An init container that was killed for its memory usage counts as completed (`init.run-to-completion`).
    StarvedInitSucceeds,
    // Restarts of the kubelet.
    /// After a restart of the kubelet, readiness gates count as False (`readinessgate.ready-needs-both`).
    RestartForgetsGates,
    /// A restart of the kubelet restarts containers with the resizePolicy `RestartContainer`
    /// (`prober.kubelet-restart.status-kept`).
    RestartForgetsResources,
    /// After a restart of the kubelet, ephemeral containers that had terminated run again (`ephemeral.never-restarted`).
    RestartRunsEphemeral,
    /// After a restart of the kubelet, the sidecars of pods that are over run again (`pod.phase.terminal-sticky`).
    RestartRevivesSidecars,
    /// After a restart of the kubelet, the first result of a probe has no effect
    /// (`prober.kubelet-restart.failures-still-kill`).
    RestartOverlooksFirstResult,
    /// A restart of the kubelet restarts init containers that are running (`prober.kubelet-restart.status-kept`).
    RestartRepeatsRunningInit,
    /// After a restart of the kubelet, main containers do not wait for an init container that is running
    /// (`init.run-to-completion`).
    RestartSkipsRunningInit,
    // Stops, messages and back-offs that are nearly right.
    /// A container that names no stop signal, and whose image names none, is stopped with SIGINT (`termination.term-to-pid1`).
    DefaultSignalIsInterrupt,
    /// If a probe failed, a container that names no stop signal is stopped with SIGINT (`probe.liveness.kill-is-graceful`).
    ProbeKillsInterrupt,
    /// The characters of a termination message are shown in lower case (`report.status.termination-message`,
    /// `report.status.termination-message-limit`).
    MessageLowered,
    /// A termination message that is too long loses its middle (`report.status.termination-message-limit`).
    LongMessageLosesMiddle,
    /// A container that waits for its restart starts 12 s after the end of its back-off (`restart.backoff.sequence`).
    BackOffEndsLate,
    /// The back-off after a kill because of a probe counts from the end of the previous instance
    /// (`restart.backoff.liveness-kills`).
    KillsWaitFromEndBefore,
    /// If all containers of a pod restart because of a rule, its init containers keep a restartCount of 0
    /// (`report.status.restart-count`).
    RestartAllInitsUncounted,
    /// If the preStop hook of a main container sleeps, it takes 50% longer (`termination.prestop-runs-first`).
    SleepTakesHalfMore,
    /// At a deadline, sidecars get their stop signal only when the grace period ends, and are killed half a second later
    /// (`termination.minimum-2s`).
    ExpiredSidecarsCutShort,
    // Probes by other mechanisms, and later instances of containers.
    /// Readiness probes that are not HTTP requests stop when their pod is deleted
    /// (`probe.readiness.continues-while-terminating`).
    OtherReadinessStopsOnDelete,
    /// A liveness probe that is not an HTTP request continues while its container is being stopped because of it
    /// (`prober.worker.onhold-after-liveness-failure`).
    OtherLivenessGoesOnAfterFailure,
    /// In a restarted container, the delays of startup and readiness probes that are not HTTP requests are ignored
    /// (`probe.timing.initial-delay-per-restart`).
    OtherDelaysInFirstLifeOnly,
    /// A restarted container whose startup probe is not an HTTP request immediately counts as started
    /// (`probe.startup.reruns-on-restart`, `probe.startup.started-field`).
    OtherStartupRunsOnce,
    /// A liveness command does not stop a container that was restarted before
    /// (`probe.liveness.failure-restarts-container`).
    LivenessCommandKillsOnce,
    /// Every third TCP probe goes to the loopback address of its pod (`probe.tcp.from-node`, `probe.tcp.default-host`).
    TcpSometimesThroughLoopback,
    /// TCP liveness probes continue in a deleted pod (`prober.termination.liveness-startup-stop`).
    TcpLivenessGoesOnInTermination,
    /// Failures of readiness probes count as failures of liveness probes (`prober.metrics.agree-with-witness`).
    ReadinessFailuresCountedAsLiveness,
    /// After a restart of the kubelet, the `startedAt` of running containers is the time of this restart
    /// (`container.state.running-startedat`).
    RestartMovesStart,
    /// The event about a kill because of a probe names the first container of the pod (`report.event.killing-cause`).
    KillNamesFirstContainer,
    // Probes whose number or time is slightly wrong.
    /// One failure fewer than the threshold makes a container unready (`probe.failure-threshold.exact-count`).
    ReadinessFallsOneFailureEarly,
    /// The period of liveness probes is 4% too long (`probe.timing.period`).
    LivenessPeriodTwentyFifthLonger,
    /// The timeout of liveness commands is one second too long (`probe.exec.timeout-fails`).
    LivenessCommandTimeoutSecondMore,
    /// After the success of the startup probe, the first liveness probe is left out (`probe.timing.first-probe-phase`).
    LivenessTurnLostAfterStartup,
    /// One in three connections of gRPC health checks is closed four seconds late (`probe.grpc.new-connection-each`).
    GrpcConnectionsClosedLate,
    /// A container is probed while its postStart command runs (`prober.worker.waits-for-container`).
    HookCommandUnawaited,
    // Statuses that contradict themselves, the events of the kubelet, or the containers.
    /// `Ready` is False for a moment in every fourth status update, although `ContainersReady` is True
    /// (`pod.condition.containersready`).
    ReadyFallsAlone,
    /// If `ContainersReady` or `Ready` becomes True, its lastTransitionTime is three seconds too early
    /// (`pod.condition.transition-time`).
    ReadyTimeThreeSecondsEarly,
    /// While a pod is not initialized, the message of `Initialized` also names its main containers
    /// (`pod.condition.initialized`).
    UninitializedNamesMains,
    /// The `startedAt` of each container is three seconds too early (`container.state.running-startedat`).
    StartedAtThreeSecondsEarly,
    /// Init containers have no last state (`container.state.terminated-fields`).
    LastStateOfInitsLost,
    /// A container that was killed because of its memory usage and restarted has no last state
    /// (`container.state.terminated-fields`).
    LastStateLostAfterLackOfMemory,
    /// A container that waits for its back-off has no last state (`container.state.terminated-fields`).
    LastStateLostInBackOff,
    /// A resize is shown as complete six seconds before the cgroup gets the new limits (`resize.enacted`).
    ResizeShownBeforeEnacted,
    /// All limits in cgroups are twice as high as in the specs (`report.status.resources`).
    AllLimitsDoubled,
    /// The file `/etc/hostname` contains the name of the node (`pod.hostname`).
    HostnameFileOfNode,
    } };
}
