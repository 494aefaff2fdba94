//! Defects that break only the part of a promise that is easily forgotten. In the list, they come after all earlier
//! defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_halves {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Hooks.
    /// A container whose postStart hook failed is killed without a stop signal (`container.state.poststart-failure-kills`).
    FailedHookKillsAtOnce,
    /// A postStart request that is refused has no effect (`container.state.poststart-failure-kills`).
    RefusedHookIgnored,
    /// A container with a new image receives its stop signal while its preStop hook runs (`pod.update.image-replaces`).
    NewImageSignalsDuringHook,
    // Events.
    /// The event about a failed command does not contain its output (`report.event.unhealthy-names-probe`).
    CommandOutputUnsaid,
    // Final ends.
    /// A restarted kubelet runs containers that had ended for good again (`restart.policy.never`, `restart.policy.onfailure`).
    KubeletRestartForgetsEnds,
    /// When all containers of a pod restart, its main containers do so twice (`restart.rules.all-containers`).
    RestartAllTwice,
    // Side effects of a change.
    /// When a container gets a new image, the others are killed (`pod.update.image-replaces`).
    NewImageKillsOthers,
    /// A container whose image was changed starts again with the old one (`pod.update.image-replaces`).
    NewImageStartsOld,
    /// A container whose image was changed starts again with what the old image contains (`pod.update.image-replaces`).
    NewImageOldContent,
    /// A container that has a new image is shown with the name of its old one (`pod.update.image-replaces`).
    NewImageShownAsOld,
    /// A container whose image was changed is stopped and not started again (`pod.update.image-replaces`).
    NewImageNotStarted,
    /// A container with the policy Never is not started again after its image was changed (`pod.update.image-replaces`).
    NewImageEndsNever,
    /// A mount that is read-only according to the spec can be written to (`report.status.volume-mounts`).
    ReadOnlyMountWritable,
    /// Containers have no permission to write to their emptyDir volumes (`pod.shared.volumes`).
    ScratchUnwritable,
    // Amounts.
    /// Memory is also allocated for containers that request none (`report.status.allocated`).
    AllocationBeyondRequests,
    /// A container is killed at half of its memory limit (`qos.guaranteed-protection`).
    MemoryLimitOfAHalf,
    /// A container gets a third of the CPU time that its limit allows (`qos.guaranteed-protection`).
    ProcessorLimitOfAThird,
    // Groups, mirrors, ephemeral containers.
    /// The user namespaces of all pods have the same groups of the node (`userns.no-overlap`).
    GroupMapsShared,
    /// A deleted mirror pod is never removed (`static.mirror`).
    MirrorNeverRemoved,
    /// An ephemeral container that has ended is later shown as waiting (`ephemeral.never-restarted`).
    EphemeralEndForgotten,
    /// A pod is not ready from the moment at which it gets an ephemeral container (`ephemeral.no-effect-on-readiness`).
    EphemeralUnreadiesAtOnce,
    // Probes.
    /// The grace period of a startup probe is at most the pod's (`probe.tgps.startup-override`).
    StartupGraceAtMostPods,
    /// The delay of gRPC probes has no effect (`probe.timing.initial-delay-honoured`).
    GrpcDelayLost,
    /// gRPC startup probes time out after one second (`probe.timeout.tcp-grpc`).
    GrpcStartupTimeout1s,
    /// A readiness probe has the timeout of the liveness probe if that is longer (`probe.timeout.http`).
    ReadinessTimeoutOfLiveness,
    /// A container that was not ready and has recovered is not ready again after one failure
    /// (`probe.failure-threshold.exact-count`).
    SecondFallAtOnce,
    /// A readiness probe that cannot be carried out resets the count of failures (`probe.result.unknown-no-action`).
    ErrorEndsReadinessRow,
    /// The successThreshold of TCP probes has no effect (`probe.success-threshold.first-start`).
    TcpSuccessThresholdIgnored,
    /// Failed readiness probes of a pod that is deleted are not reported (`report.event.unhealthy`).
    FailuresUnreportedInTermination,
    /// In a pod with restartPolicy Never, the probes of a second container that has its own policy end with its first
    /// instance (`probe.timing.period`).
    OwnPolicyEndsProbes,
    /// The probes of a second container end when it waits for its restart (`probe.timing.initial-delay-per-restart`).
    BackOffEndsLaterProbes,
    } };
}
