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
    } };
}
